"""Full or low-rank matrix distance through its factor Omega (GMLVQ, LGMLVQ)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from protolearn.compiled import VECTORISED, compiled, constant_stack, stack, vectorised
from protolearn.data.kept_rows import KeptRows
from protolearn.metrics import bounded, thin_maps
from protolearn.metrics.base import (
    METRICS,
    Metric,
    Packed,
    centred,
    expanded_distances,
    fill_signature,
    finish_signature,
    squared_differences,
    step_signature,
)
from protolearn.metrics.pulls import Pull
from protolearn.metrics.quadratic import MatrixDistances
from protolearn.metrics.scatter import scatter_by_slot
from protolearn.metrics.squared_maps import gradient_of_sums, matrix_distances
from protolearn.parameters import check_count
from protolearn.prototypes import PrototypeSet

if TYPE_CHECKING:
    from protolearn.data import Samples

# Below this many multiply-adds NumPy takes a millisecond at most, and compiling for less takes seconds once.
_WORTH_COMPILING = 1e7


@dataclass(frozen=True)
class Omega(Metric):
    """Squared distance after a learned linear map, shared or one map a class or a prototype.

        D_i        = |Omega (x - m_i)|^2 = v' Lambda v, Lambda = Omega'Omega      LaMaLVQ (1)
        dD_i/dm_i   = -2 Lambda (x - m_i)
        dD_i/dOmega = 2 Omega v v'

    Omega has `n_components` rows. It starts at the identity or, with fewer rows than features, at the leading
    principal axes of the data; after each step it is scaled so that trace(Lambda) is the number of features
    (normalization="mean") or 1 ("sum", as printed). A position never moves further than its distance to the sample, or
    than it would under equal weights where that is further already. `start_at` is an Omega to begin with instead, for
    example `components_` of LMNN, scaled to that trace; a metric_learning_rate of 0 keeps it.
    """

    n_components: int | None = None
    scope: str = "global"
    normalization: str = "mean"
    start_at: Any = field(default=None, compare=False)

    def check(self) -> None:
        super().check()
        check_count("n_components", self.n_components, optional=True)

    def initial_theta(self, n_slots: int, data: Samples) -> np.ndarray:
        d = data.n_features
        if self.start_at is not None:
            return np.repeat(self._given_start(d)[None], n_slots, axis=0)
        rows = d if self.n_components is None else self.n_components
        if rows > d:
            raise ValueError(
                f"n_components={rows} is more than the {d} features of X; choose at most {d}, or None for all."
            )
        axes = np.eye(d) if rows == d else np.linalg.eigh(data.covariance)[1][:, ::-1].T[:rows]
        return np.repeat(axes[None] * np.sqrt(self.total(d) / rows), n_slots, axis=0)

    def _given_start(self, n_features: int) -> np.ndarray:
        omega = np.asarray(self.start_at, dtype=np.float64)
        rows = len(omega) if omega.ndim and self.n_components is None else self.n_components
        if omega.shape != (rows, n_features) or not np.isfinite(omega).all() or not omega.any():
            raise ValueError(
                f"start_at must hold finite numbers, not all zero, with {n_features} columns"
                + ("" if self.n_components is None else f" and {self.n_components} rows")
                + f"; got an array of shape {omega.shape}."
            )
        return self.project(omega[None])[0]

    def rate_unit(self, mean_distance: float, data: Samples, relative: bool) -> float:
        mean_weight = self.total(data.n_features) / data.n_features
        return (mean_weight if relative else 1.0) / mean_distance

    def distances(self, X: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
        if len(prototypes.theta) == 1:
            X, W = centred(X, prototypes)
            omega = prototypes.theta[0]
            return expanded_distances(X @ omega.T, W @ omega.T)
        return np.ascontiguousarray(self.distances_by_prototype(X, prototypes).T)

    def distances_by_prototype(
        self, X: np.ndarray, prototypes: PrototypeSet, kept: KeptRows | None = None
    ) -> np.ndarray:
        X, _ = centred(X, prototypes)
        if thin_maps.is_thin(prototypes.theta):
            return thin_maps.distances_after_maps(X, prototypes, kept)
        if len(X) * prototypes.theta.size < _WORTH_COMPILING:
            return _by_mapped_rows(X, prototypes)
        return prototypes.derived(matrix_distances).of(X)

    def distances_of_nearest(
        self, X: np.ndarray, y: np.ndarray, prototypes: PrototypeSet, kept: KeptRows | None = None
    ) -> np.ndarray:
        bounds = self.bounds(prototypes, kept)
        if kept is None or bounds is None:
            return self.distances_by_prototype(X, prototypes, kept)
        forms: MatrixDistances = prototypes.derived(matrix_distances)
        X, _ = centred(X, prototypes)
        columns = kept.columns(X)
        products = forms.linear @ columns
        found = bounded.distances_of_nearest(X, y, columns, products, forms.constants, forms.tiles, bounds)
        return forms.of(X) if found is None else found

    def bounds(self, prototypes: PrototypeSet, kept: KeptRows | None) -> PrototypeSet | None:
        """What bounds the distances from below, where that saves time."""
        if kept is None or thin_maps.is_thin(prototypes.theta) or not bounded.pays(prototypes.theta):
            return None
        return prototypes.derived(bounded.bounding, kept)

    def linear_forms(self, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray] | None:
        if len(prototypes.theta) > 1:
            return None
        forms: MatrixDistances = prototypes.derived(matrix_distances)
        return -2.0 * forms.linear, forms.constants

    def distances_of_row(self, prototypes: PrototypeSet) -> Callable[[np.ndarray], np.ndarray]:
        theta, slot = prototypes.theta, prototypes.slot
        if len(theta) == 1:
            measure = squared_differences(prototypes.positions @ theta[0].T)
            return lambda x: measure(theta[0] @ x)
        mapped = np.einsum("ikj,ij->ik", theta[slot], prototypes.positions)

        def measure_under_several(x: np.ndarray) -> np.ndarray:
            difference = (theta @ x)[slot] - mapped
            return np.einsum("ij,ij->i", difference, difference)

        return measure_under_several

    def prepare(self, prototypes: PrototypeSet, kept: KeptRows | None = None) -> None:
        if thin_maps.is_thin(prototypes.theta):
            prototypes.derived(thin_maps.mapped_positions)
            return
        forms: MatrixDistances = prototypes.derived(matrix_distances)
        _ = forms.arguments, self.bounds(prototypes, kept)

    def moments(self, X: np.ndarray, prototypes: PrototypeSet, pull: Pull) -> tuple[np.ndarray, ...]:
        X, _ = centred(X, prototypes)
        scatter = thin_maps.scatter_by_slot if thin_maps.is_thin(prototypes.theta) else scatter_by_slot
        return pull.T @ X, pull.sum(axis=0), scatter(X, pull, prototypes)

    def gradient_of(self, prototypes: PrototypeSet, moments: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        if not thin_maps.is_thin(prototypes.theta):
            return gradient_of_sums(prototypes, *moments)
        first, mass, scatter = moments
        W = prototypes.centring[1]
        dtype = prototypes.theta.dtype
        away = (first - mass[:, None] * W).astype(dtype)
        mixed = (first - 0.5 * mass[:, None] * W).astype(dtype)
        theta = thin_maps.scatter_of_differences(scatter, mixed, W, prototypes)
        theta *= 2.0
        return -2.0 * _by_maps(prototypes, away), theta

    def project(self, theta: np.ndarray) -> np.ndarray:
        return self.projected(theta, theta.dtype)

    def projected(self, theta: np.ndarray, dtype: np.dtype) -> np.ndarray:
        found = np.empty(theta.shape, dtype=dtype)
        raw = np.ascontiguousarray(theta, dtype=np.float64)
        scale_to_trace.of(found.dtype)(raw, self.total(theta.shape[2]), found)
        return found

    def free(self, raw: np.ndarray, theta: np.ndarray, gradient: np.ndarray, share: float, out: np.ndarray) -> None:
        free_gradient.of(theta.dtype)(raw, theta, gradient, self.total(theta.shape[2]), share, out)

    def pack(self, prototypes: PrototypeSet) -> Packed:
        dtype = prototypes.positions.dtype
        _, rows, d = prototypes.theta.shape
        return Packed(
            positions=prototypes.positions.copy(order="C"),
            theta=prototypes.theta.copy(order="C"),
            slot=prototypes.slot,
            labels=prototypes.labels,
            work=np.full(2 * d + rows + 1, self.total(d) / d, dtype=dtype),
            fill=fill_mapped,
            step=step_mapped,
            finish=normalise_trace,
            unpack=lambda W, T: (W, T),
        )


METRICS.add("omega", Omega())
METRICS.add("class_omega", Omega(scope="class"))
METRICS.add("local_omega", Omega(scope="prototype"))


def _by_mapped_rows(X: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
    """|Omega x - Omega m|^2, one prototype a row; X and the prototypes from `prototypes.centring`."""
    W, theta = prototypes.centring[1], prototypes.theta
    found = np.empty((len(W), len(X)), dtype=np.result_type(X, theta))
    for s, members in prototypes.groups:
        found[members] = expanded_distances(W[members] @ theta[s].T, X @ theta[s].T)
    return found


def _by_maps(prototypes: PrototypeSet, rows: np.ndarray) -> np.ndarray:
    """Lambda times a row for each prototype, by Omega and its transpose."""
    theta, slot = prototypes.theta, prototypes.slot
    each, rest = divmod(len(slot), len(theta))
    if rest == 0 and (slot == np.repeat(np.arange(len(theta)), each)).all():
        # As many for each map, side by side: two calls for all of them.
        stacked = rows.reshape(len(theta), each, -1)
        return ((stacked @ theta.transpose(0, 2, 1)) @ theta).reshape(rows.shape)
    found = np.empty_like(rows)
    for s, members in prototypes.groups:
        found[members] = (rows[members] @ theta[s].T) @ theta[s]
    return found


@compiled(
    lambda number: types.void(
        constant_stack(types.float64),  # raw
        types.float64,  # total
        stack(number),  # out
    ),
    fastmath=VECTORISED,
)
def scale_to_trace(raw, total, out):
    """Each slot scaled so that the sum of its squares is the total; one of zeros stays as it is."""
    for s in range(raw.shape[0]):
        squares = 0.0
        for r in range(raw.shape[1]):
            one = 0.0
            for j in range(raw.shape[2]):
                one += raw[s, r, j] * raw[s, r, j]
            squares += one
        scale = np.sqrt(total / squares) if squares > 0 else 1.0
        for r in range(raw.shape[1]):
            for j in range(raw.shape[2]):
                out[s, r, j] = raw[s, r, j] * scale


@compiled(
    lambda number: types.void(
        constant_stack(types.float64),  # raw
        constant_stack(number),  # theta
        constant_stack(number),  # gradient
        types.float64,  # total
        types.float64,  # share
        stack(number),  # out
    ),
    fastmath=VECTORISED,
)
def free_gradient(raw, theta, gradient, total, share, out):
    """share scale (gradient - (gradient'theta / total) theta) of each slot, with theta = scale raw."""
    number = theta.dtype.type
    for s in range(theta.shape[0]):
        along = 0.0
        for r in range(theta.shape[1]):
            one = number(0)
            for j in range(theta.shape[2]):
                one += gradient[s, r, j] * theta[s, r, j]
            along += one
        factor = share * scale_of_slot(raw, theta, s)
        times, less = number(factor), number(factor * along / total)
        for r in range(theta.shape[1]):
            for j in range(theta.shape[2]):
                out[s, r, j] = times * gradient[s, r, j] - less * theta[s, r, j]


@vectorised
def scale_of_slot(raw, theta, s):
    """The factor between two slots of which one is a multiple of the other, by the first rows that are not zero."""
    for r in range(raw.shape[1]):
        squares = product = 0.0
        for j in range(raw.shape[2]):
            squares += raw[s, r, j] * raw[s, r, j]
            product += raw[s, r, j] * theta[s, r, j]
        if product > 0:
            return product / squares
    return 1.0


@compiled(fill_signature, fastmath=VECTORISED)
def fill_mapped(x, W, T, slot, work, D):
    """Distances after the map, one prototype a row."""
    n, d = W.shape
    v = work[:d]
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


@compiled(step_signature, fastmath=VECTORISED)
def step_mapped(x, W, T, slot, chosen, pulls, etas, G, work):
    """G += c 2 (Omega v) v', then m += 2 eta c Omega' (Omega v), bounded; work ends in the average weight."""
    for p in range(chosen.shape[0]):
        i, pull, eta = chosen[p], pulls[p], etas[p]
        d = x.shape[0]
        omega = T[slot[i]]
        rows = omega.shape[0]
        v = work[:d]
        move = work[d : 2 * d]
        u = work[2 * d : 2 * d + rows]
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
        most = max(1.0, abs(factor) * work[2 * d + rows])
        if factor * factor * moved > most * most * length:
            factor = np.sign(factor) * most * np.sqrt(length / moved)
        share = x.dtype.type(factor)
        for j in range(d):
            W[i, j] += share * move[j]


@compiled(finish_signature, fastmath=VECTORISED)
def normalise_trace(T, s, rho, total, G):
    """Omega -= rho G, scaled to trace(Omega'Omega) = total."""
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
    if squares > 0:
        scale = T.dtype.type(np.sqrt(total / squares))
        for r in range(rows):
            for j in range(d):
                T[s, r, j] *= scale
