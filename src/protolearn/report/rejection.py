"""The accuracy of the rows kept, drawn over the share of the rows rejected."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.explain.rejection import rejection_curve
from protolearn.report.fitted import fitted_model, new_axes


def plot_rejection(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Draw the accuracy of the rows kept at each rate of rejection, the least certain rows rejected first.

    The certainty is the largest value of `predict_proba`.

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
    curve = rejection_curve(model.predict_proba(X).max(axis=1), correct)
    ax = new_axes(ax, (6.4, 4.2))
    # A share of a handful of rows says nothing: the curve is drawn while at least ten are kept.
    shown = (1 - curve.rejected) * len(correct) >= min(10, len(correct))
    ax.plot(100 * curve.rejected[shown], 100 * curve.accuracy[shown], drawstyle="steps-post")
    ax.set(xlabel="rows left to a person, least certain first, %", ylabel="right of the rest, %")
    ax.grid(alpha=0.2)
    return ax
