"""How far a row may move before its class can change: a certificate for each decision, and certified accuracy."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from protolearn.core.parameters import check_choice
from protolearn.explain.cells import Cells, border, border_in_box, bound_in_box, least_norm
from protolearn.explain.inputs import Inputs
from protolearn.explain.several import SeveralInputs

NORMS = (2, "inf")
# What a radius loses for rounding in its own computation.
_MARGIN = 1e-9
# Differences of distances that are formed at a time.
_AT_A_TIME = 1 << 21
# So many of the nearest prototypes of the own class are compared with every rival at first.
_NEAREST_OWN = 8


def certified_radius(
    model: Any,
    X: Any,
    norm: Any = 2,
    *,
    scale: Any = None,
    fixed: Iterable[str] = (),
    exact: bool = True,
    return_exact: bool = False,
) -> Any:
    """How far each row may move before its class can change.

    No change of the numbers of a row whose norm is below its radius changes what `model.predict` says; levels of
    categories and missing values stay as they are.

        radius(x) = min |d|   over d with   D_r(x + d) <= D_o(x + d)   for a rival r and all prototypes o of the class

    Under a shared metric each such set is a polyhedron, and the radius is exact. Where a class has one prototype it is
    the distance to one halfspace, (D_r - D_o) / |2 Lambda (m_r - m_o)| in the dual norm; otherwise a quadratic
    programme (2-norm) or a linear one (maximum norm) finds it, for the nearest rivals only.

    Where each class or prototype has its own metric, the set of one pair r, o ends at a quadric. Its distance is exact
    in the 2-norm, and in the maximum norm under weights of the columns; under matrices it is bounded from below. The
    radius is the largest distance over o and the smallest over r: exact where the point found lies in the cell of r,
    and a lower bound elsewhere. On bins it is a lower bound, by the steepest bin of each column. exact=False leaves the
    bound of the triangle inequality (Saralajew, Holdijk and Villmann 2020).

    Parameters
    ----------
    model : fitted classifier of protolearn, or a Pipeline of scalers, PCA or Preparation that ends in one; bins behind
        these
    X : what `model.predict` takes
    norm : 2 or "inf"
        2: the root of the sum of squares of all changes; "inf": the largest change of a column.
    scale : "range", dict from column to number, or array of one number a column, optional
        What counts as a change of 1 in each column; "range": the width of the column in the training set. By default
        a change of 1 in the column's own unit.
    fixed : names of columns that do not change
    exact : bool, default=True
        False computes bounds in closed form only, some microseconds a row.
    return_exact : bool, default=False
        Also return which radii are exact.

    Returns
    -------
    radius : ndarray of shape (n_rows,)
        0 on a border; infinite where no change of the numbers changes the class.
    is_exact : ndarray of bool of shape (n_rows,)
        With return_exact=True only. The others are lower bounds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import GLVQ
    >>> from protolearn.explain import certified_radius
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GLVQ(random_state=0).fit(X, y)
    >>> certified_radius(model, X[[0, 70]]).round(2)
    array([1.33, 0.07])
    """
    check_choice("norm", "inf" if norm == np.inf else norm, NORMS)
    on_bins = SeveralInputs.on_bins(model)
    inputs = on_bins or Inputs.of(model)
    V, empty = inputs.rows(X), inputs.empty(X)
    by_column = np.where(inputs.named(fixed, "fixed"), 0.0, _scale(inputs, scale)) * inputs.is_number
    deciding, points, order = inputs, V, np.inf if norm == "inf" else norm
    if on_bins is not None:
        deciding, points = Inputs.of(on_bins.first.classifier), on_bins.first.features(on_bins.sets.rows(X))
    codes = np.searchsorted(deciding.classes, np.asarray(model.predict(X)))
    ball = Ball(deciding.cells, order, exact)
    eps = precision(X, inputs)
    radius, is_exact = np.empty(len(V)), np.empty(len(V), dtype=bool)
    patterns, which = np.unique(empty, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        rows = np.flatnonzero(which == k)
        moving = np.where(pattern, 0.0, by_column)[inputs.column_of] * (inputs.roles == "number")
        if on_bins is None:
            radius[rows], is_exact[rows] = ball.radii(points[rows], codes[rows], moving, eps)
            continue
        found, _ = ball.radii(points[rows], codes[rows], on_bins.steepest(moving, order), eps)
        radius[rows] = np.maximum(found - on_bins.lost(V[rows], moving, eps, order), 0.0)
        # The bins of a value do not move as freely as the bound lets them.
        is_exact[rows] = np.isinf(radius[rows])
    return (radius, is_exact) if return_exact else radius


def certified_accuracy(model: Any, X: Any, y: Any, radii: Any, norm: Any = 2, **settings: Any) -> np.ndarray:
    """The share of rows that are classified right and stay so whatever moves them by at most each radius.

    Parameters
    ----------
    model, X, norm : as in `certified_radius`
    y : array-like of shape (n_rows,)
        The true classes.
    radii : number or array-like of numbers
    settings : scale, fixed and exact of `certified_radius`

    Returns
    -------
    accuracy : float for a number, ndarray of shape (n_radii,) for several
        At radius 0 the accuracy.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import GLVQ
    >>> from protolearn.explain import certified_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> certified_accuracy(GLVQ(random_state=0).fit(X, y), X, y, [0.0, 0.1, 0.5]).round(2)
    array([0.98, 0.95, 0.71])
    """
    y = np.asarray(y)
    levels = np.asarray(radii, dtype=np.float64)
    if np.isnan(levels).any() or (levels < 0).any():
        raise ValueError("radii must be numbers of at least 0; remove the others.")
    radius = certified_radius(model, X, norm, **settings)
    if y.shape != radius.shape:
        raise ValueError(f"X has {len(radius)} rows and y has shape {y.shape}; give each row its class.")
    right = np.asarray(model.predict(X)) == y
    safe = np.where(right, radius, -1.0)
    # At radius 0 nothing moves, so a row on a border counts too.
    return np.mean((safe > levels[..., None]) | ((levels[..., None] == 0) & right), axis=-1)


def precision(X: Any, inputs: Inputs) -> float:
    """The precision of the numbers that `predict` computes with."""
    dtype = getattr(X, "dtype", None)
    if dtype is None and hasattr(X, "dtypes"):
        kinds = {str(kind).lower() for kind in X.dtypes}
        dtype = np.dtype(np.float32) if kinds <= {"float32"} else None
    narrow = dtype == np.float32 and inputs.preparation is None
    return float(np.finfo(np.float32 if narrow else np.float64).eps)


def _scale(inputs: Inputs, scale: Any) -> np.ndarray:
    if scale is None:
        return np.ones(len(inputs.columns))
    if isinstance(scale, str):
        check_choice("scale", scale, ("range",))
        width = inputs.data_max - inputs.data_min
        if np.isnan(width[inputs.is_number]).any():
            raise ValueError(
                'scale="range" needs the ranges of the training set, which this model does not know; give a number for '
                "each column."
            )
        return np.where(inputs.is_number, width, 0.0)
    found = inputs.by_column(scale, "scale", 0.0)
    if not np.isfinite(found).all() or (found < 0).any():
        raise ValueError("scale must hold finite numbers of at least 0; remove the others.")
    return found


class Ball:
    """Radii of rows under one model, in one norm.

    exact : whether programmes are solved where closed forms are bounds only
    with_steps : whether `steps` is to hold, for each row, the step to the nearest change that gave its radius (NaN
        where there is none, or where a bound has no point that reaches it)
    """

    def __init__(self, cells: Cells, norm: float, exact: bool, *, with_steps: bool = False) -> None:
        self.cells, self.norm, self.exact, self.with_steps = cells, norm, exact, with_steps
        self._curvatures: dict[tuple, tuple[np.ndarray, np.ndarray]] = {}

    def radii(self, V: np.ndarray, codes: np.ndarray, scale: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
        """Radii of rows of inputs classified as `codes`, where only inputs of scale > 0 move."""
        self._curvatures.clear()
        self.free = np.flatnonzero(scale > 0)
        self.scale = scale[self.free]
        D, lost = self.cells.distances(V), self.cells.rounding(V, eps)
        radius, is_exact = np.empty(len(V)), np.empty(len(V), dtype=bool)
        self.steps = np.full(V.shape, np.nan)
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            own = np.flatnonzero(self.cells.labels == code)
            rivals = np.flatnonzero(self.cells.labels != code)
            few = min(len(own), _NEAREST_OWN)
            at_once = max(1, _AT_A_TIME // (few * len(rivals)))
            for start in range(0, len(rows), at_once):
                part = rows[start : start + at_once]
                radius[part], is_exact[part], steps = self._of_class(V[part], D[part], lost[part], own, rivals, few)
                self.steps[np.ix_(part, self.free)] = steps * self.scale
        if len(self.free):
            # The model reads a number with an error of its last digit.
            shift = 8.0 * eps * (np.abs(V) + self.cells.magnitude)[:, self.free] / self.scale
            radius -= np.linalg.norm(shift, axis=1) if self.norm == 2 else shift.max(axis=1)
        return np.maximum(radius * (1.0 - _MARGIN), 0.0), is_exact

    def _of_class(
        self, V: np.ndarray, D: np.ndarray, lost: np.ndarray, own: np.ndarray, rivals: np.ndarray, few: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nearest = np.argsort(D[:, own], axis=1)[:, :few]
        by_rival = self._closed(D, lost, own, rivals, nearest)
        radius = by_rival.min(axis=1)
        is_exact = np.full(len(V), self.cells.is_shared and len(own) == 1)
        steps = np.full((len(V), len(self.free)), np.nan)
        if self.exact and len(self.free) and (self.with_steps or not is_exact.all()):
            search = self._search_shared if self.cells.is_shared else self._search_local
            for k in range(len(V)):
                found, is_exact[k], step = search(V[k], D[k], lost[k], own, rivals, by_rival[k])
                radius[k] = max(found, radius[k])
                steps[k] = np.nan if step is None else step
        return radius, is_exact | (radius == 0), steps

    def _closed(
        self, D: np.ndarray, lost: np.ndarray, own: np.ndarray, rivals: np.ndarray, nearest: np.ndarray
    ) -> np.ndarray:
        """For each row and rival a bound in closed form: the farthest of the halfspaces, or the triangle inequality."""
        gap = D[:, rivals, None] - np.take_along_axis(D[:, own], nearest, axis=1)[:, None, :] - lost[:, None, None]
        if self.cells.is_shared:
            anchors = self.cells.anchors[:, self.free] * self.scale
            kept, places = np.unique(nearest, return_inverse=True)
            between = cdist(anchors[rivals], anchors[own[kept]], "euclidean" if self.norm == 2 else "cityblock")
            below = 2.0 * between[:, places.reshape(nearest.shape)].transpose(1, 0, 2)
        else:
            roots = np.sqrt(D[:, rivals])[:, :, None] + np.sqrt(np.take_along_axis(D[:, own], nearest, axis=1))[:, None]
            full = np.zeros(self.cells.plain.n_inputs)
            full[self.free] = self.scale
            slopes = self.cells.seminorms(full, self.norm)[self.cells.slot]
            below = roots * (slopes[rivals][None, :, None] + slopes[own[nearest]][:, None, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap > 0, gap / below, 0.0).max(axis=2)

    def _search_shared(
        self, v: np.ndarray, D: np.ndarray, lost: float, own: np.ndarray, rivals: np.ndarray, bounds: np.ndarray
    ) -> tuple[float, bool, np.ndarray | None]:
        """The nearest point of any rival's cell, best first: a cell gets its halfspaces one by one, the most violated
        first, as long as no other cell is nearer than what is known of its distance."""
        anchors = self.cells.anchors[:, self.free] * self.scale
        heap: list[tuple[float, int]] = [(float(bound), k) for k, bound in enumerate(bounds) if np.isfinite(bound)]
        heapq.heapify(heap)
        taken: dict[int, list[int]] = {}
        points: dict[int, np.ndarray] = {}
        while heap:
            bound, k = heapq.heappop(heap)
            if bound <= 0:
                return 0.0, True, None
            # D_r - D_o = gap + slope'u
            gap = D[rivals[k]] - D[own] - lost
            if k in points:
                left = gap + 2.0 * (anchors[own] - anchors[rivals[k]]) @ points[k]
                worst = int(left.argmax())
                if worst in taken[k] or left[worst] <= 1e-12 * (abs(D[rivals[k]]) + D[own[worst]]):
                    return bound, True, points[k]
            else:
                worst = int(gap.argmax())
            taken.setdefault(k, []).append(worst)
            G = 2.0 * (anchors[rivals[k]] - anchors[own[taken[k]]])
            found = least_norm(G, gap[taken[k]], self.norm)
            if found is not None:
                points[k] = found[0]
                heapq.heappush(heap, (max(bound, found[1]), k))
        return np.inf, True, None

    def _search_local(
        self, v: np.ndarray, D: np.ndarray, lost: float, own: np.ndarray, rivals: np.ndarray, bounds: np.ndarray
    ) -> tuple[float, bool, np.ndarray | None]:
        """The smallest bound over the rivals, best first: a rival is compared with more prototypes of the class until
        the nearest point found lies in its cell, or none of the others says more."""
        pulls = self.cells.pulls(v)[:, self.free] * self.scale
        heap: list[tuple[float, int]] = [(float(bound), k) for k, bound in enumerate(bounds) if np.isfinite(bound)]
        heapq.heapify(heap)
        taken: dict[int, list[int]] = {}
        # The largest bound of a pair so far, and the point where it is reached.
        best: dict[int, tuple[float, np.ndarray | None]] = {}
        while heap:
            bound, k = heapq.heappop(heap)
            rival = rivals[k]
            if k in best:
                worst = self._most_violated(v, best[k][1], rival, own)
                if worst is None:
                    return bound, True, best[k][1]
                if worst in taken[k]:
                    return bound, False, best[k][1]
            else:
                worst = int(D[own].argmin())
            taken.setdefault(k, []).append(worst)
            found = self._pair(D, lost, pulls, int(own[worst]), int(rival))
            if found is None:
                # This rival is never nearer than that prototype.
                continue
            if k not in best or found[0] > best[k][0]:
                best[k] = found
            heapq.heappush(heap, (max(bound, found[0]), k))
        return np.inf, True, None

    def _most_violated(self, v: np.ndarray, u: np.ndarray | None, rival: int, own: np.ndarray) -> int | None:
        if u is None:
            return 0
        moved = v.copy()
        moved[self.free] += self.scale * u
        D = self.cells.distances(moved[None])[0]
        left = D[rival] - D[own]
        worst = int(left.argmax())
        return None if left[worst] <= 1e-9 * D[rival] else worst

    def _pair(
        self, D: np.ndarray, lost: float, pulls: np.ndarray, own: int, rival: int
    ) -> tuple[float, np.ndarray | None] | None:
        """A bound of the distance to where the rival is as near as that prototype, and the nearest point."""
        gap = float(D[rival] - D[own] - lost)
        if gap <= 0:
            return 0.0, np.zeros(len(self.free))
        slope = 2.0 * (pulls[rival] - pulls[own])
        curvature, vectors = self._curvature(own, rival)
        if self.cells.is_diagonal:
            found = (border if self.norm == 2 else border_in_box)(gap, slope, curvature)
            return None if found is None else (found[1] * (1.0 - _MARGIN), found[0])
        turned = vectors.T @ slope
        found = border(gap, turned, curvature)
        if found is None:
            return None
        if self.norm == 2:
            return found[1], vectors @ found[0]
        in_box = bound_in_box(gap, turned, curvature, vectors)
        return max(in_box, found[1] / np.sqrt(len(self.free))), None

    def _curvature(self, own: int, rival: int) -> tuple[np.ndarray, np.ndarray]:
        """The eigenvalues and eigenvectors of Lambda_rival - Lambda_own on what moves."""
        key = (self.cells.slot[own], self.cells.slot[rival])
        if key not in self._curvatures:
            first, second = (self.cells.form(int(s)) for s in key)
            if self.cells.is_diagonal:
                self._curvatures[key] = (second - first)[self.free] * self.scale**2, np.empty((0, 0))
            else:
                between = (second - first)[np.ix_(self.free, self.free)] * np.outer(self.scale, self.scale)
                self._curvatures[key] = np.linalg.eigh(between)
        return self._curvatures[key]
