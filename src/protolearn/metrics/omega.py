"""Full or low-rank matrix distance through its factor Omega (GMLVQ, LGMLVQ)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from protolearn.core.jit import VECTORISED, kernel
from protolearn.core.parameters import check_count
from protolearn.core.prototypes import PrototypeSet
from protolearn.metrics.base import (
    METRICS,
    ROUNDING,
    Coefficients,
    Gradients,
    Metric,
    Packed,
    by_slot,
    centred,
    column_sums,
    distances_signature,
    expanded_distances,
    move_signature,
    scale_of,
    slot_products,
    squared_lengths,
    update_signature,
)

if TYPE_CHECKING:
    from protolearn.data import Samples

# Images of rows under many maps that are made at once, 1 MB in float64: half the time of 8 MB; and those that are kept
# from the distances for the gradient.
_IMAGES_AT_A_TIME, _IMAGES_KEPT = 1 << 17, 1 << 22
# A map of 1,911 features with as many rows takes 30 times as long as one with 60.
_MANY_FEATURES, _ROWS_OF_MANY = 300, 60
# What the distances hand to the gradient: one array, one for each part of the prototypes, or None.
Images = Any


@dataclass(frozen=True)
class Omega(Metric):
    """Squared distance after a learned linear map, shared or one map a class or a prototype.

        D_i        = |Omega (x - m_i)|^2 = v' Lambda v, Lambda = Omega'Omega      LaMaLVQ (1)
        dD_i/dm_i   = -2 Lambda (x - m_i)
        dD_i/dOmega = 2 Omega v v'

    Omega has `n_components` rows; None takes one a feature, "auto" too up to 300 features and 60 above. It starts at
    the identity or, with fewer rows than features, at the leading principal axes of the data; after each step it is
    scaled so that trace(Lambda) is the number of features (normalization="mean") or 1 ("sum", as printed), or not at
    all ("free"). A position never moves further than its distance to the sample, or than it would under equal weights
    where that is further already. `start_at` is an Omega to begin with instead, for example `components_` of LMNN,
    scaled to that trace; a metric_learning_rate of 0 keeps it.
    """

    n_components: int | str | None = None
    scope: str = "global"
    normalization: str = "mean"
    start_at: Any = field(default=None, compare=False)

    def check(self) -> None:
        super().check()
        if self.n_components != "auto":
            check_count("n_components", self.n_components, optional=True)

    def initial_theta(self, n_slots: int, data: Samples) -> np.ndarray:
        d = data.n_features
        if self.start_at is not None:
            return np.repeat(self._given_start(d)[None], n_slots, axis=0)
        rows = self._rows(d)
        if rows > d:
            raise ValueError(
                f"n_components={rows} is more than the {d} features of X; choose at most {d}, or None for all."
            )
        axes = np.eye(d) if rows == d else np.linalg.eigh(data.covariance)[1][:, ::-1].T[:rows]
        return np.repeat(axes[None] * np.sqrt(self.total(d) / rows), n_slots, axis=0)

    def _rows(self, n_features: int) -> int:
        """Rows of a map of so many features."""
        if isinstance(self.n_components, str):
            return n_features if n_features <= _MANY_FEATURES else _ROWS_OF_MANY
        return n_features if self.n_components is None else self.n_components

    def _given_start(self, n_features: int) -> np.ndarray:
        omega = np.asarray(self.start_at, dtype=np.float64)
        free = self.n_components is None or isinstance(self.n_components, str)
        rows = len(omega) if omega.ndim and free else self.n_components
        if omega.shape != (rows, n_features) or not np.isfinite(omega).all() or not omega.any():
            raise ValueError(
                f"start_at must hold finite numbers, not all zero, with {n_features} columns"
                + ("" if free else f" and {self.n_components} rows")
                + f"; got an array of shape {omega.shape}."
            )
        return self.project(omega[None])[0]

    def rate_unit(self, mean_distance: float, data: Samples, relative: bool) -> float:
        mean_weight = self.total(data.n_features) / data.n_features
        return (mean_weight if relative else 1.0) / mean_distance

    def distances(self, X: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
        return self._distances_and_images(X, prototypes)[0]

    def distances_and_pullback(
        self, X: np.ndarray, prototypes: PrototypeSet
    ) -> tuple[np.ndarray, Callable[[Coefficients], Gradients]]:
        D, images = self._distances_and_images(X, prototypes)
        return D, partial(self._gradient, X, prototypes, images)

    def gradient(self, X: np.ndarray, prototypes: PrototypeSet, C: Coefficients) -> Gradients:
        return self._gradient(X, prototypes, None, C)

    @staticmethod
    def _distances_and_images(X: np.ndarray, prototypes: PrototypeSet) -> tuple[np.ndarray, Images]:
        """|Omega x - Omega m|^2, and the rows after the last map, or Omega (x - m) where there is a map for each m."""
        X, W = centred(X, prototypes)
        if map_for_each(prototypes):
            keeps = len(X) * len(W) * prototypes.theta.shape[1] <= _IMAGES_KEPT
            kept: list[np.ndarray] = []
            found = np.empty((len(X), len(W)), dtype=np.result_type(X, prototypes.theta))
            for part in parts_of(X, prototypes):
                images = mapped_differences(X, W[part], prototypes.theta[prototypes.slot[part]])
                np.einsum("nik,nik->ni", images, images, out=found[:, part])
                if keeps:
                    kept.append(images)
            return found, kept if keeps else None
        found = np.empty((len(W), len(X)), dtype=np.result_type(X, prototypes.theta))
        images = X
        for s, members in prototypes.groups:
            omega = prototypes.theta[s]
            images = X @ omega.T
            found[members] = expanded_distances(images, W[members] @ omega.T).T
        return found.T, images

    @staticmethod
    def _gradient(X: np.ndarray, prototypes: PrototypeSet, images: Images, C: Coefficients) -> Gradients:
        """-2 Lambda sum c v and 2 Omega sum c v v', with v = x - m:

            sum c v v' = sum c x x' - sum_i (f_i m_i' + m_i a_i'),   f_i = sum c x,  a_i = sum c (x - m_i)

        images : Omega x of all rows where there is one Omega; Omega v where there is one for each m
        """
        X, W = centred(X, prototypes)
        if map_for_each(prototypes) and not sparse.issparse(C):
            return _gradient_of_each(X, W, prototypes, images, C)
        first = C.T @ X
        away = first - column_sums(C)[:, None] * W
        by_position, by_omega = np.empty_like(away), np.zeros(prototypes.theta.shape, dtype=away.dtype)
        for s, members, rows, c in by_slot(C, prototypes):
            omega = prototypes.theta[s]
            by_position[members] = -2.0 * (away[members] @ omega.T) @ omega
            pulled = X[rows]
            mapped = pulled @ omega.T if images is None or len(prototypes.theta) > 1 else images
            found = (mapped * c[:, None]).T @ pulled
            found -= (omega @ first[members].T) @ W[members]
            found -= (omega @ W[members].T) @ away[members]
            by_omega[s] = 2.0 * found
        return by_position, by_omega

    def linear_forms(self, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray] | None:
        if len(prototypes.theta) > 1:
            return None
        omega = prototypes.theta[0]
        mapped = prototypes.centring[1] @ omega.T
        return -2.0 * mapped @ omega, squared_lengths(mapped)

    def row_distances(self, prototypes: PrototypeSet) -> Callable[[np.ndarray], np.ndarray]:
        """By images of the row and of the prototypes; those that rounding may put in another order, by differences."""
        theta, slot = prototypes.theta, prototypes.slot
        origin = prototypes.positions.mean(axis=0)
        from_there = prototypes.positions - origin
        mapped = np.einsum("ikj,ij->ik", theta[slot], from_there)
        # Python's numbers: they overflow without a warning.
        size = float(squared_lengths(theta.reshape(len(theta), -1)).max())
        rounding = ROUNDING * float(np.finfo(theta.dtype).eps) * size
        furthest = float(squared_lengths(from_there).max())

        def measure(x: np.ndarray) -> np.ndarray:
            v = x - origin
            difference = (theta[0] @ v if len(theta) == 1 else (theta @ v)[slot]) - mapped
            D = np.einsum("ij,ij->i", difference, difference)
            doubtful = float(D.min()) + rounding * (float(v @ v) + furthest) >= D
            if np.count_nonzero(doubtful) > 1:
                near = np.flatnonzero(doubtful)
                D[near] = self.pair_distances(np.repeat(x[None], len(near), axis=0), prototypes, near)
            return D

        return measure

    def maps(self, prototypes: PrototypeSet) -> np.ndarray:
        return prototypes.theta

    def project(self, theta: np.ndarray) -> np.ndarray:
        """Scaled so that the sum of squares of each slot is the total; one of zeros stays as it is."""
        if self.scale_is_free:
            return theta
        squares = slot_products(theta, theta)
        scale = np.sqrt(self.total(theta.shape[2]) / np.where(squares > 0, squares, 1.0))
        return (theta * np.where(squares > 0, scale, 1.0)).astype(theta.dtype, copy=False)

    def gradient_before_projection(self, raw: np.ndarray, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        if self.scale_is_free:
            return gradient
        along = slot_products(gradient, theta) / self.total(theta.shape[2])
        return (gradient - along * theta) * scale_of(raw, theta)

    def pack(self, prototypes: PrototypeSet) -> Packed:
        dtype = prototypes.positions.dtype
        _, rows, d = prototypes.theta.shape
        return Packed(
            positions=prototypes.positions.copy(order="C"),
            theta=prototypes.theta.copy(order="C"),
            slot=prototypes.slot,
            labels=prototypes.labels,
            constants=np.full(2 * d + rows + 1, self.total(d) / d, dtype=dtype),
            distances_to=distances_mapped,
            move=move_mapped,
            update=normalise_trace,
            unpack=lambda W, T: (W, T),
        )


def map_for_each(prototypes: PrototypeSet) -> bool:
    """Whether each prototype has a map of its own."""
    return len(prototypes.theta) > 1 and len(prototypes.groups) == len(prototypes)


def parts_of(X: np.ndarray, prototypes: PrototypeSet) -> list[slice]:
    """Prototypes whose images of all rows are made at once."""
    at_a_time = max(_IMAGES_AT_A_TIME // max(len(X) * prototypes.theta.shape[1], 1), 1)
    return [slice(first, min(first + at_a_time, len(prototypes))) for first in range(0, len(prototypes), at_a_time)]


def mapped_differences(X: np.ndarray, W: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Omega_i (x - m_i) of all rows, by one product with all maps: four times as fast as one product a map."""
    images = (X @ maps.reshape(-1, X.shape[1]).T).reshape(len(X), *maps.shape[:2])
    images -= np.einsum("ikj,ij->ik", maps, W)
    return images


def _gradient_of_each(
    X: np.ndarray, W: np.ndarray, prototypes: PrototypeSet, images: Images, C: np.ndarray
) -> Gradients:
    """-2 Omega_i' sum c Omega_i v and 2 sum c Omega_i v v', with v = x - m_i, by one product with all maps."""
    by_position = np.empty(W.shape, dtype=np.result_type(X, C))
    by_omega = np.empty(prototypes.theta.shape, dtype=by_position.dtype)
    for number, part in enumerate(parts_of(X, prototypes)):
        slots = prototypes.slot[part]
        maps = prototypes.theta[slots]
        pulled = mapped_differences(X, W[part], maps) if images is None else images[number]
        pulled = pulled * C[:, part, None]
        total = pulled.sum(axis=0)
        found = (pulled.reshape(len(X), -1).T @ X).reshape(maps.shape)
        found -= total[:, :, None] * W[part, None, :]
        by_omega[slots] = 2.0 * found
        by_position[part] = -2.0 * np.einsum("ikj,ik->ij", maps, total)
    return by_position, by_omega


METRICS.add("omega", Omega())
METRICS.add("class_omega", Omega(scope="class"))
METRICS.add("local_omega", Omega(scope="prototype"))


@kernel(distances_signature, fastmath=VECTORISED)
def distances_mapped(x, W, T, slot, constants, D):
    """Distances after the map, one prototype a row."""
    n, d = W.shape
    v = constants[:d]
    for i in range(n):
        for j in range(d):
            v[j] = x[j] - W[i, j]
        omega = T[slot[i]]
        s = x.dtype.type(0)
        for r in range(omega.shape[0]):
            row = omega[r]
            u = x.dtype.type(0)
            for j in range(d):
                u += row[j] * v[j]
            s += u * u
        D[i] = s


@kernel(move_signature, fastmath=VECTORISED)
def move_mapped(x, W, T, slot, chosen, pulls, etas, G, constants):
    """G += c 2 (Omega v) v', then m += 2 eta c Omega' (Omega v), bounded; constants end in the average weight."""
    for p in range(chosen.shape[0]):
        i, pull, eta = chosen[p], pulls[p], etas[p]
        d = x.shape[0]
        omega = T[slot[i]]
        rows = omega.shape[0]
        v = constants[:d]
        move = constants[d : 2 * d]
        u = constants[2 * d : 2 * d + rows]
        length = 0.0
        for j in range(d):
            v[j] = x[j] - W[i, j]
            move[j] = 0
            length += v[j] * v[j]
        for r in range(rows):
            row = omega[r]
            s = x.dtype.type(0)
            for j in range(d):
                s += row[j] * v[j]
            u[r] = s
            for j in range(d):
                move[j] += s * row[j]
        if G.shape[0] > 0:
            for r in range(rows):
                g = G[slot[i], r]
                c = x.dtype.type(2.0 * pull * u[r])
                for j in range(d):
                    g[j] += c * v[j]
        moved = 0.0
        for j in range(d):
            moved += move[j] * move[j]
        factor = 2.0 * eta * pull
        most = max(1.0, abs(factor) * constants[2 * d + rows])
        if factor * factor * moved > most * most * length:
            factor = np.sign(factor) * most * np.sqrt(length / moved)
        share = x.dtype.type(factor)
        for j in range(d):
            W[i, j] += share * move[j]


@kernel(update_signature, fastmath=VECTORISED)
def normalise_trace(T, s, rho, total, G):
    """Omega -= rho G, scaled to trace(Omega'Omega) = total; of a total of 0, not scaled."""
    rows, d = T[s].shape
    rate = T.dtype.type(rho)
    squares = 0.0
    for r in range(rows):
        row = T[s, r]
        g = G[s, r]
        q = T.dtype.type(0)
        for j in range(d):
            row[j] -= rate * g[j]
            q += row[j] * row[j]
            g[j] = 0
        squares += q
    if squares > 0 and total > 0:
        scale = T.dtype.type(np.sqrt(total / squares))
        for r in range(rows):
            for j in range(d):
                T[s, r, j] *= scale
