"""The block of `batch` for losses of own and rival under maps to few numbers: the same sums in one call.

A row is mapped once, for the distances and for the gradient, and read while it is in the cache.
"""

from __future__ import annotations

import numpy as np
from numba import types

from protolearn.blas import add_product_of_rows, blas, blas_type, multiply_by_rows
from protolearn.compiled import compiled, constant_matrix, inline, matrix, stack, vector, vectorised
from protolearn.data.kept_rows import row_products
from protolearn.losses import FieldLoss
from protolearn.metrics.base import centred
from protolearn.metrics.omega import Omega
from protolearn.metrics.pulls import add_pairs
from protolearn.metrics.thin_maps import is_thin, map_and_measure, mapped_positions, squared_differences_of_parts
from protolearn.prototypes import PrototypeSet
from protolearn.solvers.base import Objective
from protolearn.solvers.omega_block import add_masses, ends_of_slots, samples_of_block, types_of_samples

# Rows that are mapped at a time: as many as have so many numbers after all maps, but not fewer than these.
_NUMBERS_AT_A_TIME, _FEWEST_ROWS = 1 << 16, 64
_MOST_ROWS = 512
# Numbers of rows of one slot that are multiplied at a time.
_GATHERED_AT_A_TIME = 1 << 17


def serves(prototypes: PrototypeSet, objective: Objective) -> bool:
    """Whether the loss and the metric are such."""
    return (
        isinstance(objective.metric, Omega)
        and not isinstance(objective.loss, FieldLoss)
        and is_thin(prototypes.theta)
        and blas("gemm", prototypes.theta.dtype) is not None
    )


def value_and_moments(
    prototypes: PrototypeSet, objective: Objective, X: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[float, tuple[np.ndarray, ...]]:
    """The sum of the weighted losses, and the moments of `Omega.moments`; NaN and zeros where D is not finite."""
    dtype, theta = prototypes.positions.dtype, prototypes.theta
    mapped: np.ndarray = prototypes.derived(mapped_positions)
    moments = np.zeros_like(prototypes.positions), np.zeros(len(prototypes), dtype=dtype), np.zeros_like(theta)
    value = thin_sums.of(dtype)(
        np.ascontiguousarray(centred(X, prototypes)[0]), theta.reshape(-1, theta.shape[2]), mapped,
        row_products(mapped, mapped), prototypes.slot,
        *samples_of_block(objective, y, weight, prototypes.labels, dtype), blas("gemm", dtype), *moments,
    )  # fmt: skip
    return value, moments


@compiled(
    lambda number: types.float64(
        constant_matrix(number),  # X
        matrix(number),  # all maps, one below the other
        matrix(number),  # prototypes, each mapped by its own
        vector(number),  # their squared lengths
        vector(types.int64),  # slot
        *types_of_samples(number),
        blas_type("gemm"),
        matrix(number),  # sums of c x
        vector(number),  # sums of c
        stack(number),  # Omega times the sums of c x x' of each slot
    )
)
def thin_sums(X, maps, mapped, lengths, slot, take, y, weight, labels, loss, parameters, gemm, first, mass, scatter):
    """The weighted losses of a block; its moments are added up."""
    n, r = X.shape[0], mapped.shape[1]
    one_map = scatter.shape[0] == 1
    pairs, pulls = np.empty((n, 2), np.int32), np.empty((n, 2), X.dtype)
    pulled = np.empty((0 if one_map else 2 * n, r), X.dtype)
    most = max(min(_MOST_ROWS, _NUMBERS_AT_A_TIME // maps.shape[0], n), min(n, _FEWEST_ROWS), 1)
    of_rows, of_distances = np.empty(maps.shape[0] * most, X.dtype), np.empty(labels.shape[0] * most, X.dtype)
    value = 0.0
    for begin in range(0, n, most):
        end = min(begin + most, n)
        count, some = end - begin, X[begin:end]
        D = of_distances[: labels.shape[0] * count].reshape((labels.shape[0], count))
        Z = of_rows[: maps.shape[0] * count].reshape((count, r) if one_map else (maps.shape[0], count))
        if one_map:
            map_and_measure(some, maps, mapped, lengths, gemm, Z, D)
        else:
            multiply_by_rows(gemm, maps, some, Z)
            squared_differences_of_parts(Z, mapped, slot, 0, D)
        value += take(D, y[begin:end], weight[begin:end], labels, loss, parameters, pairs[begin:end], pulls[begin:end])
        if not np.isfinite(value):
            scatter[:] = 0
            return np.nan
        if one_map:
            scale_rows_by_both(pulls[begin:end], Z)
            add_product_of_rows(gemm, Z, some, scatter[0])
        else:
            take_columns(Z, pairs[begin:end], pulls[begin:end], slot, pulled[2 * begin : 2 * end])
    add_pairs(X, pairs, pulls, first)
    add_masses(pairs, pulls, mass)
    if not one_map:
        add_by_slot(X, pairs, pulled, slot, gemm, scatter)
    return value


@vectorised
def scale_rows_by_both(pulls, Z):
    """Each row times the sum of both coefficients of its sample."""
    for n in range(Z.shape[0]):
        c = pulls[n, 0] + pulls[n, 1]
        for k in range(Z.shape[1]):
            Z[n, k] *= c


@vectorised
def take_columns(Z, pairs, pulls, slot, out):
    """Each coefficient of a sample times the part of its column of Z that the map of that slot made, one a row."""
    r = out.shape[1]
    for n in range(pairs.shape[0]):
        for side in range(2):
            c, at = pulls[n, side], slot[pairs[n, side]] * r
            for k in range(r):
                out[2 * n + side, k] = c * Z[at + k, n]


@inline
def add_by_slot(X, pairs, pulled, slot, gemm, scatter):
    """scatter[s] += the sum of z x' over the entries of each slot, z their rows of `pulled`."""
    d, r = X.shape[1], pulled.shape[1]
    ends = ends_of_slots(pairs, slot, scatter.shape[0])
    entries, at = np.empty(pulled.shape[0], np.int64), ends.copy()
    for n in range(pairs.shape[0] - 1, -1, -1):
        for side in range(1, -1, -1):
            s = slot[pairs[n, side]]
            at[s] -= 1
            entries[at[s]] = 2 * n + side
    most = max(min(_GATHERED_AT_A_TIME // d, entries.shape[0]), 1)
    rows, parts = np.empty((most, d), X.dtype), np.empty((most, r), X.dtype)
    begin = 0
    for s in range(ends.shape[0]):
        while begin < ends[s]:
            end = min(begin + most, ends[s])
            gather(X, pulled, entries[begin:end], rows, parts)
            add_product_of_rows(gemm, parts[: end - begin], rows[: end - begin], scatter[s])
            begin = end


@vectorised
def gather(X, pulled, entries, rows, parts):
    """The rows of some entries, and what stands for each of them in `pulled`."""
    for e in range(entries.shape[0]):
        n = entries[e] // 2
        for j in range(X.shape[1]):
            rows[e, j] = X[n, j]
        for k in range(pulled.shape[1]):
            parts[e, k] = pulled[entries[e], k]
