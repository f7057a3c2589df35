"""Certified accuracy drawn over the radius."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.explain.certificate import certified_radius
from protolearn.report.fitted import new_axes


def plot_certified_accuracy(
    model: Any, X: Any, y: Any, *, norm: Any = "inf", scale: Any = "range", ax: Any = None, **settings: Any
) -> Any:
    """Draw the share of rows that are right and stay so whatever moves them by at most each radius.

    Parameters
    ----------
    model : fitted classifier of protolearn, or a pipeline that ends in one
    X, y : rows and their labels
    norm, scale, settings : as in `protolearn.explain.certified_radius`
    ax : matplotlib axes; None makes one

    Returns
    -------
    ax : the axes drawn on
    """
    radius = certified_radius(model, X, norm, scale=scale, **settings)
    right = np.asarray(model.predict(X)) == np.asarray(y)
    if not right.any():
        raise ValueError("The model is right on none of these rows, so there is nothing to certify; check y.")
    finite = radius[right & np.isfinite(radius)]
    unit = 100.0 if isinstance(scale, str) else 1.0
    # The curve is drawn to where nearly nothing is left.
    levels = np.append(0.0, np.unique(finite))
    share = [np.mean(right & (radius > level)) if level > 0 else np.mean(right) for level in levels]
    ax = new_axes(ax, (6.4, 4.2))
    ax.plot(unit * levels, 100.0 * np.array(share), drawstyle="steps-post")
    ax.set_xlim(0.0, unit * (float(np.quantile(finite, 0.98)) if len(finite) else 1.0))
    ax.set_ylim(0.0, 101.0)
    what = "every number by at most, % of its range" if unit > 1 else "radius"
    ax.set(xlabel=what if norm != 2 else "radius (root of the sum of squares)", ylabel="certified accuracy, %")
    ax.grid(alpha=0.2)
    return ax
