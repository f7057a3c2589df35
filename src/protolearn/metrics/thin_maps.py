"""Maps to few numbers: distances and gradient by the mapped samples, which costs less than by Lambda.

With r rows of Omega and d features the distances take 2 r d operations a sample and map instead of d^2, the gradient
4 r d for each prototype that a sample pulls instead of d^2.
"""

from __future__ import annotations

import numpy as np
from numba import types

from protolearn.compiled import VECTORISED, compiled, matrix, vector
from protolearn.metrics.base import expanded_distances
from protolearn.metrics.pulls import Pull, entries_by_slot
from protolearn.prototypes import PrototypeSet

# Numbers of mapped rows that are measured at a time.
_NUMBERS_AT_A_TIME = 1 << 16


def is_thin(theta: np.ndarray) -> bool:
    """Whether Omega has so few rows that all of this pays."""
    return 3 * theta.shape[1] <= theta.shape[2]


def distances_after_maps(X: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
    """|Omega (x - m)|^2, one prototype a row; X and the prototypes from `prototypes.centring`."""
    theta, W = prototypes.theta, prototypes.centring[1]
    n_maps, n_components, d = theta.shape
    if n_maps == 1:
        return expanded_distances(W @ theta[0].T, X @ theta[0].T)
    mapped = np.empty((len(W), n_components), dtype=W.dtype)
    for slot, members in prototypes.groups:
        mapped[members] = W[members] @ theta[slot].T
    dtype = np.result_type(X, theta)
    mapped = mapped.astype(dtype, copy=False)
    found = np.empty((len(W), len(X)), dtype=dtype)
    at_once = max(_NUMBERS_AT_A_TIME // (n_maps * n_components), 1)
    for begin in range(0, len(X), at_once):
        rows = X[begin : begin + at_once] @ theta.reshape(-1, d).T
        squared_differences_of_parts.of(dtype)(rows, mapped, prototypes.slot, begin, found)
    return found


@compiled(
    lambda number: types.void(
        matrix(number),  # rows, mapped by all maps side by side
        matrix(number),  # prototypes, each mapped by its own
        vector(types.int64),  # slot
        types.int64,  # begin
        matrix(number),  # out, one prototype a row
    ),
    fastmath=VECTORISED,
)
def squared_differences_of_parts(rows, mapped, slot, begin, out):
    """The squared distance of each prototype to the part of each row that its map made, from column `begin` on."""
    length = mapped.shape[1]
    for n in range(rows.shape[0]):
        for i in range(mapped.shape[0]):
            first = slot[i] * length
            squares = rows.dtype.type(0)
            for k in range(length):
                difference = rows[n, first + k] - mapped[i, k]
                squares += difference * difference
            out[i, begin + n] = squares


def mapped_scatter_by_slot(X: np.ndarray, pull: Pull, prototypes: PrototypeSet) -> np.ndarray:
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


def mapped_scatter_of_differences(
    scatter: np.ndarray, mixed: np.ndarray, W: np.ndarray, prototypes: PrototypeSet
) -> np.ndarray:
    """Omega times what `scatter_of_differences` gives.

    scatter : Omega times the sums of c x x'
    """
    found = scatter.astype(W.dtype)
    for slot, members in prototypes.groups:
        omega = prototypes.theta[slot]
        found[slot] -= (omega @ mixed[members].T) @ W[members]
        found[slot] -= (omega @ W[members].T) @ mixed[members]
    return found
