"""Log loss and calibration error of every classifier, before and after a cross-fitted temperature.

python -m benchmarks calibration                      twenty tables, all classifiers
python -m benchmarks calibration --tables pima,heart  some of them

The tables come from the folder that PROTOLEARN_DATA names; of each at most --rows rows are used, half of them to learn
from. The command writes one CSV file into --out and prints the means.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import protolearn
from protolearn.explain import calibrated
from reproduction.datasets import load

TABLES = [
    "pima", "heart", "wdbc", "glass", "sonar", "vehicle", "segment", "ionosphere", "wine", "iris", "german",
    "liver", "balance", "australian", "mammographic", "vowel", "phoneme", "satimage", "pendigits", "waveform21",
]  # fmt: skip
CLASSIFIERS = [
    "NearestPrototype", "LVQ1", "OLVQ1", "LVQ2", "LVQ21", "LVQ3", "DSM", "GLVQ", "GRLVQ", "GMLVQ", "LGMLVQ", "MCE",
    "SNPC", "MAXP1", "RSLVQ", "RSLVQ1", "LOGM", "LPD", "Learn1NN",
]  # fmt: skip
_BINS = 15


def calibration_error(probabilities: np.ndarray, codes: np.ndarray) -> float:
    """The mean distance of confidence and accuracy over 15 bins of the largest probability, by rows."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
    places = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    gaps = [abs(confidence[places == b].sum() - right[places == b].sum()) for b in range(_BINS)]
    return float(sum(gaps) / len(codes))


def measure(table: str, name: str, rows: int) -> dict[str, Any]:
    """One classifier on one table, scaled, with two prototypes a class."""
    data = load(table)
    chosen = np.random.RandomState(0).permutation(len(data.y))[:rows]
    X, y = np.asarray(data.X[chosen], dtype=float), np.asarray(data.y[chosen])
    classes, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, classes[counts >= 10])
    X, X_new, y, y_new = train_test_split(X[kept], y[kept], test_size=0.5, stratify=y[kept], random_state=0)
    kind = getattr(protolearn, name)
    model = make_pipeline(StandardScaler(), kind(random_state=0) if name == "LPD" else kind(2, random_state=0))
    model.fit(X, y)
    after = calibrated(model, X, y, cv=3)
    found: dict[str, Any] = {"table": table, "classifier": name, "accuracy": model.score(X_new, y_new)}
    codes = np.searchsorted(model.classes_, y_new)
    for when, one in (("before", model), ("after", after)):
        P = one.predict_proba(X_new)
        found[f"log_loss_{when}"] = float(log_loss(codes, np.clip(P, 1e-9, 1), labels=np.arange(P.shape[1])))
        found[f"error_{when}"] = calibration_error(P, codes)
    return found | {"temperature": after[-1].temperature_}


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every classifier on every table."""
    for table in options.tables:
        for name in options.classifiers:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield measure(table, name, options.rows)


def main(arguments: list[str]) -> int:
    """Measure, write the CSV file, and print the mean over the tables for each classifier."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks calibration",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tables", type=lambda text: text.split(","), default=TABLES)
    parser.add_argument("--classifiers", type=lambda text: text.split(","), default=CLASSIFIERS)
    parser.add_argument("--rows", type=int, default=2000, help="of a table, at most (default: 2000)")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    by_classifier = defaultdict(list)
    with open(options.out / "calibration.csv", "w", newline="") as file:
        writer = None
        for row in measured(options):
            if writer is None:
                writer = csv.DictWriter(file, list(row))
                writer.writeheader()
            writer.writerow(row)
            # Whoever interrupts keeps what is measured.
            file.flush()
            by_classifier[row["classifier"]].append(row)
    for name, rows in by_classifier.items():
        means = {key: np.mean([row[key] for row in rows]) for key in list(rows[0])[2:]}
        print(f"{name:18}", *(f"{key} {value:.3f}" for key, value in means.items()), file=sys.stdout)
    return 0
