"""Rows of a long run in a CSV file, each added when it is done: a killed run goes on where it stopped."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Columns = Mapping[str, Callable[[str], Any]]
"""The names of the columns, and what makes the value of each from its text."""


def read_rows(path: Path, columns: Columns) -> list[Row]:
    """The rows of a file, numbers as numbers; half a line at its end is left out."""
    text = path.read_text(encoding="utf-8")
    lines = io.StringIO(text[: text.rfind("\n") + 1], newline="")
    return [{key: columns[key](value) for key, value in row.items()} for row in csv.DictReader(lines)]


class RowFile:
    """The rows done so far, beside a small JSON file of the same name that says what they were made from.

    Parameters
    ----------
    path : where the rows are
    columns : names and types
    settings : what makes rows comparable; a file of other settings is refused
    resume : go on with a file that is there; without it, such a file is an error
    """

    def __init__(self, path: Path, columns: Columns, settings: dict[str, Any], resume: bool) -> None:
        self.path, self.columns = path, columns
        beside = path.with_suffix(".json")
        if path.exists() and not resume:
            raise FileExistsError(f"{path} holds rows of a run before; go on with resume, or choose another place.")
        if path.exists():
            try:
                before = json.loads(beside.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                before = {}
            other = [key for key in settings if before.get(key) != settings[key]]
            if other:
                raise ValueError(
                    f"{path} was made with other settings ({', '.join(other)}), so this run cannot go on from it; "
                    "choose another place."
                )
            self._cut_unfinished_line()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = beside.with_name(beside.name + ".tmp")
        temporary.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
        temporary.replace(beside)
        self._write(list(columns))

    def rows(self) -> list[Row]:
        """All rows so far."""
        return read_rows(self.path, self.columns)

    def append(self, row: Row) -> None:
        """Add one row; it is in the file when this returns."""
        self._write([row[name] for name in self.columns])

    def _write(self, cells: Sequence[Any]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        with self.path.open("ab") as file:
            file.write(line.getvalue().encode())
            file.flush()
            os.fsync(file.fileno())

    def _cut_unfinished_line(self) -> None:
        """A run that was killed while writing leaves half a line."""
        whole = self.path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]
        if not kept:
            self.path.write_bytes(b"")
            self._write(list(self.columns))
        elif len(kept) < len(whole):
            with self.path.open("r+b") as file:
                file.truncate(len(kept))
