"""The columns of a data frame or an array, each as numbers or as texts."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
from scipy import sparse

from protolearn.tables.spelling import DATE, MILLISECONDS_A_DAY
from protolearn.tables.spelling import number as spelled_number

_PLAIN_NUMBERS = "fiub"


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas or polars: columns with names."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def column_arrays(X: Any) -> list[np.ndarray]:
    """The columns of X, as NumPy sees them."""
    if is_frame(X):
        if len(set(X.columns)) < len(X.columns):
            raise ValueError("Two columns of the table have the same name; rename one.")
        return [np.asarray(X[name].to_numpy()) for name in X.columns]
    if sparse.issparse(X):
        raise TypeError("Sparse input is not supported by Preparation; convert it by X.toarray().")
    array = X if isinstance(X, np.ndarray) else _as_array(X)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: one row a sample, one column a "
            "feature."
        )
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported; use its real part, or real and imaginary part as two columns.")
    return list(array.T)


def _as_array(X: Any) -> np.ndarray:
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError("The rows of X differ in length; give every row the same number of values.") from None
    # NumPy makes texts of everything where some are texts: keep the numbers as they are.
    return np.asarray(X, dtype=object) if array.dtype.kind in "US" else array


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and the NA of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and value != value


def json_value(value: Any) -> Any:
    """A value of a table as JSON has it, None where it is missing."""
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def is_number(value: Any) -> bool:
    """A real number that is no text."""
    return isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating)


def holds_numbers(column: np.ndarray, name: str) -> bool:
    """Whether a column is one of numbers; one of texts otherwise. Dates are neither."""
    kind = column.dtype.kind
    if kind in "mM":
        raise ValueError(
            f"Column {name} holds dates or times; turn them into numbers, or leave the column out (--drop)."
        )
    if kind in _PLAIN_NUMBERS:
        return True
    present = [value for value in column if not is_missing(value)]
    odd = next((value for value in present if not (is_number(value) or isinstance(value, str | bytes))), None)
    if odd is not None:
        raise TypeError(
            f"Column {name} holds a {type(odd).__name__}; argument must be a string or a real number in every row."
        )
    return all(is_number(value) for value in present)


def numbers(column: np.ndarray, name: str, form: str = "") -> np.ndarray:
    """A column as float64, missing values as NaN; texts that spell numbers are read, in a form of `spelling` if given.

    Under a form of dates, dates and times count as days since 1970-01-01 too.
    """
    if column.dtype.kind in _PLAIN_NUMBERS:
        result = column.astype(np.float64)
    elif column.dtype.kind == "M" and form.startswith(DATE):
        milliseconds = column.astype("datetime64[ms]")
        result = np.where(np.isnat(milliseconds), np.nan, milliseconds.astype(np.float64) / MILLISECONDS_A_DAY)
    else:
        result = np.empty(len(column))
        for row, value in enumerate(column):
            try:
                result[row] = np.nan if is_missing(value) else _number(value, form)
            except (TypeError, ValueError):
                kind = "dates" if form.startswith(DATE) else "numbers"
                raise ValueError(
                    f"Column {name} holds {kind} in training, and {value!r:.40} in row {row} (the first is 0); mend "
                    "it or leave it out."
                ) from None
    if np.isinf(result).any():
        row = int(np.flatnonzero(np.isinf(result))[0])
        raise ValueError(
            f"Column {name} holds infinity in row {row} (the first is 0); replace it by a number or leave it empty."
        )
    return result


def _number(value: Any, form: str) -> float:
    """A number, also one that a text spells in a form, or a date."""
    if form and isinstance(value, str):
        try:
            return spelled_number(value.strip(), form)
        except ValueError:
            return float(value)
    if form.startswith(DATE) and isinstance(value, date):
        return spelled_number(value.isoformat(" ") if isinstance(value, datetime) else value.isoformat(), form)
    return float(value)


def texts(column: np.ndarray) -> list[str | None]:
    """A column as texts, missing values as None."""
    return [
        None if is_missing(value) else value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        for value in column
    ]
