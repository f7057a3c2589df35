"""CSV and TSV: polars parses, and whatever it would guess or mend in silence is an error here."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from protolearn.tables.kinds import Remark, read_spelled, reread

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?")
"""What stands for a missing value in a text file."""
_LARGEST_FIELD = 1 << 20


class TableError(ValueError):
    """A file that is not the table it should be."""


def parse_text(
    separators: tuple[str, ...],
    polars: Any,
    data: bytes,
    name: str,
    header: bool,
    texts: Collection[str],
    spelled: Mapping[str, str],
    tell: Callable[[Remark], None],
) -> Any:
    """The table in a text file; columns in which every value spells a number or a date hold numbers."""
    text = _decoded(data, name)
    # Line by line: a list of all lines would take more memory than the table.
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    separator = max(separators, key=first.count)
    names, n_rows = _checked_shape(text, separator, name, header)
    frame = polars.read_csv(
        io.BytesIO(text.encode()),
        separator=separator,
        has_header=header,
        new_columns=names,
        infer_schema=False,
        truncate_ragged_lines=False,
    )
    if frame.height != n_rows or frame.width != len(names):
        raise TableError(f"{name} is ambiguous: it may hold {n_rows} or {frame.height} rows; look for stray quotes.")
    return frame.select(
        _typed(polars, frame[column], column in texts, spelled.get(column, ""), separator, tell) for column in names
    )


def _decoded(data: bytes, name: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(f"{name} is UTF-16; save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{name} is not UTF-8 (line {line}); save it as UTF-8, for example by iconv -f latin1 -t utf-8."
        ) from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise TableError(f"{name} is no text file: line {line} holds a zero byte.")
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n"


def _checked_shape(text: str, separator: str, name: str, header: bool) -> tuple[list[str], int]:
    """The names of the columns and the number of rows, once every row is known to have one field a column."""
    csv.field_size_limit(_LARGEST_FIELD)
    reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
    begin = 1
    n_rows = 0
    names: list[str] = []
    try:
        for row in reader:
            line, begin = begin, reader.line_num + 1
            if not names:
                names = _names(row, name, header)
                if header:
                    continue
            if not row and len(names) > 1:
                raise TableError(f"{name}: line {line} is empty; remove it.")
            if len(row) != len(names) and not (len(names) == 1 and not row):
                raise TableError(
                    f"{name}: line {line} has {len(row)} fields and the first line {len(names)}; mend that line."
                )
            n_rows += 1
    except csv.Error as error:
        raise TableError(f"{name}: line {begin} cannot be read ({error}); look for stray quotes.") from None
    if not n_rows:
        raise TableError(f"{name} has a header line but no rows.")
    return names, n_rows


def _names(row: list[str], name: str, header: bool) -> list[str]:
    if not header:
        return [f"column_{j + 1}" for j in range(len(row))]
    names = [field.strip() for field in row]
    for j, column in enumerate(names):
        if not column:
            raise TableError(f"{name}: the first line has no name for column {j + 1}; name it, or remove the column.")
        if column in names[:j]:
            raise TableError(f"{name}: two columns are called {column!r:.60}; rename one.")
    if len(names) > 1 and all(_is_number(column) for column in names):
        raise TableError(
            f"{name}: the first line holds numbers where the names of the columns should be; add them, or say that "
            "there are none (--no-header)."
        )
    return names


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def _typed(polars: Any, column: Any, keep_text: bool, form: str, separator: str, tell: Callable[[Remark], None]) -> Any:
    """A column of numbers where every value that is not missing spells one; tells what is not read as it stands."""
    stripped = column.str.strip_chars()
    stripped = stripped.set(stripped.is_in(list(MISSING)), None)
    if keep_text:
        return stripped
    if form and (numbers := reread(stripped, form)) is not None:
        return numbers
    for dtype in (polars.Int64, polars.Float64):
        numbers = stripped.cast(dtype, strict=False)
        if numbers.null_count() == stripped.null_count():
            return numbers
    numbers, remark = read_spelled(stripped, separator)
    if remark is not None:
        tell(remark)
    return numbers
