"""What the rows of a comparison say: mean and spread, average ranks, signed ranks of each pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from protolearn.compare.rows import Row
from protolearn.compare.statistics import SignedRanks, all_pairs, average_ranks

SIGNIFICANT = 0.05
# Five folds that all point one way have p = 2 / 2^5 = 0.0625.
FEWEST_FOLDS = 6
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
PAIR_FIELDS = ("first", "second", "wins", "ties", "losses", "smaller_sum", "p_value", "adjusted", "better")
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
    """The signed ranks test of each pair of methods, in the order of their ranks; none below six folds."""
    compared = scores(rows)
    if not compared or len(next(iter(compared.values()))) < FEWEST_FOLDS:
        return {}
    order = [line["method"] for line in summary(rows) if line["method"] in compared]
    return all_pairs({method: compared[method] for method in order})


def first_place(rows: Sequence[Row]) -> list[str]:
    """Which method ranks first, and above which others the signed ranks test puts it, in sentences."""
    compared = scores(rows)
    if len(compared) < 2:
        return []
    best = next(line["method"] for line in summary(rows))
    n_folds = len(compared[best])
    tests = pairs(rows)
    if not tests:
        folds = f"{n_folds} fold{'s are' if n_folds > 1 else ' is'}"
        return [f"{best} ranks first; {folds} too few for a test: take at least {FEWEST_FOLDS}."]
    # A method that wins every fold has this p-value.
    smallest = len(tests) * 2.0 ** (1 - n_folds)
    if smallest >= SIGNIFICANT:
        return [
            f"{best} ranks first; {n_folds} folds cannot tell {len(compared)} methods apart: corrected for "
            f"{len(tests)} pairs, the smallest p is {min(smallest, 1.0):.2g}. Compare fewer methods or take more folds."
        ]
    worse = [second for (first, second), test in tests.items() if first == best and test.better < 0 and differs(test)]
    found = ", ".join(worse) if worse else "none of the others"
    corrected = f", corrected for {len(tests)} pairs" if len(tests) > 1 else ""
    told = f"{best} ranks first; the signed ranks test puts it above {found} (p < {SIGNIFICANT}{corrected})."
    # Without a difference there is no p-value to be careful with.
    return [told, CAUTION] if worse else [told]


def differs(test: SignedRanks) -> bool:
    """Whether the signed ranks test finds a difference, after the correction for the number of pairs."""
    return test.adjusted < SIGNIFICANT


def cells(line: Mapping[str, Any]) -> list[str]:
    """A line of the summary as texts, for a table of COLUMNS."""
    seconds = line["tuning_seconds"] + line["fit_seconds"]
    return [
        line["method"],
        "failed" if math.isnan(line["accuracy"]) else f"{100 * line['accuracy']:.2f}",
        _number(100 * line["spread"], "{:.2f}"),
        _number(line["rank"], "{:.2f}"),
        _number(line["prototypes"] or math.nan, "{:,.0f}"),
        _number(line["numbers"], "{:,.0f}"),
        _number(seconds, "{:.2f}"),
        _number(line["microseconds"], "{:.1f}"),
    ]


COLUMNS = ("method", "accuracy, %", "spread", "mean rank", "vectors", "numbers", "s a fold", "µs")


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else form.format(value)
