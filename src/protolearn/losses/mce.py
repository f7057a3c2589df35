"""Minimum classification error: Juang and Katagiri (1992), as in Jin, Liu and Hou (2010)."""

from protolearn.core.jit import kernel
from protolearn.losses.base import PairLoss, logistic, pair_signature


class MinimumErrorLoss(PairLoss, name="mce"):
    """Sigmoid of the misclassification measure: the training error, smoothed.

        phi           = s(slope (d_own - d_rival))                     LOGM (5), (6), s the logistic function
        dphi/dd_own   = slope phi (1 - phi)                            (7)
        dphi/dd_rival = -dphi/dd_own

    Largest at the border, nothing far on either side: an outlier is let go.
    """

    @kernel(pair_signature)
    def coefficients(d_own, d_rival, slope):
        phi = logistic(slope * (d_own - d_rival))
        pull = slope * phi * (1.0 - phi)
        return phi, pull, -pull
