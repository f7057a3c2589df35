"""Chen and MixtGauss on edited training sets: Lozano et al., Tables 2 and 3 and Figure 1.

`python -m reproduction mixtgauss`. Protocol: 5-fold cross-validation, stratified and shuffled; in each
fold Wilson's editing first, its k chosen by 5-fold cross-validation on the training part alone; then each method with 3
and with 5 prototypes a class, 1-NN on the test part. On the features as they are, as in the paper, and standardised by
the training part. The methods of a fold share its editing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from protolearn.reduction.chen import ChenCondensing
from protolearn.reduction.hart import HartCondensing
from protolearn.reduction.mixtgauss import MixtGauss
from protolearn.reduction.wilson import WilsonEditing
from reproduction import mixtgauss_tables
from reproduction.datasets import DataSet, load
from reproduction.mixtgauss_published import TITLES
from reproduction.protocols import MIXTGAUSS_TABLES, Protocol
from reproduction.reproduce import Experiment, Outcome, Paper, Quick, Table, Unit, shared_by_methods

SIZES = (3, 5)
LARGEST_OF_FIGURE = 19

Method = Callable[[int, int], Any]
METHODS: dict[str, Method] = {
    "Chen": lambda n, seed: ChenCondensing(n),
    "MixtGauss": lambda n, seed: MixtGauss(n, random_state=seed),
    "Chen, a centroid for each class in a block": lambda n, seed: ChenCondensing(n, centroids="class"),
    "Chen, split by overlap": lambda n, seed: ChenCondensing(n, criterion="overlap"),
    "MixtGauss, Algorithm 1 as printed": lambda n, seed: MixtGauss(n, stopping="algorithm1", random_state=seed),
    "MixtGauss, variance = range/10 as printed": lambda n, seed: MixtGauss(n, literal_variance=True, random_state=seed),
    "MixtGauss, EM to convergence": lambda n, seed: MixtGauss(n, stopping="likelihood", random_state=seed),
    "MixtGauss, k-means start": lambda n, seed: MixtGauss(n, init="kmeans", random_state=seed),
    "MixtGauss, classified by the mixture": lambda n, seed: MixtGauss(
        n, init="kmeans", stopping="likelihood", classify_by="mixture", random_state=seed
    ),
}
# Methods that choose their number themselves.
FREE: dict[str, Method] = {
    "MixtGauss, number by BIC, classified by the mixture": lambda n, seed: MixtGauss(
        "bic", init="kmeans", stopping="likelihood", classify_by="mixture", random_state=seed
    ),
    "Hart on the edited set": lambda n, seed: HartCondensing(),
}
IN_FIGURE = ("Chen", "MixtGauss", "MixtGauss, k-means start")
# Method of a row -> what makes it, and prototypes a class.
ROWS: dict[str, tuple[Method, int]] = {
    **{f"{method} {size}J": (make, size) for size in SIZES for method, make in METHODS.items()},
    **{method: (make, 0) for method, make in FREE.items()},
}


@lru_cache(maxsize=2)
def paper_set(name: str) -> DataSet:
    """The set as the paper has it: of Vowel the training half only."""
    data = load(name)
    if name == "vowel":
        X, y, _, _ = data.split()
        return DataSet(name, X, y, None)
    return data


@shared_by_methods
def edited_fold(unit: Unit) -> tuple[WilsonEditing, np.ndarray, np.ndarray]:
    """The editing fitted to the training part of a fold, and X and y of its test part."""
    data, protocol = paper_set(unit.dataset), unit.protocol
    train, test = protocol.split(data, unit.fold, unit.seed)
    X, X_test = protocol.scaled(data.X[train], data.X[test])
    editing = WilsonEditing("auto", cv=protocol.inner_folds or 5, random_state=unit.seed).fit(X, data.y[train])
    return editing, X_test, data.y[test]


def measure(unit: Unit) -> Outcome:
    """Accuracy of one method on one fold, and how much it removed from the edited set."""
    editing, X_test, y_test = edited_fold(unit)
    X, y = editing.prototypes_, editing.prototype_labels_
    if unit.method == "edited":
        return Outcome(editing.score(X_test, y_test), {"size": len(y), "k": editing.n_neighbors_})
    make, size = ROWS[unit.method]
    fitted = make(size, unit.seed).fit(X, y)
    return Outcome(fitted.score(X_test, y_test), {"removed": float(fitted.reduction_)})


def measure_curve(unit: Unit) -> Outcome:
    """Accuracies of one method on one fold with 1, 2, ... prototypes a class; the figure is that of the most."""
    editing, X_test, y_test = edited_fold(unit)
    if unit.method == "edited":
        return Outcome(editing.score(X_test, y_test))
    X, y = editing.prototypes_, editing.prototype_labels_
    numbers = unit.protocol.grid["n_prototypes"]
    curve = [float(METHODS[unit.method](n, unit.seed).fit(X, y).score(X_test, y_test)) for n in numbers]
    return Outcome(curve[-1], {"prototypes": [n * len(np.unique(y)) for n in numbers], "accuracy": curve})


# Seconds of a row beside the others.
COSTS = {
    "wine": 1, "glass": 2, "heart": 2, "liver": 2, "breast": 3, "vowel": 5, "pima": 5, "vehicle": 6, "phoneme": 60,
    "texture": 90, "satimage": 90,
}  # fmt: skip
_QUICK = ("wine", "glass", "heart", "liver", "breast", "vowel", "pima", "vehicle")


def _experiment(name: str, protocol: Protocol) -> Experiment:
    quick = Quick(protocol.changed(first_folds=2), _QUICK)
    return Experiment(name, protocol, tuple(COSTS), ("edited", *ROWS), measure, quick, costs=COSTS)


FIGURE = MIXTGAUSS_TABLES.changed(grid={"n_prototypes": tuple(range(1, LARGEST_OF_FIGURE + 1))})
_FEW_SIZES = MIXTGAUSS_TABLES.changed(grid={"n_prototypes": (1, 3, 5, 10, 19)}, first_folds=2)


def _needs(size: int) -> dict[str, tuple[str, ...]]:
    methods = ("edited", *(f"{method} {size}J" for method in METHODS), *FREE)
    return {"raw": methods, "standardised": methods}


PAPER = Paper(
    "mixtgauss",
    "MixtGauss against Chen (Lozano et al., Tables 2 and 3, Figure 1)",
    "Lozano et al.",
    mixtgauss_tables.about,
    (
        _experiment("raw", MIXTGAUSS_TABLES),
        _experiment("standardised", MIXTGAUSS_TABLES.changed(scaling="standard")),
        Experiment(
            "figure",
            FIGURE,
            ("vowel",),
            ("edited", *IN_FIGURE),
            measure_curve,
            Quick(_FEW_SIZES, ("vowel",)),
            costs={"vowel": 30},
        ),
    ),
    (
        Table("2", "3 prototypes a class", _needs(3), mixtgauss_tables.show_table_2),
        Table("3", "5 prototypes a class", _needs(5), mixtgauss_tables.show_table_3),
        Table(
            "fig1",
            "Figure 1: Vowel by number of prototypes",
            {"figure": ("edited", *IN_FIGURE)},
            mixtgauss_tables.show_figure_1,
        ),
    ),
)
assert set(COSTS) == set(TITLES)
