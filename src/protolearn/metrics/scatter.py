"""Second moments of samples: sums of weight x x', of which one triangle is enough.

They are kept in matrices of a multiple of `width_of` rows and columns, as the tiles add them up. What stands above the
diagonal, and behind the features, is not read.
"""

from __future__ import annotations

import numpy as np
from numba import types

from protolearn.blas import blas, blas_type, multiply, multiply_by_rows
from protolearn.compiled import (
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
from protolearn.metrics.quadratic import up_to
from protolearn.prototypes import PrototypeSet
from protolearn.threads import in_parts
from protolearn.tiles import ROWS, add_product, lanes_of, put_columns, put_multiple, room_for, width_of

# Rows that are multiplied at a time: so many, or as many as have so many numbers, but not fewer than these.
_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME, _FEWEST_ROWS = 256, 1 << 17, 64


def scatter_by_slot(X: np.ndarray, pull: Pull, prototypes: PrototypeSet) -> np.ndarray:
    """The sum of coefficient x x' over the rows and the prototypes of each slot."""
    rows, weights, ends = entries_by_slot(pull, prototypes.slot, len(prototypes.theta))
    return scatter_of_entries(np.ascontiguousarray(X), rows, weights, ends)


def scatter_of_entries(X: np.ndarray, rows: np.ndarray, weights: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Sums of weight x x', those of slot s over the entries ends[s - 1] to ends[s]."""
    scatter = zero_sums(len(ends), X.shape[1], X.dtype)
    add_scatters.of(X.dtype)(X, rows, weights, ends, scatter)
    return scatter


def lower_squares(maps: np.ndarray) -> np.ndarray:
    """A'A of each of several matrices A."""
    n_maps, n_rows, d = maps.shape
    found = zero_sums(n_maps, d, maps.dtype)

    def add_some(part: slice) -> None:
        some = maps[part].reshape(-1, d)
        ends = np.arange(n_rows, len(some) + 1, n_rows)
        add_scatters.of(maps.dtype)(some, np.arange(len(some)), np.ones(len(some), maps.dtype), ends, found[part])

    in_parts(add_some, n_maps, maps.size * (d // 2))
    return found


def zero_sums(n_slots: int, n_features: int, dtype: np.dtype) -> np.ndarray:
    """Where `add_scatters` adds."""
    size = up_to(n_features, width_of(np.empty(0, dtype)))
    return np.zeros((n_slots, size, size), dtype=dtype)


@compiled(
    lambda number: types.void(
        constant_matrix(number),  # X
        vector(types.int64),  # rows
        vector(number),  # weights
        vector(types.int64),  # ends
        stack(number),  # out
    )
)
def add_scatters(X, rows, weights, ends, out):
    """Add the sums of weight x x' of the entries of each slot."""
    d, size = X.shape[1], out.shape[1]
    numbers, ones = X.reshape(-1), np.ones(rows.shape[0], X.dtype)
    most = max(min(_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME // size), _FEWEST_ROWS)
    plain, weighted = room_for(most * size, X), room_for(most * size, X)
    begin = 0
    for s in range(ends.shape[0]):
        while begin < ends[s]:
            end = min(begin + most, ends[s])
            count = end - begin
            fill_panels(numbers, d, rows, ones, begin, end, plain)
            fill_panels(numbers, d, rows, weights, begin, end, weighted)
            add_products(plain, weighted, count, out[s])
            begin = end


@inline
def fill_panels(numbers, d, rows, factors, begin, end, panels):
    """Multiples of some rows: `width_of` numbers of all of them, then the next, with zeros behind the last."""
    # All rows in one call: a call of its own for each row takes five times as long, for numba passes arrays in parts.
    width = width_of(numbers)
    last = d - d % width
    for n in range(end - begin):
        row, factor, at = rows[begin + n] * d, factors[begin + n], n * width
        for j in range(0, last, width):
            put_multiple(numbers, row + j, factor, panels, at)
            at += (end - begin) * width
        if last < d:
            for v in range(width):
                panels[at + v] = factor * numbers[row + last + v] if last + v < d else numbers.dtype.type(0)


@inline
def add_products(one, other, count, out):
    """out += the sum of u v' over as many rows u of some panels and v of others, at least in the lower triangle."""
    size, width = out.shape[1], width_of(out)
    sums = out.reshape(-1)
    for first in range(0, size, width):
        for j in range(first, size, ROWS):
            at = j // width * width * count + j % width
            add_product(one, at, width, other, first * count, count, sums, j * size + first, size)


def gradient_of_scatter(
    prototypes: PrototypeSet, first: np.ndarray, mass: np.ndarray, scatter: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of c dD/dm for each prototype, and of c dD/dOmega = 2 c Omega v v', v = x - m, for each slot.

    first, mass : sums of c x and of c for each prototype, x and m from `prototypes.centring`
    scatter : sums of c x x' for each slot
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
    d = W.shape[1]
    for s in range(slots.start, slots.stop):
        members = slot == s
        crossed = (first[members] - 0.5 * mass[members, None] * W[members]).T @ W[members]
        lower = np.tril(scatter[s, :d, :d])
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
    n_prototypes, d, size = W.shape[0], W.shape[1], scatter.shape[1]
    mixed, away, mapped = np.empty_like(W), np.empty_like(W), np.empty((n_prototypes, theta.shape[1]), W.dtype)
    positions, others = room_for(n_prototypes * size, W), room_for(n_prototypes * size, W)
    sums, whole = np.empty((size, size), W.dtype), np.empty((d, d), W.dtype)
    numbers, mixed_numbers, ones = W.reshape(-1), mixed.reshape(-1), np.ones(n_prototypes, W.dtype)
    members, places = np.empty(n_prototypes, np.int64), np.arange(n_prototypes)
    for s in range(begin, end):
        count = take_sums(first, mass, W, slot, s, members, mixed, away)
        fill_panels(numbers, d, members, ones, 0, count, positions)
        fill_panels(mixed_numbers, d, places, ones, 0, count, others)
        put_twice(scatter[s], sums)
        add_products(positions, others, count, sums)
        add_products(others, positions, count, sums)
        complete(sums, whole)
        multiply(gemm, theta[s], whole, by_theta[s])
        if count > 0:
            multiply_by_rows(gemm, away[:count], theta[s], mapped[:count])
            multiply(gemm, mapped[:count], theta[s], mixed[:count])
        for k in range(count):
            for j in range(d):
                by_positions[members[k], j] = mixed[k, j]


@inline
def take_sums(first, mass, W, slot, s, members, mixed, away):
    """The prototypes m of a slot, minus twice their sums of c (x - m / 2) and of c (x - m); how many there are."""
    count = 0
    for i in range(W.shape[0]):
        if slot[i] == s:
            members[count] = i
            for j in range(W.shape[1]):
                mixed[count, j] = -2.0 * (first[i, j] - 0.5 * mass[i] * W[i, j])
                away[count, j] = -2.0 * (first[i, j] - mass[i] * W[i, j])
            count += 1
    return count


@vectorised
def put_twice(one, out):
    """out = 2 one."""
    two = out.dtype.type(2)
    for r in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[r, j] = two * one[r, j]


@inline
def complete(lower, out):
    """A symmetric matrix, of which the lower triangle is read: all rows, then squares of them turned over."""
    d, size, lanes = out.shape[0], lower.shape[1], lanes_of(out)
    numbers, found, starts = lower.reshape(-1), out.reshape(-1), np.empty(lanes, np.int64)
    for r in range(d):
        for j in range(d):
            found[r * d + j] = numbers[r * size + j]
    for first in range(0, d, lanes):
        end = min(first + lanes, d)
        turned = first if end == first + lanes else 0
        for v in range(lanes):
            starts[v] = (first + v) * size
        for last in range(0, turned, lanes):
            put_columns(numbers, starts, 0, last, found, last * d + first, d)
        for r in range(first, end):
            for j in range(turned, r):
                found[j * d + r] = numbers[r * size + j]
