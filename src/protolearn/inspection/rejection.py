"""Leaving the uncertain rows to somebody else: the accuracy on the rows kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protolearn.inspection.explanation import certainty
from protolearn.inspection.fitted import fitted_model, new_axes


@dataclass(frozen=True)
class RejectionCurve:
    """Accuracy of the rows kept when those below each certainty are left to somebody else.

    threshold : a row is kept where its certainty is at least this; rising, the first one keeps all
    rejected : share of rows rejected
    accuracy : share of the kept rows that are right
    """

    threshold: np.ndarray
    rejected: np.ndarray
    accuracy: np.ndarray


def rejection_curve(certainties: Any, correct: Any) -> RejectionCurve:
    """One point for each certainty at which the set of kept rows changes; it ends before nothing is kept.

    Parameters
    ----------
    certainties : array-like of shape (n_samples,)
        For example `protolearn.inspection.certainty`.
    correct : array-like of bool of shape (n_samples,)

    Returns
    -------
    curve : RejectionCurve
    """
    certainties = np.asarray(certainties, dtype=np.float64)
    correct = np.asarray(correct, dtype=bool)
    if (
        certainties.ndim != 1
        or certainties.shape != correct.shape
        or not len(certainties)
        or np.isnan(certainties).any()
    ):
        raise ValueError("certainties and correct must be two lists of the same length without NaN; check both.")
    order = np.argsort(certainties, kind="stable")
    levels, first = np.unique(certainties[order], return_index=True)
    right_from = np.cumsum(correct[order][::-1])[::-1]
    kept = len(certainties) - first
    return RejectionCurve(levels, first / len(certainties), right_from[first] / kept)


def plot_rejection(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Draw the accuracy of the rows kept at each rate of rejection, the least certain rows rejected first.

    Certain by the relative distance (D_rival - D_own) / (D_rival + D_own).

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
    curve = rejection_curve(certainty(model, X), correct)
    ax = new_axes(ax, (6.4, 4.2))
    # A share of a handful of rows says nothing: the curve is drawn while at least ten are kept.
    shown = (1 - curve.rejected) * len(correct) >= min(10, len(correct))
    ax.plot(100 * curve.rejected[shown], 100 * curve.accuracy[shown], drawstyle="steps-post")
    ax.set(xlabel="rows rejected, least certain first, %", ylabel="accuracy of the rows kept, %")
    ax.grid(alpha=0.2)
    return ax
