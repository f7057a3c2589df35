"""Decision surface mapping: Geva and Sitte (1991)."""

from protolearn.core.jit import kernel
from protolearn.losses.base import PairLoss, pair_signature


class DecisionSurfaceLoss(PairLoss, name="dsm"):
    """The perceptron loss of the two nearest prototypes: only errors move anything.

        phi           = max(d_own - d_rival, 0) / 2
        dphi/dd_own   = 1/2 where d_own > d_rival, else 0              Geva and Sitte (1991)
        dphi/dd_rival = -dphi/dd_own

    With c = 1/2 a learning rate alpha moves a prototype by alpha (x - m). A tie is no error: nothing moves.
    """

    link = "relative"

    def default_slope(self, mean_distance: float) -> float:
        return 1.0

    def rate_unit(self, mean_distance: float) -> float:
        return 1.0

    @kernel(pair_signature)
    def coefficients(d_own, d_rival, slope):
        if d_own > d_rival:
            return 0.5 * (d_own - d_rival), 0.5, -0.5
        return 0.0, 0.0, 0.0
