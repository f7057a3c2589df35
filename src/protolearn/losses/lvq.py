"""Kohonen's rules: coefficients without a loss behind them, so they run online only.

With c = 1/2 a learning rate alpha moves a prototype by alpha (x - m). The value reported for a sample is 1 where its
nearest prototype is of another class, else 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protolearn.core.jit import helper, kernel
from protolearn.core.parameters import check_number
from protolearn.losses.base import NearestLoss, rule_signature


@helper
def in_window(near, far, least_ratio):
    """Whether near / far > least_ratio; two distances of 0 are as equal as can be, hence inside."""
    return near > least_ratio * far or far == 0.0


class Rule(NearestLoss):
    """Base of the rules."""

    differentiable = False
    link = "relative"

    def default_slope(self, mean_distance: float) -> float:
        return 1.0

    def rate_unit(self, mean_distance: float) -> float:
        return 1.0


@dataclass(frozen=True)
class WindowRule(Rule):
    """A rule that moves prototypes only for samples near the mid-plane of the two nearest.

    window : w; a sample is inside where min(d1/d2, d2/d1) > (1 - w) / (1 + w), d not squared
    lvq_pak_window : test the ratio of squared distances, as the LVQ_PAK programs do: a narrower window
    """

    window: float = 0.3
    lvq_pak_window: bool = False

    def check(self) -> None:
        check_number("window", self.window, above=0, below=1)

    def parameters(self, slope: float, regularization: float, labels: np.ndarray) -> np.ndarray:
        ratio = (1.0 - self.window) / (1.0 + self.window)
        squared_ratio = ratio if self.lvq_pak_window else ratio * ratio
        return np.append(super().parameters(slope, regularization, labels), squared_ratio)


class WinnerRule(Rule, name="lvq1"):
    """LVQ1: the nearest prototype is pulled where its label is right, pushed where it is wrong.

    c = +1/2 or -1/2 for the nearest prototype                     Kohonen (1990)
    """

    looks_at_second = False

    @kernel(rule_signature)
    def coefficients(d_near, d_far, near_right, far_right, parameters):
        return (0.0, 0.5, 0.0) if near_right else (1.0, -0.5, 0.0)


class OptimisedWinnerRule(WinnerRule, name="olvq1"):
    """OLVQ1: LVQ1 with a rate for each prototype.

        alpha_c /= 1 + alpha_c after a pull, alpha_c /= 1 - alpha_c after a push          Kohonen (1992)

    The rate never rises above the first one: without that cap it passes 1 and the prototypes run away.
    """

    individual_rates = True
    coefficients = WinnerRule.coefficients


class CorrectionRule(WindowRule, name="lvq2"):
    """LVQ2: where the nearest is wrong, the second nearest right and the sample inside the window, push and pull.

    c = -1/2 for the nearest, +1/2 for the second                      Kohonen (1990)
    """

    @kernel(rule_signature)
    def coefficients(d_near, d_far, near_right, far_right, parameters):
        value = 0.0 if near_right else 1.0
        # Read before anything is decided: numba counts who uses an array that is read on some paths only, at each call.
        least_ratio = parameters[3]
        if not near_right and far_right and in_window(d_near, d_far, least_ratio):
            return value, -0.5, 0.5
        return value, 0.0, 0.0


class BorderRule(WindowRule, name="lvq21"):
    """LVQ2.1: where one of the two nearest is right and the other wrong, in either order, inside the window.

    c = +1/2 for the right one, -1/2 for the wrong one              Kohonen (1990); LVQ_PAK's program lvq2
    """

    @kernel(rule_signature)
    def coefficients(d_near, d_far, near_right, far_right, parameters):
        value = 0.0 if near_right else 1.0
        least_ratio = parameters[3]
        if near_right != far_right and in_window(d_near, d_far, least_ratio):
            return value, 0.5 - value, value - 0.5
        return value, 0.0, 0.0


@dataclass(frozen=True)
class StabilisedBorderRule(WindowRule, name="lvq3"):
    """LVQ3: LVQ2.1, and where both nearest are right both are pulled a little, window or not.

        c = epsilon / 2 for both                                        Kohonen (1990)

    epsilon : 0.1 to 0.5
    """

    epsilon: float = 0.2

    def check(self) -> None:
        super().check()
        check_number("epsilon", self.epsilon, at_least=0, at_most=1)

    def parameters(self, slope: float, regularization: float, labels: np.ndarray) -> np.ndarray:
        return np.append(super().parameters(slope, regularization, labels), self.epsilon)

    @kernel(rule_signature)
    def coefficients(d_near, d_far, near_right, far_right, parameters):
        value = 0.0 if near_right else 1.0
        least_ratio, little = parameters[3], 0.5 * parameters[4]
        if near_right and far_right:
            return value, little, little
        if near_right != far_right and in_window(d_near, d_far, least_ratio):
            return value, 0.5 - value, value - 0.5
        return value, 0.0, 0.0
