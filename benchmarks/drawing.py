"""Pictures of measurements. matplotlib is imported on use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measurements import Ratio, number

OURS, OTHERS, LIMIT = "tab:red", "tab:blue", "black"


def picture(path: Path, width: float, height: float, draw: Callable[[Any], None], panels: int = 1) -> None:
    """New axes, what `draw` puts on them, and the file, written whole or not at all."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    draw(axes[0] if panels == 1 else axes)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".png.tmp")
    figure.savefig(temporary, format="png", dpi=120)
    temporary.replace(path)


def _logarithmic(axes: Any) -> None:
    """A logarithmic axis whose marks are plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def draw_ratios(ratios: Sequence[Ratio], path: Path, label: str) -> None:
    """A line for each ratio: its median, its spread, and the mark that it should reach."""

    def draw(axes: Any) -> None:
        for y, one in enumerate(ratios):
            color = {None: "tab:gray", True: "tab:green", False: "tab:red"}[one.met]
            axes.plot([one.low, one.high], [y, y], color=color, linewidth=2, solid_capstyle="butt")
            axes.plot([one.median], [y], "o", color=color)
            aim = one.least if one.least is not None else one.most
            if aim is not None:
                axes.plot([aim], [y], "|", color=LIMIT, markersize=14, markeredgewidth=2)
            # Above the line, not beside it: there stands the mark of what is wanted.
            axes.annotate(
                number(one.median), (one.median, y), (0, 5), textcoords="offset points", ha="center", fontsize=8
            )
        _logarithmic(axes)
        axes.axvline(1.0, color="tab:gray", linewidth=1)
        axes.set_yticks(range(len(ratios)), [f"{one.what}\nagainst {one.against}" for one in ratios], fontsize=7)
        axes.set_ylim(len(ratios) - 0.4, -0.8)
        axes.set_xlabel(f"{label}\nbar: least to largest; black mark: wanted", fontsize=9)
        axes.grid(axis="x", alpha=0.3)

    picture(path, 9.0, 1.2 + 0.42 * max(1, len(ratios)), draw)


def draw_bars(
    names: Sequence[str],
    series: dict[str, Sequence[float]],
    path: Path,
    label: str,
    limits: dict[str, float],
    logarithmic: bool = False,
) -> None:
    """Horizontal bars side by side, with a line for each limit."""

    def draw(axes: Any) -> None:
        thick = 0.8 / len(series)
        for place, (title, values) in enumerate(series.items()):
            heights = [y + (place - (len(series) - 1) / 2) * thick for y in range(len(names))]
            axes.barh(heights, values, thick, label=title, color=(OURS, OTHERS, "tab:gray")[place % 3])
        for (title, value), style in zip(limits.items(), ("--", ":", "-."), strict=False):
            axes.axvline(value, color=LIMIT, linestyle=style, linewidth=1, label=title)
        if logarithmic:
            _logarithmic(axes)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel(label)
        axes.grid(axis="x", alpha=0.3)
        axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncol=4, frameon=False)

    picture(path, 8.0, 1.2 + 0.3 * max(2, len(names)), draw)
