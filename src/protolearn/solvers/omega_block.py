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

from protolearn.compiled import compiled, constant_matrix, inline, matrix, stack, vector, vectorised
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
    put_zeros,
)
from protolearn.metrics.scatter import add_scatters, room_for_sums, scatters_signature
from protolearn.metrics.squared_maps import matrix_distances, numbered
from protolearn.metrics.thin_maps import is_thin
from protolearn.partner import BOX, in_company, run_pieces
from protolearn.prototypes import PrototypeSet
from protolearn.solvers.base import Objective
from protolearn.solvers.kernels import pair_block, pair_block_signature

Moments = tuple[np.ndarray, ...]


def serves(prototypes: PrototypeSet, objective: Objective) -> bool:
    """Whether the loss and the metric are such."""
    return (
        isinstance(objective.metric, Omega)
        and not isinstance(objective.loss, FieldLoss)
        and not is_thin(prototypes.theta)
    )


def value_and_moments(
    prototypes: PrototypeSet, objective: Objective, X: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[float, Moments]:
    """The sum of the weighted losses, and the moments of `Omega.moments`; NaN and zeros where D is not finite."""
    dtype = prototypes.positions.dtype
    found = _arguments(prototypes, objective, X, y, weight)
    if found is not None:
        arguments, moments = found
        return pair_sums.of(dtype)(*arguments), moments
    metric = objective.metric
    assert isinstance(metric, Omega)
    moments = _room_for_moments(prototypes)
    D = metric.distances_of_nearest(X, y, prototypes, objective.kept)
    samples = samples_of_block(objective, y, weight, prototypes.labels, dtype)
    centred_X = np.ascontiguousarray(centred(X, prototypes)[0])
    add = add_scatters.argument(dtype)
    return sums_of_distances.of(dtype)(centred_X, D, prototypes.slot, *samples, add, *moments), moments


def value_and_moments_of_pieces(
    prototypes: PrototypeSet, objective: Objective, X: np.ndarray, y: np.ndarray, weight: np.ndarray, length: int
) -> tuple[float, Moments] | None:
    """As `value_and_moments`, the sums over pieces of so many rows; None where it takes more than one call for each."""
    n_pieces = -(-len(X) // length)
    found = _arguments(prototypes, objective, X, y, weight, n_pieces)
    if found is None:
        return None
    arguments, moments = found
    dtype = prototypes.positions.dtype
    sums = pair_sums.argument(dtype), sums_of_piece.argument(dtype)
    return in_company(sums_of_pieces, dtype, *sums, *arguments, length), tuple(part[0] for part in moments)


def _room_for_moments(prototypes: PrototypeSet, n_pieces: int | None = None) -> Moments:
    """Those of a block, or of each of some pieces."""
    positions = prototypes.positions
    n, d = positions.shape
    pieces = () if n_pieces is None else (n_pieces,)
    first, mass = np.empty((*pieces, n, d), positions.dtype), np.empty((*pieces, n), positions.dtype)
    return first, mass, room_for_sums((*pieces, len(prototypes.theta)), d, positions.dtype)


def _arguments(
    prototypes: PrototypeSet,
    objective: Objective,
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    n_pieces: int | None = None,
) -> tuple[tuple[Any, ...], Moments] | None:
    """What `pair_sums` gets, and the moments among it; None where distances come from bounds."""
    dtype, metric = prototypes.positions.dtype, objective.metric
    assert isinstance(metric, Omega)
    if metric.bounds(prototypes, objective.kept) is not None:
        return None
    forms: MatrixDistances = prototypes.derived(matrix_distances)
    moments = _room_for_moments(prototypes, n_pieces)
    samples = samples_of_block(objective, y, weight, prototypes.labels, dtype)
    centred_X = np.ascontiguousarray(centred(X, prototypes)[0])
    fill, add = fill_distances.argument(dtype), add_scatters.argument(dtype)
    return (centred_X, fill, *forms.arguments, *samples, add, *moments), moments


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


def _types_of_sums(number: Any) -> Any:
    return types.float64(
        constant_matrix(number),  # X
        FunctionOf(distances_signature(number)),
        *argument_types(number),
        *types_of_samples(number),
        *_types_of_moments(number),
    )


@compiled(_types_of_sums)
def pair_sums(
    X, fill, tiles, constants, slot, n_matrices, take, y, weight, labels, loss, parameters, add, first, mass, scatter
):  # fmt: skip
    """The weighted losses of a block, and its moments, those of x x' in the lower triangles."""
    n = X.shape[0]
    put_no_moments(first, mass, scatter)
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


def _types_with_pieces(number: Any) -> tuple[Any, ...]:
    """What sums over pieces get: the arguments of `pair_sums`, with moments of each piece, and how long these are."""
    return (
        FunctionOf(_types_of_sums(number)),
        *_types_of_sums(number).args[:-3],
        stack(number),  # sums of c x of each piece
        matrix(number),  # sums of c
        types.Array(number, 4, "C"),  # sums of c x x' of each slot
        types.int64,  # rows of a piece
    )


def _types_of_piece(number: Any) -> Any:
    return types.void(
        *_types_with_pieces(number),
        vector(types.float64),  # values
        types.int64,  # piece
    )


@compiled(_types_of_piece)
def sums_of_piece(
    sums, X, fill, tiles, constants, slot, n_matrices, take, y, weight, labels, loss, parameters, add, first, mass,
    scatter, length, values, piece,
):  # fmt: skip
    """`pair_sums` of the rows of one piece."""
    rows = slice(piece * length, min((piece + 1) * length, X.shape[0]))
    values[piece] = sums(
        X[rows], fill, tiles, constants, slot, n_matrices, take, y[rows], weight[rows], labels, loss, parameters, add,
        first[piece], mass[piece], scatter[piece],
    )  # fmt: skip


@compiled(
    lambda number: types.float64(
        _types_with_pieces(number)[0],
        FunctionOf(_types_of_piece(number)),
        *_types_with_pieces(number)[1:],
        BOX,
    )
)
def sums_of_pieces(
    sums, of_piece, X, fill, tiles, constants, slot, n_matrices, take, y, weight, labels, loss, parameters, add, first,
    mass, scatter, length, box,
):  # fmt: skip
    """`pair_sums` of all rows; the moments of the first piece become those of all."""
    n_pieces = first.shape[0]
    values = np.empty(n_pieces)
    run_pieces(
        box, of_piece, n_pieces,
        sums, X, fill, tiles, constants, slot, n_matrices, take, y, weight, labels, loss, parameters, add, first, mass,
        scatter, length, values,
    )  # fmt: skip
    value = values[0]
    for piece in range(1, n_pieces):
        value += values[piece]
        add_numbers(first[piece].reshape(-1), first[0].reshape(-1))
        add_numbers(mass[piece], mass[0])
        add_numbers(scatter[piece].reshape(-1), scatter[0].reshape(-1))
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
    put_no_moments(first, mass, scatter)
    pairs, pulls = np.empty((n, 2), np.int32), np.empty((n, 2), X.dtype)
    value = take(D, y, weight, labels, loss, parameters, pairs, pulls)
    if not np.isfinite(value):
        return np.nan
    add_moments(X, pairs, pulls, slot, add, first, mass, scatter)
    return value


@inline
def put_no_moments(first, mass, scatter):
    """Zeros."""
    put_zeros(first.reshape(-1), 0)
    put_zeros(mass, 0)
    put_zeros(scatter.reshape(-1), 0)


@vectorised
def add_numbers(more, total):
    """total += more."""
    for j in range(total.shape[0]):
        total[j] += more[j]


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
