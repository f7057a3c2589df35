"""Kohonen's rules: coefficients without a loss behind them, so they run online only.

With c = 1/2 a learning rate alpha moves a prototype by alpha (x - m). The value reported for a sample is 1 where its
nearest prototype is of another class, else 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protolearn.compiled import compiled, inline
from protolearn.losses.base import FieldLoss, check_window, field_signature
from protolearn.parameters import check_number


@inline
def two_nearest(D):
    """Indices of the nearest and the second nearest prototype, ties to the lowest index; -1 where there is none."""
    first = second = -1
    for i in range(D.shape[0]):
        if first < 0 or D[i] < D[first]:
            second = first
            first = i
        elif second < 0 or D[i] < D[second]:
            second = i
    return first, second


@inline
def in_window(near, far, least_ratio):
    """Whether near / far > least_ratio; two distances of 0 are as equal as can be, hence inside."""
    return near > least_ratio * far or far == 0.0


class Rule(FieldLoss):
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
        check_window(self.window)

    def parameters(self, slope: float, regularization: float, labels: np.ndarray) -> np.ndarray:
        ratio = (1.0 - self.window) / (1.0 + self.window)
        squared_ratio = ratio if self.lvq_pak_window else ratio * ratio
        return np.append(super().parameters(slope, regularization, labels), squared_ratio)


class WinnerRule(Rule, name="lvq1"):
    """LVQ1: the nearest prototype is pulled where its label is right, pushed where it is wrong.

    c = +1/2 or -1/2 for the nearest prototype                     SPEC 6
    """

    @compiled(field_signature)
    def coefficients(D, labels, k, parameters, C):
        C[:] = 0.0
        nearest, _ = two_nearest(D)
        right = labels[nearest] == k
        C[nearest] = 0.5 if right else -0.5
        return 0.0 if right else 1.0


class OptimisedWinnerRule(WinnerRule, name="olvq1"):
    """OLVQ1: LVQ1 with a rate for each prototype.

        alpha_c /= 1 + alpha_c after a pull, alpha_c /= 1 - alpha_c after a push          SPEC 6

    The rate never rises above the first one: without that cap it passes 1 and the prototypes run away.
    """

    individual_rates = True
    coefficients = WinnerRule.coefficients


class CorrectionRule(WindowRule, name="lvq2"):
    """LVQ2: where the nearest is wrong, the second nearest right and the sample inside the window, push and pull.

    c = -1/2 for the nearest, +1/2 for the second                      SPEC 6
    """

    @compiled(field_signature)
    def coefficients(D, labels, k, parameters, C):
        C[:] = 0.0
        near, far = two_nearest(D)
        right = labels[near] == k
        if not right and far >= 0 and labels[far] == k and in_window(D[near], D[far], parameters[2]):
            C[near] = -0.5
            C[far] = 0.5
        return 0.0 if right else 1.0


class BorderRule(WindowRule, name="lvq21"):
    """LVQ2.1: where one of the two nearest is right and the other wrong, in either order, inside the window.

    c = +1/2 for the right one, -1/2 for the wrong one              SPEC 6; LVQ_PAK's program lvq2
    """

    @compiled(field_signature)
    def coefficients(D, labels, k, parameters, C):
        C[:] = 0.0
        near, far = two_nearest(D)
        right = labels[near] == k
        if far >= 0 and right != (labels[far] == k) and in_window(D[near], D[far], parameters[2]):
            C[near] = 0.5 if right else -0.5
            C[far] = -0.5 if right else 0.5
        return 0.0 if right else 1.0


@dataclass(frozen=True)
class StabilisedBorderRule(WindowRule, name="lvq3"):
    """LVQ3: LVQ2.1, and where both nearest are right both are pulled a little, window or not.

        c = epsilon / 2 for both                                        SPEC 6

    epsilon : 0.1 to 0.5
    """

    epsilon: float = 0.2

    def check(self) -> None:
        super().check()
        check_number("epsilon", self.epsilon, at_least=0, at_most=1)

    def parameters(self, slope: float, regularization: float, labels: np.ndarray) -> np.ndarray:
        return np.append(super().parameters(slope, regularization, labels), self.epsilon)

    @compiled(field_signature)
    def coefficients(D, labels, k, parameters, C):
        C[:] = 0.0
        near, far = two_nearest(D)
        right = labels[near] == k
        if far >= 0:
            far_right = labels[far] == k
            if right and far_right:
                C[near] = 0.5 * parameters[3]
                C[far] = 0.5 * parameters[3]
            elif right != far_right and in_window(D[near], D[far], parameters[2]):
                C[near] = 0.5 if right else -0.5
                C[far] = 0.5 if far_right else -0.5
        return 0.0 if right else 1.0
