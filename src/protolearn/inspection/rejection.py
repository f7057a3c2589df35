"""Leaving the uncertain rows to somebody else: certainty by the relative distance, accuracy on the rows kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protolearn.inspection.fitted import fitted_model, new_axes


def relative_distance(model: Any, X: Any) -> np.ndarray:
    """How certain each decision is, between 0 (on the border) and 1 (on a prototype).

        (d_rival - d_own) / (d_rival + d_own)

    of the squared distances to the nearest prototype and to the nearest one of another class. 0 where both are 0, 1
    where there is no other class.

    Parameters
    ----------
    model : fitted classifier with prototypes, or a pipeline ending in one
    X : rows, raw where the model is a pipeline

    Returns
    -------
    certainty : ndarray of shape (n_samples,)
    """
    fitted = fitted_model(model)
    distances = np.sort(fitted.class_distances(fitted.features(X)), axis=1)
    own, rival = distances[:, 0], distances[:, 1]
    total = own + rival
    some = np.isfinite(rival) & (total > 0)
    certainty = np.where(np.isfinite(rival), 0.0, 1.0)
    certainty[some] = (rival[some] - own[some]) / total[some]
    return certainty


@dataclass(frozen=True)
class RejectionCurve:
    """Accuracy of the rows kept when those at or below each certainty are left to somebody else.

    threshold : certainty above which a row is kept, rising; the first one keeps all
    rejected : share of rows rejected
    accuracy : share of the kept rows that are right
    """

    threshold: np.ndarray
    rejected: np.ndarray
    accuracy: np.ndarray


def rejection_curve(certainty: Any, correct: Any) -> RejectionCurve:
    """One point for each certainty at which the set of kept rows changes; it ends before nothing is kept.

    Parameters
    ----------
    certainty : array-like of shape (n_samples,)
        For example `relative_distance`.
    correct : array-like of bool of shape (n_samples,)

    Returns
    -------
    curve : RejectionCurve
    """
    certainty = np.asarray(certainty, dtype=np.float64)
    correct = np.asarray(correct, dtype=bool)
    if certainty.ndim != 1 or certainty.shape != correct.shape or not len(certainty) or np.isnan(certainty).any():
        raise ValueError("certainty and correct must be two lists of the same length without NaN; check both.")
    order = np.argsort(certainty, kind="stable")
    levels, first = np.unique(certainty[order], return_index=True)
    right_from = np.cumsum(correct[order][::-1])[::-1]
    kept = len(certainty) - first
    threshold = np.concatenate([[-np.inf], levels[:-1]])
    return RejectionCurve(threshold, first / len(certainty), right_from[first] / kept)


def plot_rejection(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Draw the accuracy of the rows kept at each rate of rejection, the least certain rows rejected first.

    Parameters
    ----------
    model : fitted classifier with prototypes, or a pipeline ending in one
    X : rows, raw where the model is a pipeline
    y : labels
    ax : matplotlib axes; None makes one

    Returns
    -------
    ax : the axes drawn on
    """
    fitted = fitted_model(model)
    correct = fitted.predict(fitted.features(X)) == np.asarray(y)
    curve = rejection_curve(relative_distance(model, X), correct)
    ax = new_axes(ax, (6.4, 4.2))
    # A share of a handful of rows says nothing: the curve is drawn while at least ten are kept.
    shown = (1 - curve.rejected) * len(correct) >= min(10, len(correct))
    ax.plot(100 * curve.rejected[shown], 100 * curve.accuracy[shown], drawstyle="steps-post")
    ax.set(xlabel="rows rejected, least certain first, %", ylabel="accuracy of the rows kept, %")
    ax.grid(alpha=0.2)
    return ax
