"""Whether conformal sets hold their promise: coverage and size over random splits, beside crepes.

python -m benchmarks coverage                  ten tables, 200 splits each
python -m benchmarks coverage --splits 20      fewer

A table is split at random into three parts: a third to learn from, a third to calibrate by, a third to test on. crepes,
where it is installed, gets the same model, split and scores, 1 - the probability of a class. The tables come from the
folder that PROTOLEARN_DATA names. The command writes one CSV file into --out.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.guarantees import TABLES
from protolearn import LOGM
from protolearn.explain import ConformalClassifier
from reproduction.datasets import load

ALPHAS = (0.1, 0.05)


def sets_of_crepes(model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, alpha: float) -> np.ndarray:
    """The sets of crepes without its random ties, for which rows of equal scores count alike."""
    from crepes import ConformalClassifier as Peer

    codes = np.searchsorted(model.classes_, y)
    scores, tested = 1.0 - model.predict_proba(X), 1.0 - model.predict_proba(X_test)
    peer = Peer().fit(scores[np.arange(len(y)), codes])
    return np.asarray(peer.predict_set(tested, confidence=1.0 - alpha, smoothing=False)) > 0


def covered(table: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each alpha and kind of set: means over the splits."""
    data = load(table)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    classes, counts = np.unique(y, return_counts=True)
    X, y = X[np.isin(y, classes[counts >= 10])], y[np.isin(y, classes[counts >= 10])]
    kinds = ("ratio", "probability", "adaptive", *(["crepes"] if find_spec("crepes") else []))
    found: dict[tuple[float, str], list[tuple[float, float, float]]] = {(a, k): [] for a in ALPHAS for k in kinds}
    for seed in range(options.splits):
        order = np.random.RandomState(seed).permutation(len(y))[: options.rows]
        learned, known, tested = np.array_split(order, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_pipeline(StandardScaler(), LOGM(1, max_iter=20, random_state=0)).fit(X[learned], y[learned])
        # A class that the third to learn from lacks cannot be in a set.
        known, tested = (rows[np.isin(y[rows], model.classes_)] for rows in (known, tested))
        codes = np.searchsorted(model.classes_, y[tested])
        for alpha in ALPHAS:
            n = len(known)
            nominal = np.ceil((n + 1) * (1.0 - alpha)) / (n + 1)
            for kind in kinds:
                if kind == "crepes":
                    sets = sets_of_crepes(model, X[known], y[known], X[tested], alpha)
                else:
                    sets = ConformalClassifier(model, alpha, score=kind, random_state=seed).calibrate(
                        X[known], y[known]
                    )
                    sets = sets.predict_set(X[tested])
                found[alpha, kind].append(
                    (sets[np.arange(len(tested)), codes].mean(), sets.sum(axis=1).mean(), nominal)
                )
    for (alpha, kind), figures in found.items():
        coverage, size, nominal = np.mean(figures, axis=0)
        error = np.std([one for one, *_ in figures], ddof=1) / np.sqrt(len(figures))
        yield {
            "table": table,
            "classes": len(model.classes_),
            "promised": round(1.0 - alpha, 2),
            "sets": kind,
            "splits": options.splits,
            # What n calibration rows give at best: (1 - alpha) of n + 1 rows, rounded up.
            "expected": round(float(nominal), 4),
            "coverage": round(float(coverage), 4),
            "standard_error": round(float(error), 5),
            "size": round(float(size), 3),
        }


def main(arguments: list[str]) -> int:
    """Measure and write the CSV file."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks coverage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--rows", type=int, default=900, help="of a table in each split, at most (default: 900)")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    with open(options.out / "coverage.csv", "w", newline="") as file:
        writer = None
        for table in options.tables:
            for row in covered(table, options):
                if writer is None:
                    writer = csv.DictWriter(file, list(row))
                    writer.writeheader()
                writer.writerow(row)
                print(row, file=sys.stderr, flush=True)
            # Whoever interrupts keeps what is measured.
            file.flush()
    return 0
