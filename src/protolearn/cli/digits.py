"""The main job on data that comes with scikit-learn: a few prototypes instead of the whole training set."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from protolearn.estimators.margin import LOGM
from protolearn.report import plot_prototypes

_REPEATS = 7


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    accuracy: float
    numbers: int
    microseconds: float


def measured(name: str, model: Any, numbers: int, X: np.ndarray, y: np.ndarray) -> Row:
    """Accuracy on X, and the median time of a prediction when all of X is predicted at once."""
    times = []
    for _ in range(_REPEATS):
        begin = time.perf_counter()
        predicted = model.predict(X)
        times.append(time.perf_counter() - begin)
    return Row(name, float(np.mean(predicted == y)), numbers, 1e6 * statistics.median(times) / len(y))


def compare_on_digits(n_prototypes: int = 5, seed: int = 0) -> tuple[list[Row], LOGM]:
    """1-NN on all training samples beside LOGM on a few prototypes, on scikit-learn's digits."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    everything = KNeighborsClassifier(1).fit(X, y)
    model = LOGM(n_prototypes=n_prototypes, random_state=seed).fit(X, y)
    rows = [
        measured(f"1-NN on all {len(X)} samples", everything, X.size, X_test, y_test),
        measured(f"LOGM, {len(model.prototypes_)} prototypes", model, model.prototypes_.size, X_test, y_test),
    ]
    return rows, model


def run(picture: Path) -> None:
    """Print the table and save a picture of the prototypes."""
    rows, model = compare_on_digits()
    print(f"{'scikit-learn digits, 30 % for the test':40}{'accuracy':>9}{'numbers':>9}{'us each':>9}")
    for row in rows:
        print(f"{row.name:40}{row.accuracy:9.3f}{row.numbers:9d}{row.microseconds:9.2f}")
    everything, few = rows
    print(
        f"{everything.numbers / few.numbers:.0f} x smaller, {everything.microseconds / few.microseconds:.0f} x faster."
    )
    try:
        axes = plot_prototypes(model)
    except ImportError:
        print('For a picture of the prototypes install matplotlib: pip install "protolearn[plot]"')
        return
    axes.set_title("What the model stores")
    axes.figure.savefig(picture, dpi=150, bbox_inches="tight")
    print(f"The prototypes as images: {picture}")
