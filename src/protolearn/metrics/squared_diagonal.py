"""Weighted distance through the roots of its weights (LPD), and class-dependent variance weights (CDVW)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from protolearn.core.jit import VECTORISED, kernel
from protolearn.core.parameters import check_choice
from protolearn.core.prototypes import PrototypeSet
from protolearn.metrics.base import (
    METRICS,
    Coefficients,
    Gradients,
    Metric,
    Packed,
    distances_signature,
    move_signature,
    update_signature,
)
from protolearn.metrics.diagonal import (
    weighted_distances,
    weighted_forms,
    weighted_gradient,
    weighted_row_distances,
)

if TYPE_CHECKING:
    from protolearn.data import Samples

INITIAL_WEIGHTS = ("ones", "inverse_spread")


@dataclass(frozen=True)
class SquaredDiagonal(Metric):
    """Squared distance with the square of a weight for each feature, one vector for all, a class or a prototype.

        D_i        = sum_j w_ij^2 (x_j - m_ij)^2                LPD (1), squared
        dD_i/dm_ij  = -2 w_ij^2 (x_j - m_ij)
        dD_i/dw_ij  = 2 w_ij (x_j - m_ij)^2

    A square is never negative, so nothing is clipped; as in the paper nothing is normalised either: a weight vector may
    grow or shrink as a whole, which lets a prototype win a larger or smaller region. The sign of w has no meaning.
    In the compiled steps the move of each feature is bounded by the distance to the sample.

    initial : where the weights start: "ones", the Euclidean distance, or "inverse_spread", 1 / standard deviation of
        the feature in the class (in the whole set where scope="global"); with scope="class" and no learning this is the
        diagonal Mahalanobis distance of the stored vector's class, the paper's CDVW
    """

    takes_factors: ClassVar[bool] = True
    scope: str = "prototype"
    initial: str = "ones"

    def check(self) -> None:
        super().check()
        check_choice("initial", self.initial, INITIAL_WEIGHTS)

    def start(self, positions: np.ndarray, labels: np.ndarray, data: Samples) -> PrototypeSet:
        plain = super().start(positions, labels, data)
        if self.initial == "ones":
            return plain
        spread = class_spread(data, whole=self.scope == "global")
        by_slot = spread[plain.labels] if self.scope == "prototype" else spread
        return plain.moved(plain.positions, (1.0 / by_slot).astype(data.dtype))

    def initial_theta(self, n_slots: int, data: Samples) -> np.ndarray:
        return np.ones((n_slots, data.n_features))

    def weights(self, prototypes: PrototypeSet) -> np.ndarray:
        return np.square(prototypes.theta)

    def distances(self, X: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
        return weighted_distances(X, prototypes, self.weights(prototypes))

    def gradient(self, X: np.ndarray, prototypes: PrototypeSet, C: Coefficients) -> Gradients:
        by_position, by_square = weighted_gradient(X, prototypes, C, self.weights(prototypes))
        return by_position, 2.0 * prototypes.theta * by_square

    def linear_forms(self, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray] | None:
        return weighted_forms(prototypes, self.weights(prototypes))

    def row_distances(self, prototypes: PrototypeSet) -> Callable[[np.ndarray], np.ndarray]:
        return weighted_row_distances(prototypes, self.weights(prototypes))

    def pack(self, prototypes: PrototypeSet) -> Packed:
        dtype = prototypes.positions.dtype
        return Packed(
            positions=prototypes.positions.copy(order="C"),
            theta=np.array(prototypes.theta[:, None, :], order="C"),
            slot=prototypes.slot,
            labels=prototypes.labels,
            constants=np.empty(0, dtype=dtype),
            distances_to=distances_squared,
            move=move_squared,
            update=descend,
            unpack=lambda W, T: (W, T[:, 0, :]),
        )


METRICS.add("squared_relevance", SquaredDiagonal("global"))
METRICS.add("class_squared_relevance", SquaredDiagonal("class"))
METRICS.add("local_squared_relevance", SquaredDiagonal("prototype"))
METRICS.add("class_variance", SquaredDiagonal("class", "inverse_spread"))

# A feature that is constant in its class would get an infinite weight; so it counts as one whose spread is this share
# of its spread in the whole set.
_LEAST_SHARE = 0.1


def class_spread(data: Samples, *, whole: bool = False) -> np.ndarray:
    """Standard deviation of each feature in each class (or one row for the whole set), never 0.

    A feature that is constant in a class gets a tenth of its spread in the whole set; one that is constant
    everywhere gets 1, so that it keeps the weight 1. A class without samples gets the spread of the whole set.
    """
    n = 1 if whole else data.n_classes
    mass, sums, squares = data.reduce(partial(_class_moments, n, data.mean), data.n_features, _added)
    total = np.sqrt(squares.sum(axis=0) / mass.sum())
    held = np.where(mass > 0, mass, 1.0)[:, None]
    spread = np.sqrt(np.maximum(squares / held - (sums / held) ** 2, 0.0))
    spread[mass == 0] = total
    spread = np.maximum(spread, _LEAST_SHARE * total)
    return np.where(spread > 0, spread, 1.0)


_Moments = tuple[np.ndarray, np.ndarray, np.ndarray]


def _class_moments(n: int, mean: np.ndarray, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> _Moments:
    """Weight, sum and sum of squares of the features around the mean, for each of `n` classes, or for all as one."""
    centred = X - mean
    member = np.zeros((n, len(X)))
    member[y if n > 1 else 0, np.arange(len(X))] = weight
    return member.sum(axis=1), member @ centred, member @ (centred * centred)


def _added(one: _Moments, other: _Moments) -> _Moments:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@kernel(distances_signature, fastmath=VECTORISED)
def distances_squared(x, W, T, slot, constants, D):
    """Weighted distances, one prototype a row."""
    n, d = W.shape
    for i in range(n):
        m = W[i]
        w = T[slot[i], 0]
        s = x.dtype.type(0)
        for j in range(d):
            v = w[j] * (x[j] - m[j])
            s += v * v
        D[i] = s


@kernel(move_signature, fastmath=VECTORISED)
def move_squared(x, W, T, slot, chosen, pulls, etas, G, constants):
    """G_j += c 2 w_j (x_j - m_j)^2, then m_j += 2 eta c w_j^2 (x_j - m_j), times the factors in `constants`, if any."""
    for p in range(chosen.shape[0]):
        i, pull, eta = chosen[p], pulls[p], etas[p]
        d = x.shape[0]
        one = x.dtype.type(1)
        s = slot[i]
        free = constants.shape[0] > 0
        if G.shape[0] > 0:
            c = x.dtype.type(2.0 * pull)
            at = W.shape[0] * d + s * d
            for j in range(d):
                v = x[j] - W[i, j]
                G[s, 0, j] += c * T[s, 0, j] * v * v * (constants[at + j] if free else one)
        share = x.dtype.type(2.0 * eta * pull)
        for j in range(d):
            factor = share * T[s, 0, j] * T[s, 0, j] * (constants[i * d + j] if free else one)
            W[i, j] += min(max(factor, -one), one) * (x[j] - W[i, j])


@kernel(update_signature, fastmath=VECTORISED)
def descend(T, s, rho, total, G):
    """w -= rho G."""
    w = T[s, 0]
    g = G[s, 0]
    rate = w.dtype.type(rho)
    for j in range(w.shape[0]):
        w[j] -= rate * g[j]
        g[j] = w.dtype.type(0)
