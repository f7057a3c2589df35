"""Gaussian learn1NN: Bermejo (2000), thesis chapter 8."""

from __future__ import annotations

import numpy as np

from protolearn.core.jit import helper, kernel
from protolearn.losses.base import AllPrototypesLoss, all_prototypes_signature
from protolearn.metrics.base import expanded_distances


@helper
def class_winners(D, labels, n_classes):
    """Index of the nearest prototype of each class, ties to the lowest index; -1 for a class that has none."""
    winner = np.full(n_classes, -1, np.int64)
    for i in range(D.shape[0]):
        c = labels[i]
        if winner[c] < 0 or D[i] < D[winner[c]]:
            winner[c] = i
    return winner


@helper
def discriminants(D, winner, slope):
    """d_j = G_j / sum of G over the classes, G = exp(-slope D of the class's winner): (10), slope = 1 / (2 sigma)."""
    n = winner.shape[0]
    d = np.zeros(n)
    nearest = np.inf
    for c in range(n):
        if winner[c] >= 0:
            nearest = min(nearest, D[winner[c]])
    total = 0.0
    for c in range(n):
        if winner[c] >= 0:
            d[c] = np.exp(-slope * (D[winner[c]] - nearest))
            total += d[c]
    for c in range(n):
        d[c] /= total
    return d


class NearestComponentLoss(AllPrototypesLoss):
    """Base of the two losses: they see the winner of each class only, and steps have no unit.

    sigma is a variance, slope = 1 / (2 sigma): the kernel is printed as exp(-D / 2 sigma^2) in 4.2 and as
    exp(-D / 2 sigma) in 4.3, and only with the second is (18) the gradient of sigma times the loss. With
    c_k = d_k (1 - d_k) / 2 a learning rate alpha moves the own winner by alpha d_k (1 - d_k) (x - m), as in (19).

    The regulariser (34), lambda / 2 |w_A - w_B|^2 for one prototype a class of two, becomes the mean over all
    prototypes of lambda / 2 times the squared distance to the nearest prototype of another class: for two
    prototypes the two terms are equal and their mean is (34). `regularization` is lambda sigma, since the loss is
    multiplied by sigma, and has no unit.
    """

    def default_slope(self, mean_distance: float) -> float:
        return 1.0 / (2.0 * mean_distance)

    def rate_unit(self, mean_distance: float) -> float:
        return 1.0

    def parameters(self, slope: float, regularization: float, labels: np.ndarray) -> np.ndarray:
        return np.append(super().parameters(slope, regularization, labels), float(labels.max() + 1))

    def penalty(self, positions: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray] | None:
        W = positions.astype(np.float64)
        W -= W.mean(axis=0)
        gaps = expanded_distances(W, W)
        gaps[labels[:, None] == labels[None]] = np.inf
        rival = gaps.argmin(axis=1)
        away = np.where(np.isfinite(gaps.min(axis=1))[:, None], W - W[rival], 0.0)
        gradient = away.copy()
        np.add.at(gradient, rival, -away)
        return float(0.5 * np.mean(np.sum(away * away, axis=1))), gradient / len(W)


class MarginLoss(NearestComponentLoss, name="learn1nn"):
    """Mean lack of confidence in the own class, times sigma.

        phi       = sigma (1 - d_k)                                    learn1NN (11), 4.2
        dphi/dD_k =  d_k (1 - d_k) / 2                                 (18)
        dphi/dD_j = -d_j d_k / 2 for the winner of each other class

    (1) prints the argmin of the discriminants for the argmax, (15) the loss with the other sign. Far on the wrong side
    d_k is 0 and nothing moves: an outlier is let go.
    slope = 0 is the limit of sigma to infinity (8.4): d = 1/C, phi = (D_k - mean of D) / (2 C), a constant left out.
    """

    @kernel(all_prototypes_signature)
    def coefficients(D, labels, k, parameters, C):
        C[:] = 0.0
        slope = parameters[0]
        winner = class_winners(D, labels, int(parameters[2]))
        if k >= winner.shape[0] or winner[k] < 0:
            return 0.0
        d = discriminants(D, winner, slope)
        others = 0.0
        for c in range(winner.shape[0]):
            if c != k and winner[c] >= 0:
                others += d[c]
                C[winner[c]] = -0.5 * d[c] * d[k]
        C[winner[k]] = 0.5 * d[k] * others
        if slope > 0.0:
            return others / (2.0 * slope)
        value = 0.0
        for c in range(winner.shape[0]):
            if winner[c] >= 0:
                value += d[c] * (D[winner[k]] - D[winner[c]])
        return 0.5 * d[k] * value


class CrossEntropyLoss(NearestComponentLoss, name="learn1nn_cross_entropy"):
    """Negative log of the own discriminant, times sigma: the variant that an outlier spoils.

        phi       = -sigma ln d_k                                      learn1NN (24)
        dphi/dD_k =  (1 - d_k) / 2                                     (18) divided by d_k; the text prints d_j
        dphi/dD_j = -d_j / 2 for the winner of each other class

    slope = 0 is the limit of sigma to infinity: phi = (D_k - mean of D) / 2, a constant left out.
    """

    @kernel(all_prototypes_signature)
    def coefficients(D, labels, k, parameters, C):
        C[:] = 0.0
        slope = parameters[0]
        winner = class_winners(D, labels, int(parameters[2]))
        if k >= winner.shape[0] or winner[k] < 0:
            return 0.0
        d = discriminants(D, winner, slope)
        nearest = np.min(D)
        others = log_sum = value = 0.0
        for c in range(winner.shape[0]):
            if winner[c] >= 0:
                log_sum += np.exp(-slope * (D[winner[c]] - nearest))
                value += d[c] * (D[winner[k]] - D[winner[c]])
                if c != k:
                    others += d[c]
                    C[winner[c]] = -0.5 * d[c]
        C[winner[k]] = 0.5 * others
        if slope > 0.0:
            return (np.log(log_sum) + slope * (D[winner[k]] - nearest)) / (2.0 * slope)
        return 0.5 * value
