"""The main job on data that comes with scikit-learn: a few prototypes instead of the whole training set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier

from protolearn.auto.timing import microseconds_a_row
from protolearn.cli.console import emphasised, table
from protolearn.cli.verdict import Line, verdict
from protolearn.compare.methods import NEIGHBOURS
from protolearn.estimators.margin import LOGM
from protolearn.report import plot_prototypes


def compare_on_digits(n_prototypes: int = 5, seed: int = 0) -> tuple[np.ndarray, list[Line], list[float]]:
    """The largest class, k-NN on all training samples and LOGM on a few prototypes, on scikit-learn's digits.

    Returns
    -------
    y : labels of the test rows
    lines : what each predicts and stores
    microseconds : that each takes for a row
    """
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    grid = {"n_neighbors": list(NEIGHBOURS)}
    neighbours = GridSearchCV(KNeighborsClassifier(), grid, cv=3).fit(X, y).best_estimator_
    model = LOGM(n_prototypes=n_prototypes, random_state=seed).fit(X, y)
    stored = (
        ("majority class", DummyClassifier().fit(X, y), 1),
        (f"{neighbours.n_neighbors}-NN on all {len(X)} samples", neighbours, X.size),
        (f"LOGM, {len(model.prototypes_)} prototypes", model, model.prototypes_.size),
    )
    lines = [Line(name, one, numbers, 4 * numbers, one.predict(X_test)) for name, one, numbers in stored]
    return y_test, lines, microseconds_a_row([line.model for line in lines], X_test)


def run(picture: Path) -> None:
    """Print the table and save a picture of the prototypes."""
    y, lines, microseconds = compare_on_digits()
    rows = [("scikit-learn digits, 30 % for the test", "accuracy", "numbers", "us a row")]
    for line, time in zip(lines[1:], microseconds[1:], strict=True):
        rows.append((line.method, f"{np.mean(line.predicted == y):.3f}", str(line.numbers), f"{time:.2f}"))
    print(table(rows, right=(False, True, True, True), strong=len(rows) - 1))
    try:
        axes = plot_prototypes(lines[-1].model)
    except ImportError:
        print('For a picture of the prototypes install matplotlib: pip install "protolearn[plot]"')
    else:
        axes.set_title("What the model stores")
        axes.figure.savefig(picture, dpi=150, bbox_inches="tight")
        print(f"The prototypes as images: {picture}")
    print(emphasised(verdict(y, lines, microseconds, "", balanced=False)[0]))
