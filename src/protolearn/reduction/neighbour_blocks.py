"""The nearest other samples of a block of rows, found block by block: what editing on a cluster needs.

Exactly those that `protolearn.reduction.neighbours` finds in one matrix: distances that matter are measured in float64,
one difference at a time, and of equally near samples the one with the lower row number is nearer. With few features
that module compares the roots that scikit-learn's tree returns, which makes equals of squares that differ in the last
digit, and so it is done here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protolearn.core.jit import kernel, matrix, types, vector
from protolearn.data import TrainingSet
from protolearn.reduction.neighbours import TREE_MOST_FEATURES, insert, squared_distance

_TILE = 1024


@dataclass(frozen=True)
class Neighbours:
    """The nearest others of some rows found so far: distances, row numbers in the whole set, classes."""

    distances: np.ndarray
    rows: np.ndarray
    labels: np.ndarray

    @classmethod
    def none(cls, n_rows: int, k: int) -> Neighbours:
        """No neighbour yet."""
        nobody = np.full((n_rows, k), np.iinfo(np.int64).max)
        return cls(np.full((n_rows, k), np.inf), nobody, np.zeros((n_rows, k), dtype=np.int64))


def offer_block(
    found: Neighbours, mine: TrainingSet, other: TrainingSet, first_mine: int, first_other: int, origin: np.ndarray
) -> Neighbours:
    """The nearest others after the rows of one more block were looked at; the block may be the same one.

    first_mine, first_other : the row numbers of the first rows of both blocks
    origin : the mean of the data: far from it |x|^2 - 2 x'z + |z|^2 loses its digits
    """
    distances, rows = found.distances.copy(), found.rows.copy()
    X, Z = (np.ascontiguousarray(part.rows(slice(None)), dtype=np.float64) for part in (mine, other))
    slack = (X.shape[1] + 16) * np.finfo(np.float64).eps
    rooted = X.shape[1] <= TREE_MOST_FEATURES
    offer = offer_tile.of(np.float64)
    for i in range(0, len(X), _TILE):
        x = X[i : i + _TILE]
        x_centred = x - origin
        x_squares = np.einsum("ij,ij->i", x_centred, x_centred)
        for j in range(0, len(Z), _TILE):
            z = Z[j : j + _TILE]
            z_centred = z - origin
            z_squares = np.einsum("ij,ij->i", z_centred, z_centred)
            tile = slice(i, i + _TILE)
            products = x_centred @ z_centred.T
            offer(x, z, products, x_squares, z_squares, slack, rooted, first_mine + i, first_other + j,
                  distances[tile], rows[tile])  # fmt: skip
    fresh = (rows >= first_other) & (rows < first_other + len(Z))
    # What was there before and still is comes in the same order, from the front of the old list.
    rank = np.maximum(np.cumsum(~fresh, axis=1) - 1, 0)
    before = np.take_along_axis(found.labels, rank, axis=1)
    labels = np.where(fresh, other.y[np.where(fresh, rows - first_other, 0)], before)
    return Neighbours(distances, rows, labels)


def _offer_signature(number: Any) -> Any:
    indices = types.Array(types.int64, 2, "C")
    return types.void(
        matrix(number), matrix(number), matrix(number), vector(number), vector(number), types.float64, types.boolean,
        types.int64, types.int64, matrix(number), indices,
    )  # fmt: skip


# Without fastmath: a fused multiply-add would round other digits than the tree does, and break ties another way.
@kernel(_offer_signature)
def offer_tile(X, Z, products, x_squares, z_squares, slack, rooted, first_x, first_z, distances, rows):
    """Offer each row of Z to each row of X; only what could be near enough is measured by its differences."""
    last = distances.shape[1] - 1
    for i in range(X.shape[0]):
        limit = distances[i, last] ** 2 if rooted else distances[i, last]
        for j in range(Z.shape[0]):
            size = x_squares[i] + z_squares[j]
            if size - 2.0 * products[i, j] - slack * size <= limit and first_x + i != first_z + j:
                distance = squared_distance(X[i], Z[j])
                insert(distances[i], rows[i], np.sqrt(distance) if rooted else distance, first_z + j)
                limit = distances[i, last] ** 2 if rooted else distances[i, last]
