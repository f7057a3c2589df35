"""Second moments of samples: sums of weight x x', of which BLAS computes one triangle."""

from __future__ import annotations

import numpy as np
from numba import types

from protolearn.blas import add_product_of_rows, add_squares, blas, blas_type, multiply, multiply_by_rows
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


def gradient_of_scatter(
    prototypes: PrototypeSet, first: np.ndarray, mass: np.ndarray, scatter: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of c dD/dm for each prototype, and of c dD/dOmega = 2 c Omega v v', v = x - m, for each slot.

    first, mass : sums of c x and of c for each prototype, x and m from `prototypes.centring`
    scatter : sums of c x x' for each slot, what stands above the diagonal is not read
    """
    theta, W = prototypes.theta, prototypes.centring[1]
    dtype = theta.dtype
    first, mass = first.astype(np.float64, copy=False), mass.astype(np.float64, copy=False)
    scatter = np.ascontiguousarray(scatter, dtype=dtype)
    by_positions, by_theta = np.empty(W.shape, dtype=dtype), np.empty_like(theta)
    gemm = blas("gemm", dtype)

    def of_some(slots: slice) -> None:
        if gemm is None:
            _gradient_by_numpy(first, mass, scatter, W, theta, prototypes.slot, slots, by_positions, by_theta)
            return
        fill_gradient.of(dtype)(
            first, mass, scatter, W, theta, prototypes.slot, slots.start, slots.stop, gemm, by_positions, by_theta
        )

    in_parts(of_some, len(theta), scatter.size * theta.shape[1])
    return by_positions, by_theta


def _gradient_by_numpy(first, mass, scatter, W, theta, slot, slots, by_positions, by_theta) -> None:
    """As `fill_gradient`, where BLAS cannot be called from compiled functions."""
    for s in range(slots.start, slots.stop):
        members = slot == s
        crossed = (first[members] - 0.5 * mass[members, None] * W[members]).T @ W[members]
        lower = np.tril(scatter[s])
        whole = lower + np.tril(lower, -1).T - crossed - crossed.T
        by_theta[s] = 2.0 * theta[s] @ whole
        away = first[members] - mass[members, None] * W[members]
        by_positions[members] = -2.0 * (away @ theta[s].T) @ theta[s]


@compiled(
    lambda number: types.void(
        matrix(types.float64),  # sums of c x
        vector(types.float64),  # sums of c
        stack(number),  # sums of c x x'
        constant_matrix(number),  # W
        constant_stack(number),  # theta
        vector(types.int64),  # slot
        types.int64,  # the first slot
        types.int64,  # behind the last slot
        blas_type("gemm"),
        matrix(number),  # by the positions
        stack(number),  # by theta
    )
)
def fill_gradient(first, mass, scatter, W, theta, slot, begin, end, gemm, by_positions, by_theta):
    """The gradient of some slots and of their prototypes.

    The sum of c v v' is that of c x x', less x m' + m x' of each prototype m with x the sum of c (x - m / 2).
    """
    d, rows = W.shape[1], theta.shape[1]
    positions, mixed, away = np.empty_like(W), np.empty_like(W), np.empty_like(W)
    mapped = np.empty((W.shape[0], rows), W.dtype)
    crossed, whole = np.empty((d, d), W.dtype), np.empty((d, d), W.dtype)
    members = np.empty(W.shape[0], np.int64)
    for s in range(begin, end):
        count = 0
        for i in range(W.shape[0]):
            if slot[i] == s:
                members[count] = i
                take_sums(first[i], mass[i], W[i], positions[count], mixed[count], away[count])
                count += 1
        crossed[:] = 0
        if count > 0:
            add_product_of_rows(gemm, mixed[:count], positions[:count], crossed)
        complete_twice(scatter[s], crossed, whole)
        multiply(gemm, theta[s], whole, by_theta[s])
        if count > 0:
            multiply_by_rows(gemm, away[:count], theta[s], mapped[:count])
            multiply(gemm, mapped[:count], theta[s], mixed[:count])
        for k in range(count):
            by_positions[members[k]] = mixed[k]


@inline
def take_sums(first, mass, m, position, mixed, away):
    """m, the sum of c (x - m / 2), and minus twice the sum of c (x - m)."""
    for j in range(m.shape[0]):
        position[j] = m[j]
        mixed[j] = first[j] - 0.5 * mass * m[j]
        away[j] = -2.0 * (first[j] - mass * m[j])


@inline
def complete_twice(lower, crossed, out):
    """Twice a symmetric matrix, of which the lower triangle is read, less `crossed` and its transpose.

    In tiles, so that a line of the cache is written once.
    """
    d = out.shape[0]
    two = out.dtype.type(2)
    for first in range(0, d, 16):
        for last in range(0, first + 16, 16):
            for r in range(first, min(first + 16, d)):
                for j in range(last, min(last + 16, r + 1)):
                    value = two * (lower[r, j] - (crossed[r, j] + crossed[j, r]))
                    out[r, j] = value
                    out[j, r] = value
