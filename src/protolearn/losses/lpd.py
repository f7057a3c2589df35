"""Learning prototypes and distances: Paredes and Vidal (2006)."""

import numpy as np

from protolearn.core.jit import kernel
from protolearn.losses.base import PairLoss, logistic, pair_signature

# A sample nearer to its prototype than this share of the way to the rival is on it: the direction is rounding.
_ON_IT = 1e-6


class DistanceRatioLoss(PairLoss, name="lpd"):
    """Sigmoid of the ratio of the unsquared distances to own and rival: the 1-NN training error, smoothed.

        r             = sqrt(d_own / d_rival)                           LPD (5)
        phi           = s(slope (r - 1)), s the logistic function       (3), (4)
        dphi/dd_own   =  slope phi (1 - phi) r / (2 d_own)              (6) to (8): R1 / 2
        dphi/dd_rival = -slope phi (1 - phi) r / (2 d_rival)            R2 / 2

    A window around r = 1: samples far on either side move nothing. The paper prints 1/n, n the number of prototypes, in
    front of the sum; an error rate needs the number of samples.
    Where d_own = 0, as for every sample that a prototype starts on, dphi/dd_own is infinite and the direction of the
    step undefined: nothing moves, also where d_own is 0 but for rounding (r < 1e-6). Where d_rival = 0 the sample is
    far outside the window, phi = 1; where both are 0 it is on the border, phi = 1/2, and nothing moves either.

    slope : beta; 10 in all of the paper's benchmarks, it has no unit
    """

    relative = True
    link = "power"

    def default_slope(self, mean_distance: float) -> float:
        return 10.0

    @kernel(pair_signature)
    def coefficients(d_own, d_rival, slope):
        if d_own == 0.0 or d_rival == 0.0:
            if d_rival > 0.0:
                return logistic(-slope), 0.0, 0.0
            return (1.0 if d_own > 0.0 else 0.5), 0.0, 0.0
        r = np.sqrt(d_own / d_rival)
        phi = logistic(slope * (r - 1.0))
        steep = 0.5 * slope * phi * (1.0 - phi)
        if r < _ON_IT or steep == 0.0:
            # Far outside the window r may be too large for a number.
            return phi, 0.0, 0.0
        return phi, steep * r / d_own, -steep * r / d_rival
