"""Weighted squared Euclidean distance: one non-negative weight a feature (GRLVQ, LOGM-PIW, LOGM-PDW)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from protolearn.core.jit import VECTORISED, kernel
from protolearn.core.prototypes import PrototypeSet
from protolearn.metrics.base import (
    METRICS,
    Coefficients,
    Gradients,
    Metric,
    Packed,
    cancelled_below,
    centred,
    column_sums,
    distances_signature,
    measure_cancelled,
    move_signature,
    scale_of,
    slot_products,
    update_signature,
)

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
    ("sum", as printed), or is not scaled ("free"). A vector clipped to all zeros goes back to equal weights, unless the
    scale is free.
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
        return weighted_distances(X, prototypes, prototypes.theta)

    def gradient(self, X: np.ndarray, prototypes: PrototypeSet, C: Coefficients) -> Gradients:
        return weighted_gradient(X, prototypes, C, prototypes.theta)

    def linear_forms(self, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray] | None:
        return weighted_forms(prototypes, prototypes.theta)

    def row_distances(self, prototypes: PrototypeSet) -> Callable[[np.ndarray], np.ndarray]:
        return weighted_row_distances(prototypes, prototypes.theta)

    def weights(self, prototypes: PrototypeSet) -> np.ndarray:
        return prototypes.theta

    def project(self, theta: np.ndarray) -> np.ndarray:
        clipped = np.maximum(theta, 0.0)
        if self.scale_is_free:
            return clipped
        sums = clipped.sum(axis=1, keepdims=True)
        clipped = np.where(sums > 0, clipped, 1.0)
        total = self.total(theta.shape[1])
        return (clipped * (total / clipped.sum(axis=1, keepdims=True))).astype(theta.dtype, copy=False)

    def gradient_before_projection(self, raw: np.ndarray, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        if self.scale_is_free:
            return gradient
        along = slot_products(gradient, theta) / self.total(theta.shape[1])
        return (gradient - along) * scale_of(raw, theta)

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
            constants=np.full(1, self.total(d) / d, dtype=dtype),
            distances_to=distances_weighted,
            move=move_weighted,
            update=clip_and_normalise,
            unpack=lambda W, T: (W, T[:, 0, :]),
        )


def weighted_distances(X: np.ndarray, prototypes: PrototypeSet, weights: np.ndarray) -> np.ndarray:
    """sum_j lam_ij (x_j - m_ij)^2 = (sum lam x^2 + sum lam m^2) - 2 sum lam m x, each sum a matrix product."""
    X, W = centred(X, prototypes)
    weights = weights[prototypes.slot]
    weighted = weights * W
    D = weights @ (X * X).T if len(prototypes.theta) > 1 else np.tile(X * X @ weights[0], (len(W), 1))
    D += np.einsum("ij,ij->i", weighted, W)[:, None]
    limit = cancelled_below(D.dtype) * D
    weighted *= -2.0
    D += weighted @ X.T
    measure_cancelled(D.T, limit.T, X, W, weights)
    return D.T


def weighted_gradient(X: np.ndarray, prototypes: PrototypeSet, C: Coefficients, weights: np.ndarray) -> Gradients:
    """Sums of -2 c lam (x - m) and of c (x - m)^2."""
    X, W = centred(X, prototypes)
    first, second, mass = C.T @ X, C.T @ (X * X), column_sums(C)[:, None]
    by_prototype = second - 2.0 * W * first + mass * W * W
    by_weight = np.zeros(weights.shape, dtype=by_prototype.dtype)
    np.add.at(by_weight, prototypes.slot, by_prototype)
    return -2.0 * weights[prototypes.slot] * (first - mass * W), by_weight


def weighted_forms(prototypes: PrototypeSet, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """`Metric.linear_forms` under one vector of weights."""
    if len(weights) > 1:
        return None
    W = prototypes.centring[1]
    weighted = weights[0] * W
    return -2.0 * weighted, np.einsum("ij,ij->i", weighted, W)


def weighted_row_distances(prototypes: PrototypeSet, weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """`Metric.row_distances` by differences."""
    positions, weights = prototypes.positions, weights[prototypes.slot]

    def measure(x: np.ndarray) -> np.ndarray:
        difference = positions - x
        return np.einsum("ij,ij,ij->i", difference, difference, weights)

    return measure


METRICS.add("relevance", Diagonal("global"))
METRICS.add("class_relevance", Diagonal("class"))
METRICS.add("local_relevance", Diagonal("prototype"))


@kernel(distances_signature, fastmath=VECTORISED)
def distances_weighted(x, W, T, slot, constants, D):
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


@kernel(move_signature, fastmath=VECTORISED)
def move_weighted(x, W, T, slot, chosen, pulls, etas, G, constants):
    """G^p += c (x^p - m^p)^2, then m^p += 2 eta c lam^p (x^p - m^p), bounded; constants[0] is the average weight."""
    for p in range(chosen.shape[0]):
        i, pull, eta = chosen[p], pulls[p], etas[p]
        s = slot[i]
        if G.shape[0] > 0:
            c = x.dtype.type(pull)
            for j in range(x.shape[0]):
                v = x[j] - W[i, j]
                G[s, 0, j] += c * v * v
        factor = x.dtype.type(2.0 * eta * pull)
        most = max(x.dtype.type(1), abs(factor) * constants[0])
        for j in range(x.shape[0]):
            W[i, j] += min(max(factor * T[s, 0, j], -most), most) * (x[j] - W[i, j])


@kernel(update_signature, fastmath=VECTORISED)
def clip_and_normalise(T, s, rho, total, G):
    """lam -= rho G; negatives to 0; scaled to `total`; all zeros to equal weights. A total of 0: not scaled."""
    lam = T[s, 0]
    g = G[s, 0]
    zero = lam.dtype.type(0)
    rate = lam.dtype.type(rho)
    sum_ = zero
    for j in range(lam.shape[0]):
        lam[j] = max(lam[j] - rate * g[j], zero)
        sum_ += lam[j]
        g[j] = zero
    if total == 0:
        return
    if sum_ > 0:
        scale = lam.dtype.type(total / sum_)
        for j in range(lam.shape[0]):
            lam[j] *= scale
    else:
        for j in range(lam.shape[0]):
            lam[j] = lam.dtype.type(total / lam.shape[0])
