"""What the rows of a comparison say: mean and spread, average ranks, signed ranks of each pair; as CSV and HTML."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import protolearn
from protolearn.experiments.rows import Row
from protolearn.experiments.statistics import SignedRanks, all_pairs, average_ranks
from protolearn.export.model_file import write_bytes
from protolearn.inspection.drawing import draw
from protolearn.inspection.fitted import new_axes, plain
from protolearn.inspection.page import Section, figure, page, paragraph, table

SIGNIFICANT = 0.05
SUMMARY_FIELDS = (
    "method",
    "folds",
    "accuracy",
    "spread",
    "rank",
    "prototypes",
    "numbers",
    "tuning_seconds",
    "fit_seconds",
    "microseconds",
    "error",
)
PAIR_FIELDS = ("first", "second", "wins", "ties", "losses", "z", "p_value", "better")
CAUTION = (
    "Folds of one data set share most of their training rows, so the tests are optimistic: take a p-value near 0.05 as "
    "no evidence."
)


def scores(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Accuracies by method over the folds that all have; a method that failed on any of its folds is left out."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    found = {(row["method"], row["dataset"], row["fold"]): row["accuracy"] for row in rows}
    able = [m for m in methods if not any(math.isnan(value) for (method, *_), value in found.items() if method == m)]
    places = dict.fromkeys((row["dataset"], row["fold"]) for row in rows)
    complete = [place for place in places if all((method, *place) in found for method in able)]
    return {method: [found[method, *place] for place in complete] for method in able} if complete else {}


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One dict a method with the keys of SUMMARY_FIELDS, best rank first; `spread` is the standard deviation.

    Methods without a rank (no fold is complete, or they failed) come last, by their accuracy.
    """
    compared = scores(rows)
    ranks = dict(zip(compared, average_ranks(np.array(list(compared.values())).T), strict=True)) if compared else {}
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        right = [row for row in own if not row["error"]]
        line = {"method": method, "folds": len(right), "rank": float(ranks.get(method, math.nan))}
        for key in ("accuracy", "prototypes", "numbers", "tuning_seconds", "fit_seconds", "microseconds"):
            line[key] = float(np.mean([row[key] for row in right])) if right else math.nan
        line["spread"] = float(np.std([row["accuracy"] for row in right], ddof=1)) if len(right) > 1 else math.nan
        line["error"] = next((row["error"] for row in own if row["error"]), "")
        lines.append({key: line[key] for key in SUMMARY_FIELDS})
    worst = math.inf
    return sorted(
        lines,
        key=lambda line: tuple(worst if math.isnan(value) else value for value in (line["rank"], -line["accuracy"])),
    )


def pairs(rows: Sequence[Row]) -> dict[tuple[str, str], SignedRanks]:
    """The signed ranks test (37) of each pair of methods, in the order of their ranks."""
    compared = scores(rows)
    order = [line["method"] for line in summary(rows) if line["method"] in compared]
    return all_pairs({method: compared[method] for method in order})


def first_place(rows: Sequence[Row]) -> list[str]:
    """Which method ranks first, and above which others the signed ranks test puts it, in sentences."""
    tests = pairs(rows)
    if not tests:
        return []
    best = next(first for first, _ in tests)
    worse = [second for (first, second), test in tests.items() if first == best and test.better < 0 and _differs(test)]
    found = ", ".join(worse) if worse else "none of the others"
    return [f"{best} ranks first; the signed ranks test puts it above {found} (p < {SIGNIFICANT}).", CAUTION]


def _differs(test: SignedRanks) -> bool:
    return test.p_value < SIGNIFICANT


def write_summary(folder: Path, rows: Sequence[Row], title: str) -> list[Path]:
    """Write summary.csv, pairs.csv and comparison.html; returns their paths."""
    lines, tests = summary(rows), pairs(rows)
    pair_rows = [
        {"first": first, "second": second, **{key: getattr(test, key) for key in PAIR_FIELDS[2:]}}
        for (first, second), test in tests.items()
    ]
    contents = {
        "summary.csv": _csv(SUMMARY_FIELDS, lines),
        "pairs.csv": _csv(PAIR_FIELDS, pair_rows),
        "comparison.html": _html(title, lines, tests),
    }
    for name, content in contents.items():
        write_bytes(folder / name, content.encode("utf-8", "xmlcharrefreplace"))
    return [folder / name for name in contents]


def cells(line: Mapping[str, Any]) -> list[str]:
    """A line of the summary as texts, for a table of COLUMNS."""
    seconds = line["tuning_seconds"] + line["fit_seconds"]
    return [
        line["method"],
        "failed" if math.isnan(line["accuracy"]) else f"{100 * line['accuracy']:.2f}",
        _number(100 * line["spread"], "{:.2f}"),
        _number(line["rank"], "{:.2f}"),
        _number(line["prototypes"], "{:,.0f}"),
        _number(line["numbers"], "{:,.0f}"),
        _number(seconds, "{:.2f}"),
        _number(line["microseconds"], "{:.1f}"),
    ]


COLUMNS = ("method", "accuracy, %", "spread", "mean rank", "vectors", "numbers", "s a fold", "µs")


def plot_methods(lines: Sequence[Mapping[str, Any]], *, ax: Any = None) -> Any:
    """Draw mean accuracy and spread of each method, best rank on top.

    Parameters
    ----------
    lines : what `summary` returns
    ax : matplotlib axes; None makes one

    Returns
    -------
    ax : the axes drawn on
    """
    shown = [line for line in lines if not math.isnan(line["accuracy"])]
    ax = new_axes(ax, (6.0, 0.22 * len(shown) + 1.0))
    mean = [100 * line["accuracy"] for line in shown]
    spread = [0.0 if math.isnan(line["spread"]) else 100 * line["spread"] for line in shown]
    ax.errorbar(mean, range(len(shown)), xerr=spread, fmt="o", markersize=5, elinewidth=1, capsize=2)
    ax.set_yticks(range(len(shown)), [plain(line["method"]) for line in shown])
    ax.invert_yaxis()
    ax.set_xlabel("accuracy, %")
    ax.grid(axis="x", alpha=0.2)
    return ax


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else form.format(value)


def _csv(fields: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _html(title: str, lines: Sequence[Mapping[str, Any]], tests: Mapping[tuple[str, str], SignedRanks]) -> str:
    shown = table(COLUMNS, [cells(line) for line in lines], caption="Best mean rank first; spread over the folds")
    failed = "".join(paragraph(f"{line['method']}: {line['error']}", "soft") for line in lines if line["error"])
    sections = [Section("methods", "Methods", shown + failed)]
    drawn = [line for line in lines if not math.isnan(line["accuracy"])]
    if drawn:
        said = f"Mean accuracy and spread of {len(drawn)} methods, {drawn[0]['method']} first."
        picture = draw("accuracy", lambda ax: plot_methods(lines, ax=ax), said, height=0.2 * len(drawn) + 0.8)
        sections.append(Section("accuracy", "Accuracy", figure(picture, said)))
    if tests:
        sections.append(Section("pairs", "Pairs", _pair_table(tests)))
    lead = paragraph(
        "All methods on the same folds, each tuned on a third held out of the training part, then fitted again on all "
        "of it (Jin, Liu and Hou 2010)."
    )
    return page(title, lead, sections, footer=f"Written by protolearn {protolearn.__version__}.")


def _pair_table(tests: Mapping[tuple[str, str], SignedRanks]) -> str:
    """Rows and columns by rank; + where the method of the row has the larger sum of ranks."""
    methods = list(dict.fromkeys(name for pair in tests for name in pair))
    lines = []
    for row in methods:
        found: list[str] = [row]
        for column in methods:
            test = tests.get((column, row)) or tests.get((row, column))
            if test is None:
                found.append("")
                continue
            better = test.better if (column, row) in tests else -test.better
            mark = "*" if _differs(test) else ""
            found.append(f"{'+' if better > 0 else '-' if better < 0 else ''}{test.p_value:.3f}{mark}")
        lines.append(found)
    about = (
        "p-values of Wilcoxon's signed ranks test, (37) of Jin, Liu and Hou (2010): + where the method of the row is "
        f"better than that of the column, * below {SIGNIFICANT}. {CAUTION}"
    )
    return paragraph(about) + table(["", *methods], lines, caption="p-values")
