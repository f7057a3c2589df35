"""Weighted squared Euclidean distance: one non-negative weight a feature (GRLVQ, LOGM-PIW, LOGM-PDW)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from protolearn.compiled import VECTORISED, compiled
from protolearn.data.kept_rows import KeptRows
from protolearn.metrics.base import (
    METRICS,
    Metric,
    Packed,
    centred,
    fill_signature,
    finish_signature,
    scale_of,
    step_signature,
)
from protolearn.metrics.pulls import Pull
from protolearn.prototypes import PrototypeSet

if TYPE_CHECKING:
    from protolearn.data import Samples


@dataclass(frozen=True)
class Diagonal(Metric):
    """Squared distance with one weight a feature, shared or one vector a class or a prototype.

        D_i           = sum_p lam^p (x^p - m_i^p)^2          LOGM (27), (30)
        dD_i/dm_i^p    = -2 lam^p (x^p - m_i^p)               (28), (31)
        dD_i/dlam^p    = (x^p - m_i^p)^2                      (29) with the sign corrected, (32)

    After each update negative weights become 0 and the vector is scaled to its sum: the number of features
    (normalization="mean", so that the start is the Euclidean distance and a weight of 1 is an average one) or 1
    ("sum", as printed). A vector clipped to all zeros goes back to equal weights.
    A weight may reach the number of features, and 2 eta c lam then passes 1: the pull overshoots x and the prototype
    runs away (LOGM-PDW on sonar at tau = 2, read literally). The share of the way that a feature moves is bounded by 1,
    or by the share at an average weight where that is larger already: then the learning rate is at fault.
    """

    scope: str = "global"
    normalization: str = "mean"

    def initial_theta(self, n_slots: int, data: Samples) -> np.ndarray:
        return np.full((n_slots, data.n_features), self.total(data.n_features) / data.n_features)

    def rate_unit(self, mean_distance: float, data: Samples, relative: bool) -> float:
        mean_weight = self.total(data.n_features) / data.n_features
        return (mean_weight**2 if relative else 1.0) / data.squared_half_range

    def distances(self, X: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
        X, W = centred(X, prototypes)
        D = _powers(X) @ _factors(W, prototypes).T
        return np.maximum(D, 0.0, out=D)

    def distances_by_prototype(
        self, X: np.ndarray, prototypes: PrototypeSet, kept: KeptRows | None = None
    ) -> np.ndarray:
        X, W = centred(X, prototypes)
        D = _factors(W, prototypes) @ _powers(X).T
        return np.maximum(D, 0.0, out=D)

    def linear_forms(self, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray] | None:
        if len(prototypes.theta) > 1:
            return None
        W = prototypes.centring[1]
        weighted = prototypes.theta[0] * W
        return -2.0 * weighted, np.einsum("ij,ij->i", weighted, W)

    def distances_of_row(self, prototypes: PrototypeSet) -> Callable[[np.ndarray], np.ndarray]:
        weights = prototypes.theta[prototypes.slot]

        def measure(x: np.ndarray) -> np.ndarray:
            difference = prototypes.positions - x
            return np.einsum("ij,ij,ij->i", difference, difference, weights)

        return measure

    def moments(self, X: np.ndarray, prototypes: PrototypeSet, pull: Pull) -> tuple[np.ndarray, ...]:
        X, _ = centred(X, prototypes)
        return (pull.T @ _powers(X),)

    def gradient_of(self, prototypes: PrototypeSet, moments: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        (sums,) = moments
        _, W = prototypes.centring
        d = W.shape[1]
        first, second, mass = sums[:, :d], sums[:, d : 2 * d], sums[:, 2 * d :]
        by_prototype = second - 2.0 * W * first + mass * W * W
        if self.scope == "prototype":
            theta = by_prototype
        else:
            theta = np.zeros(prototypes.theta.shape, dtype=by_prototype.dtype)
            np.add.at(theta, prototypes.slot, by_prototype)
        return -2.0 * prototypes.theta[prototypes.slot] * (first - mass * W), theta

    def project(self, theta: np.ndarray) -> np.ndarray:
        clipped = np.maximum(theta, 0.0)
        sums = clipped.sum(axis=1, keepdims=True)
        clipped = np.where(sums > 0, clipped, 1.0)
        total = self.total(theta.shape[1])
        return (clipped * (total / clipped.sum(axis=1, keepdims=True))).astype(theta.dtype, copy=False)

    def free(self, raw: np.ndarray, theta: np.ndarray, gradient: np.ndarray, share: float, out: np.ndarray) -> None:
        along = np.sum(gradient * theta, axis=1, keepdims=True, dtype=np.float64) / self.total(theta.shape[1])
        np.multiply(gradient - along, share * scale_of(raw, theta), out=out, casting="same_kind")

    def lower_bound(self) -> float | None:
        return 0.0

    def pack(self, prototypes: PrototypeSet) -> Packed:
        dtype = prototypes.positions.dtype
        d = prototypes.positions.shape[1]
        return Packed(
            positions=prototypes.positions.copy(order="C"),
            theta=np.array(prototypes.theta[:, None, :], order="C"),
            slot=prototypes.slot,
            labels=prototypes.labels,
            work=np.full(1, self.total(d) / d, dtype=dtype),
            fill=fill_weighted,
            step=step_weighted,
            finish=clip_and_normalise,
            unpack=lambda W, T: (W, T[:, 0, :]),
        )


def _powers(X: np.ndarray) -> np.ndarray:
    """x, x^2 and 1 side by side: one matrix product then does the work of three and of the passes that add them."""
    return np.hstack([X, X * X, np.ones((len(X), 1), dtype=X.dtype)])


def _factors(W: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
    """What the powers of a sample are multiplied by, for each prototype."""
    weights = prototypes.theta[prototypes.slot]
    return np.hstack([-2.0 * weights * W, weights, np.einsum("ij,ij,ij->i", weights, W, W)[:, None]])


METRICS.add("relevance", Diagonal("global"))
METRICS.add("class_relevance", Diagonal("class"))
METRICS.add("local_relevance", Diagonal("prototype"))


@compiled(fill_signature, fastmath=VECTORISED)
def fill_weighted(x, W, T, slot, work, D):
    """Weighted distances, one prototype a row."""
    n, d = W.shape
    for i in range(n):
        w = W[i]
        lam = T[slot[i], 0]
        s = x.dtype.type(0)
        for j in range(d):
            v = x[j] - w[j]
            s += lam[j] * v * v
        D[i] = s


@compiled(step_signature, fastmath=VECTORISED)
def step_weighted(x, W, T, slot, chosen, pulls, etas, G, work):
    """G^p += c (x^p - m^p)^2, then m^p += 2 eta c lam^p (x^p - m^p), bounded; work[0] is the average weight."""
    for p in range(chosen.shape[0]):
        i, pull, eta = chosen[p], pulls[p], etas[p]
        s = slot[i]
        if G.shape[0] > 0:
            c = x.dtype.type(pull)
            for j in range(x.shape[0]):
                v = x[j] - W[i, j]
                G[s, 0, j] += c * v * v
        factor = x.dtype.type(2.0 * eta * pull)
        most = max(x.dtype.type(1), abs(factor) * work[0])
        for j in range(x.shape[0]):
            W[i, j] += min(max(factor * T[s, 0, j], -most), most) * (x[j] - W[i, j])


@compiled(finish_signature, fastmath=VECTORISED)
def clip_and_normalise(T, s, rho, total, G):
    """lam -= rho G; negatives to 0; scaled to `total`; all zeros to equal weights."""
    lam = T[s, 0]
    g = G[s, 0]
    zero = lam.dtype.type(0)
    rate = lam.dtype.type(rho)
    sum_ = zero
    for j in range(lam.shape[0]):
        lam[j] = max(lam[j] - rate * g[j], zero)
        sum_ += lam[j]
        g[j] = zero
    if sum_ > 0:
        scale = lam.dtype.type(total / sum_)
        for j in range(lam.shape[0]):
            lam[j] *= scale
    else:
        for j in range(lam.shape[0]):
            lam[j] = lam.dtype.type(total / lam.shape[0])
