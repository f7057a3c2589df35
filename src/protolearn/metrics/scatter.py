"""Second moments of samples: sums of weight x x', of which BLAS computes one triangle."""

from __future__ import annotations

import numpy as np
from numba import types

from protolearn.blas import add_product_of_rows, add_squares, blas, blas_type
from protolearn.compiled import (
    VECTORISED,
    compiled,
    constant_matrix,
    constant_stack,
    inline,
    matrix,
    stack,
    vector,
    vectorised,
)
from protolearn.metrics.pulls import Pull, entries_by_slot
from protolearn.prototypes import PrototypeSet
from protolearn.threads import in_parts

# Rows that are multiplied at a time: so many, or as many as have so many numbers.
_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME = 512, 1 << 17
# Features up to which one product of two matrices takes less time than A'A of two parts.
_FEW_FEATURES = 96


def scatter_by_slot(X: np.ndarray, pull: Pull, prototypes: PrototypeSet) -> np.ndarray:
    """The sum of coefficient x x' over the rows and the prototypes of each slot; above the diagonal is anything."""
    rows, weights, ends = entries_by_slot(pull, prototypes.slot, len(prototypes.theta))
    return scatter_of_entries(np.ascontiguousarray(X), rows, weights, ends)


def scatter_of_entries(X: np.ndarray, rows: np.ndarray, weights: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Sums of weight x x', those of slot s over the entries ends[s - 1] to ends[s]; above the diagonal is anything."""
    d = X.shape[1]
    scatter = np.zeros((len(ends), d, d), dtype=X.dtype)
    gemm, syrk = blas("gemm", X.dtype), blas("syrk", X.dtype)
    if gemm is None or syrk is None:
        for s, end in enumerate(ends.tolist()):
            entries = slice(int(ends[s - 1]) if s else 0, end)
            part = X[rows[entries]]
            np.matmul((weights[entries, None] * part).T, part, out=scatter[s])
        return scatter
    add_scatters.of(X.dtype)(X, rows, weights, ends, gemm, syrk, room_for_scatters(X, len(rows), len(ends)), scatter)
    return scatter


@inline
def room_for_scatters(X, n_entries, n_slots):
    """Room for the rows that `add_scatters` multiplies at a time, where it weighs them twice."""
    d = X.shape[1]
    most = max(min(_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME // d, n_entries), 1)
    return np.empty((2 * most if weighs_rows(d, n_slots) else most, d), X.dtype)


@inline
def weighs_rows(n_features, n_slots):
    """Whether sums are products of two matrices."""
    return n_slots > 1 and n_features <= _FEW_FEATURES


@compiled(
    lambda number: types.void(
        constant_matrix(number),  # X
        vector(types.int64),  # rows
        vector(number),  # weights
        vector(types.int64),  # ends
        blas_type("gemm"),
        blas_type("syrk"),
        matrix(number),  # work, of `room_for_scatters`
        stack(number),  # out
    ),
    fastmath=VECTORISED,
)
def add_scatters(X, rows, weights, ends, gemm, syrk, work, out):
    """Add the sums of weight x x' of the entries of each slot, at least to its lower triangle.

    Positive and negative weights apart, each as A'A with A = sqrt(|weight|) x: half the operations of (weight x)'x.
    That all the same where slots are several and features few: twice as many rows at a time then take less time.
    """
    weighs = weighs_rows(X.shape[1], out.shape[0])
    most = work.shape[0] // 2 if weighs else work.shape[0]
    begin = 0
    for s in range(ends.shape[0]):
        while begin < ends[s]:
            end = min(begin + most, ends[s])
            some = rows[begin:end]
            if weighs:
                weighted, plain = work[: end - begin], work[most : most + end - begin]
                weigh_rows(X, some, weights[begin:end], weighted, plain)
                add_product_of_rows(gemm, weighted, plain, out[s])
                begin = end
                continue
            positive, negative = scale_rows(X, some, weights[begin:end], work)
            if positive > 0:
                add_squares(syrk, work[:positive], 1.0, out[s])
            if negative < end - begin:
                add_squares(syrk, work[negative : end - begin], -1.0, out[s])
            begin = end


@vectorised
def weigh_rows(X, rows, weights, weighted, plain):
    """Some rows, and weight times each."""
    for n in range(rows.shape[0]):
        row = rows[n]
        for j in range(X.shape[1]):
            plain[n, j] = X[row, j]
        for j in range(X.shape[1]):
            weighted[n, j] = weights[n] * X[row, j]


def lower_squares(maps: np.ndarray) -> np.ndarray:
    """A'A of each of several matrices A: its lower triangle."""
    d = maps.shape[2]
    found = np.zeros((len(maps), d, d), dtype=maps.dtype)
    syrk = blas("syrk", maps.dtype)
    if syrk is None:
        return np.tril(np.matmul(maps.transpose(0, 2, 1), maps, out=found))

    def add_some(part: slice) -> None:
        add_square_of_each.of(maps.dtype)(maps[part], syrk, found[part])

    in_parts(add_some, len(maps), maps.size * (d // 2))
    return found


@compiled(lambda number: types.void(constant_stack(number), blas_type("syrk"), stack(number)))
def add_square_of_each(maps, syrk, out):
    """out += A'A for each matrix A, in the lower triangle."""
    for s in range(maps.shape[0]):
        add_squares(syrk, maps[s], 1.0, out[s])


@vectorised
def scale_rows(X, rows, weights, out):
    """sqrt(|weight|) x, rows of positive weight from the front on, of negative from the back; where both end."""
    front, back = 0, rows.shape[0]
    for n in range(rows.shape[0]):
        if weights[n] == 0:
            continue
        if weights[n] < 0:
            back -= 1
            at = back
        else:
            at = front
            front += 1
        factor = np.sqrt(abs(weights[n]))
        row = rows[n]
        for j in range(X.shape[1]):
            out[at, j] = factor * X[row, j]
    return front, back


def mapped_scatter_of_differences(
    scatter: np.ndarray, mixed: np.ndarray, W: np.ndarray, prototypes: PrototypeSet
) -> np.ndarray:
    """Omega times the sums of c v v', v = x - m, for each slot.

    scatter : sums of c x x', what stands above the diagonal is not read
    mixed : for each prototype the sum of c (x - m / 2)
    """
    theta = prototypes.theta
    found = np.empty_like(theta)

    def of_some(slots: slice) -> None:
        differences = _scatter_of_differences(scatter[slots], mixed, W, prototypes.slot - slots.start)
        np.matmul(theta[slots], differences, out=found[slots])

    in_parts(of_some, len(theta), scatter.size * theta.shape[1])
    return found


def _scatter_of_differences(scatter: np.ndarray, mixed: np.ndarray, W: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """c x x' over the samples, less x m' + m x' - m m' over the prototypes of the slot; the slots from 0 on."""
    found = scatter.astype(W.dtype)
    crossed = mixed.T @ W if len(found) == 1 else np.empty((0, 0), dtype=W.dtype)
    if len(found) > 1:
        subtract_crossed.of(W.dtype)(mixed, W, slot, found)
    complete_triangles.of(W.dtype)(crossed, found)
    return found


@compiled(
    lambda number: types.void(
        matrix(number),  # mixed
        constant_matrix(number),  # W
        vector(types.int64),  # slot
        stack(number),  # out
    ),
    fastmath=VECTORISED,
)
def subtract_crossed(mixed, W, slot, out):
    """out[slot of m] -= x m' + m x' for each prototype m of these slots, x its row of `mixed`; the lower triangle."""
    for r in range(W.shape[1]):
        for i in range(W.shape[0]):
            if slot[i] < 0 or slot[i] >= out.shape[0]:
                continue
            m, x, row = W[i], mixed[i], out[slot[i], r]
            for j in range(r + 1):
                row[j] -= x[r] * m[j] + m[r] * x[j]


@compiled(lambda number: types.void(matrix(number), stack(number)))
def complete_triangles(crossed, out):
    """What stands above the diagonals: the same as below, less `crossed` and its transpose, where they are given.

    In tiles, so that a line of the cache is written once.
    """
    d = out.shape[1]
    for s in range(out.shape[0]):
        for first in range(0, d, 16):
            for last in range(0, first + 16, 16):
                for r in range(first, min(first + 16, d)):
                    for j in range(last, min(last + 16, r + 1)):
                        value = out[s, r, j]
                        if crossed.shape[0] > 0:
                            value -= crossed[r, j] + crossed[j, r]
                        out[s, r, j] = value
                        out[s, j, r] = value
