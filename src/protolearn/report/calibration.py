"""Whether the probabilities hold: of the rows called 90 % sure, how many are right."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.report.fitted import fitted_model, new_axes
from protolearn.report.recall import Share

_BINS = 5
_SURE = 0.99
_FEWEST = 10


def calibration(model: Any, X: Any, y: Any, n_bins: int = _BINS) -> list[tuple[float, Share]]:
    """The mean probability of the class predicted, and how many rows are right, in bins of rising probability.

    Rows above 99 % are one bin, for their probabilities differ in nothing that a reader can use. The others stand in
    bins of equally many rows, at least ten where there are as many.

    Parameters
    ----------
    model : fitted classifier with `predict_proba`, or a pipeline ending in one
    X, y : rows and labels
    n_bins : int
        At most so many; equal probabilities stay together.

    Returns
    -------
    bins : list of (mean probability, Share of rows that are right), by rising probability
    """
    shares = np.asarray(model.predict_proba(X))
    sure = shares.max(axis=1)
    right = np.asarray(model.classes_)[shares.argmax(axis=1)] == np.asarray(y)
    below = sure[sure <= _SURE]
    edges = np.array([])
    if len(below):
        n_below = int(np.clip(len(below) // _FEWEST, 1, max(n_bins - (len(below) < len(sure)), 1)))
        edges = np.append(np.quantile(below, np.linspace(0, 1, n_below + 1)[1:-1], method="lower"), _SURE)
    which = np.searchsorted(np.unique(edges), sure, side="left")
    bins = [which == k for k in np.unique(which)]
    return [(float(sure[rows].mean()), Share(int(right[rows].sum()), int(rows.sum()))) for rows in bins]


def calibration_error(bins: list[tuple[float, Share]]) -> float:
    """The mean distance between what is said and what is right, over all rows (ECE)."""
    n_rows = sum(share.of for _, share in bins)
    return sum(share.of * abs(said - share.found / share.of) for said, share in bins) / n_rows


def plot_calibration(model: Any, X: Any, y: Any, *, n_bins: int = _BINS, ax: Any = None) -> Any:
    """Draw how many rows are right over the probability that the model gives, with 95 % intervals.

    Parameters
    ----------
    model, X, y, n_bins : as in `calibration`
    ax : matplotlib axes; None makes one

    Returns
    -------
    ax : the axes drawn on
    """
    fitted_model(model)
    bins = calibration(model, X, y, n_bins)
    said = 100 * np.array([mean for mean, _ in bins])
    right = 100 * np.array([share.found / share.of for _, share in bins])
    low, high = (100 * np.array([getattr(share, end) for _, share in bins]) for end in ("low", "high"))
    ax = new_axes(ax, (6.4, 4.2))
    ax.plot([0, 100], [0, 100], color="0.5", linestyle="--", label="as often as said")
    bars = [np.maximum(right - low, 0), np.maximum(high - right, 0)]
    ax.errorbar(said, right, bars, fmt="o-", capsize=3, label="this model")
    least = max(0.0, float(min(said.min(), low.min())) - 3)
    ax.set(xlim=(least, 101), ylim=(least, 101), xlabel="probability given, %", ylabel="right, %")
    ax.grid(alpha=0.2)
    ax.legend(frameon=False)
    return ax
