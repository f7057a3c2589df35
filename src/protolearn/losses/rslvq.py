"""Robust soft learning vector quantization and its pruned version: RSLVQ, RSLVQ1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protolearn.core.jit import kernel
from protolearn.losses.base import AllPrototypesLoss, all_prototypes_signature
from protolearn.losses.snpc import PrunedLoss
from protolearn.losses.soft import decays, keep_nearest, nearest_own_and_rival, negative_log_likelihood, scale_sides


class SoftLogLoss(AllPrototypesLoss, name="rslvq"):
    """Negative log posterior of the own class, under equal Gaussians around all prototypes.

        phi        = -ln P_k                                           LOGM (17)
        dphi/dD_i  =  slope P_i (1 - P_k) / P_k     own class          (18)
        dphi/dD_i  = -slope P_i                     other classes
        regulariser as in SNPC                                         (25), (26)

    P_i / P_k is a softmax over the own class, computed as one: exact where P_k is too small for a number.
    """

    @kernel(all_prototypes_signature)
    def coefficients(D, labels, k, parameters, C):
        own, rival = nearest_own_and_rival(D, labels, k)
        sides = decays(D, labels, k, parameters[0], own, rival, C)
        value, pull, push = negative_log_likelihood(sides, parameters[0], parameters[1])
        scale_sides(C, labels, k, pull, push)
        return value


@dataclass(frozen=True)
class PrunedSoftLogLoss(PrunedLoss, name="rslvq1"):
    """RSLVQ over the S + 1 nearest prototypes.

    Where none of them is of the sample's class, the log in the paper's formula is infinite. By default the nearest own
    prototype takes the last place. With include_own=False the others are pushed by slope P_i and nothing is pulled,
    which is the limit of the formula but the gradient of no loss; the value is that with the nearest own put in.
    """

    include_own: bool = True

    @kernel(all_prototypes_signature)
    def coefficients(D, labels, k, parameters, C):
        kept = keep_nearest(D, labels, k, int(parameters[2]), parameters[3] > 0.0)
        own, rival = nearest_own_and_rival(kept, labels, k)
        sides = decays(kept, labels, k, parameters[0], own, rival, C)
        value, pull, push = negative_log_likelihood(sides, parameters[0], parameters[1])
        scale_sides(C, labels, k, pull, push)
        if value < np.inf:
            return value
        nearest_own = np.inf
        nearest = kept.min()
        for i in range(D.shape[0]):
            if labels[i] == k:
                nearest_own = min(nearest_own, D[i])
        log_sum = 0.0
        for i in range(D.shape[0]):
            if kept[i] < np.inf:
                log_sum += np.exp(-parameters[0] * (kept[i] - nearest))
        return parameters[0] * (nearest_own - nearest) + np.log(log_sum)
