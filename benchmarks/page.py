"""What a reader of docs/speed.md sees: one table and one picture from the files of all cases, and a page for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Line
from benchmarks.measurements import Measurement, by_machine, read

HEADER = ("task", "protolearn", "fastest other", "which", "times as fast")


def write_pages(
    docs: Path, case: Case, rows: Sequence[Measurement], command: str, cases: Sequence[Case], out: Path
) -> None:
    """The page of a case, and the table and picture that show all of them.

    out : where the files of all cases are
    """
    from reproduction.report import table, write_section

    page = docs / "evidence" / f"speed_{case.name}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(case.page(rows, command), encoding="utf-8")
    lines = [line for one in cases for line in _last(one, out)]
    if lines:
        body = table(HEADER, [_summary(task, of_task) for task, of_task in _by_task(lines).items()])
        picture = "![how many times as fast as the fastest other library](figures/speed.png)"
        page = docs / "speed.md"
        if not page.exists():
            page.write_text("# Speed\n", encoding="utf-8")
        write_section(page, "table", f"{body}\n\n{picture}")
        draw(lines, docs / "figures" / "speed.png")


def _by_task(lines: Sequence[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.task, []).append(line)
    return found


def _summary(task: str, lines: Sequence[Line]) -> tuple[str, ...]:
    """The row of a task: from the least to the largest over its data sets."""
    others = ", ".join(dict.fromkeys(line.other for line in lines))
    ours, theirs = (_range(values) for values in ([line.ours for line in lines], [line.theirs for line in lines]))
    unit, times = lines[0].unit, _range([line.times.median for line in lines])
    return task, f"{ours} {unit}", f"{theirs} {unit}", others, f"**{times}**"


def _range(values: Sequence[float]) -> str:
    low, high = _short(min(values)), _short(max(values))
    return low if low == high else f"{low} to {high}"


def _short(value: float) -> str:
    """Two figures: the machine does not repeat more."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


def _last(case: Case, out: Path) -> list[Line]:
    """The lines of the machine that was measured last."""
    rows = read(out / f"{case.name}.csv")
    return case.lines(next(iter(by_machine(rows).values()))) if rows else []


def draw(lines: Sequence[Line], path: Path) -> None:
    """A row for each task, a dot for each data set."""
    from matplotlib.figure import Figure

    tasks = _by_task(lines)
    figure = Figure(figsize=(8.0, 1.0 + 0.34 * len(tasks)), layout="constrained")
    axes = figure.subplots()
    for y, of_task in enumerate(tasks.values()):
        here = sorted(of_task, key=lambda line: line.times.median)
        axes.plot([here[0].times.median, here[-1].times.median], [y, y], color="tab:gray", linewidth=1, zorder=1)
        for place, line in enumerate(here):
            axes.plot([line.times.median], [y], "o", color="tab:red", zorder=2)
            ends = {0: ("right", -6), len(here) - 1: ("left", 6)}
            if len(here) == 1 or place in ends:
                side, shift = ("left", 6) if len(here) == 1 else ends[place]
                axes.annotate(
                    _short(line.times.median), (line.times.median, y), (shift, 0), textcoords="offset points",
                    ha=side, va="center", fontsize=8,
                )  # fmt: skip
    _plain_logarithmic(axes)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_yticks(range(len(tasks)), tasks, fontsize=9)
    axes.set_ylim(len(tasks) - 0.5, -0.5)
    axes.set_xlabel("times as fast as the fastest other library; one dot for each data set", fontsize=9)
    axes.grid(axis="x", alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".png.tmp")
    figure.savefig(temporary, format="png", dpi=120)
    temporary.replace(path)


def _plain_logarithmic(axes: Any) -> None:
    """A logarithmic axis whose marks are plain numbers, with room for the numbers beside the dots."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 1.0) / 1.3, high * 1.3)
