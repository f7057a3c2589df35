"""The block of `batch` for losses of own and rival under matrices: the same sums in one call.

Each call of a compiled function or of BLAS from Python takes some 10 microseconds and the interpreter's lock twice. A
block of digits, 1257 x 64 with 50 prototypes, takes 400 microseconds of work, so that with a dozen calls two threads
take longer than one. The distances of a few rows are used where they are made, in the cache. The functions that
measure them and that add up products come as arguments, so that they are compiled once for all who call them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from protolearn.compiled import compiled, constant_matrix, inline, matrix, stack, vector
from protolearn.function_arguments import FunctionOf
from protolearn.losses import FieldLoss
from protolearn.losses.base import pair_signature
from protolearn.metrics.base import centred
from protolearn.metrics.omega import Omega
from protolearn.metrics.pulls import add_pairs, sort_entries
from protolearn.metrics.quadratic import (
    MatrixDistances,
    argument_types,
    distances_signature,
    fill_distances,
    measured_at_a_time,
)
from protolearn.metrics.scatter import add_scatters, scatters_signature, zero_sums
from protolearn.metrics.squared_maps import matrix_distances, numbered
from protolearn.metrics.thin_maps import is_thin
from protolearn.prototypes import PrototypeSet
from protolearn.solvers.base import Objective
from protolearn.solvers.kernels import pair_block, pair_block_signature


def serves(prototypes: PrototypeSet, objective: Objective) -> bool:
    """Whether the loss and the metric are such."""
    return (
        isinstance(objective.metric, Omega)
        and not isinstance(objective.loss, FieldLoss)
        and not is_thin(prototypes.theta)
    )


def value_and_moments(
    prototypes: PrototypeSet, objective: Objective, X: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[float, tuple[np.ndarray, ...]]:
    """The sum of the weighted losses, and the moments of `Omega.moments`; NaN and zeros where D is not finite."""
    dtype, labels, metric = prototypes.positions.dtype, prototypes.labels, objective.metric
    assert isinstance(metric, Omega)
    first, mass = np.zeros_like(prototypes.positions), np.zeros(len(prototypes), dtype=dtype)
    moments = first, mass, zero_sums(len(prototypes.theta), X.shape[1], dtype)
    samples = samples_of_block(objective, y, weight, labels, dtype)
    add = add_scatters.argument(dtype)
    centred_X = np.ascontiguousarray(centred(X, prototypes)[0])
    if metric.bounds(prototypes, objective.kept) is None:
        forms: MatrixDistances = prototypes.derived(matrix_distances)
        fill = fill_distances.argument(dtype)
        return pair_sums.of(dtype)(centred_X, fill, *forms.arguments, *samples, add, *moments), moments
    D = metric.distances_of_nearest(X, y, prototypes, objective.kept)
    return sums_of_distances.of(dtype)(centred_X, D, prototypes.slot, *samples, add, *moments), moments


def samples_of_block(
    objective: Objective, y: np.ndarray, weight: np.ndarray, labels: np.ndarray, dtype: np.dtype
) -> tuple[Any, ...]:
    """`pair_block`, and what it gets after the distances; `types_of_samples` has the types."""
    loss = objective.loss.coefficients.argument(dtype)
    return pair_block.argument(dtype), y, weight, labels, loss, objective.parameters(labels)


def types_of_samples(number: Any) -> tuple[Any, ...]:
    """Those of `samples_of_block`."""
    return (
        FunctionOf(pair_block_signature(number)),
        vector(types.int64),  # y
        vector(types.float64),  # weight
        vector(types.int64),  # labels
        FunctionOf(pair_signature(number)),
        vector(types.float64),  # parameters
    )


def _types_of_moments(number: Any) -> tuple[Any, ...]:
    return (
        FunctionOf(scatters_signature(number)),
        matrix(number),  # sums of c x
        vector(number),  # sums of c
        stack(number),  # sums of c x x' of each slot
    )


@compiled(
    lambda number: types.float64(
        constant_matrix(number),  # X
        FunctionOf(distances_signature(number)),
        *argument_types(number),
        *types_of_samples(number),
        *_types_of_moments(number),
    )
)
def pair_sums(
    X, fill, tiles, constants, slot, n_matrices, take, y, weight, labels, loss, parameters, add, first, mass, scatter
):  # fmt: skip
    """The weighted losses of a block; its moments are added up, those of x x' in the lower triangles."""
    n = X.shape[0]
    pairs, pulls = np.empty((n, 2), np.int32), np.empty((n, 2), X.dtype)
    most = measured_at_a_time(X)
    D = np.empty((constants.shape[0], most), X.dtype)
    value = 0.0
    for begin in range(0, n, most):
        end = min(begin + most, n)
        fill(X, begin, end, tiles, constants, slot, n_matrices, D)
        value += take(
            D[: labels.shape[0]], y[begin:end], weight[begin:end], labels, loss, parameters, pairs[begin:end],
            pulls[begin:end],
        )  # fmt: skip
    if not np.isfinite(value):
        return np.nan
    add_moments(X, pairs, pulls, slot, add, first, mass, scatter)
    return value


@compiled(
    lambda number: types.float64(
        constant_matrix(number),  # X
        matrix(number),  # D, one prototype a row
        vector(types.int64),  # slot
        *types_of_samples(number),
        *_types_of_moments(number),
    )
)
def sums_of_distances(X, D, slot, take, y, weight, labels, loss, parameters, add, first, mass, scatter):
    """As `pair_sums`, of distances that are known."""
    n = X.shape[0]
    pairs, pulls = np.empty((n, 2), np.int32), np.empty((n, 2), X.dtype)
    value = take(D, y, weight, labels, loss, parameters, pairs, pulls)
    if not np.isfinite(value):
        return np.nan
    add_moments(X, pairs, pulls, slot, add, first, mass, scatter)
    return value


@inline
def add_moments(X, pairs, pulls, slot, add, first, mass, scatter):
    """Sums of c x and of c for each prototype, of c x x' for each slot."""
    n = X.shape[0]
    add_pairs(X, pairs, pulls, first)
    add_masses(pairs, pulls, mass)
    if scatter.shape[0] == 1:
        ends = np.empty(1, np.int64)
        ends[0] = n
        add(X, numbered(n), sums_of_both(pulls), ends, scatter)
        return
    ends = ends_of_slots(pairs, slot, scatter.shape[0])
    rows, sorted_pulls = np.empty(2 * n, np.int64), np.empty(2 * n, X.dtype)
    sort_entries(pairs, pulls, slot, ends.copy(), rows, sorted_pulls)
    add(X, rows, sorted_pulls, ends, scatter)


@inline
def add_masses(pairs, pulls, mass):
    """Both coefficients of each row to their prototypes."""
    for n in range(pairs.shape[0]):
        for side in range(2):
            mass[pairs[n, side]] += pulls[n, side]


@inline
def sums_of_both(pulls):
    """The sum of both coefficients of each row."""
    sums = np.empty(pulls.shape[0], pulls.dtype)
    for n in range(pulls.shape[0]):
        sums[n] = pulls[n, 0] + pulls[n, 1]
    return sums


@inline
def ends_of_slots(pairs, slot, n_slots):
    """Where the coefficients of each slot end, sorted by slot."""
    ends = np.zeros(n_slots, np.int64)
    for n in range(pairs.shape[0]):
        for side in range(2):
            ends[slot[pairs[n, side]]] += 1
    for s in range(1, n_slots):
        ends[s] += ends[s - 1]
    return ends
