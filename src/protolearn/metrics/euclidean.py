"""The squared Euclidean distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from protolearn.core.jit import kernel, vectorised
from protolearn.core.prototypes import PrototypeSet
from protolearn.core.searches import LANES
from protolearn.metrics.base import (
    METRICS,
    Coefficients,
    Gradients,
    Metric,
    Packed,
    centred,
    column_sums,
    distances_signature,
    expanded_distances,
    move_signature,
    squared_differences,
    squared_lengths,
    update_signature,
)

if TYPE_CHECKING:
    from protolearn.data import TrainingSet

# Rows of prototypes are measured four at a time, and padded to a multiple of them.
ROWS = 4
# Columns of prototypes are padded to so many, one cache line of float32.
COLUMNS = LANES
# Where less than one column in so many moves, they move one by one.
_FEW = 8


@dataclass(frozen=True)
class Euclidean(Metric):
    """Squared Euclidean distance.

    D_i      = sum_j (x_j - m_ij)^2
    dD_i/dm_i = -2 (x - m_i)
    """

    adaptive: ClassVar[bool] = False

    def initial_theta(self, n_slots: int, data: TrainingSet) -> np.ndarray:
        return np.empty((n_slots, 0))

    def distances(self, X: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
        return expanded_distances(*centred(X, prototypes))

    def gradient(self, X: np.ndarray, prototypes: PrototypeSet, C: Coefficients) -> Gradients:
        X, W = centred(X, prototypes)
        return -2.0 * (C.T @ X - column_sums(C)[:, None] * W), np.zeros_like(prototypes.theta)

    def linear_forms(self, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray]:
        W = prototypes.centring[1]
        return -2.0 * W, squared_lengths(W)

    def row_distances(self, prototypes: PrototypeSet) -> Callable[[np.ndarray], np.ndarray]:
        return squared_differences(prototypes.positions)

    def weights(self, prototypes: PrototypeSet) -> np.ndarray:
        return np.ones((len(prototypes.theta), prototypes.positions.shape[1]), dtype=prototypes.positions.dtype)

    def pack(self, prototypes: PrototypeSet, *, by_column: bool | None = None) -> Packed:
        """Prototypes as rows or as columns, whichever is faster where all may move."""
        n_prototypes, n_features = prototypes.positions.shape
        dtype = prototypes.positions.dtype
        by_column = across_prototypes(n_prototypes, n_features) if by_column is None else by_column
        theta = prototypes.theta
        if by_column:
            positions = np.zeros((n_features, -(-n_prototypes // COLUMNS) * COLUMNS), dtype)
            positions[:, :n_prototypes] = prototypes.positions.T
        else:
            # Rows behind the last prototype are infinitely far, so a loop over four at a time needs no end of its own.
            positions = np.zeros((-(-n_prototypes // ROWS) * ROWS, n_features), dtype)
            positions[:n_prototypes], positions[n_prototypes:] = prototypes.positions, np.inf
        return Packed(
            positions=positions,
            theta=np.empty((len(theta), 0, 0), dtype=dtype),
            slot=prototypes.slot,
            labels=prototypes.labels,
            constants=np.empty(positions.shape[1] if by_column else 0, dtype=dtype),
            distances_to=distances_by_column if by_column else distances_by_row,
            move=move_columns if by_column else move_rows,
            update=nothing_to_learn,
            unpack=lambda W, T: (W[:, :n_prototypes].T if by_column else W[:n_prototypes], theta),
        )


METRICS.add("euclidean", Euclidean())


def across_prototypes(n_prototypes: int, n_features: int, *, few_move: bool = False) -> bool:
    """Whether loops should run across prototypes, not across features.

    few_move : a sample moves two prototypes at most, which rows make cheap

    Measured with float32 on one core, distances alone: 390 x 16 takes 0.20 microseconds across prototypes and 0.54
    across features, 200 x 32 0.23 and 0.41, 50 x 32 0.09 and 0.11; but 50 x 64 0.19 and 0.16. With a search and the
    move of one prototype, across prototypes takes 0.5 times as long at 390 x 16, 0.8 at 200 x 32, 1.2 at 50 x 32.
    """
    if few_move:
        return n_prototypes >= 32 and 5 * n_features <= 2 * n_prototypes and n_features <= 64
    return (n_prototypes >= 48 and n_features <= 32) or (n_prototypes >= 96 and n_features <= 64)


@kernel(distances_signature)
def distances_by_row(x, W, T, slot, constants, D):
    """Distances with one prototype a row."""
    distances_to_rows(x, W, D)


@kernel(distances_signature)
def distances_by_column(x, W, T, slot, constants, D):
    """Distances with one prototype a column."""
    distances_to_columns(x, W, D)


@vectorised
def distances_to_rows(x, W, D):
    """Distances with one prototype a row, four rows at a time so that each x_j is loaded once for them."""
    n, d = W.shape
    # Not range(0, n, 4), of which LLVM makes code that takes 1.4 times as long.
    for g in range(n // ROWS):
        i = ROWS * g
        s0 = s1 = s2 = s3 = x.dtype.type(0)
        for j in range(d):
            xj = x[j]
            v0 = xj - W[i, j]
            v1 = xj - W[i + 1, j]
            v2 = xj - W[i + 2, j]
            v3 = xj - W[i + 3, j]
            s0 += v0 * v0
            s1 += v1 * v1
            s2 += v2 * v2
            s3 += v3 * v3
        D[i], D[i + 1], D[i + 2], D[i + 3] = s0, s1, s2, s3


@vectorised
def distances_to_columns(x, W, D):
    """Distances with one prototype a column, four features at a time so that each D_i is loaded once for them."""
    d, n = W.shape
    for i in range(n):
        D[i] = 0
    j = 0
    while j + 4 <= d:
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(n):
            v0, v1, v2, v3 = x0 - W[j, i], x1 - W[j + 1, i], x2 - W[j + 2, i], x3 - W[j + 3, i]
            D[i] += (v0 * v0 + v1 * v1) + (v2 * v2 + v3 * v3)
        j += 4
    while j < d:
        for i in range(n):
            v0 = x[j] - W[j, i]
            D[i] += v0 * v0
        j += 1


@vectorised
def move_row(x, W, i, share):
    """m_i += share (x - m_i), one prototype a row."""
    for j in range(x.shape[0]):
        W[i, j] += share * (x[j] - W[i, j])


@vectorised
def move_column(x, W, i, share):
    """m_i += share (x - m_i), one prototype a column."""
    for j in range(x.shape[0]):
        W[j, i] += share * (x[j] - W[j, i])


@vectorised
def move_all_columns(x, W, shares):
    """m_i += share_i (x - m_i) for all, in the order of memory."""
    for j in range(x.shape[0]):
        xj = x[j]
        for i in range(shares.shape[0]):
            W[j, i] += shares[i] * (xj - W[j, i])


@kernel(move_signature)
def move_rows(x, W, T, slot, chosen, pulls, etas, G, constants):
    """m_i += 2 eta c (x - m_i)."""
    for p in range(chosen.shape[0]):
        move_row(x, W, chosen[p], x.dtype.type(2.0 * etas[p] * pulls[p]))


@kernel(move_signature)
def move_columns(x, W, T, slot, chosen, pulls, etas, G, constants):
    """m_i += 2 eta c (x - m_i); where many move, the others move with a share of 0."""
    if _FEW * chosen.shape[0] < W.shape[1]:
        for p in range(chosen.shape[0]):
            move_column(x, W, chosen[p], x.dtype.type(2.0 * etas[p] * pulls[p]))
        return
    constants[:] = 0
    for p in range(chosen.shape[0]):
        constants[chosen[p]] = 2.0 * etas[p] * pulls[p]
    move_all_columns(x, W, constants)


@kernel(update_signature)
def nothing_to_learn(T, s, rho, total, G):
    """The Euclidean distance has no parameters."""
