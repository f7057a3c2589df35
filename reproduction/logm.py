"""LOGM and its rivals, tuned inside the training part: Jin, Liu and Hou (2010), Tables 3, 5, 7 and 8.

`python -m reproduction logm`. Protocol (section 6): features scaled to [-1, 1] on the training part; stratified 10-fold
cross-validation, or the official split; S, alpha and tau chosen from the paper's 125 points on a stratified hold-out of
the training part (a third, or a fifth with a split), the simplest of equals; then trained again on all of it. One
scaling, one hold-out, one k-means for each S and one order of presentation serve all methods of a fold.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from copy import copy
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.svm import SVC

from protolearn.compare.methods import SVM_GRID, Method
from protolearn.estimators.glvq import GLVQ
from protolearn.estimators.margin import LOGM, MCE
from protolearn.estimators.nearest import NearestPrototype
from protolearn.estimators.soft import MAXP1, RSLVQ, RSLVQ1, SNPC
from reproduction.datasets import DataSet, load
from reproduction.logm_published import TABLE_5, TABLE_5_METHODS, TABLE_8_METHODS
from reproduction.logm_tables import about, show_table_3, show_table_5, show_table_7, show_table_8
from reproduction.protocols import LOGM_LARGE, LOGM_SMALL
from reproduction.reproduce import Experiment, Outcome, Paper, Quick, Table, Unit, shared_by_methods
from reproduction.shared_fits import SharedFits

_ALL = ("regularization", "n_prototypes", "learning_rate")
# The parameters of the protocol's grid that a method has, and values that are tried beside them. GLVQ's slope has no
# unit and is not in the paper. Table 8 does not say whether LOGM-W has weights for each prototype.
METHODS: dict[str, tuple[Method, tuple[str, ...]]] = {
    "MCE": (Method(MCE(bounds=None)), _ALL),
    "GLVQ": (Method(GLVQ(bounds=None), {"slope": (10.0, 20.0)}), _ALL),
    "SNPC": (Method(SNPC(bounds=None)), _ALL),
    "MAXP1": (Method(MAXP1(bounds=None)), _ALL),
    "LOGM": (Method(LOGM(bounds=None)), _ALL),
    "RSLVQ": (Method(RSLVQ(bounds=None)), _ALL),
    "RSLVQ1": (Method(RSLVQ1(bounds=None)), _ALL),
    "SVM": (Method(SVC(), SVM_GRID), ()),
    "k-means": (Method(NearestPrototype()), ("n_prototypes",)),
    "LOGM-W": (Method(LOGM(metric="relevance", learn_prototypes=False)), _ALL),
    "LOGM-W, own weights": (Method(LOGM(metric="local_relevance", learn_prototypes=False)), _ALL),
    "LOGM-PIW": (Method(LOGM(metric="relevance", bounds=None)), _ALL),
    "LOGM-PDW": (Method(LOGM(metric="local_relevance", bounds=None)), _ALL),
}

# Rows of the training part times classes: how long a fit takes, roughly. Smallest first.
SMALL = {
    "hepatitis": 160, "corral": 256, "glass2": 326, "sonar": 416, "iris": 450, "wine": 534, "heart": 540, "liver": 690,
    "ionosphere": 702, "vote": 870, "wdbc": 1138, "glass": 1284, "breast": 1366, "pima": 1536, "diabetes": 1536,
    "mammographic": 1660, "flare": 2132, "dermatology": 2148, "vehicle": 3384, "soybean": 8430, "waveform21": 15000,
    "segment": 16170,
}  # fmt: skip
LARGE = {
    "chess": 1000, "thyroid": 2700, "satimage": 9600, "pendigits": 18000, "optdigits": 27000, "letter": 94000,
    "usps": 175000, "newsgroups": 1000000,
}  # fmt: skip
_UNSCALED = "newsgroups"
# The paper has this set twice, as Diabetes and as Pima, with other figures: other folds of the same rows.
_SAME_ROWS = {"diabetes": "pima"}
_OTHER_FOLDS = 1000


@lru_cache(maxsize=2)
def _data(name: str, dtype: type) -> DataSet:
    return load(_SAME_ROWS.get(name, name), dtype)


class _Fold:
    """The parts of one fold."""

    def __init__(self, unit: Unit) -> None:
        protocol = unit.protocol
        # Where a fit takes seconds, half the bytes save a third of them.
        data = _data(unit.dataset, np.float64 if protocol.folds else np.float32)
        train, test = protocol.split(data, unit.fold, unit.seed + _OTHER_FOLDS * (unit.dataset in _SAME_ROWS))
        if unit.dataset == _UNSCALED:
            protocol = protocol.changed(scaling=None)
        X, self.X_test = protocol.scaled(data.X[train], data.X[test])
        y, self.y_test = data.y[train], data.y[test]
        fit, held = protocol.held_out(y, unit.seed)
        self.X_held, self.y_held = X[held], y[held]
        self.tuning = SharedFits(X[fit], y[fit], unit.seed)
        self.final = SharedFits(X, y, unit.seed)


_prepared = shared_by_methods(_Fold)


def settings_of(method: str, grid: Mapping[str, tuple]) -> Iterator[dict[str, Any]]:
    """What is tried on the hold-out, the simplest first: most regularised, then fewest prototypes, then smallest steps.

    The first of equals is taken, and on a hold-out of 24 rows many are equal. The paper does not say how it chose among
    them, only that alpha > 0 came out. The other order, alpha = 0 first, costs LOGM 3 points on hepatitis and 2 on
    glass2, where this one was settled.
    """
    own, shared = METHODS[method]
    values = {name: tuple(reversed(grid[name])) if name == "regularization" else grid[name] for name in shared}
    values.update(own.grid)
    for chosen in itertools.product(*values.values()):
        yield dict(zip(values, chosen, strict=True))


def measure(unit: Unit) -> Outcome:
    """Test accuracy with the settings that did best on the hold-out."""
    fold = _prepared(unit)
    model = METHODS[unit.method][0].seeded(unit.seed)
    if unit.protocol.epochs and "max_iter" in model.get_params() and not isinstance(model, SVC):
        model.set_params(max_iter=unit.protocol.epochs)

    def accuracy(part: SharedFits, chosen: dict[str, Any], X: np.ndarray, y: np.ndarray) -> float:
        options = {name: value for name, value in chosen.items() if name != "n_prototypes"}
        return float(np.mean(part.predictions(model.set_params(**options), chosen.get("n_prototypes"), X) == y))

    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for settings in settings_of(unit.method, unit.protocol.grid):
        score = accuracy(fold.tuning, settings, fold.X_held, fold.y_held)
        if score > best[0]:
            best = score, settings
    return Outcome(accuracy(fold.final, best[1], fold.X_test, fold.y_test), {"chosen": best[1], "held_out": best[0]})


# Where the tuning on usps ends: C and gamma that the paper's grid has.
_USPS_SVM = {"C": 16.0, "gamma": 2.0**-7}


def measure_seconds(unit: Unit) -> Outcome:
    """Seconds to learn, and to classify the test rows, with S and alpha of Table 3; `init` is part of learning."""
    fold = _Fold(unit)
    model = METHODS[unit.method][0].seeded(unit.seed)
    if unit.method == "SVM":
        model.set_params(**_USPS_SVM)
    else:
        model.set_params(
            max_iter=unit.protocol.epochs, **{name: value[0] for name, value in unit.protocol.grid.items()}
        )
        # Compiled code and caches are warm in any second fit.
        copy(model).set_params(max_iter=1).fit(fold.X_held, fold.y_held).predict(fold.X_test)
    X, y = fold.final.X, fold.final.y
    begin = perf_counter()
    model.fit(X, y)
    learned = perf_counter()
    right = model.predict(fold.X_test) == fold.y_test
    tested = perf_counter()
    return Outcome(learned - begin, {"test_seconds": tested - learned, "accuracy": float(np.mean(right))})


_COARSE = {"n_prototypes": (1, 3, 5), "regularization": (0.0, 0.005), "learning_rate": (0.5, 1.0, 2.0)}
_COARSE_LARGE = {"n_prototypes": (10, 25), "regularization": (0.0, 0.005), "learning_rate": (0.5, 1.0, 2.0)}

_TIMES = LOGM_LARGE.changed(grid={"n_prototypes": (20,), "regularization": (0.0,)})

PAPER = Paper(
    "logm",
    "LOGM and its rivals (Jin, Liu and Hou 2010, Tables 3, 5, 7 and 8)",
    "Jin, Liu and Hou (2010)",
    about,
    (
        Experiment(
            "small",
            LOGM_SMALL,
            tuple(SMALL),
            tuple(METHODS),
            measure,
            Quick(LOGM_SMALL.changed(grid=_COARSE, first_folds=5), tuple(SMALL)[:8]),
            costs=SMALL,
        ),
        Experiment(
            "large",
            LOGM_LARGE.changed(grid=_COARSE_LARGE),
            tuple(LARGE),
            TABLE_5_METHODS,
            measure,
            Quick(
                LOGM_LARGE.changed(grid={**_COARSE_LARGE, "n_prototypes": (5,), "learning_rate": (1.0,)}, epochs=10),
                ("chess",),
            ),
            costs=LARGE,
        ),
        Experiment(
            "times",
            _TIMES,
            ("usps",),
            TABLE_5_METHODS,
            measure_seconds,
            Quick(_TIMES.changed(epochs=4), ("usps",)),
            costs={"usps": 20000},
        ),
    ),
    (
        Table("3", "seconds to learn and to classify usps", {"times": TABLE_5_METHODS}, show_table_3),
        Table(
            "5", "accuracy of seven methods and SVM", {"small": TABLE_5_METHODS, "large": TABLE_5_METHODS}, show_table_5
        ),
        Table("7", "signed ranks tests of Table 5", {"small": TABLE_5_METHODS, "large": TABLE_5_METHODS}, show_table_7),
        Table("8", "weights beside prototypes", {"small": (*TABLE_8_METHODS, "LOGM-W, own weights")}, show_table_8),
    ),
)
assert set(SMALL) | set(LARGE) == set(TABLE_5)
