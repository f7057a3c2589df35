"""Distances of many rows under symmetric matrices, of which one triangle is enough.

D_i = x'S x - 2 (S m_i)'x + m_i'S m_i,    S the matrix of prototype i
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import types

from protolearn.compiled import aligned_zeros, compiled, constant_matrix, inline, matrix, stack, vector
from protolearn.tiles import ROWS, add_forms, lanes_of, put_columns, put_distances, room_for, up_to, width_of

# Rows that are measured at a time: their distances to some prototypes stay in the cache.
_ROWS_AT_A_TIME = 512


@dataclass(frozen=True)
class MatrixDistances:
    """What gives D of any rows.

    matrices : S, one a slot; what stands above the diagonals is not read
    linear, constants : S m_i and m_i'S m_i
    """

    matrices: np.ndarray
    linear: np.ndarray
    constants: np.ndarray
    slot: np.ndarray

    @cached_property
    def tiles(self) -> np.ndarray:
        """Coefficients of the products x_j x_k for k <= j under each S, then those of x_j for each prototype, in tiles.

        ROWS numbers side by side are those of as many j, or prototypes; below them those of the next k, or j.
        """
        n_matrices, d = len(self.matrices), self.linear.shape[1]
        n_linear = up_to(len(self.linear), ROWS) * d
        found = aligned_zeros((n_matrices * size_of_triangle(d) + n_linear,), self.matrices.dtype)
        fill_tiles.of(found.dtype)(self.matrices, self.linear, found)
        return found

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What `fill_distances` is called with after the rows; `argument_types` has its types."""
        n = len(self.slot)
        constants, slot = np.zeros(up_to(n, ROWS), self.constants.dtype), np.zeros(up_to(n, ROWS), np.int64)
        constants[:n], slot[:n] = self.constants, self.slot
        return self.tiles, constants, slot, len(self.matrices)

    def of(self, X: np.ndarray) -> np.ndarray:
        """D of some rows, one prototype a row, rounding below zero clipped."""
        dtype = np.result_type(X, self.matrices)
        if dtype != self.matrices.dtype:
            return self._astype(dtype).of(X)
        D = np.empty((up_to(len(self.slot), ROWS), up_to(len(X), width_of(self.matrices))), dtype=dtype)
        fill_distances.of(dtype)(np.ascontiguousarray(X, dtype=dtype), 0, len(X), *self.arguments, D)
        return np.ascontiguousarray(D[: len(self.slot), : len(X)])

    def _astype(self, dtype: np.dtype) -> MatrixDistances:
        matrices, linear, constants = (part.astype(dtype) for part in (self.matrices, self.linear, self.constants))
        return MatrixDistances(matrices, linear, constants, self.slot)


def argument_types(number: Any) -> tuple[Any, ...]:
    """Those of `MatrixDistances.arguments`."""
    return (
        vector(number),  # tiles
        vector(number),  # constants, and zeros up to a multiple of ROWS
        vector(types.int64),  # slot, and zeros
        types.int64,  # how many matrices there are
    )


@inline
def size_of_triangle(d):
    """Numbers of the tiles of one triangle, each as long as its last row."""
    n = up_to(d, ROWS)
    return n * (n + ROWS) // 2


@compiled(lambda number: types.void(stack(number), matrix(number), vector(number)))
def fill_tiles(matrices, linear, out):
    """The tiles of `MatrixDistances`, where `out` is zero so far."""
    d = linear.shape[1]
    at = 0
    for s in range(matrices.shape[0]):
        for first in range(0, d, ROWS):
            for r in range(min(ROWS, d - first)):
                j = first + r
                # x_j x_k and x_k x_j share a coefficient.
                for k in range(j):
                    out[at + k * ROWS + r] = 2 * matrices[s, j, k]
                out[at + j * ROWS + r] = matrices[s, j, j]
            at += (first + ROWS) * ROWS
    for first in range(0, linear.shape[0], ROWS):
        for r in range(min(ROWS, linear.shape[0] - first)):
            for j in range(d):
                out[at + j * ROWS + r] = -2 * linear[first + r, j]
        at += d * ROWS


def distances_signature(number: Any) -> Any:
    """fill_distances(X, begin, end, ..., D)."""
    return types.void(
        constant_matrix(number),  # X
        types.int64,  # the first row
        types.int64,  # behind the last row
        *argument_types(number),
        matrix(number),  # D, one prototype a row: a multiple of ROWS rows, and of `width_of` columns
    )


@compiled(distances_signature)
def fill_distances(X, begin, end, tiles, constants, slot, n_matrices, D):
    """D of some rows, rounding below zero clipped; what stands behind the last row and prototype means nothing."""
    d, width, n = X.shape[1], width_of(X), D.shape[1]
    panel, forms = room_for(up_to(d, ROWS) * width, X), room_for(n_matrices * width, X)
    starts = np.empty(width, np.int64)
    put_zeros(panel, d * width)
    for first in range(0, end - begin, width):
        for v in range(width):
            # Behind the last row that one again.
            starts[v] = min(begin + first + v, end - 1) * d
        fill_panel(X, starts, panel)
        put_zeros(forms, 0)
        at = add_forms_of_panel(tiles, 0, n_matrices, d, panel, forms)
        for i in range(0, constants.shape[0], ROWS):
            put_distances(tiles, at, panel, d, forms, slot, constants, i, D, i * n + first, n)
            at += d * ROWS


@inline
def measured_at_a_time(X):
    """How many rows are best measured at a time: a multiple of `width_of`."""
    width = width_of(X)
    return min(_ROWS_AT_A_TIME // width * width, up_to(max(X.shape[0], 1), width))


@inline
def put_zeros(out, begin):
    """Zeros from one place on. By a loop, which compiles in less time than a part that is set."""
    for j in range(begin, out.shape[0]):
        out[j] = 0


@inline
def fill_panel(X, starts, panel):
    """Some rows of X, each from its start on, as columns of a panel."""
    d, lanes, width = X.shape[1], lanes_of(panel), width_of(panel)
    whole = d // lanes * lanes
    for v in range(0, width, lanes):
        for j in range(0, whole, lanes):
            put_columns(X, starts, v, j, panel, j * width + v, width)
    for j in range(whole, d):
        for v in range(width):
            panel[j * width + v] = X[starts[v] // d, j]


@inline
def add_forms_of_panel(tiles, at, n_matrices, d, panel, forms):
    """x'Sx of each column of a panel for each S whose tiles stand one after the other; where they end.

    Rows of the panel beyond d, up to a multiple of ROWS, are zero.
    """
    for s in range(n_matrices):
        for j in range(0, d, ROWS):
            add_forms(tiles, at, panel, j, j + ROWS, forms, s * width_of(panel))
            at += (j + ROWS) * ROWS
    return at
