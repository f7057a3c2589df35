"""LMNN + 3-NN against 3-NN on 20 data sets."""

from __future__ import annotations

import time

import numpy as np
from scipy.stats import wilcoxon
from sklearn.neighbors import KNeighborsClassifier

from protolearn.estimators.lmnn import LMNN
from reproduction.datasets import load
from reproduction.report import Block, Sheet
from reproduction.reproduce import Outcome, Rows, Unit

SETS = (
    *("australian", "balance", "breast", "dermatology", "german", "glass", "heart", "ionosphere", "iris", "liver"),
    *("mammographic", "pima", "segment", "sonar", "soybean", "vehicle", "vowel", "waveform21", "wdbc", "wine"),
)


METHODS = ("3-NN", "LMNN + 3-NN")


def measure(unit: Unit) -> Outcome:
    """Test error of 3-NN on one fold, as it is or in LMNN's space; steps and seconds of LMNN's fit."""
    data = load(unit.dataset)
    train, test = unit.protocol.split(data, unit.fold, unit.seed)
    X, X_test = unit.protocol.scaled(data.X[train], data.X[test])
    y, y_test = data.y[train], data.y[test]
    more: dict[str, float] = {}
    if unit.method != "3-NN":
        begin = time.perf_counter()
        model = LMNN(3).fit(X, y)
        more = {"seconds": time.perf_counter() - begin, "steps": model.n_iter_}
        X, X_test = model.transform(X), model.transform(X_test)
    return Outcome(1.0 - KNeighborsClassifier(3).fit(X, y).score(X_test, y_test), more)


def show(rows: Rows) -> list[Block]:
    """Accuracies set by set, the gains, and their signed ranks test."""
    complete = [name for name in SETS if name in rows.complete("lmnn", METHODS)]
    if not complete:
        return []
    means = rows.means("lmnn")
    plain, learned = (100 - 100 * np.array([means[name][method] for name in complete]) for method in METHODS)
    gain = np.round(learned - plain, 7)
    more = {(row["dataset"], row["fold"]): row["more"] for row in rows.of["lmnn"] if row["more"].get("steps")}
    lines = []
    for name, before, after, change in zip(complete, plain, learned, gain, strict=True):
        of_set = [found for (dataset, _), found in sorted(more.items()) if dataset == name]
        seconds = f"{np.mean([found['seconds'] for found in of_set]):.2f}"
        lines.append((name, f"{before:.2f}", f"{after:.2f}", f"{change:+.2f}", str(of_set[-1]["steps"]), seconds))
    lines.append(("mean", f"{plain.mean():.2f}", f"{learned.mean():.2f}", f"{gain.mean():+.2f}", "", ""))
    verdict = (
        f"LMNN is better on {np.sum(gain > 0)}, equal on {np.sum(gain == 0)} and worse on {np.sum(gain < 0)} of "
        f"{len(gain)} sets; mean gain {gain.mean():+.2f} points"
    )
    if np.any(gain != 0):
        verdict += f", two-sided Wilcoxon p = {wilcoxon(gain[gain != 0]).pvalue:.4f}"
    return [
        f"{rows.counts('lmnn')[0]} folds of a stratified 5-fold cross-validation, features standardised by the "
        "training folds, LMNN with its defaults (3 targets), nothing tuned. Not an experiment of the thesis, which "
        "builds on LMNN.",
        Sheet("Accuracy %", ("set", *METHODS, "gain", "steps (last fold)", "seconds a fit"), tuple(lines)),
        f"{verdict}.",
    ]
