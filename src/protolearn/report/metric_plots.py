"""Pictures of what the distance has learned: relevances of features, the matrix Lambda."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protolearn.core.parameters import check_count
from protolearn.report.fitted import FittedModel, feature_index, fitted_model, new_axes, plain

_MOST_NAMES = 40


def relevances_of(model: Any) -> np.ndarray:
    """How much each feature counts, (n_slots, n_features), each row scaled to sum 1; equal under a Euclidean distance.

    `relevances_`, or the diagonal of Lambda = Omega'Omega. A row is the whole model, a class or a prototype, as the
    metric's scope is.
    """
    classifier = fitted_model(model).classifier
    if getattr(classifier, "omega_", None) is not None:
        found = np.sum(np.asarray(classifier.omega_, dtype=np.float64) ** 2, axis=-2)
    elif getattr(classifier, "relevances_", None) is not None:
        found = np.asarray(classifier.relevances_, dtype=np.float64)
    else:
        found = np.ones(classifier.prototypes_.shape[1])
    found = np.atleast_2d(found)
    total = found.sum(axis=1, keepdims=True)
    return found / np.where(total > 0, total, 1.0)


def learns_a_metric(model: Any) -> bool:
    """Whether the model has relevances or a matrix to show."""
    classifier = fitted_model(model).classifier
    return any(getattr(classifier, name, None) is not None for name in ("relevances_", "omega_"))


def slot_names(fitted: FittedModel, n_slots: int) -> list[str]:
    """What each row of a local metric belongs to: a class, or a prototype of a class."""
    classifier = fitted.classifier
    if n_slots == len(classifier.classes_) != len(classifier.prototypes_):
        return [plain(label) for label in classifier.classes_]
    return [f"{plain(label, 18)}, no. {number}" for number, label in enumerate(classifier.prototype_labels_, 1)]


def plot_relevances(
    model: Any, *, max_features: int = 30, features: Sequence[int | str] | None = None, ax: Any = None
) -> Any:
    """Draw how much each feature counts in the distance: bars, or a picture with one row a class or prototype.

    The share of each feature in the sum of `relevances_`, or of the diagonal of Lambda = Omega'Omega.

    Parameters
    ----------
    model : fitted classifier with prototypes, or a pipeline ending in one
    max_features : int
        With more features, the ones that count most (on average).
    features : by number or name, as the classifier sees them; these in this order, None those that count most first
    ax : matplotlib axes; None makes one

    Returns
    -------
    ax : the axes drawn on
    """
    check_count("max_features", max_features)
    fitted = fitted_model(model)
    shares = relevances_of(model)
    order = np.argsort(-shares.mean(axis=0), kind="stable")[:max_features]
    if features is not None:
        order = np.array([feature_index(fitted.feature_names, feature) for feature in features])
    names = [plain(fitted.feature_names[number]) for number in order]
    shown = 100 * shares[:, order]
    if len(shown) == 1:
        ax = new_axes(ax, (6.4, 0.22 * len(names) + 1.2))
        ax.barh(range(len(names)), shown[0], color="C0")
        ax.axvline(100 / shares.shape[1], color="0.5", linestyle="--", linewidth=1, label="all features alike")
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlabel("share of the relevance, %")
        ax.legend(frameon=False, loc="lower right")
        return ax
    ax = new_axes(ax, (6.4, 4.8))
    picture = ax.imshow(shown, aspect="auto", cmap="viridis", vmin=0, interpolation="nearest")
    ax.set_xticks(range(len(names)), names, rotation=90)
    rows = slot_names(fitted, len(shown))
    every = int(np.ceil(len(rows) / _MOST_NAMES))
    ax.set_yticks(range(0, len(rows), every), rows[::every])
    ax.figure.colorbar(picture, ax=ax, label="share, %")
    return ax


def plot_omega(
    model: Any,
    *,
    slot: int = 0,
    features: Sequence[int | str] | None = None,
    ax: Any = None,
    cmap: str = "RdBu_r",
) -> Any:
    """Draw the learned matrix Lambda = Omega'Omega: which features count (diagonal), and together with which.

    Parameters
    ----------
    model : fitted classifier with `omega_`, or a pipeline ending in one
    slot : int
        Which matrix, where there is one a class or a prototype.
    features : by number or name, as the classifier sees them; these in this order, None all of them
    ax : matplotlib axes; None makes one
    cmap : matplotlib's name of a diverging colour map; zero is its middle

    Returns
    -------
    ax : the axes drawn on
    """
    fitted = fitted_model(model)
    omega = getattr(fitted.classifier, "omega_", None)
    if omega is None:
        raise ValueError(
            f"{type(fitted.classifier).__name__} has learned no matrix; plot_relevances draws weights, and GMLVQ, "
            "LGMLVQ and LaMaLVQ learn matrices."
        )
    omega = np.asarray(omega, dtype=np.float64)
    omega = omega[None] if omega.ndim == 2 else omega
    if not -len(omega) <= slot < len(omega):
        raise ValueError(f"slot must be between 0 and {len(omega) - 1}; got {slot}.")
    names = fitted.feature_names
    order = np.arange(len(names)) if features is None else [feature_index(names, feature) for feature in features]
    matrix = (omega[slot].T @ omega[slot])[np.ix_(order, order)]
    ax = new_axes(ax, (6.0, 5.0))
    largest = float(np.abs(matrix).max()) or 1.0
    picture = ax.imshow(matrix, cmap=cmap, vmin=-largest, vmax=largest, interpolation="nearest")
    names = [plain(names[number]) for number in order]
    every = int(np.ceil(len(names) / _MOST_NAMES))
    ax.set_xticks(range(0, len(names), every), names[::every], rotation=90)
    ax.set_yticks(range(0, len(names), every), names[::every])
    ax.figure.colorbar(picture, ax=ax, label="Λ")
    if len(omega) > 1:
        ax.set_title(slot_names(fitted, len(omega))[slot])
    return ax
