"""Second moments of samples: sums of weight x x', of which one triangle is enough.

They are kept in matrices of a multiple of `width_of` rows and columns, as the tiles add them up. What stands above the
diagonal, and behind the features, is not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from protolearn.compiled import compiled, constant_matrix, inline, stack, vector
from protolearn.metrics.pulls import Pull, entries_by_slot
from protolearn.prototypes import PrototypeSet
from protolearn.tiles import ROWS, add_narrow_product, add_product, lanes_of, put_multiple, room_for, up_to, width_of

# Rows that are multiplied at a time: so many, or as many as have so many numbers, but not fewer than these.
_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME, _FEWEST_ROWS = 160, 1 << 17, 64


def scatter_by_slot(X: np.ndarray, pull: Pull, prototypes: PrototypeSet) -> np.ndarray:
    """The sum of coefficient x x' over the rows and the prototypes of each slot."""
    rows, weights, ends = entries_by_slot(pull, prototypes.slot, len(prototypes.theta))
    return scatter_of_entries(np.ascontiguousarray(X), rows, weights, ends)


def scatter_of_entries(X: np.ndarray, rows: np.ndarray, weights: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Sums of weight x x', those of slot s over the entries ends[s - 1] to ends[s]."""
    scatter = room_for_sums((len(ends),), X.shape[1], X.dtype)
    scatter[...] = 0
    add_scatters.of(X.dtype)(X, rows, weights, ends, scatter)
    return scatter


def room_for_sums(count: tuple[int, ...], n_features: int, dtype: np.dtype) -> np.ndarray:
    """Where `add_scatters` adds, after zeros were put there; so many matrices, or rows of them."""
    size = up_to(n_features, width_of(np.empty(0, dtype)))
    return np.empty((*count, size, size), dtype=dtype)


def scatters_signature(number: Any) -> Any:
    """add_scatters(X, rows, weights, ends, out)."""
    return types.void(
        constant_matrix(number),  # X
        vector(types.int64),  # rows
        vector(number),  # weights
        vector(types.int64),  # ends
        stack(number),  # out
    )


@compiled(scatters_signature)
def add_scatters(X, rows, weights, ends, out):
    """Add the sums of weight x x' of the entries of each slot."""
    size, most = out.shape[1], multiplied_at_a_time(out)
    plain, weighted, as_they_are = room_for(most * size, X), room_for(most * size, X), np.empty(0, X.dtype)
    begin = 0
    for s in range(ends.shape[0]):
        while begin < ends[s]:
            end = min(begin + most, ends[s])
            fill_panels(X, rows, as_they_are, begin, end, plain)
            fill_panels(X, rows, weights, begin, end, weighted)
            add_products(plain, weighted, end - begin, out, s)
            begin = end


@inline
def multiplied_at_a_time(sums):
    """How many rows are multiplied at a time."""
    return max(min(_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME // sums.shape[1]), _FEWEST_ROWS)


@inline
def fill_panels(X, rows, factors, begin, end, panels):
    """Some rows, or multiples of them: `width_of` numbers of all of them, then the next, with zeros behind the last."""
    # All rows in one call: a call of its own for each row takes five times as long, for numba passes arrays in parts.
    d, width = X.shape[1], width_of(X)
    last = d - d % width
    for n in range(end - begin):
        row, at = rows[begin + n], n * width
        factor = factors[begin + n] if factors.shape[0] > 0 else X.dtype.type(1)
        for j in range(0, last, width):
            put_multiple(X, row * d + j, factor, panels, at)
            at += (end - begin) * width
        if last < d:
            for v in range(width):
                panels[at + v] = factor * X[row, last + v] if last + v < d else X.dtype.type(0)


@inline
def add_products(one, other, count, out, s):
    """out[s] += the sum of u v' over as many rows u of some panels and v of others, at least in the lower triangle."""
    size, width = out.shape[1], width_of(out)
    for first in range(0, size, width):
        for j in range(first, size, ROWS):
            at, to = j // width * width * count + j % width, (s * size + j) * size + first
            if j + ROWS <= first + lanes_of(out):
                # Up to the diagonal, all is in the first vector.
                add_narrow_product(one, at, width, other, first * count, width, count, out, to, size)
            else:
                add_product(one, at, width, other, first * count, width, count, out, to, size)
