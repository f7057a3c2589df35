"""Some rows of a table, or new rows, in the container that the table came in."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def rows_of(values: Any, rows: np.ndarray) -> Any:
    """Some rows of a data frame, a column, an array, a sparse matrix or a list, in the same container."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if sparse.issparse(values):
        return values.tocsr()[rows]
    if hasattr(values, "columns") or hasattr(values, "to_frame"):
        return values[rows]
    return np.asarray(values)[rows]


def like_frame(array: np.ndarray, like: Any) -> Any:
    """An array as the data frame (pandas or polars) or sparse matrix that `like` is."""
    if hasattr(like, "iloc"):
        return type(like)(array, columns=like.columns)
    if hasattr(like, "columns"):
        return type(like)(array, schema=list(like.columns))
    if sparse.issparse(like):
        return sparse.csr_array(array) if isinstance(like, sparse.sparray) else sparse.csr_matrix(array)
    return array.copy()


def like_column(array: np.ndarray, like: Any) -> Any:
    """An array as the column (of pandas or polars) that `like` is."""
    if hasattr(like, "iloc") and hasattr(like, "name"):
        return type(like)(array, name=like.name)
    if hasattr(like, "to_frame"):
        return type(like)(like.name, array)
    return array.copy()
