"""The block of `batch` for losses of own and rival under matrices: the same sums, most of them in one call.

Each call of a compiled function or of BLAS from Python takes some 10 microseconds and the interpreter's lock twice. A
block of digits, 1257 x 64 with 50 prototypes, takes 400 microseconds of work, so that with a dozen calls two threads
take longer than one.
"""

from __future__ import annotations

import numpy as np
from numba import types

from protolearn.blas import blas, blas_type
from protolearn.compiled import compiled, constant_matrix, inline, matrix, stack, vector
from protolearn.losses import FieldLoss
from protolearn.losses.base import pair_signature
from protolearn.metrics.base import centred
from protolearn.metrics.omega import Omega
from protolearn.metrics.pulls import add_pairs, sort_entries
from protolearn.metrics.scatter import add_scatters, rows_at_a_time, scale_rows, squares_of_scaled
from protolearn.metrics.thin_maps import is_thin
from protolearn.prototypes import PrototypeSet
from protolearn.solvers.base import Objective
from protolearn.solvers.kernels import pair_block


def serves(prototypes: PrototypeSet, objective: Objective) -> bool:
    """Whether the loss and the metric are such."""
    return (
        isinstance(objective.metric, Omega)
        and not isinstance(objective.loss, FieldLoss)
        and not is_thin(prototypes.theta)
        and blas("syrk", prototypes.theta.dtype) is not None
    )


def value_and_moments(
    prototypes: PrototypeSet, objective: Objective, X: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[float, tuple[np.ndarray, ...]]:
    """The sum of the weighted losses, and the moments of `Omega.moments`; NaN and zeros where D is not finite."""
    dtype, labels = prototypes.positions.dtype, prototypes.labels
    D = objective.metric.distances_of_nearest(X, y, prototypes, objective.kept)
    X = np.ascontiguousarray(centred(X, prototypes)[0])
    first, mass = np.zeros_like(prototypes.positions), np.zeros(len(prototypes), dtype=dtype)
    n_slots, d = len(prototypes.theta), X.shape[1]
    scatter = np.zeros((n_slots, d, d), dtype=dtype)
    # One matrix: all rows are scaled here and multiplied by numpy's BLAS, which is the newer one.
    work = np.empty((len(X) if n_slots == 1 else rows_at_a_time(2 * len(X), d), d), dtype=dtype)
    value, positive, negative = pair_sums.of(dtype)(
        X, D, y, weight, labels, prototypes.slot, objective.loss.coefficients.argument(dtype),
        objective.parameters(labels), blas("syrk", dtype), work, first, mass, scatter,
    )  # fmt: skip
    if n_slots == 1:
        squares_of_scaled(work[:positive], work[negative:], scatter[0])
    return value, (first, mass, scatter)


@compiled(
    lambda number: types.Tuple((types.float64, types.int64, types.int64))(
        constant_matrix(number),  # X
        matrix(number),  # D, one prototype a row
        vector(types.int64),  # y
        vector(types.float64),  # weight
        vector(types.int64),  # labels
        vector(types.int64),  # slot
        types.FunctionType(pair_signature(number)),
        vector(types.float64),  # parameters
        blas_type("syrk"),
        matrix(number),  # work
        matrix(number),  # sums of c x
        vector(number),  # sums of c
        stack(number),  # sums of c x x' of each slot
    )
)
def pair_sums(X, D, y, weight, labels, slot, loss, parameters, syrk, work, first, mass, scatter):
    """The weighted losses of a block; its moments are added up, those of x x' in the lower triangles.

    With one slot `work` holds the scaled rows instead: how many of them are positive, where the negative ones begin.
    """
    n = X.shape[0]
    pairs, pulls = np.empty((n, 2), np.int32), np.empty((n, 2), X.dtype)
    value = pair_block(D, y, weight, labels, loss, parameters, pairs, pulls)
    if not np.isfinite(value):
        return np.nan, 0, n
    add_pairs(X, pairs, pulls, first)
    add_masses(pairs, pulls, mass)
    if scatter.shape[0] == 1:
        positive, negative = scale_rows(X, np.arange(n), sums_of_both(pulls), work)
        return value, positive, negative
    ends = ends_of_slots(pairs, slot, scatter.shape[0])
    rows, sorted_pulls = np.empty(2 * n, np.int64), np.empty(2 * n, X.dtype)
    sort_entries(pairs, pulls, slot, ends.copy(), rows, sorted_pulls)
    add_scatters(X, rows, sorted_pulls, ends, syrk, work, scatter)
    return value, 0, n


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
