"""Which reducer to take, and how they differ from imbalanced-learn's: the tables of docs/reduction.md.

    PROTOLEARN_DATA=<folder> python -m benchmarks reduction --only compared

Standardised features; the official test rows where there are any, else 5 folds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import imblearn
import numpy as np
from imblearn.under_sampling import CondensedNearestNeighbour, EditedNearestNeighbours
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, ChenCondensing, HartCondensing, MixtGauss, WilsonEditing
from reproduction.datasets import load
from reproduction.report import provenance, table, write_section

COMMAND = "python -m benchmarks reduction --only compared"
SETS = ("pima", "vowel", "segment", "satimage", "optdigits", "letter")
TEN_SETS = ("breast", "glass", "heart", "iris", "liver", "pima", "sonar", "vehicle", "vowel", "wine")
TWO_CLASS_SETS = ("breast", "heart", "liver", "pima", "sonar")
N_ORDERS = 30

CHOICES: dict[str, Callable[[], Any]] = {
    "1-NN on everything": lambda: KNeighborsClassifier(1),
    'WilsonEditing("auto")': lambda: WilsonEditing("auto", random_state=0),
    "HartCondensing()": lambda: HartCondensing(),
    'HartCondensing(edit_neighbors="auto")': lambda: HartCondensing(edit_neighbors="auto", random_state=0),
    "ChenCondensing(10)": lambda: ChenCondensing(10),
    'ChenCondensing(10, centroids="class")': lambda: ChenCondensing(10, centroids="class"),
    'ChenCondensing(10, criterion="overlap")': lambda: ChenCondensing(10, criterion="overlap"),
    "ChenCondensing(None)": lambda: ChenCondensing(None),
    "MixtGauss(10)": lambda: MixtGauss(10, random_state=0),
    'MixtGauss(10, init="kmeans")': lambda: MixtGauss(10, init="kmeans", random_state=0),
    'MixtGauss("bic", init="kmeans", stopping="likelihood", classify_by="mixture")': lambda: MixtGauss(
        "bic", init="kmeans", stopping="likelihood", classify_by="mixture", random_state=0
    ),
    "GLVQ(10)": lambda: GLVQ(10, random_state=0),
}


def splits(name: str) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Training and test parts, standardised by the training part."""
    data = load(name)
    if data.is_test is not None and data.is_test.any():
        parts = [(np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test))]
    else:
        parts = StratifiedKFold(5, shuffle=True, random_state=0).split(data.X, data.y)
    for train, test in parts:
        scaler = StandardScaler().fit(data.X[train])
        yield scaler.transform(data.X[train]), data.y[train], scaler.transform(data.X[test]), data.y[test]


def choices_table() -> str:
    """Accuracy and share kept of every choice on every set."""
    rows = []
    for title, make in CHOICES.items():
        cells, seconds = [], 0.0
        for name in SETS:
            accuracy, kept = [], []
            for X, y, X_test, y_test in splits(name):
                begin = time.perf_counter()
                fitted = make().fit(X, y)
                seconds += time.perf_counter() - begin
                accuracy.append(100 * fitted.score(X_test, y_test))
                kept.append(100 * len(getattr(fitted, "prototypes_", y)) / len(y))
            cells.append(f"{np.mean(accuracy):.1f} / {np.mean(kept):.1f}")
        print(title, *cells, flush=True)
        rows.append((f"`{title}`" if "(" in title else title, *cells, f"{seconds:.1f}"))
    return table(("test accuracy, % / samples kept, %", *SETS, "fits, s"), rows)


def editing_table() -> str:
    """Wilson's editing beside imbalanced-learn's."""
    rows = []
    for name in TEN_SETS:
        data = load(name)
        peer = EditedNearestNeighbours(n_neighbors=3, kind_sel="mode", sampling_strategy="all")
        peer.fit_resample(data.X, data.y)
        ours = set(WilsonEditing(3).fit(data.X, data.y).sample_indices_.tolist())
        theirs = set(peer.sample_indices_.tolist())
        rows.append((name, len(data.y), len(ours), len(theirs), len(ours - theirs), len(theirs - ours)))
    header = ("set", "samples", "we keep", "imbalanced-learn keeps", "only we keep", "only they keep")
    return table(header, rows)


def condensing_table() -> str:
    """Hart's condensing beside imbalanced-learn's: kept, accuracy on the training part, accuracy on the test part."""
    methods: dict[str, Callable[[], Any]] = {
        "HartCondensing()": lambda: HartCondensing(),
        'imbalanced-learn CNN, "all"': lambda: CondensedNearestNeighbour(sampling_strategy="all", random_state=0),
        'imbalanced-learn CNN, "auto"': lambda: CondensedNearestNeighbour(random_state=0),
    }
    rows = []
    for name in (*TWO_CLASS_SETS, "digits"):
        for title, make in methods.items():
            kept, train, test = [], [], []
            for X, y, X_test, y_test in digits_split() if name == "digits" else splits(name):
                rule = KNeighborsClassifier(1).fit(*make().fit_resample(X, y))
                kept.append(rule.n_samples_fit_)
                train.append(100 * rule.score(X, y))
                test.append(100 * rule.score(X_test, y_test))
            rows.append((name, title, *(f"{np.mean(value):.1f}" for value in (kept, train, test))))
    return table(("set", "method", "kept", "training accuracy, %", "test accuracy, %"), rows)


def digits_split() -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """scikit-learn's digits, 70 % for training, standardised."""
    X, X_test, y, y_test = train_test_split(
        *load_digits(return_X_y=True), test_size=0.3, stratify=load_digits().target, random_state=0
    )
    scaler = StandardScaler().fit(X)
    return [(scaler.transform(X), y, scaler.transform(X_test), y_test)]


def orders_text(n_orders: int = N_ORDERS) -> str:
    """How much Hart's set depends on the order of the samples, on digits."""
    X, y, X_test, y_test = digits_split()[0]
    runs = [HartCondensing(shuffle=True, random_state=seed).fit(X, y) for seed in range(n_orders)]
    sizes = [len(run.sample_indices_) for run in runs]
    train, test = ([100 * run.score(*part) for run in runs] for part in ((X, y), (X_test, y_test)))
    return (
        f"Over {n_orders} random orders of digits Hart's set has {np.mean(sizes):.0f} samples ({min(sizes)} to "
        f"{max(sizes)}), gets {min(train):.0f} % of its training set right in each, and {np.mean(test):.1f} % of the "
        f"test set ({min(test):.1f} to {max(test):.1f})."
    )


def write_tables(docs: Path, quick: bool = False) -> None:
    """Make the tables and write them into docs/reduction.md; `quick` makes the shortest one and prints it."""
    warnings.simplefilter("ignore", UserWarning)
    if quick:
        print(orders_text(3))
        return
    page = docs / "reduction.md"
    peers = [
        f"{provenance(COMMAND)} imbalanced-learn {imblearn.__version__}.",
        "Wilson's editing, k = 3, features as they are:",
        editing_table(),
        "Hart's condensing, standardised features:",
        condensing_table(),
        orders_text(),
    ]
    write_section(page, "beside imbalanced-learn", "\n\n".join(peers))
    print("\n\n".join(peers), flush=True)
    write_section(page, "which to take", "\n\n".join([provenance(COMMAND), choices_table()]))
