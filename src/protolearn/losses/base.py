"""What a loss is: its value on one sample, and its derivative by each squared distance.

Conventions, each with a test (tests/test_conventions.py):
- the nearest of several equally near prototypes is the one with the lowest index;
- own is the nearest prototype of the sample's class, rival the nearest of any other class;
- a coefficient above zero pulls the prototype towards the sample, below zero pushes it away;
- at a kink the loss takes the side on which nothing moves.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from protolearn.core.jit import Kernel, helper, types, vector
from protolearn.core.parameters import check_choice
from protolearn.core.registry import Registry
from protolearn.losses.links import LINKS

LOSSES = Registry("loss")


def pair_signature(number: Any) -> Any:
    """pair(d_own, d_rival, slope) -> (loss, d loss / d d_own, d loss / d d_rival)."""
    return types.UniTuple(types.float64, 3)(types.float64, types.float64, types.float64)


def all_prototypes_signature(number: Any) -> Any:
    """all_prototypes(D, labels, k, parameters, C) -> loss; fills C with d loss / d D for a sample of class k."""
    return types.float64(vector(number), vector(types.int64), types.int64, vector(types.float64), vector(types.float64))


def rule_signature(number: Any) -> Any:
    """rule(d_near, d_far, near_right, far_right, parameters) -> (value, coefficient of the nearest, of the second)."""
    return types.UniTuple(types.float64, 3)(
        types.float64, types.float64, types.boolean, types.boolean, vector(types.float64)
    )


class Loss:
    """Base of all losses; `name=` in the class statement registers it.

    differentiable : False for rules that have coefficients but no loss behind them (LVQ1 to LVQ3): online only
    relative : the loss depends on ratios of distances only, so it does not change when all features are scaled
    link : how class distances become probabilities (protolearn.losses.links)
    individual_rates : each prototype has its own learning rate (OLVQ1)
    """

    coefficients: ClassVar[Kernel]
    differentiable: ClassVar[bool] = True
    relative: ClassVar[bool] = False
    link: ClassVar[str] = "difference"
    individual_rates: ClassVar[bool] = False

    def __init_subclass__(cls, name: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if name is not None:
            LOSSES.add(name, cls)

    def check(self) -> None:
        """Raise where a setting is not valid."""

    def default_slope(self, mean_distance: float) -> float:
        """The slope where the user gives none: xi = 2 / cov, LOGM (6.2)."""
        return 2.0 / mean_distance

    def rate_unit(self, mean_distance: float) -> float:
        """What a learning rate of 1 means: eta(0) = 0.1 tau cov, LOGM (6.2)."""
        return 0.1 * mean_distance

    def penalty(self, positions: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray] | None:
        """A regulariser of the prototypes alone and its gradient; None where alpha acts sample by sample."""
        return None

    def parameters(self, slope: float, regularization: float, labels: np.ndarray) -> np.ndarray:
        """What the compiled function reads: slope and alpha first, then the loss's own settings."""
        return np.array([slope, regularization], dtype=np.float64)


class PairLoss(Loss):
    """A loss in the distances to the nearest own and the nearest rival prototype.

    The regulariser alpha d_own of LOGM (22) is added by the loops, so that every pair loss has it.
    """


class AllPrototypesLoss(Loss):
    """A loss in the distances to all prototypes."""


class NearestLoss(Loss):
    """A rule of the two nearest prototypes, whatever their classes.

    looks_at_second : False where only the nearest counts; the second then counts as infinitely far
    """

    looks_at_second: ClassVar[bool] = True

    def parameters(self, slope: float, regularization: float, labels: np.ndarray) -> np.ndarray:
        return np.append(super().parameters(slope, regularization, labels), float(self.looks_at_second))


class CustomLoss(PairLoss):
    """A user's own pair loss: one function of (d_own, d_rival, slope), plain or decorated with numba's njit.

    It returns the loss and its derivatives by d_own and by d_rival, and runs in the same compiled epoch as ours.
    """

    def __init__(self, function: Callable, link: str = "difference") -> None:
        self.coefficients = Kernel(function, pair_signature, cache=False)  # type: ignore[misc]
        self.link = link  # type: ignore[misc]

    def check(self) -> None:
        check_choice("link", self.link, LINKS)
        function = self.coefficients.function
        try:
            signature(function).bind(1.0, 1.0, 1.0)
        except TypeError:
            raise ValueError(
                f"A loss takes three numbers, (d_own, d_rival, slope), and {function.__name__} takes "
                f"{signature(function)}; give it these three."
            ) from None


@helper
def logistic(z):
    """1 / (1 + exp(-z)) without overflow."""
    if z >= 0:
        return 1.0 / (1.0 + np.exp(-z))
    e = np.exp(z)
    return e / (1.0 + e)


@helper
def softplus_and_logistic(z):
    """ln(1 + exp(z)) and its derivative 1 / (1 + exp(-z)) from one exponential, without overflow."""
    e = np.exp(-abs(z))
    s = 1.0 / (1.0 + e)
    return max(z, 0.0) + np.log1p(e), s if z >= 0 else e * s
