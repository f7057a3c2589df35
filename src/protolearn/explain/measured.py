"""Explanations under a metric that gives distances and a gradient, and neither weights nor maps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.explain.border import Surroundings, forms
from protolearn.metrics import Metric

# Points of Gauss and Legendre's rule: exact for polynomials of degree 63, and to four digits past a kink.
_POINTS = 32
# A line is searched in so many steps, to twice the way to the farthest prototype; the border then by halving a step.
_STEPS, _HALVINGS = 512, 50


@dataclass(frozen=True)
class MeasuredSurroundings(Surroundings):
    """A row among the prototypes under any metric: what `Surroundings` computes, here measured.

    metric : measures the distances
    """

    metric: Metric

    @cached_property
    def distances(self) -> np.ndarray:
        """D_i."""
        return self.metric.distances(self.x[None], self.prototypes)[0]

    @cached_property
    def parts(self) -> np.ndarray:
        """What each feature adds to each D_i, on the straight way of a prototype from the row to its position.

            (m_ij - x_j) integral from 0 to 1 of dD/dm_j at x + t (m_i - x) dt       Sundararajan, Taly and Yan (2017)

        Parts add up to D_i less the distance of the row to itself. Where D_i = v'Lambda v they are the parts of
        `Surroundings`.
        """
        positions, theta = self.prototypes.positions, self.prototypes.theta
        nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
        gradient = np.zeros_like(positions)
        for t, weight in zip((nodes + 1.0) / 2.0, weights / 2.0, strict=True):
            between = self.prototypes.moved(self.x + t * (positions - self.x), theta)
            gradient += weight * self.metric.gradient(self.x[None], between, np.ones((1, len(positions))))[0]
        return (positions - self.x) * gradient

    def first_change(self, direction: np.ndarray, own: np.ndarray) -> tuple[float, int] | None:
        """As in `Surroundings`, by steps along the line: a region that is thinner than a step may be passed over."""
        reach = 2.0 * np.sqrt((self.differences**2).sum(axis=1).max()) / np.linalg.norm(direction)
        if not 0 < reach < np.inf:
            return None
        steps = np.linspace(0.0, reach, _STEPS + 1)
        changed = np.flatnonzero(~own[self._nearest(steps, direction)])
        if not len(changed) or changed[0] == 0:
            return None
        low, high = steps[changed[0] - 1], steps[changed[0]]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if own[self._nearest(middle, direction)[0]] else (low, middle)
        return float(high), int(self._nearest(high, direction)[0])

    def _nearest(self, steps: np.ndarray | float, direction: np.ndarray) -> np.ndarray:
        return self.metric.distances(self.x + np.atleast_1d(steps)[:, None] * direction, self.prototypes).argmin(axis=1)

    def smallest_change(self, own: int, rival: int, free: np.ndarray) -> np.ndarray | None:
        """None: without a form of the distance there is no formula; the way to the rival is the other way to try."""
        return None


def surroundings(Z: np.ndarray, metric: Metric, prototypes: PrototypeSet) -> Iterator[Surroundings]:
    """Each row among the prototypes, by the form of the metric where it has one."""
    formed = forms(metric, prototypes)
    for z in Z:
        yield MeasuredSurroundings(z, prototypes, metric) if formed is None else Surroundings(z, formed)
