"""Data and prototypes in two dimensions, with or without the regions in which the model decides alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protolearn.core.parameters import check_count
from protolearn.report.fitted import FittedModel, class_colours, feature_index, fitted_model, new_axes, plain

_MARKERS = "osDv^<>pPX"
# More samples than this are pixels, not shapes, in an SVG or PDF.
_MOST_SHAPES = 500


@dataclass(frozen=True)
class Plane:
    """A linear map to two dimensions.

        z = (x - origin) axes',  and back, with everything the plane does not show at `origin`:  x = origin + z back

    labels : what the two axes are
    """

    origin: np.ndarray
    axes: np.ndarray
    back: np.ndarray
    labels: tuple[str, str]

    def project(self, X: np.ndarray) -> np.ndarray:
        """(n, 2) coordinates."""
        return (X - self.origin) @ self.axes.T

    def lift(self, Z: np.ndarray) -> np.ndarray:
        """Points of the plane among the features."""
        return self.origin + Z @ self.back


def plane_of_features(fitted: FittedModel, X: np.ndarray, features: tuple[int | str, int | str]) -> Plane:
    """Two features; the others stay at the median of X."""
    chosen = [feature_index(fitted.feature_names, feature) for feature in features]
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise ValueError(f"features must name two different features; got {features!r}.")
    origin = np.median(X, axis=0)
    origin[chosen] = 0.0
    axes = np.eye(X.shape[1])[chosen]
    first, second = (plain(fitted.feature_names[number]) for number in chosen)
    return Plane(origin, axes, axes, (first, second))


def plane_of_model(fitted: FittedModel, X: np.ndarray) -> Plane:
    """The plane in which the model's own distance shows best.

    With a learned Omega, the two leading eigenvectors of Lambda = Omega'Omega, each times the root of its eigenvalue
    (the mean Lambda where there are several). Else the two leading principal components of X, after scaling each
    feature by the root of its (mean) relevance where the model has learned relevances.
    """
    omega = getattr(fitted.classifier, "omega_", None)
    origin = X.mean(axis=0)
    if omega is not None:
        omega = np.asarray(omega, dtype=np.float64)
        stacked = omega[None] if omega.ndim == 2 else omega
        values, vectors = np.linalg.eigh(np.einsum("sij,sik->jk", stacked, stacked) / len(stacked))
        axes = vectors[:, ::-1].T[:2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))[:, None]
        labels = ("first direction of the learned distance", "second direction of the learned distance")
    else:
        relevances = getattr(fitted.classifier, "relevances_", None)
        scale = np.ones(X.shape[1])
        if relevances is not None:
            scale = np.sqrt(np.atleast_2d(np.asarray(relevances, dtype=np.float64)).mean(axis=0))
        _, sizes, vectors = np.linalg.svd((X - origin) * scale, full_matrices=False)
        share = 100 * sizes**2 / max(float(np.sum(sizes**2)), np.finfo(float).tiny)
        axes = vectors[:2] * scale
        kind = "principal component" if relevances is None else "weighted component"
        first, second = [*share, 0.0][:2]
        labels = (f"1st {kind} ({first:.0f} %)", f"2nd {kind} ({second:.0f} %)")
    if len(axes) < 2:
        axes = np.vstack([axes, np.zeros_like(axes)])
    return Plane(origin, axes, np.linalg.pinv(axes).T, labels)


def _scatter(fitted: FittedModel, plane: Plane, X: np.ndarray, y: Any, ax: Any) -> None:
    """Samples as small dots, prototypes as large marks with an edge, one colour a class."""
    import matplotlib

    classifier = fitted.classifier
    labels = None if y is None else np.asarray(y)
    Z, P = plane.project(X), plane.project(np.asarray(classifier.prototypes_, dtype=np.float64))
    edge = matplotlib.rcParams["text.color"]
    many = len(Z) > _MOST_SHAPES
    small = float(np.clip(4000 / max(len(Z), 1), 3, 14))
    if labels is None:
        ax.scatter(*Z.T, s=small, color="0.5", alpha=0.5, linewidths=0, rasterized=many)
    colours = class_colours(len(classifier.classes_))
    for code, (label, colour) in enumerate(zip(classifier.classes_, colours, strict=True)):
        mark = _MARKERS[code % len(_MARKERS)]
        if labels is not None:
            ax.scatter(
                *Z[labels == label].T, s=small, color=colour, alpha=0.45, linewidths=0, zorder=2, rasterized=many
            )
        members = classifier.prototype_labels_ == label
        ax.scatter(*P[members].T, s=64, color=colour, marker=mark, edgecolors=edge, linewidths=1.4, zorder=4)
        ax.scatter([], [], s=48, color=colour, marker=mark, edgecolors=edge, linewidths=1.0, label=plain(label, 18))
    ax.set(xlabel=plane.labels[0], ylabel=plane.labels[1])
    if len(classifier.classes_) <= 20:
        ax.legend(title="class", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def plot_embedding(model: Any, X: Any, y: Any = None, *, ax: Any = None) -> Any:
    """Draw data and prototypes in two dimensions: the learned projection where the model has one, else PCA.

    See `plane_of_model`. Dots are samples, large marks prototypes.

    Parameters
    ----------
    model : fitted classifier with prototypes, or a pipeline ending in one
    X : rows, raw where the model is a pipeline
    y : labels, optional; without them samples are grey
    ax : matplotlib axes; None makes one

    Returns
    -------
    ax : the axes drawn on
    """
    fitted = fitted_model(model)
    values = fitted.features(X)
    ax = new_axes(ax, (6.4, 4.8))
    _scatter(fitted, plane_of_model(fitted, values), values, y, ax)
    return ax


def plot_decision_regions(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    features: tuple[int | str, int | str] | None = None,
    resolution: int = 200,
    ax: Any = None,
) -> Any:
    """Draw what the model decides over a plane, with data and prototypes.

    With two features the picture is the whole truth. With more it is a cut: along two chosen features the others stay
    at their median; without a choice the plane is that of `plot_embedding`, everything else at the mean of X. Samples
    and prototypes are projected to the plane, so a prototype need not lie in its own region.

    Parameters
    ----------
    model : fitted classifier with prototypes, or a pipeline ending in one
    X : rows, raw where the model is a pipeline
    y : labels, optional; without them samples are grey
    features : two features by number or name, as the classifier sees them; None takes the plane of `plot_embedding`, or
        the two features where there are only two
    resolution : int
        Points along each side of the grid.
    ax : matplotlib axes; None makes one

    Returns
    -------
    ax : the axes drawn on
    """
    check_count("resolution", resolution, at_least=2)
    fitted = fitted_model(model)
    values = fitted.features(X)
    if features is None and values.shape[1] == 2:
        features = (0, 1)
    plane = plane_of_model(fitted, values) if features is None else plane_of_features(fitted, values, features)
    ax = new_axes(ax, (6.4, 4.8))
    points = np.vstack(
        [plane.project(values), plane.project(np.asarray(fitted.classifier.prototypes_, dtype=np.float64))]
    )
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.where(high > low, 0.05 * (high - low), 0.5)
    first, second = (np.linspace(low[i] - room[i], high[i] + room[i], resolution) for i in (0, 1))
    grid = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    classes = fitted.classifier.classes_
    codes = np.searchsorted(classes, fitted.predict(plane.lift(grid))).reshape(resolution, resolution)
    half = (first[1] - first[0]) / 2, (second[1] - second[0]) / 2
    ax.imshow(
        class_colours(len(classes))[codes],
        origin="lower",
        extent=(first[0] - half[0], first[-1] + half[0], second[0] - half[1], second[-1] + half[1]),
        aspect="auto",
        interpolation="nearest",
        alpha=0.25,
        zorder=0,
    )
    _scatter(fitted, plane, values, y, ax)
    ax.set(xlim=(first[0], first[-1]), ylim=(second[0], second[-1]))
    return ax
