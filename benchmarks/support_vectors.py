"""LOGM on USPS beside a support vector machine, all included: the paper's comparison (LOGM 6.3), with libsvm.

The paper prints 3.1 times faster training (39.9 s against 124 s) and 47 times faster testing (22 s by SVM-light), with
one machine against the rest, and does not print the C and gamma it chose. Ours are the best of its grid up to gamma
2^-5, where accuracy already falls, on a fifth of the training set that was held out (`--only svm-grid` repeats that);
libsvm trains one machine for each pair of classes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.case import Line, Request, installed, one_row
from benchmarks.measurements import Measurement, Ratio, median, ratio, spread, where
from benchmarks.problems import styles

PER_CLASS, ROUNDS = 20, 40
C, GAMMA = 16.0, 2.0**-7
GRID = [(2.0**c, 2.0**g) for c in (2, 4, 6, 8, 10) for g in (-9, -7, -5, -3, -1)]
PAPER = {"training": 3.1, "testing": 47.0}


def data(quick: bool) -> tuple[str, tuple[np.ndarray, ...]]:
    """USPS in [-1, 1], as the paper scales it; made data of its size where it is missing."""
    from reproduction.datasets import load

    if quick:
        return "made 200 x 256", styles(200, 100)
    try:
        return "usps 7291 x 256", load("usps").split()
    except FileNotFoundError:
        return "made 7291 x 256", styles(7291, 2007)


def measure(part: str, request: Request) -> list[Measurement]:
    """Whole fits and predictions of the test set, in turn."""
    from sklearn.svm import SVC

    from protolearn import LOGM

    title, (X, y, X_test, y_test) = data(request.quick)
    rounds = 2 if request.quick else ROUNDS
    narrow = np.float32

    def ours(dtype: Any) -> tuple:
        settings = {"max_iter": rounds, "random_state": 0}
        return LOGM(5 if request.quick else PER_CLASS, **settings), X.astype(dtype), X_test.astype(dtype)

    makers = {
        ("protolearn", "20 prototypes a class, float64"): lambda: ours(np.float64),
        ("protolearn", "20 prototypes a class, float32"): lambda: ours(narrow),
        ("scikit-learn", f"SVC, C {C:g}, gamma 2^{int(np.log2(GAMMA))}"): lambda: (
            SVC(C=C, gamma=GAMMA, cache_size=1000),
            X,
            X_test,
        ),
    }
    for dtype in (np.float64, narrow):
        # Compiled before anything counts.
        model, rows, _ = ours(dtype)
        model.set_params(max_iter=1).fit(rows, y).predict(rows)
    found = []
    for repeat in range(request.repeats):
        for (library, setting), make in makers.items():
            model, rows, test_rows = make()
            begin = time.perf_counter()
            model.fit(rows, y)
            middle = time.perf_counter()
            right = model.predict(test_rows) == y_test
            end = time.perf_counter()
            version = installed(library)
            for measured, unit, value in (
                ("training", "s", middle - begin),
                ("testing", "s", end - middle),
                ("test accuracy", "", right.mean()),
            ):
                found.append(
                    one_row(
                        part=part, data=title, task="LOGM" if library == "protolearn" else "SVC", library=library,
                        setting=setting, measure=measured, unit=unit, value=float(value), repeat=repeat,
                        version=version,
                    )
                )  # fmt: skip
    return found


def grid(part: str, request: Request) -> list[Measurement]:
    """Accuracy of each C and gamma on a fifth of the training set."""
    from sklearn.model_selection import train_test_split
    from sklearn.svm import SVC

    title, (X, y, _, _) = data(request.quick)
    X, X_held, y, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    found = []
    for cost, gamma in GRID[:2] if request.quick else GRID:
        accuracy = SVC(C=cost, gamma=gamma, cache_size=1000).fit(X, y).score(X_held, y_held)
        print(f"  C {cost:g}, gamma {gamma:g}: {accuracy:.4f}", file=sys.stderr, flush=True)
        found.append(
            one_row(
                part=part, data=title, task="SVC", library="scikit-learn", setting=f"C {cost:g}, gamma {gamma:g}",
                measure="validation accuracy", unit="", value=accuracy, version=installed("scikit-learn"),
            )
        )  # fmt: skip
    return found


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """Training and testing against the support vector machine."""
    here = where(rows, part="svm")
    found = []
    for setting in dict.fromkeys(row.setting for row in where(here, task="LOGM")):
        for measured in PAPER:
            one = ratio(
                where(here, task="SVC", measure=measured),
                where(here, task="LOGM", setting=setting, measure=measured),
                f"LOGM {measured}, {here[0].data}, {setting}",
                next(row.setting for row in here if row.task == "SVC"),
                note=f"the paper: {PAPER[measured]:g}",
            )
            if one is not None:
                found.append(one)
    return found


def lines(rows: Sequence[Measurement]) -> list[Line]:
    """Training and testing in float32 for docs/speed.md."""
    found = []
    for one in ratios(rows):
        task, data, setting = one.what.split(", ", 2)
        if setting.endswith("float32"):
            other, way = one.against.split(", ", 1)
            found.append(Line(task, data, "s", one.under, one.over, f"scikit-learn's {other}", one, setting, way))
    return found


HEADER = ("data", "classifier", "setting", "training, s", "testing, s", "test accuracy")


def table_rows(rows: Sequence[Measurement]) -> list[tuple]:
    """One row a classifier."""
    found = []
    for source in dict.fromkeys((row.data, row.task, row.setting) for row in where(rows, part="svm")):
        here = where(rows, part="svm", task=source[1], setting=source[2])
        times = (spread(where(here, measure=measured)) for measured in PAPER)
        found.append((*source, *times, f"{median(where(here, measure='test accuracy')):.4f}"))
    return found
