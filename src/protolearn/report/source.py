"""What a report knows of the table beside its values: its name, the command, identifiers of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """Where the rows of a report come from.

    data : name of the table
    date : of the report, as it is printed
    command : what learned the model and wrote the report
    model_file : where the model was saved
    train_rows, test_rows : the identifiers of the rows, such as patient numbers; None counts them from 1
    row_name : what an identifier is, such as "row", or the name of its column
    about_rows : a sentence on the identifiers
    """

    data: str = ""
    date: str = ""
    command: str = ""
    model_file: str = "model.json"
    train_rows: Sequence[Any] | None = None
    test_rows: Sequence[Any] | None = None
    row_name: str = "row"
    about_rows: str = ""

    def train_row(self, row: int) -> str:
        """The name of a training row, by its index."""
        return self._named(self.train_rows, row, "training " if self.train_rows is None else "")

    def test_row(self, row: int) -> str:
        """The name of a test row, by its index."""
        return self._named(self.test_rows, row, "test " if self.test_rows is None else "")

    def _named(self, names: Sequence[Any] | None, row: int, part: str) -> str:
        return f"{part}{self.row_name} {row + 1 if names is None else names[row]}"
