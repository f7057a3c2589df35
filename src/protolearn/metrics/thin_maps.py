"""Maps to few numbers: distances and gradient by the mapped samples, which costs less than by Lambda.

With r rows of Omega and d features the distances take 2 r d operations a sample and map instead of d^2, the gradient
4 r d for each prototype that a sample pulls instead of d^2.
"""

from __future__ import annotations

import numpy as np
from numba import types

from protolearn.blas import multiply_by_rows
from protolearn.compiled import compiled, inline, matrix, vector, vectorised
from protolearn.data.kept_rows import KeptRows
from protolearn.metrics.base import expanded_distances
from protolearn.metrics.pulls import Pull, entries_by_slot
from protolearn.prototypes import PrototypeSet

# Numbers of mapped rows that are measured at a time.
_NUMBERS_AT_A_TIME = 1 << 16


def is_thin(theta: np.ndarray) -> bool:
    """Whether Omega has so few rows that all of this pays."""
    return 3 * theta.shape[1] <= theta.shape[2]


def distances_after_maps(X: np.ndarray, prototypes: PrototypeSet, kept: KeptRows | None) -> np.ndarray:
    """|Omega (x - m)|^2, one prototype a row; X and the prototypes from `prototypes.centring`."""
    theta = prototypes.theta
    if len(theta) == 1:
        return expanded_distances(prototypes.centring[1] @ theta[0].T, X @ theta[0].T)
    found = np.empty((len(prototypes), len(X)), dtype=np.result_type(X, theta))
    fill_distances(X.T if kept is None else kept.columns(X), prototypes, 0, len(X), found)
    return found


def fill_distances(columns: np.ndarray, prototypes: PrototypeSet, begin: int, end: int, out: np.ndarray) -> None:
    """As `distances_after_maps`, of some of the samples, which are columns here, under several maps."""
    n_maps, n_components, d = prototypes.theta.shape
    stacked, mapped = (
        prototypes.theta.reshape(-1, d),
        prototypes.derived(mapped_positions).astype(out.dtype, copy=False),
    )
    at_once = max(_NUMBERS_AT_A_TIME // (n_maps * n_components), 16)
    for first in range(begin, end, at_once):
        samples = stacked @ columns[:, first : min(first + at_once, end)]
        squared_differences_of_parts.of(out.dtype)(samples, mapped, prototypes.slot, first, out)


def mapped_positions(prototypes: PrototypeSet) -> np.ndarray:
    """Each prototype by its own map."""
    theta, W = prototypes.theta, prototypes.centring[1]
    mapped = np.empty((len(W), theta.shape[1]), dtype=theta.dtype)
    for slot, members in prototypes.groups:
        mapped[members] = W[members] @ theta[slot].T
    return mapped


@compiled(
    lambda number: types.void(
        matrix(number),  # samples, one a column, mapped by all maps one below the other
        matrix(number),  # prototypes, each mapped by its own
        vector(types.int64),  # slot
        types.int64,  # begin
        matrix(number),  # out, one prototype a row
    )
)
def squared_differences_of_parts(samples, mapped, slot, begin, out):
    """The squared distance of each prototype to the part of each sample that its map made, from column `begin` on."""
    length = mapped.shape[1]
    for i in range(mapped.shape[0]):
        distances = out[i, begin : begin + samples.shape[1]]
        distances[:] = 0
        first = slot[i] * length
        for k in range(0, length - 1, 2):
            add_squares_of_two(samples[first + k], samples[first + k + 1], mapped[i, k], mapped[i, k + 1], distances)
        if length % 2:
            add_squares_of_one(samples[first + length - 1], mapped[i, length - 1], distances)


@vectorised
def add_squares_of_two(one, other, a, b, out):
    """out += (one - a)^2 + (other - b)^2; runs across the samples."""
    for n in range(out.shape[0]):
        out[n] += (one[n] - a) * (one[n] - a) + (other[n] - b) * (other[n] - b)


@vectorised
def add_squares_of_one(one, a, out):
    """out += (one - a)^2."""
    for n in range(out.shape[0]):
        out[n] += (one[n] - a) * (one[n] - a)


@inline
def map_and_measure(X, omega, mapped, lengths, gemm, Z, D):
    """A few rows after one map, one a row, and their distances, one prototype a row.

    mapped, lengths : the prototypes after the map, and their squared lengths there
    """
    multiply_by_rows(gemm, X, omega, Z)
    multiply_by_rows(gemm, mapped, Z, D)
    squares = np.empty(X.shape[0], X.dtype)
    for n in range(Z.shape[0]):
        squares[n] = sum_of_squares(Z[n])
    for i in range(D.shape[0]):
        expand(squares, lengths[i], D[i])


@vectorised
def sum_of_squares(numbers):
    """Of a few of them."""
    total = numbers.dtype.type(0)
    for j in range(numbers.shape[0]):
        total += numbers[j] * numbers[j]
    return total


@vectorised
def expand(squares, length, products):
    """max(squares - 2 products + length, 0) in place of the products; NaN stays NaN."""
    number = products.dtype.type
    for n in range(products.shape[0]):
        d = (squares[n] - number(2) * products[n]) + length
        products[n] = number(0) if d < number(0) else d


def scatter_by_slot(X: np.ndarray, pull: Pull, prototypes: PrototypeSet) -> np.ndarray:
    """Omega times the sum of coefficient x x', by the mapped rows: for maps to few numbers, where it costs less."""
    theta = prototypes.theta
    rows, weights, ends = entries_by_slot(pull, prototypes.slot, len(theta))
    found = np.zeros(theta.shape, dtype=X.dtype)
    begin = 0
    for s, end in enumerate(ends.tolist()):
        if begin < end:
            part = X if len(theta) == 1 else np.take(X, rows[begin:end], axis=0)
            mapped = part @ theta[s].T
            mapped *= weights[begin:end, None]
            np.matmul(mapped.T, part, out=found[s])
        begin = end
    return found


def scatter_of_differences(
    scatter: np.ndarray, mixed: np.ndarray, W: np.ndarray, prototypes: PrototypeSet
) -> np.ndarray:
    """Omega times the sums of c v v', v = x - m, for each slot.

    scatter : Omega times the sums of c x x'
    """
    found = scatter.astype(W.dtype)
    for slot, members in prototypes.groups:
        omega = prototypes.theta[slot]
        found[slot] -= (omega @ mixed[members].T) @ W[members]
        found[slot] -= (omega @ W[members].T) @ mixed[members]
    return found
