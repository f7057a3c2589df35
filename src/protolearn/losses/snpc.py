"""Soft nearest prototype classification and its pruned version: SNPC = MAXP, MAXP1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protolearn.core.jit import kernel
from protolearn.core.parameters import check_count
from protolearn.losses.base import AllPrototypesLoss, all_prototypes_signature
from protolearn.losses.soft import decays, keep_nearest, misclassification, nearest_own_and_rival, scale_sides


class SoftErrorLoss(AllPrototypesLoss, name="snpc"):
    """Posterior probability of a wrong class, under equal Gaussians around all prototypes.

        phi        = 1 - P_k                                           LOGM (10) to (12)
        dphi/dD_i  =  slope P_i (1 - P_k)     own class                (14)
        dphi/dD_i  = -slope P_i P_k           other classes
        regulariser: - alpha ln sum_own exp(-slope D_i), adds alpha slope P_i / P_k to the own class   (25), (26)

    Where P_k is too small for a number nothing moves, which is the limit of the formula.
    """

    @kernel(all_prototypes_signature)
    def coefficients(D, labels, k, parameters, C):
        own, rival = nearest_own_and_rival(D, labels, k)
        sides = decays(D, labels, k, parameters[0], own, rival, C)
        value, pull, push = misclassification(sides, parameters[0], parameters[1])
        scale_sides(C, labels, k, pull, push)
        return value


@dataclass(frozen=True)
class PrunedLoss(AllPrototypesLoss):
    """A soft loss whose softmax runs over the nearest prototypes only, LOGM (35), (36).

    n_nearest : how many; None takes S + 1, S the largest number of prototypes of a class
    include_own : put the nearest own prototype in where none is among them
    """

    n_nearest: int | None = None
    include_own: bool = False

    def check(self) -> None:
        check_count("n_nearest", self.n_nearest, at_least=2, optional=True)

    def parameters(self, slope: float, regularization: float, labels: np.ndarray) -> np.ndarray:
        count = self.n_nearest or int(np.bincount(labels).max()) + 1
        return np.append(super().parameters(slope, regularization, labels), [count, float(self.include_own)])


class PrunedSoftErrorLoss(PrunedLoss, name="maxp1"):
    """SNPC over the S + 1 nearest prototypes.

    The formulas of SNPC with P over the selected prototypes only. Where none of them is of the sample's class, P_k is 0
    and nothing moves.
    """

    @kernel(all_prototypes_signature)
    def coefficients(D, labels, k, parameters, C):
        kept = keep_nearest(D, labels, k, int(parameters[2]), parameters[3] > 0.0)
        own, rival = nearest_own_and_rival(kept, labels, k)
        sides = decays(kept, labels, k, parameters[0], own, rival, C)
        value, pull, push = misclassification(sides, parameters[0], parameters[1])
        scale_sides(C, labels, k, pull, push)
        return value
