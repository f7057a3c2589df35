"""Curves: loss over the epochs, accuracy against what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from protolearn.report.fitted import fitted_model, new_axes, plain


def plot_loss(model: Any, *, ax: Any = None) -> Any:
    """Draw the learning curve: the loss after each epoch, as the method defines it.

    Parameters
    ----------
    model : fitted classifier with `loss_curve_`, or a pipeline ending in one
    ax : matplotlib axes; None makes one

    Returns
    -------
    ax : the axes drawn on
    """
    classifier = fitted_model(model).classifier
    curve = getattr(classifier, "loss_curve_", None)
    if curve is None or not len(curve):
        raise ValueError(f"{type(classifier).__name__} has no learning curve: it learns nothing epoch by epoch.")
    ax = new_axes(ax, (6.4, 4.2))
    ax.plot(np.arange(1, len(curve) + 1), curve, marker="o" if len(curve) < 20 else None, markersize=3)
    ax.set(xlabel="step (epoch)", ylabel="loss")
    ax.grid(alpha=0.2)
    return ax


def plot_tradeoff(
    rows: Sequence[Mapping[str, Any]],
    *,
    reference: tuple[str, float] | None = None,
    chosen: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw accuracy against the number of prototypes, with error bars.

    Parameters
    ----------
    rows : one dict a point: "prototypes" (or "numbers", what is stored), "accuracy" between 0 and 1, and, if known,
        "spread" of the accuracy (else None) and "method", one line a method
    reference : name and accuracy of what the curve is compared with, a dashed line
    chosen : the number that was taken, a dotted line
    ax : matplotlib axes; None makes one

    Returns
    -------
    ax : the axes drawn on
    """
    if not rows:
        raise ValueError("A trade-off curve needs at least one row; got none.")
    ax = new_axes(ax, (6.4, 4.2))
    key = "prototypes" if "prototypes" in rows[0] else "numbers"
    for marker, method in zip("osd^v<>" * len(rows), dict.fromkeys(row.get("method") for row in rows), strict=False):
        points = sorted((row for row in rows if row.get("method") == method), key=lambda row: row[key])
        sizes = np.array([float(row[key]) for row in points])
        mean = 100 * np.array([float(row["accuracy"]) for row in points])
        spread = 100 * np.array([float(row.get("spread") or 0.0) for row in points])
        (line,) = ax.plot(sizes, mean, marker=marker, markersize=4, label=None if method is None else plain(method))
        if spread.any():
            ax.errorbar(sizes, mean, spread, fmt="none", ecolor=line.get_color(), alpha=0.6, capsize=3)
    if reference is not None:
        ax.axhline(100 * reference[1], color="0.5", linestyle="--", label=plain(reference[0]))
    if chosen is not None:
        ax.axvline(chosen, color="0.5", linestyle=":", label=f"taken: {chosen:g}")
    sizes = np.array([float(row[key]) for row in rows])
    if sizes.min() > 0 and sizes.max() > 20 * sizes.min():
        ax.set_xscale("log")
    else:
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="prototypes" if key == "prototypes" else "numbers stored", ylabel="accuracy, %")
    ax.grid(alpha=0.2)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)
    return ax
