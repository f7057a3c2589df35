"""Where a decision by the nearest prototype changes: along a line, and nearest to a row in the learned metric."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.explain.cells import border
from protolearn.metrics import Metric

_FLAT = 1e-12


@dataclass(frozen=True)
class Surroundings:
    """A row among the prototypes: D_i = v_i' Lambda_i v_i with v_i = x - m_i, Lambda_i diagonal or Omega'Omega.

    x : (n_features,)
    prototypes : with theta as `forms` gives it
    """

    x: np.ndarray
    prototypes: PrototypeSet

    @property
    def is_diagonal(self) -> bool:
        """Whether theta holds weights and no maps."""
        return self.prototypes.theta.ndim == 2

    @cached_property
    def differences(self) -> np.ndarray:
        """v_i."""
        return self.x - self.prototypes.positions

    @cached_property
    def pulls(self) -> np.ndarray:
        """Lambda_i v_i: half the gradient of D_i."""
        theta, slot = self.prototypes.theta, self.prototypes.slot
        if self.is_diagonal:
            return theta[slot] * self.differences
        result = np.empty_like(self.differences)
        for s in np.unique(slot):
            members = slot == s
            result[members] = (self.differences[members] @ theta[s].T) @ theta[s]
        return result

    @cached_property
    def parts(self) -> np.ndarray:
        """What each feature adds to each D_i: v_ij (Lambda_i v_i)_j; what two features share is halved between them."""
        return self.differences * self.pulls

    @cached_property
    def distances(self) -> np.ndarray:
        """D_i."""
        return self.parts.sum(axis=1)

    def form(self, i: int) -> np.ndarray:
        """The weights of prototype i, or its matrix Lambda."""
        theta = self.prototypes.theta[self.prototypes.slot[i]]
        return theta if self.is_diagonal else theta.T @ theta

    def along(self, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a, b, c of D_i(x + t u) = a_i t^2 + b_i t + c_i."""
        theta, slot = self.prototypes.theta, self.prototypes.slot
        squares = theta @ direction**2 if self.is_diagonal else ((theta @ direction) ** 2).sum(axis=1)
        return squares[slot], 2.0 * (self.pulls @ direction), self.distances

    def smallest_change(self, own: int, rival: int, free: np.ndarray) -> np.ndarray | None:
        """See the function of this name."""
        return smallest_change(self, own, rival, free)

    def first_change(self, direction: np.ndarray, own: np.ndarray) -> tuple[float, int] | None:
        """The smallest t > 0 from which on a prototype outside `own` is the nearest at x + t u, and that prototype."""
        return first_overtaken(*self.along(direction), own)


def first_overtaken(a: np.ndarray, b: np.ndarray, c: np.ndarray, own: np.ndarray) -> tuple[float, int] | None:
    """The smallest t > 0 from which on a member outside `own` is the least of a t^2 + b t + c, and that member.

    From the least one of `own` the walk goes on to whichever overtakes it first, until that one is of another class.
    """
    t, nearest = 0.0, int(np.where(own, c, np.inf).argmin())
    for _ in range(4 * len(c)):
        steps = _overtakes(a - a[nearest], (b - b[nearest]) + 2.0 * t * (a - a[nearest]), _gap(a, b, c, nearest, t))
        steps[nearest] = np.inf
        # A rival that arrives together with one of the own class decides.
        following = int(np.lexsort((own, steps))[0])
        if not np.isfinite(steps[following]):
            return None
        t += float(steps[following])
        if not own[following]:
            return t, following
        nearest = following
    return None


def _gap(a: np.ndarray, b: np.ndarray, c: np.ndarray, nearest: int, t: float) -> np.ndarray:
    """How much further than the nearest all others are at t, rounding below zero clipped."""
    D = (a * t + b) * t + c
    return np.maximum(D - D[nearest], 0.0)


def _overtakes(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The smallest s >= 0 from which on a s^2 + b s + c < 0, where c >= 0; infinite where there is none."""
    square = b * b - 4.0 * a * c
    root = np.sqrt(np.maximum(square, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Two forms of the same root, each where it does not cancel; the first serves straight lines (a = 0) too.
        falling = np.where(square >= 0, 2.0 * c / (root - b), np.inf)
        rising = np.where(a < 0, (root + b) / (-2.0 * a), np.inf)
    return np.where(b < 0, falling, rising)


def smallest_change(around: Surroundings, own: int, rival: int, free: np.ndarray) -> np.ndarray | None:
    """The smallest change of the free features that brings a row to the border between two prototypes.

        minimise  delta' M delta  where  D_rival(x + delta) = D_own(x + delta),  M = (Lambda_own + Lambda_rival) / 2

    Under a shared metric and with all features free it is the step towards the rival, f (m_rival - m_own) over twice
    their squared distance, f = D_rival - D_own. In general the Lagrangian (M + nu C) delta = -nu b / 2, with
    C = Lambda_rival - Lambda_own and b the gradient of f, is solved in the basis in which M is 1 and C diagonal; f
    falls with nu as long as M + nu C has no negative value. None where no change of these features is enough.
    """
    f = float(around.distances[rival] - around.distances[own])
    b = 2.0 * (around.pulls[rival] - around.pulls[own])[free]
    first, second = around.form(own), around.form(rival)
    shared = around.prototypes.slot[own] == around.prototypes.slot[rival]
    if around.is_diagonal:
        mean = (first[free] + second[free]) / 2.0
        keep = mean > 0
        root = np.sqrt(np.where(keep, mean, 1.0))
        curvature = np.where(keep, (second[free] - first[free]) / root**2, 0.0)
        steps = _least_steps(f, np.where(keep, b / root, 0.0), curvature)
        return None if steps is None else steps / root
    mean = ((first + second) / 2.0)[np.ix_(free, free)]
    values, vectors = np.linalg.eigh(mean)
    keep = values > _FLAT * max(values[-1], 0.0)
    to_unit = vectors[:, keep] / np.sqrt(values[keep])
    curvature = np.zeros(keep.sum())
    if not shared:
        curvature, turn = np.linalg.eigh(to_unit.T @ (second - first)[np.ix_(free, free)] @ to_unit)
        to_unit = to_unit @ turn
    steps = _least_steps(f, to_unit.T @ b, curvature)
    return None if steps is None else to_unit @ steps


def _least_steps(f: float, b: np.ndarray, curvature: np.ndarray) -> np.ndarray | None:
    """The shortest s with f + b's + sum curvature s^2 = 0; 0 where the row is at the border or beyond."""
    if f <= 0:
        return np.zeros_like(b)
    # A curvature below zero by rounding alone never brings a row to the border.
    found = border(f, b, np.where(curvature < -_FLAT, curvature, np.maximum(curvature, 0.0)))
    return None if found is None else found[0]


def forms(metric: Metric, prototypes: PrototypeSet) -> PrototypeSet | None:
    """The prototypes in float64, theta as weights of squared differences or as maps Omega; None of another metric."""
    wide = prototypes.astype(np.dtype(np.float64))
    weights = metric.weights(wide)
    theta = metric.maps(wide) if weights is None else weights
    return None if theta is None else wide.moved(wide.positions, theta)
