"""LPD beside all vectors, LVQ and SVM on 14 data sets: Paredes and Vidal (2006), Tables 1 to 3 and section 3.1.

`python -m reproduction lpd`. Protocol: stratified 5-fold cross-validation, features as they are, 5 %
prototypes. The paper does not state the settings of its rivals. LVQ (LVQ_PAK's, from its `propinit`; LVQ2 is LVQ2.1):
20 epochs, window 0.3, epsilon 0.2, the rate chosen on a quarter of the training part, then trained again on all of it.
SVM1, SVM2 and SVM3: svm-light's defaults, kernels (x y + 1), (x y + 1)^2 and exp(-|x - y|^2), C = 1 / (mean length of
phi(x))^2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from protolearn.auto.validation import choose_on_validation
from protolearn.estimators.lpd import LPD
from protolearn.estimators.lvq import LVQ1, LVQ3, LVQ21
from protolearn.estimators.nearest import NearestPrototype
from reproduction import faces, lpd_grid, lpd_tables
from reproduction.datasets import load
from reproduction.lpd_published import TITLES, TWO_CLASSES
from reproduction.protocols import LPD_FACES, LPD_GRID, LPD_TABLES
from reproduction.reproduce import Experiment, Outcome, Paper, Quick, Table, Unit

SHARE = 0.05


def svm_light(degree: int | None, X: np.ndarray, y: np.ndarray, seed: int) -> SVC:
    """svm-light's defaults: a polynomial of that degree, or None for a Gaussian; C by the mean length of phi(x)."""
    squares = (X**2).sum(axis=1)
    if degree is None:
        lengths = np.sqrt(2.0 - 2.0 * np.exp(-squares))
        return SVC(kernel="rbf", gamma=1.0, C=1.0 / lengths.mean() ** 2)
    # |phi(x) - phi(0)|^2 = K(x, x) - 2 K(x, 0) + K(0, 0)
    lengths = np.sqrt((squares + 1.0) ** degree - 1.0)
    return SVC(kernel="poly", degree=degree, gamma=1.0, coef0=1.0, C=1.0 / lengths.mean() ** 2)


Make = Callable[[np.ndarray, np.ndarray, int], Any]


def _lpd(X: np.ndarray, y: np.ndarray, seed: int, **options: Any) -> LPD:
    return LPD(random_state=seed, bounds=None, **options)


def _lvq(rule: Any, X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    return rule(SHARE, init="propinit", bounds=None, max_iter=20, random_state=seed)


# Name -> the model for a training part, and whether features are standardised before.
METHODS: dict[str, tuple[Make, bool]] = {
    "L2": (lambda X, y, seed: NearestPrototype(init="all"), False),
    "CDVW": (lambda X, y, seed: NearestPrototype(init="all", metric="class_variance"), False),
    "LPD": (_lpd, False),
    "LVQ1": (partial(_lvq, LVQ1), False),
    "LVQ2": (partial(_lvq, LVQ21), False),
    "LVQ3": (partial(_lvq, LVQ3), False),
    "SVM1": (partial(svm_light, 1), False),
    "SVM2": (partial(svm_light, 2), False),
    "SVM3": (partial(svm_light, None), False),
    "L2, standardised": (lambda X, y, seed: NearestPrototype(init="all"), True),
    "LPD, standardised": (_lpd, True),
    "LPD, border start": (partial(_lpd, init="border"), False),
    "LPD, printed steps": (partial(_lpd, step_factors="inverse_std"), False),
    "LVQ1, standardised": (partial(_lvq, LVQ1), True),
    "LVQ2, standardised": (partial(_lvq, LVQ21), True),
    "LVQ3, standardised": (partial(_lvq, LVQ3), True),
    "RBF SVM, standardised": (lambda X, y, seed: SVC(), True),
}
ONE = ("L2", "CDVW", "LPD", "L2, standardised", "LPD, standardised", "LPD, border start", "LPD, printed steps")
TWO = (
    *("LPD", "LVQ1", "LVQ2", "LVQ3", "SVM1", "SVM2", "SVM3"),
    *("LPD, standardised", "LVQ1, standardised", "LVQ2, standardised", "LVQ3, standardised", "RBF SVM, standardised"),
)
LARGE = {"satimage": 1.0, "dna": 2.0, "letter": 10.0}
SMALL = tuple(name for name in TITLES if name not in LARGE)
_SMALL_ONLY = ("LPD, standardised", "LPD, border start", "LPD, printed steps", "SVM1", "SVM2", "SVM3")
_SVM = ("SVM1", "SVM2", "SVM3")
_LARGE_ONE, _LARGE_TWO = (tuple(name for name in methods if name not in _SMALL_ONLY) for methods in (ONE, TWO))


def measure(unit: Unit) -> Outcome:
    """Test error of one method on one fold."""
    data = load(unit.dataset)
    train, test = unit.protocol.split(data, unit.fold, unit.seed)
    make, standardised = METHODS[unit.method]
    X, X_test = data.X[train], data.X[test]
    if standardised:
        scale = StandardScaler().fit(X)
        X, X_test = scale.transform(X), scale.transform(X_test)
    y, y_test = data.y[train], data.y[test]
    model = make(X, y, 5 * unit.seed + unit.fold)
    chosen: dict[str, Any] = {}
    if "LVQ" in unit.method:
        fit, held = unit.protocol.held_out(y, unit.seed)
        chosen, _ = choose_on_validation(model, unit.protocol.grid, X[fit], y[fit], X[held], y[held])
        model.set_params(**chosen)
    model.fit(X, y)
    return Outcome(1 - model.score(X_test, y_test), {"chosen": chosen} if chosen else {})


_QUICK = ("wine", "glass", "heart", "liver", "vote", "balance", "breast")
PAPER = Paper(
    "lpd",
    "LPD: learning prototypes and distances (Paredes and Vidal 2006)",
    "Paredes and Vidal (2006)",
    lpd_tables.about,
    (
        Experiment(
            "small",
            LPD_TABLES,
            SMALL,
            tuple(METHODS),
            measure,
            Quick(LPD_TABLES.changed(first_folds=2), _QUICK),
            repeats=3,
            skip=frozenset((name, method) for name in SMALL for method in _SVM if name not in TWO_CLASSES),
        ),
        Experiment(
            "large",
            LPD_TABLES,
            tuple(LARGE),
            tuple(method for method in METHODS if method not in _SMALL_ONLY),
            measure,
            Quick(LPD_TABLES, ()),
            costs=LARGE,
        ),
        Experiment("faces", LPD_FACES, ("olivetti",), faces.METHODS, faces.measure, Quick(LPD_FACES, ("olivetti",)), 3),
        *(
            Experiment(name, LPD_GRID, ("grid",), cells, lpd_grid.measure, Quick(LPD_GRID, ("grid",), few), repeats)
            for name, cells, repeats, few in (
                ("grid", lpd_grid.FEW, 3, 1),
                ("grid-ten", lpd_grid.MANY, 100, 10),
                ("grid-ends", lpd_grid.SOME, 30, 3),
            )
        ),
    ),
    (
        Table("1", "14 data sets", {"small": ONE, "large": _LARGE_ONE}, lpd_tables.show_table_1, "lpd-table-1"),
        Table("2", "beside LVQ and SVM", {"small": TWO, "large": _LARGE_TWO}, lpd_tables.show_table_2, "lpd-table-2"),
        Table("3", "faces (section 3.3)", {"faces": faces.METHODS}, faces.show, "lpd-faces"),
        Table(
            "artificial",
            "artificial task (section 3.1, Figs. 2 to 4)",
            {"grid": lpd_grid.FEW, "grid-ten": lpd_grid.MANY, "grid-ends": lpd_grid.SOME},
            lpd_grid.show,
            "lpd-artificial",
        ),
    ),
)
