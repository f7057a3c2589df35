"""Distances of many rows under symmetric matrices, of which one triangle is enough.

D_i = x'S x - 2 (S m_i)'x + m_i'S m_i,    S the matrix of prototype i
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import types

from protolearn.compiled import aligned_empty, compiled, constant_matrix, inline, matrix, stack, vector
from protolearn.tiles import (
    FEW_ROWS,
    ROWS,
    add_forms,
    lanes_of,
    put_columns,
    put_distances,
    put_few_distances,
    room_for,
    up_to,
    width_of,
)

# Rows that are measured at a time: their distances to some prototypes stay in the cache.
_ROWS_AT_A_TIME = 512


@dataclass(frozen=True)
class MatrixDistances:
    """What gives D of any rows.

    matrices : S, one a slot
    linear, constants : S m_i and m_i'S m_i
    tiles : coefficients of the products x_j x_k for k <= j under each S, then those of x_j for each prototype. ROWS
        numbers side by side are those of as many j, or prototypes; below them those of the next k, or j
    """

    matrices: np.ndarray
    linear: np.ndarray
    constants: np.ndarray
    slot: np.ndarray
    tiles: np.ndarray

    @staticmethod
    def under(matrices: np.ndarray, linear: np.ndarray, constants: np.ndarray, slot: np.ndarray) -> MatrixDistances:
        """For matrices that are known; what stands below their diagonals is not read."""
        tiles = room_for_tiles(len(matrices), len(linear), linear.shape[1], matrices.dtype)
        fill_tiles.of(tiles.dtype)(matrices, linear, tiles)
        return MatrixDistances(matrices, linear, constants, slot, tiles)

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What `fill_distances` is called with after the rows; `argument_types` has its types."""
        n = len(self.slot)
        size = up_to(n, FEW_ROWS)
        constants, slot = np.zeros(size, self.constants.dtype), np.zeros(size, np.int64)
        constants[:n], slot[:n] = self.constants, self.slot
        return self.tiles, constants, slot, len(self.matrices)

    def of(self, X: np.ndarray) -> np.ndarray:
        """D of some rows, one prototype a row, rounding below zero clipped."""
        dtype = np.result_type(X, self.matrices)
        if dtype != self.matrices.dtype:
            return self._astype(dtype).of(X)
        D = np.empty((up_to(len(self.slot), FEW_ROWS), up_to(len(X), width_of(self.matrices))), dtype=dtype)
        fill_distances.of(dtype)(np.ascontiguousarray(X, dtype=dtype), 0, len(X), *self.arguments, D)
        return np.ascontiguousarray(D[: len(self.slot), : len(X)])

    def _astype(self, dtype: np.dtype) -> MatrixDistances:
        matrices, linear, constants = (part.astype(dtype) for part in (self.matrices, self.linear, self.constants))
        return MatrixDistances.under(matrices, linear, constants, self.slot)


def argument_types(number: Any) -> tuple[Any, ...]:
    """Those of `MatrixDistances.arguments`."""
    return (
        vector(number),  # tiles
        vector(number),  # constants, and zeros up to a multiple of FEW_ROWS
        vector(types.int64),  # slot, and zeros
        types.int64,  # how many matrices there are
    )


@inline
def size_of_triangle(d):
    """Numbers of the tiles of one triangle, each as long as its last row."""
    n = up_to(d, ROWS)
    return n * (n + ROWS) // 2


def room_for_tiles(n_matrices: int, n_prototypes: int, n_features: int, dtype: np.dtype) -> np.ndarray:
    """Where the tiles of `MatrixDistances` are put; zeros in the last one of the prototypes, which may not be full."""
    size = n_matrices * size_of_triangle(n_features) + up_to(n_prototypes, ROWS) * n_features
    found = aligned_empty((size,), dtype)
    found[size - ROWS * n_features :] = 0
    return found


@compiled(lambda number: types.void(stack(number), matrix(number), vector(number)))
def fill_tiles(matrices, linear, out):
    """The tiles of `MatrixDistances`."""
    n_matrices, d = matrices.shape[0], linear.shape[1]
    for s in range(n_matrices):
        put_triangle(matrices[s], d, s, out)
    for i in range(linear.shape[0]):
        put_linear(linear, i, n_matrices, out)


@inline
def put_triangle(matrix, d, s, out):
    """The tiles of the matrix of slot s, by its numbers on the diagonal and above."""
    at = s * size_of_triangle(d)
    zero, two = out.dtype.type(0), out.dtype.type(2)
    for first in range(0, d, ROWS):
        begin = 0
        # x_j x_k and x_k x_j share a coefficient.
        if first + ROWS <= d:
            # As many at a time as the compiler knows: it takes one instruction for all.
            for k in range(first):
                for r in range(ROWS):
                    out[at + k * ROWS + r] = two * matrix[k, first + r]
            begin = first
        for k in range(begin, first + ROWS):
            for r in range(ROWS):
                j = first + r
                out[at + k * ROWS + r] = zero if j < k or j >= d else matrix[k, j] if j == k else two * matrix[k, j]
        at += (first + ROWS) * ROWS


@inline
def put_linear(linear, i, n_matrices, out):
    """The tiles' numbers of prototype i."""
    d = linear.shape[1]
    begin = n_matrices * size_of_triangle(d) + i // ROWS * ROWS * d + i % ROWS
    for j in range(d):
        out[begin + j * ROWS] = out.dtype.type(-2) * linear[i, j]


def distances_signature(number: Any) -> Any:
    """fill_distances(X, begin, end, ..., D)."""
    return types.void(
        constant_matrix(number),  # X
        types.int64,  # the first row
        types.int64,  # behind the last row
        *argument_types(number),
        matrix(number),  # D, one prototype a row: a multiple of FEW_ROWS rows, and of `width_of` columns
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
        whole = constants.shape[0] // ROWS * ROWS
        for i in range(0, whole, ROWS):
            put_distances(tiles, at, panel, d, forms, slot, constants, i, D, i * n + first, n)
            at += d * ROWS
        if whole < constants.shape[0]:
            put_few_distances(tiles, at, panel, d, forms, slot, constants, whole, D, whole * n + first, n)


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
