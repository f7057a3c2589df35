"""The squared Euclidean distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from protolearn.compiled import aligned_zeros, compiled, vectorised
from protolearn.data.kept_rows import KeptRows
from protolearn.lanes import LANES, put_distances_to_columns
from protolearn.metrics.base import (
    METRICS,
    Metric,
    Packed,
    centred,
    expanded_distances,
    fill_signature,
    finish_signature,
    squared_differences,
    step_signature,
)
from protolearn.metrics.pulls import Pull
from protolearn.prototypes import PrototypeSet

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

    def distances_by_prototype(
        self, X: np.ndarray, prototypes: PrototypeSet, kept: KeptRows | None = None
    ) -> np.ndarray:
        moved, W = centred(X, prototypes)
        return expanded_distances(W, moved, kept)

    def linear_forms(self, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray]:
        W = prototypes.centring[1]
        return -2.0 * W, np.einsum("ij,ij->i", W, W)

    def distances_of_row(self, prototypes: PrototypeSet) -> Callable[[np.ndarray], np.ndarray]:
        return squared_differences(prototypes.positions)

    def moments(self, X: np.ndarray, prototypes: PrototypeSet, pull: Pull) -> tuple[np.ndarray, ...]:
        X, _ = centred(X, prototypes)
        return pull.T @ X, pull.sum(axis=0)

    def gradient_of(self, prototypes: PrototypeSet, moments: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        first, mass = moments
        _, W = prototypes.centring
        return -2.0 * (first - mass[:, None] * W), np.zeros_like(prototypes.theta)

    def pack(self, prototypes: PrototypeSet, *, by_column: bool | None = None) -> Packed:
        """Prototypes as rows or as columns, whichever is faster where all may move."""
        n_prototypes, n_features = prototypes.positions.shape
        dtype = prototypes.positions.dtype
        by_column = across_prototypes(n_prototypes, n_features) if by_column is None else by_column
        theta = prototypes.theta
        if by_column:
            positions = aligned_zeros((n_features, -(-n_prototypes // COLUMNS) * COLUMNS), dtype)
            positions[:, :n_prototypes] = prototypes.positions.T
        else:
            # Rows behind the last prototype are infinitely far, so a loop over four at a time needs no end of its own.
            positions = aligned_zeros((-(-n_prototypes // ROWS) * ROWS, n_features), dtype)
            positions[:n_prototypes], positions[n_prototypes:] = prototypes.positions, np.inf
        return Packed(
            positions=positions,
            theta=np.empty((len(theta), 0, 0), dtype=dtype),
            slot=prototypes.slot,
            labels=prototypes.labels,
            work=np.empty(positions.shape[1] if by_column else 0, dtype=dtype),
            fill=fill_columns if by_column else fill_rows,
            step=step_column if by_column else step_row,
            finish=nothing_to_learn,
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


@compiled(fill_signature)
def fill_rows(x, W, T, slot, work, D):
    """Distances with one prototype a row."""
    distances_to_rows(x, W, D)


@compiled(fill_signature)
def fill_columns(x, W, T, slot, work, D):
    """Distances with one prototype a column."""
    distances_to_columns(x, W.T, D)


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
    """Distances where W is in Fortran's order, with a multiple of COLUMNS prototypes."""
    put_distances_to_columns(x, W, D)


@vectorised
def move(x, W, i, share):
    """m_i += share (x - m_i)."""
    for j in range(x.shape[0]):
        W[i, j] += share * (x[j] - W[i, j])


@vectorised
def move_columns(x, W, shares):
    """m_i += share_i (x - m_i) for all, in the order of memory."""
    for j in range(x.shape[0]):
        w = W[j]
        xj = x[j]
        for i in range(w.shape[0]):
            w[i] += shares[i] * (xj - w[i])


@compiled(step_signature)
def step_row(x, W, T, slot, chosen, pulls, etas, G, work):
    """m_i += 2 eta c (x - m_i)."""
    for p in range(chosen.shape[0]):
        move(x, W, chosen[p], x.dtype.type(2.0 * etas[p] * pulls[p]))


@compiled(step_signature)
def step_column(x, W, T, slot, chosen, pulls, etas, G, work):
    """m_i += 2 eta c (x - m_i); where many move, the others move with a share of 0."""
    if _FEW * chosen.shape[0] < W.shape[1]:
        for p in range(chosen.shape[0]):
            move(x, W.T, chosen[p], x.dtype.type(2.0 * etas[p] * pulls[p]))
        return
    work[:] = 0
    for p in range(chosen.shape[0]):
        work[chosen[p]] = 2.0 * etas[p] * pulls[p]
    move_columns(x, W, work)


@compiled(finish_signature)
def nothing_to_learn(T, s, rho, total, G):
    """The Euclidean distance has no parameters."""
