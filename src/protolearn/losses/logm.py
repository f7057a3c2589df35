"""Log-likelihood of the margin: Jin, Liu and Hou (2010)."""

from protolearn.core.jit import kernel
from protolearn.losses.base import PairLoss, pair_signature, softplus_and_logistic


class LogMarginLoss(PairLoss, name="logm"):
    """Softplus of how much nearer the rival is than the own prototype.

        phi           = ln(1 + exp(slope (d_own - d_rival)))           LOGM (17), (20)
        dphi/dd_own   = slope s(slope (d_own - d_rival))               (21), s the logistic function
        dphi/dd_rival = -dphi/dd_own

    Convex in the margin, so a sample far on the wrong side keeps its full pull; MCE lets it go.
    At d_own = d_rival both coefficients are slope / 2 in size.
    """

    @kernel(pair_signature)
    def coefficients(d_own, d_rival, slope):
        value, s = softplus_and_logistic(slope * (d_own - d_rival))
        return value, slope * s, -slope * s
