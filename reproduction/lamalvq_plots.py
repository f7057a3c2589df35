"""Pictures of LaMaLVQ runs: curves over the rounds, and the learned matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_ROWS = (("error", "training error"), ("cost", "cost, largest = 1"), ("norm", "mean prototype norm"))


def _zigzag(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Before and after each solve, one after the other."""
    rounds = np.arange(1, len(before) + 1)
    return np.column_stack([rounds - 0.05, rounds + 0.05]).ravel(), np.column_stack([before, after]).ravel()


def draw_rounds(ax: Any, curves: Mapping[tuple[str, str], Mapping[str, np.ndarray]]) -> None:
    """Error, cost and norm over the rounds, one column a data set, one line a setting, in place of `ax`.

    curves : (data set, setting) -> arrays error_before, error, cost_before, cost and norm over the rounds; a dot marks
        the value just before a metric solve
    """
    sets = list(dict.fromkeys(name for name, _ in curves))
    figure = ax.figure
    ax.remove()
    axes = figure.subplots(len(_ROWS), len(sets), squeeze=False)
    for (name, setting), curve in curves.items():
        column = axes[:, sets.index(name)]
        for axis, (key, label) in zip(column, _ROWS, strict=True):
            if key == "norm":
                norm = curve["norm"]
                # A line through one point is nothing to see.
                axis.plot(np.arange(1, len(norm) + 1), norm, label=setting, marker="." if len(norm) == 1 else "")
                axis.set_yscale("log")
            else:
                x, y = _zigzag(curve[f"{key}_before"], curve[key])
                y = y / (np.nanmax(y) or 1.0) if key == "cost" else y
                (line,) = axis.plot(x, y, label=setting)
                axis.plot(x[::2], y[::2], ".", color=line.get_color(), markersize=4)
            if name == sets[0]:
                axis.set_ylabel(label)
            axis.tick_params(labelsize="small")
        column[0].set_title(name)
        column[-1].set_xlabel("round")
    axes[0, 0].legend(fontsize="small")


def draw_matrices(ax: Any, matrices: Sequence[tuple[str, np.ndarray]]) -> None:
    """Mean learned matrices as pictures, zero in white, each with its own scale, in place of `ax`."""
    columns = min(len(matrices), 3)
    rows = -(-len(matrices) // columns)
    figure = ax.figure
    ax.remove()
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes:
        axis.set_axis_off()
    for axis, (name, matrix) in zip(axes, matrices, strict=False):
        limit = np.abs(matrix).max() or 1.0
        picture = axis.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit)
        axis.set_title(name, fontsize="small")
        figure.colorbar(picture, ax=axis, shrink=0.8)
