"""What it costs to keep prototypes inside bounds, and how near to rows of their class they then are.

python -m benchmarks bounds                      all tables and classifiers
python -m benchmarks bounds --tables pima,heart  some of them

The tables come from the folder that PROTOLEARN_DATA names; of each at most --rows rows, standardised, in five
stratified folds. The command writes one CSV file into --out, one row for each table, classifier and `bounds`, and
prints the means.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.calibration import TABLES
from protolearn import GMLVQ, LOGM, RSLVQ
from protolearn.explain import certainty
from reproduction.datasets import load

CLASSIFIERS = {
    "LOGM, 1 a class": LOGM(1, random_state=0),
    "LOGM, 3 a class": LOGM(3, random_state=0),
    "LOGM, 8 a class": LOGM(8, random_state=0),
    "RSLVQ, 1 a class": RSLVQ(1, random_state=0),
    "GMLVQ, 1 a class": GMLVQ(1, random_state=0),
}
BOUNDS = (None, "data", "class")
_FIGURES = ("accuracy", "distance", "certainty")


def measure(table: str, model: Any, rows: int) -> dict[str, float]:
    """Means over five folds: accuracy, distance of prototypes from rows in that between rows, median certainty."""
    data = load(table)
    chosen = np.random.RandomState(0).permutation(len(data.y))[:rows]
    X, y = np.asarray(data.X[chosen], dtype=float), np.asarray(data.y[chosen])
    classes, counts = np.unique(y, return_counts=True)
    X, y = X[np.isin(y, classes[counts >= 10])], y[np.isin(y, classes[counts >= 10])]
    found = []
    for learned, judged in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[learned])
        Z, new, labels = scaler.transform(X[learned]), scaler.transform(X[judged]), y[learned]
        fitted = clone(model).fit(Z, labels)
        to_rows, between = [], []
        for label in fitted.classes_:
            own = Z[labels == label]
            to_rows += cdist(fitted.prototypes_[fitted.prototype_labels_ == label], own).min(axis=1).tolist()
            apart = cdist(own, own)
            np.fill_diagonal(apart, np.inf)
            between.append(apart.min(axis=1).mean())
        sure = float(np.median(certainty(fitted, new)))
        found.append((fitted.score(new, y[judged]), np.mean(to_rows) / np.mean(between), sure))
    return dict(zip(_FIGURES, np.mean(found, axis=0).round(4).tolist(), strict=True))


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every classifier under all bounds on every table."""
    for table in options.tables:
        for name, model in CLASSIFIERS.items():
            for bounds in BOUNDS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    figures = measure(table, clone(model).set_params(bounds=bounds), options.rows)
                yield {"table": table, "classifier": name, "bounds": bounds or "none"} | figures


def main(arguments: list[str]) -> int:
    """Measure, write the CSV file, and print means of accuracy and medians of the others over the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks bounds", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[*TABLES, "optdigits"])
    parser.add_argument("--rows", type=int, default=600, help="of a table, at most (default: 600)")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    with open(options.out / "bounds.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["table", "classifier", "bounds", *_FIGURES])
        writer.writeheader()
        for row in measured(options):
            rows.append(row)
            writer.writerow(row)
            # Whoever interrupts keeps what is measured.
            file.flush()
    for name in CLASSIFIERS:
        for bounds in BOUNDS:
            mine = [row for row in rows if (row["classifier"], row["bounds"]) == (name, bounds or "none")]
            accuracy = np.mean([row["accuracy"] for row in mine])
            others = [np.median([row[key] for row in mine]) for key in _FIGURES[1:]]
            print(f"{name:18} {bounds!s:6} {accuracy:.4f} {others[0]:.2f} {others[1]:.3f}", file=sys.stdout)
    return 0
