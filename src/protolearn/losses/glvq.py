"""Generalized learning vector quantization: Sato and Yamada (1996), with and without a sigmoid."""

from protolearn.core.jit import helper, kernel
from protolearn.losses.base import PairLoss, logistic, pair_signature


@helper
def relative_distance(d_own, d_rival):
    """mu = (d_own - d_rival) / (d_own + d_rival) and its two derivatives; all 0 where both distances are 0.

    mu lies in [-1, 1], below 0 where the sample is classified rightly. LOGM (9) prints the opposite sign.
    Divided step by step, because the square of the sum overflows long before the result does.
    """
    total = d_own + d_rival
    if total == 0.0:
        return 0.0, 0.0, 0.0
    own, rival = d_own / total, d_rival / total
    return own - rival, 2.0 * rival / total, -2.0 * own / total


class RelativeDistanceLoss(PairLoss, name="glvq"):
    """The relative distance itself.

        phi           = mu = (d_own - d_rival) / (d_own + d_rival)     LaMaLVQ (9)
        dphi/dd_own   =  2 d_rival / (d_own + d_rival)^2               (10)
        dphi/dd_rival = -2 d_own / (d_own + d_rival)^2                 (11)

    The thesis prints steps half as large: half the learning rate.
    """

    relative = True
    link = "relative"

    def default_slope(self, mean_distance: float) -> float:
        return 1.0

    @kernel(pair_signature)
    def coefficients(d_own, d_rival, slope):
        return relative_distance(d_own, d_rival)


class SigmoidRelativeDistanceLoss(PairLoss, name="glvq_sigmoid"):
    """Sigmoid of the relative distance.

        phi           = s(slope mu)                                    LOGM (9) with its sign corrected
        dphi/dd_own   =  slope phi (1 - phi) 2 d_rival / (d_own + d_rival)^2
        dphi/dd_rival = -slope phi (1 - phi) 2 d_own / (d_own + d_rival)^2

    mu has no units, so neither has its slope: 10, where the LOGM paper prints 2 / cov for all methods. Of the slopes 1
    to 20, 10 and 20 come nearest to its published GLVQ rows (docs/fidelity.md).
    """

    relative = True
    link = "relative_sigmoid"

    def default_slope(self, mean_distance: float) -> float:
        return 10.0

    @kernel(pair_signature)
    def coefficients(d_own, d_rival, slope):
        mu, by_own, by_rival = relative_distance(d_own, d_rival)
        phi = logistic(slope * mu)
        steep = slope * phi * (1.0 - phi)
        return phi, steep * by_own, steep * by_rival
