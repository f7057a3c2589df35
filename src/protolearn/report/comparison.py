"""A comparison of methods as files: its summary and pairs as CSV, and a page."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import protolearn
from protolearn.compare.rows import Row
from protolearn.compare.statistics import SignedRanks
from protolearn.compare.summary import (
    CAUTION,
    COLUMNS,
    PAIR_FIELDS,
    SIGNIFICANT,
    SUMMARY_FIELDS,
    cells,
    differs,
    pairs,
    summary,
)
from protolearn.export.model_file import write_bytes
from protolearn.report.drawing import draw
from protolearn.report.fitted import new_axes, plain
from protolearn.report.page import Section, figure, page, paragraph, table


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
            mark = "*" if differs(test) else ""
            found.append(f"{'+' if better > 0 else '-' if better < 0 else ''}{test.adjusted:.3f}{mark}")
        lines.append(found)
    about = (
        "p-values of Wilcoxon's signed ranks test, exact, with Holm's correction for the number of pairs: + where the "
        f"method of the row is better than that of the column, * below {SIGNIFICANT}. {CAUTION}"
    )
    return paragraph(about) + table(["", *methods], lines, caption="p-values")
