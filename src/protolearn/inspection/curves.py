"""Accuracy against the number of prototypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def plot_accuracy_by_size(
    sizes: Sequence[int],
    accuracies: Mapping[str, np.ndarray],
    *,
    reference: tuple[str, float] | None = None,
    title: str = "",
    path: str | Path | None = None,
) -> Any:
    """Mean accuracy of several methods over the number of prototypes, with a band of one standard deviation.

    sizes : numbers of prototypes
    accuracies : for each method an array (n_sizes, n_runs) of shares between 0 and 1
    reference : name and accuracy of what the methods are compared with, a dashed line
    path : where to write the figure; None does not write it

    Returns the matplotlib figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for marker, (name, runs) in zip("osd^v<>", accuracies.items(), strict=False):
        mean, spread = 100 * np.mean(runs, axis=1), 100 * np.std(runs, axis=1)
        (line,) = axes.plot(sizes, mean, marker=marker, markersize=4, label=name)
        axes.fill_between(sizes, mean - spread, mean + spread, color=line.get_color(), alpha=0.15, linewidth=0)
    if reference is not None:
        axes.axhline(100 * reference[1], color="0.4", linestyle="--", label=reference[0])
    axes.set(xlabel="prototypes", ylabel="test accuracy, %", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
