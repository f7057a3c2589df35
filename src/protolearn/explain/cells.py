"""The cells of the prototypes in the units of the inputs: where each one is the nearest, and how far that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq, linprog, nnls

from protolearn.export.plain import MaybeArray, PlainModel

# A system of halfspaces whose nearest point is this many times farther than the farthest halfspace counts as empty.
_FARTHEST = 1e7


@dataclass(frozen=True)
class Cells:
    """Prototypes as quadratic functions of all inputs x, in float64.

        D_i(x) = sum_j lambda_sj (x_j - m_ij)^2    or    |Omega_s (x - origin) - w_i|^2,    s the slot of prototype i

    plain : the model
    positions : (n_prototypes, n_inputs) m_i, or (n_prototypes, rows of Omega) w_i
    weights : (n_slots, n_inputs) or None; maps : (n_slots, rows, n_inputs) or None
    """

    plain: PlainModel
    positions: np.ndarray
    weights: MaybeArray
    maps: MaybeArray
    origin: MaybeArray

    @classmethod
    def of(cls, plain: PlainModel) -> Cells:
        """The cells of a model; inputs that the model does not use get zeros."""
        n, used = plain.n_inputs, np.arange(plain.n_inputs) if plain.columns is None else plain.columns
        if plain.maps is not None:
            maps, origin = np.zeros((*plain.maps.shape[:2], n)), np.zeros(n)
            maps[:, :, used], origin[used] = plain.maps, plain.origin
            return cls(plain, plain.positions, None, maps, origin)
        weights = np.zeros((1 if plain.weights is None else len(plain.weights), n))
        weights[:, used] = 1.0 if plain.weights is None else plain.weights
        positions = np.zeros((plain.n_prototypes, n))
        positions[:, used] = plain.positions
        return cls(plain, positions, weights, None, None)

    @property
    def labels(self) -> np.ndarray:
        """The class code of each prototype."""
        return self.plain.labels

    @property
    def slot(self) -> np.ndarray:
        """The row of weights or maps that each prototype uses."""
        return self.plain.slot

    @property
    def is_diagonal(self) -> bool:
        """Whether the metric weighs the inputs one by one."""
        return self.maps is None

    @cached_property
    def is_shared(self) -> bool:
        """Whether all prototypes have one metric: a difference of two distances is linear then."""
        return len(np.unique(self.slot)) == 1

    def site(self, prototype: int) -> np.ndarray:
        """Where a prototype is, or of a map that loses directions the nearest such point to the origin of the maps."""
        if self.is_diagonal:
            return self.positions[prototype]
        return self.origin + np.linalg.pinv(self.maps[self.slot[prototype]]) @ self.positions[prototype]

    @cached_property
    def magnitude(self) -> np.ndarray:
        """How large the numbers are that each input is compared with."""
        return np.abs(self.positions).max(axis=0) if self.is_diagonal else np.abs(self.origin)

    def distances(self, V: np.ndarray) -> np.ndarray:
        """D of rows of inputs."""
        return self.plain.distances(V)

    def form(self, slot: int) -> np.ndarray:
        """Lambda of a slot: its diagonal, or the matrix."""
        return self.weights[slot] if self.is_diagonal else self.maps[slot].T @ self.maps[slot]

    @cached_property
    def anchors(self) -> np.ndarray:
        """Lambda m_i, up to what all prototypes of a slot share: (n_prototypes, n_inputs)."""
        if self.is_diagonal:
            return self.weights[self.slot] * (self.positions - self.positions.mean(axis=0))
        found = np.empty((len(self.slot), self.maps.shape[2]))
        for s in np.unique(self.slot):
            found[self.slot == s] = self.positions[self.slot == s] @ self.maps[s]
        return found

    def pulls(self, v: np.ndarray) -> np.ndarray:
        """Lambda_i (x - m_i), half the gradient of D_i at one row: (n_prototypes, n_inputs)."""
        if self.is_diagonal:
            return self.weights[self.slot] * (v - self.positions)
        moved = v - self.origin
        images = np.stack([omega.T @ (omega @ moved) for omega in self.maps])
        return images[self.slot] - self.anchors

    def rounding(self, V: np.ndarray, eps: float) -> np.ndarray:
        """A bound of what rounding in numbers of that precision can make of a difference of two D, for each row.

        A classifier may measure by |x|^2 - 2 x'm + |m|^2 from the mean prototype, so the terms count, not D.
        """
        if self.is_diagonal:
            centre = self.positions.mean(axis=0)
            root = np.sqrt(self.weights.max(axis=0))
            rows = ((np.abs(V - centre) * root) ** 2).sum(axis=1)
            prototypes = ((np.abs(self.positions - centre) * root) ** 2).sum(axis=1).max()
        else:
            lengths = [((np.abs(V - self.origin) @ np.abs(omega).T) ** 2).sum(axis=1) for omega in self.maps]
            rows, prototypes = np.max(lengths, axis=0), (self.positions**2).sum(axis=1).max()
        return (16.0 + V.shape[1]) * eps * (rows + prototypes)

    def seminorms(self, scale: np.ndarray, norm: float) -> np.ndarray:
        """For each slot the largest root of D that a step u of length 1 makes, x + scale u, or a bound above it."""
        if norm == 2:
            if self.is_diagonal:
                return (np.sqrt(self.weights) * scale).max(axis=1)
            return np.array([np.linalg.norm(omega * scale, 2) for omega in self.maps])
        if self.is_diagonal:
            return np.sqrt((self.weights * scale**2).sum(axis=1))
        return np.sqrt((np.abs(self.maps * scale).sum(axis=2) ** 2).sum(axis=1))


def least_norm(G: np.ndarray, h: np.ndarray, norm: float) -> tuple[np.ndarray, float] | None:
    """The u of least norm with G u >= h, and a bound below the norm of every such u; None where there is none.

    In the 2-norm by non-negative least squares (Lawson and Hanson 1974, chapter 23), in the maximum norm by a linear
    programme. The bound is lambda'h over the dual norm of lambda'G for the multipliers found, which holds for any
    lambda >= 0, so that it does not depend on how exact the solver was.
    """
    if (h <= 0).all():
        return np.zeros(G.shape[1]), 0.0
    lengths = np.linalg.norm(G, axis=1)
    if (h[lengths == 0] > 0).any():
        return None
    G, h = G[lengths > 0] / lengths[lengths > 0, None], h[lengths > 0] / lengths[lengths > 0]
    unit = h.max()
    found = (_nearest if norm == 2 else _nearest_in_box)(G, h / unit)
    if found is None:
        return None
    u, multipliers = found
    along = multipliers @ G
    dual = np.linalg.norm(along) if norm == 2 else np.abs(along).sum()
    return u * unit, float(multipliers @ h / dual) if dual > 0 else 0.0


def _nearest(G: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    target = np.zeros(G.shape[1] + 1)
    target[-1] = 1.0
    multipliers, residual = nnls(np.vstack([G.T, h]), target, maxiter=50 * (len(h) + G.shape[1]))
    if residual < 1.0 / _FARTHEST:
        return None
    rest = np.vstack([G.T, h]) @ multipliers - target
    return -rest[:-1] / rest[-1], multipliers


def _nearest_in_box(G: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    n, k = G.shape[1], len(h)
    # u = p - q with p, q >= 0 and p + q <= t: at the optimum, t is the largest |u_j|.
    upper = np.block([[-G, G, np.zeros((k, 1))], [np.eye(n), np.eye(n), -np.ones((n, 1))]])
    cost = np.append(np.zeros(2 * n), 1.0)
    found = linprog(cost, A_ub=upper, b_ub=np.append(-h, np.zeros(n)), method="highs")
    if found.status != 0:
        return None
    return found.x[:n] - found.x[n : 2 * n], np.maximum(-found.ineqlin.marginals[:k], 0.0)


def border(f: float, b: np.ndarray, curvature: np.ndarray) -> tuple[np.ndarray, float] | None:
    """The shortest s with f + b's + sum curvature s^2 <= 0 from f > 0, and a bound below every such length.

    s = -nu b / (2 (1 + nu curvature)) for the nu at which the sum is 0; the bound is the root of the dual function
    nu f - nu^2 / 4 sum b^2 / (1 + nu curvature), which holds for every nu below 1 / -min(curvature).
    """
    lowest = float(curvature.min(initial=0.0))
    bounded = lowest < -1e-30 * float(np.abs(curvature).max(initial=0.0))

    def steps(nu: float) -> np.ndarray:
        return -nu * b / (2.0 * (1.0 + nu * curvature))

    def value(nu: float) -> float:
        s = steps(nu)
        return f + float(b @ s + curvature @ (s * s))

    def bound(nu: float) -> float:
        return float(np.sqrt(max(nu * f - nu * nu / 4.0 * float((b * b / (1.0 + nu * curvature)).sum()), 0.0)))

    if bounded:
        high = (1.0 - 1e-9) / -lowest
        if value(high) > 0:
            # The gradient has nothing along the most negative curvature: one step along it makes up the rest.
            s = steps(high)
            s[curvature.argmin()] += np.sqrt(value(high) / -lowest)
            return s, bound(high)
    else:
        squares = float(b @ b)
        # Where nothing bends the value is f - nu |b|^2 / 2.
        high = 4.0 * f / squares if squares > 0 else np.inf
        curvature = np.maximum(curvature, 0.0)
        for _ in range(60):
            if not np.isfinite(high) or value(high) <= 0:
                break
            high *= 4.0
        if not np.isfinite(high) or value(high) > 0:
            return None
    nu = float(brentq(value, 0.0, high, xtol=1e-300, rtol=1e-14))
    return steps(nu), bound(nu)


def border_in_box(f: float, b: np.ndarray, curvature: np.ndarray) -> tuple[np.ndarray, float] | None:
    """The same in the maximum norm: the smallest t such that some s with all |s_j| <= t reaches 0.

    The sum falls the most at s_j = -sign(b_j) t, or at the bottom of input j's parabola where that comes first.
    """
    size = np.abs(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        bottom = np.where(curvature > 0, size / (2.0 * curvature), np.inf)

    def steps(t: float) -> np.ndarray:
        return -np.where(b >= 0, 1.0, -1.0) * np.minimum(t, bottom)

    def value(t: float) -> float:
        s = steps(t)
        return f + float(b @ s + curvature @ (s * s))

    high = f / max(size.sum(), np.finfo(float).tiny)
    for _ in range(80):
        if not np.isfinite(high) or value(high) <= 0:
            break
        high *= 4.0
    if not np.isfinite(high) or value(high) > 0:
        return None
    t = float(brentq(value, 0.0, high, xtol=1e-300, rtol=1e-14))
    return steps(t), t


def bound_in_box(f: float, b: np.ndarray, curvature: np.ndarray, vectors: np.ndarray) -> float:
    """A bound below the maximum norm of every d with f + b'd + d'C d <= 0, C = vectors diag(curvature) vectors'.

    d'C d >= -t^2 k for all |d_j| <= t, with k the sum of all |entries| of C's negative part, or its largest value times
    the number of inputs, whichever is smaller.
    """
    negative = np.maximum(-curvature, 0.0)
    k = min(float(np.abs((vectors * negative) @ vectors.T).sum()), float(negative.max(initial=0.0)) * len(b))
    size = float(np.abs(vectors @ b).sum())
    below = size + np.sqrt(size * size + 4.0 * k * f)
    return 2.0 * f / below if below > 0 else np.inf
