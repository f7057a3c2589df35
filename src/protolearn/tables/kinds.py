"""What the columns of a table are: texts that spell numbers or dates, and identifiers that say nothing of a class."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from protolearn.tables import spelling

if TYPE_CHECKING:
    import polars as pl

# Of fewer rows, or fewer values, nobody can say that a column numbers or names them.
_FEWEST_ROWS = 20
# A column of identifiers has at most so many rows for each.
_ROWS_OF_ONE = 4
# A column is one of numbers, but for mistakes, where at most one in so many rows spells none.
_ODD_ROWS = 10
_NAMES = re.compile(r"(?i:(^|[_\W])([pu]?id|ids|uuid|guid|nr|no|number|index|idx|key|row|rowid)$)|[a-z](Id|ID|Nr|No)$")


@dataclass(frozen=True)
class Remark:
    """A column of a file that is not read as it stands, or not as it looks.

    sentence : what to tell the user
    form : in which its texts spell numbers, one of `spelling.FORMS`; empty where they stay texts
    """

    column: str
    sentence: str
    form: str = ""

    def __str__(self) -> str:
        return f"{self.column} {self.sentence}."


def read_spelled(column: pl.Series, separator: str) -> tuple[pl.Series, Remark | None]:
    """A column of texts, as numbers where all of them spell one, and what to tell of the column.

    Parameters
    ----------
    column : texts, missing ones null, of which some spell no plain number
    separator : of the file
    """
    counts = Counter(column.drop_nulls().to_list())
    form, question = spelling.form_of(counts, separator)
    if question:
        return column, Remark(column.name, f"is read as texts: {question}")
    if form:
        values = spelled_values(counts, form)
    else:
        plain = _polars().Series(list(counts), dtype=_polars().String).cast(_polars().Float64, strict=False)
        values = dict(zip(counts, plain.to_list(), strict=True))
    odd = [text for text, value in values.items() if value is None]
    if not odd:
        remark = Remark(column.name, f"is read as {spelling.described(form, counts)}", form)
        return _replaced(column, values), remark
    n_odd = sum(counts[text] for text in odd)
    if n_odd * _ODD_ROWS > counts.total():
        return column, None
    kind = "dates" if form.startswith(spelling.DATE) else "numbers"
    row = column.to_list().index(odd[0]) + 1
    more = f" and {n_odd - 1} more" if n_odd > 1 else ""
    are = "are" if n_odd > 1 else "is"
    sentence = f"is read as texts: {odd[0]!r:.40} in row {row}{more} {are} among {counts.total() - n_odd} {kind}"
    return column, Remark(column.name, sentence)


def reread(column: pl.Series, form: str) -> pl.Series | None:
    """A column of texts as the numbers that it spells in a form; None where some spell none."""
    values = spelled_values(column.drop_nulls().unique().to_list(), form)
    return None if None in values.values() else _replaced(column, values)


def spelled_values(texts: Any, form: str) -> dict[str, float | None]:
    """Of each text the number that it spells in a form, None where it spells none."""
    found: dict[str, float | None] = {}
    for text in texts:
        try:
            found[text] = spelling.number(text, form)
        except ValueError:
            found[text] = None
    return found


def _replaced(column: pl.Series, values: dict[str, float | None]) -> pl.Series:
    # A missing text has no value.
    numbers = [values.get(text) for text in column.to_list()]
    return _polars().Series(column.name, numbers, dtype=_polars().Float64)


def dates_as_days(column: pl.Series) -> pl.Series | None:
    """A column of dates or times, as Parquet has them, as days since 1970-01-01; None for other columns."""
    polars = _polars()
    if column.dtype == polars.Date:
        column = column.cast(polars.Datetime("ms"))
    if column.dtype != polars.Datetime:
        return None
    return column.dt.timestamp("ms") / spelling.MILLISECONDS_A_DAY


def identifiers(frame: pl.DataFrame) -> dict[str, str]:
    """The columns that number or name the rows, each with how one can tell.

    Different texts in all rows; or different whole numbers in all rows under the name of an identifier; or whole
    numbers that go up or down by one from row to row. Tables below 20 rows have none.

    Parameters
    ----------
    frame : the columns to learn from
    """
    found = {}
    for column in _texts_and_whole_numbers(frame):
        if column.null_count() or column.n_unique() < frame.height:
            continue
        if column.dtype == _polars().String:
            found[column.name] = f"another text in each row, such as {column[0]!r:.40}"
        elif _goes_on(column) and (_NAMES.search(column.name) or _consecutive(column)):
            found[column.name] = "whole numbers that go on from row to row"
        elif _NAMES.search(column.name):
            found[column.name] = "another whole number in each row"
    return found


def possible_identifiers(frame: pl.DataFrame) -> dict[str, str]:
    """The other columns that look like identifiers, each with how it does: a text or a number for few rows each.

    Parameters
    ----------
    frame : the columns to learn from, without `identifiers`
    """
    found = {}
    for column in _texts_and_whole_numbers(frame):
        present = column.drop_nulls()
        different = present.n_unique()
        if different < _FEWEST_ROWS:
            continue
        if column.dtype != _polars().String and different == frame.height and _goes_on(column):
            found[column.name] = "its whole numbers go on from row to row"
        elif different * _ROWS_OF_ONE >= len(present):
            if column.dtype == _polars().String:
                found[column.name] = f"{different} different texts in {len(present)} rows"
            elif _NAMES.search(column.name):
                found[column.name] = f"{different} different whole numbers in {len(present)} rows"
    return found


def _texts_and_whole_numbers(frame: pl.DataFrame) -> list[pl.Series]:
    if frame.height < _FEWEST_ROWS:
        return []
    return [column for column in frame if column.dtype == _polars().String or column.dtype.is_integer()]


def _goes_on(column: pl.Series) -> bool:
    """Whether different numbers rise or fall from row to row."""
    return column.is_sorted() or column.is_sorted(descending=True)


def _consecutive(column: Any) -> bool:
    return column.max() - column.min() == len(column) - 1


def _polars() -> Any:
    import polars

    return polars
