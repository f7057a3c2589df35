"""What is computed of rows that come again and again, kept from one pass over the data to the next."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

# About so many bytes of the lengths of rows and of their columns are kept, however many rows there are.
_MOST_LENGTHS, _MOST_COLUMNS = 1 << 20, 1 << 23
# Rows whose principal axes are taken for those of all.
_LOOK_AT = 2000
# Numbers of a row from which BLAS pays for being called.
_WORTH_A_CALL = 48


def row_products(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The inner product of each row of one matrix with the same row of another."""
    if one.shape[1] < _WORTH_A_CALL:
        return np.einsum("ij,ij->i", one, other)
    # By BLAS, row by row: half the time.
    return (one[:, None] @ other[:, :, None]).reshape(len(one))


class KeptRows:
    """Squared lengths and columns of blocks of one matrix that does not change, and its principal axes.

    To measure the rows once more takes a tenth of the time of all distances to 50 prototypes, and a product of the
    prototypes with columns that stand together takes three quarters of the time of one with rows.

    matrix : what the blocks are parts of; a block of anything else is computed anew
    """

    def __init__(self, matrix: np.ndarray) -> None:
        self._rows, self._matrix = matrix, _owner(matrix)
        self._lengths: dict[tuple[int, int], np.ndarray] = {}
        self._columns: dict[tuple[int, int], np.ndarray] = {}
        self._axes: dict[int, np.ndarray] = {}

    def lengths(self, X: np.ndarray) -> np.ndarray:
        """|x|^2 of each row of a block."""
        found = self._kept(X, self._lengths, _MOST_LENGTHS, X.itemsize * len(X), lambda: row_products(X, X))
        return row_products(X, X) if found is None else found

    def columns(self, X: np.ndarray) -> np.ndarray:
        """The transpose of a block: a matrix of its own, or one that shares its memory."""
        found = self._kept(X, self._columns, _MOST_COLUMNS, X.nbytes, lambda: np.ascontiguousarray(X.T))
        return X.T if found is None else found

    def axes(self, count: int) -> np.ndarray:
        """The leading principal axes, one a column, of rows from all over the matrix."""
        if count not in self._axes:
            some = self._rows[:: -(-len(self._rows) // _LOOK_AT)].astype(np.float64)
            some -= some.mean(axis=0)
            d = some.shape[1]
            self._axes[count] = eigh(some.T @ some, subset_by_index=(d - count, d - 1))[1]
        return self._axes[count]

    def _kept(
        self,
        X: np.ndarray,
        kept: dict[tuple[int, int], np.ndarray],
        most: int,
        n_bytes: int,
        compute: Callable[[], np.ndarray],
    ) -> np.ndarray | None:
        """What is kept of a block or computed to be kept; None of one that is not of the matrix, or finds no room."""
        if _owner(X) is not self._matrix:
            return None
        place = X.ctypes.data, len(X)
        found = kept.get(place)
        if found is None and sum(other.nbytes for other in kept.values()) + n_bytes <= most:
            found = kept[place] = compute()
        return found


def _owner(array: np.ndarray) -> object:
    """What holds the memory of an array: a part of a part of a matrix says the matrix."""
    return array if array.base is None else array.base
