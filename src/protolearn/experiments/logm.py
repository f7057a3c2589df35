"""LOGM and its rivals, tuned inside the training part: Jin, Liu and Hou (2010), Tables 5, 7 and 8.

`protolearn reproduce logm`. Protocol (SPEC 4): features scaled to [-1, 1] on the training part; stratified 10-fold
cross-validation, or the official split; S, alpha and tau chosen from the paper's 125 points on a stratified hold-out of
the training part (a third, or a fifth with a split), the first of equals; then trained again on all of it. One scaling,
one hold-out, one k-means for each S and one order of presentation serve all methods of a fold.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.svm import SVC

from protolearn.estimators.glvq import GLVQ
from protolearn.estimators.margin import LOGM, MCE
from protolearn.estimators.nearest import NearestPrototype
from protolearn.estimators.soft import MAXP1, RSLVQ, RSLVQ1, SNPC
from protolearn.experiments.comparison_methods import Method
from protolearn.experiments.datasets import DataSet, load
from protolearn.experiments.logm_published import TABLE_5, TABLE_5_METHODS, TABLE_8_METHODS
from protolearn.experiments.logm_tables import about, show_table_5, show_table_7, show_table_8
from protolearn.experiments.protocols import LOGM_LARGE, LOGM_SMALL, SVM_GRID
from protolearn.experiments.reproduce import Experiment, Outcome, Paper, Quick, Table, Unit
from protolearn.experiments.shared_fits import SharedFits

_ALL = ("n_prototypes", "regularization", "learning_rate")
# The parameters of the protocol's grid that a method has, and values that are tried beside them. GLVQ's slope has no
# unit and is not in the paper (SPEC A13b). Table 8 does not say whether LOGM-W has weights for each prototype (A18).
METHODS: dict[str, tuple[Method, tuple[str, ...]]] = {
    "MCE": (Method(MCE()), _ALL),
    "GLVQ": (Method(GLVQ(), {"slope": (10.0, 20.0)}), _ALL),
    "SNPC": (Method(SNPC()), _ALL),
    "MAXP1": (Method(MAXP1()), _ALL),
    "LOGM": (Method(LOGM()), _ALL),
    "RSLVQ": (Method(RSLVQ()), _ALL),
    "RSLVQ1": (Method(RSLVQ1()), _ALL),
    "SVM": (Method(SVC(), SVM_GRID), ()),
    "k-means": (Method(NearestPrototype()), ("n_prototypes",)),
    "LOGM-W": (Method(LOGM(metric="relevance", learn_prototypes=False)), _ALL),
    "LOGM-W, own weights": (Method(LOGM(metric="local_relevance", learn_prototypes=False)), _ALL),
    "LOGM-PIW": (Method(LOGM(metric="relevance")), _ALL),
    "LOGM-PDW": (Method(LOGM(metric="local_relevance")), _ALL),
}

# Rows of the training part times classes: how long a fit takes, roughly. Smallest first.
SMALL = {
    "hepatitis": 160, "corral": 256, "glass2": 326, "sonar": 416, "iris": 450, "wine": 534, "heart": 540, "liver": 690,
    "ionosphere": 702, "vote": 870, "wdbc": 1138, "glass": 1284, "breast": 1366, "pima": 1536, "diabetes": 1536,
    "mammographic": 1660, "flare": 2132, "dermatology": 2148, "vehicle": 3384, "soybean": 8430, "waveform21": 15000,
    "segment": 16170,
}  # fmt: skip
LARGE = {
    "chess": 1, "thyroid": 1.5, "satimage": 4, "optdigits": 5, "pendigits": 8, "usps": 60, "letter": 50, "newsgroups": 90,
}  # fmt: skip
# The paper has this set twice, as Diabetes and as Pima, with other figures: other folds of the same rows.
_SAME_ROWS = {"diabetes": "pima"}
_OTHER_FOLDS = 1000


@lru_cache(maxsize=2)
def _data(name: str, dtype: type) -> DataSet:
    if name == "newsgroups":
        from protolearn.experiments.newsgroups import newsgroups

        return newsgroups(dtype)
    return load(_SAME_ROWS.get(name, name), dtype)


class _Fold:
    """The parts of one fold, prepared once for all methods."""

    def __init__(self, unit: Unit) -> None:
        protocol = unit.protocol
        # Where a fit takes seconds, half the bytes save a third of them.
        data = _data(unit.dataset, np.float64 if protocol.folds else np.float32)
        train, test = protocol.split(data, unit.fold, unit.seed + _OTHER_FOLDS * (unit.dataset in _SAME_ROWS))
        if unit.dataset == "newsgroups":
            protocol = protocol.changed(scaling=None)
        X, self.X_test = protocol.scaled(data.X[train], data.X[test])
        y, self.y_test = data.y[train], data.y[test]
        fit, held = protocol.held_out(y, unit.seed)
        self.X_held, self.y_held = X[held], y[held]
        self.tuning = SharedFits(X[fit], y[fit], unit.seed)
        self.final = SharedFits(X, y, unit.seed)


_LATEST: dict[tuple, _Fold] = {}


def _fold(unit: Unit) -> _Fold:
    """The fold of a unit; the last one is kept, since units of one fold come one after the other."""
    key = repr(unit.protocol), unit.dataset, unit.repeat, unit.fold, unit.seed
    if key not in _LATEST:
        _LATEST.clear()
        _LATEST[key] = _Fold(unit)
    return _LATEST[key]


def settings_of(method: str, grid: Mapping[str, tuple]) -> Iterator[dict[str, Any]]:
    """What is tried on the hold-out, in order: fewer prototypes first, then less regularisation, then smaller steps."""
    own, shared = METHODS[method]
    names = [*shared, *own.grid]
    for values in itertools.product(*({**grid, **own.grid}[name] for name in names)):
        yield dict(zip(names, values, strict=True))


def measure(unit: Unit) -> Outcome:
    """Test accuracy with the settings that did best on the hold-out."""
    fold = _fold(unit)
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


_COARSE = {"n_prototypes": (1, 3, 5), "regularization": (0.0, 0.005), "learning_rate": (0.5, 1.0, 2.0)}
_COARSE_LARGE = {"n_prototypes": (10, 25), "regularization": (0.0, 0.005), "learning_rate": (0.5, 1.0, 2.0)}

PAPER = Paper(
    "logm",
    "LOGM and its rivals (Jin, Liu and Hou 2010, Tables 5, 7 and 8)",
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
    ),
    (
        Table(
            "5", "accuracy of seven methods and SVM", {"small": TABLE_5_METHODS, "large": TABLE_5_METHODS}, show_table_5
        ),
        Table("7", "signed ranks tests of Table 5", {"small": TABLE_5_METHODS, "large": TABLE_5_METHODS}, show_table_7),
        Table("8", "weights beside prototypes", {"small": (*TABLE_8_METHODS, "LOGM-W, own weights")}, show_table_8),
    ),
)
assert set(SMALL) | set(LARGE) == set(TABLE_5)
