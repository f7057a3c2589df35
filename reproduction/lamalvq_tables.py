"""The findings of the LaMaLVQ thesis, made from the rows of `python -m reproduction lamalvq`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from reproduction.lamalvq_curves import CURVES, SETS, SETTINGS, TITLES, WITHOUT_SOLVES, Results
from reproduction.lamalvq_findings import FINDINGS
from reproduction.lamalvq_plots import draw_matrices, draw_rounds
from reproduction.report import Block, Drawing, Sheet

if TYPE_CHECKING:
    from reproduction.reproduce import Rows

_REMARK = (
    "Why a solve cannot raise its own cost, against what Fig. 4 shows: the solve lowers the cost for the targets it "
    "was given, and the targets found anew are the k nearest, which make every pull and every hinge as small as it can "
    "be under the new metric. Both steps lower the same sum, so the consecutive mode cannot oscillate either. Rises in "
    "the thesis must come from an inexact solve or from prototypes that moved in between. In G some of our solves end "
    "higher too (last column): there the cost is below a thousandth of the margin, or the prototypes are some 100,000 "
    "spreads away from the data; we take it for rounding and have not traced it further."
)


def about(rows: Rows) -> str:
    """How the rows were made."""
    return (
        "Error in per cent, features standardised by the training part. The thesis prints curves only; each of its "
        "findings is tested on the mean curves of our folds."
    )


def show(rows: Rows) -> list[Block]:
    """Each finding with a verdict, one line a setting, the curves and the matrices."""
    of = rows.of.get("thesis", ())
    if not of:
        return []
    results = Results(of)
    folds = rows.counts("thesis")[0]
    rounds = max(len(row["more"].get("error", ())) for row in of)
    blocks: list[Block] = [
        f"{folds} folds of 10, Iris and Wine whole, Letter 2.5 % of each class (drawn anew for each fold), "
        f"standardised by the training part, settings of Table 4 ({rounds} rounds of 20 epochs, eta 0.01, margin "
        "0.01). A finding is tested on the figures beside it.",
        verdicts(results),
        _REMARK,
        summary(results, list(dict.fromkeys(row["dataset"] for row in of))),
    ]
    return [*blocks, *drawings(results)]


def verdicts(results: Results) -> Sheet:
    """Each finding of the thesis, whether it shows here, and the figures."""
    lines = []
    for figure, text, check in FINDINGS:
        try:
            holds, figures = check(results)
        except LookupError:
            lines.append((figure, text, "not run", ""))
            continue
        lines.append((figure, text, "confirmed" if holds else "**contradicted**", figures))
    return Sheet("Findings of the thesis", ("figure", "finding", "here", "figures"), tuple(lines))


def summary(results: Results, sets: Sequence[str]) -> Sheet:
    """One row a setting: where the error started, its best and last value, the norm, and what the solves did."""
    lines = []
    for letter, k in SETTINGS:
        for name in sets:
            if results.has(letter, name, k):
                lines.append(
                    (letter, name, str(k), *_figures(results.runs(letter, name, k), letter not in WITHOUT_SOLVES))
                )
    header = (
        "exp.", "set", "k", "error at the start %", "lowest %", "last %", "test %", "norm at the start", "norm",
        "solves after which the error rose %", "solves that did not raise the cost %",
    )  # fmt: skip
    return Sheet("Error, prototype norm and what the metric solves did, mean over the folds", header, tuple(lines))


def _figures(runs: list[dict[str, np.ndarray]], solves: bool) -> list[str]:
    rise = np.mean([np.mean(one["error"] > one["error_before"]) for one in runs])
    fall = np.mean([np.mean(one["cost"] <= one["cost_before"] * (1 + 1e-9)) for one in runs])
    error = np.mean([one["error"] for one in runs], axis=0)
    return [
        f"{100 * np.mean([one['start_error'] for one in runs]):.1f}",
        f"{100 * error.min():.1f}",
        f"{100 * error[-1]:.1f}",
        f"{100 * np.mean([one['test_error'] for one in runs]):.1f}",
        f"{np.mean([one['start_norm'] for one in runs]):.3g}",
        f"{np.mean([one['norm'][-1] for one in runs]):.3g}",
        f"{100 * rise:.0f}" if solves else "-",
        f"{100 * fall:.0f}" if solves else "-",
    ]


def drawings(results: Results) -> list[Block]:
    """Curves of each experiment, and the mean matrices of those that learn one."""
    blocks: list[Block] = []
    matrices = []
    for letter, title in TITLES.items():
        curves = {}
        for name in SETS:
            for k in (k for other, k in SETTINGS if other == letter):
                if results.has(letter, name, k):
                    curves[name, f"k = {k}"] = {key: results.mean(letter, name, k, key) for key in CURVES}
                    if letter in "AEF":
                        matrices.append((f"{letter} {name} k = {k}", results.mean(letter, name, k, "matrix")))
        if curves:
            said = f"{letter}, {title}: error, cost and prototype norm over the rounds"
            file = f"lamalvq_{letter.replace(' ', '_')}"
            blocks.append(Drawing(file, partial(draw_rounds, curves=curves), said, height=7.0))
    if matrices:
        height = 2.2 * -(-len(matrices) // 3)
        draw = partial(draw_matrices, matrices=matrices)
        blocks.append(Drawing("lamalvq_matrices", draw, "Means of the learned matrices", height=height))
    return blocks
