"""What the columns of a table are: texts that spell numbers or dates, and identifiers that say nothing of a class."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

# 1.234,5 and 24,0; a whole number beside them.
_DECIMAL_COMMA = r"^[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?(e[+-]?\d+)?$"
# What a date looks like, and how polars reads it. Day and month stand in an order that the form itself tells.
_TIME = r"[ T]\d{1,2}:\d{2}"
_DATES = (
    (r"\d{4}-\d{1,2}-\d{1,2}", "%Y-%m-%d"),
    (r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
    (r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y"),
)
_CLOCKS = (("", ""), (_TIME, "%H:%M"), (_TIME + r":\d{2}(\.\d+)?", "%H:%M:%S%.f"))
_EITHER_ORDER = r"^\d{1,2}/\d{1,2}/(\d{2}|\d{4})$"
_MILLISECONDS_A_DAY = 86_400_000.0
# Of fewer rows nobody can say that a column numbers them.
_FEWEST_ROWS = 20
_NAMES = re.compile(r"(?i:(^|[_\W])(id|ids|uuid|guid|nr|no|number|index|idx|key|row|rowid)$)|[a-z](Id|ID|Nr|No)$")


def spelled_numbers(column: pl.Series, separator: str) -> tuple[pl.Series, str] | None:
    """A column of texts as the numbers that it spells, and how it was read; None where it spells none.

    Numbers with decimal commas are recognised where the fields of the file are not separated by commas; dates as days
    since 1970-01-01.

    Parameters
    ----------
    column : texts, missing ones null
    separator : of the file
    """
    present = column.drop_nulls()
    if not len(present):
        return None
    if separator != "," and present.str.contains(_DECIMAL_COMMA).all() and present.str.contains(",").any():
        plain = column.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
        return plain.cast(_polars().Float64), f"numbers with decimal commas, such as {_example(present, ',')}"
    days = _days(column, present)
    return None if days is None else (days, f"dates, such as {present[0]}, as days since 1970-01-01")


def ambiguous_dates(column: pl.Series) -> str | None:
    """What to do about a column of texts such as 03/04/2020; None where it is none."""
    present = column.drop_nulls()
    if not len(present) or not present.str.contains(_EITHER_ORDER).all():
        return None
    return f"texts: does {present[0]} begin with the day or the month? Write dates as 2020-04-03"


def dates_as_days(column: pl.Series) -> pl.Series | None:
    """A column of dates or times, as Parquet has them, as days since 1970-01-01; None for other columns."""
    polars = _polars()
    if column.dtype == polars.Date:
        column = column.cast(polars.Datetime("ms"))
    if column.dtype != polars.Datetime:
        return None
    return column.dt.timestamp("ms") / _MILLISECONDS_A_DAY


def identifiers(frame: pl.DataFrame) -> dict[str, str]:
    """The columns that number or name the rows, each with how one can tell.

    Different texts in all rows; or different whole numbers in all rows that rise or fall from row to row, or whose name
    is that of an identifier. Tables below 20 rows have none.

    Parameters
    ----------
    frame : the columns to learn from
    """
    found = {}
    for name in frame.columns if frame.height >= _FEWEST_ROWS else []:
        column = frame[name]
        text = column.dtype == _polars().String
        if column.null_count() or not (text or column.dtype.is_integer()) or column.n_unique() < frame.height:
            continue
        if text:
            found[name] = f"another text in each row, such as {column[0]!r:.40}"
        elif column.is_sorted() or column.is_sorted(descending=True):
            found[name] = "whole numbers that go on from row to row"
        elif _NAMES.search(name):
            found[name] = "another whole number in each row"
    return found


def _days(column: Any, present: Any) -> Any:
    for date, form in _DATES:
        if re.match(date, present[0]) is None:
            continue
        for clock, clock_form in _CLOCKS:
            if not present.str.contains(f"^{date}{clock}$").all():
                continue
            texts = column.str.replace("T", " ", literal=True)
            read = texts.str.strptime(_polars().Datetime("ms"), f"{form} {clock_form}".strip(), strict=False)
            if not clock:
                read = texts.str.strptime(_polars().Date, form, strict=False)
            if read.null_count() == column.null_count():
                return dates_as_days(read)
    return None


def _example(present: Any, part: str) -> str:
    return repr(present.filter(present.str.contains(part, literal=True))[0])


def _polars() -> Any:
    import polars

    return polars
