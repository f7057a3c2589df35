"""Accuracy against bytes: tiny prototype models beside a linear model, a tree and a random forest of the same bytes.

    PROTOLEARN_DATA=<folder> python -m reproduction.size [--rows FILE.csv] [--seconds 150] [--docs docs]

Goes on where the file of rows ends. Our models come from `shrink`, chosen by validation among two methods, online and
by L-BFGS; bytes are all tables that a prediction reads, without code. Trees are counted as emlearn stores them: 8 bytes
an inner node, 4 a tree and 1 a class; the linear model has weights of 8 bits, floats for the biases, and the columns
that fit.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from protolearn import GMLVQ, LOGM
from protolearn.auto import shrink
from protolearn.auto.shrink import column_order
from reproduction.datasets import load
from reproduction.report import provenance, table, write_section

COMMAND = "python -m reproduction.size"
SETS = ("usps", "letter", "mnist", "optdigits")
BUDGETS = (1024, 2048, 4096, 16384, 65536)
FIELDS = ("set", "budget", "method", "bytes", "validation", "test", "detail")
# mnist has 60,000 training rows; two cores and an evening allow this many, the same for every method.
MOST_ROWS = 8000
EPOCHS, STEPS = 20, 60
# A step of an online method renews the image of every prototype: too slow for the hundreds that a larger budget holds.
MOST_ONLINE = 16384
_NODE, _ROOT = 8, 4
_TREES = (3, 5, 10, 20, 40)

Answer = tuple[int, float, float, str]

# What the makers of ProtoNN print for their examples, with 4 bytes for each entry of W, B and Z, as they count.
PUBLISHED: dict[str, list[tuple[str, int, float]]] = {
    "usps": [
        ("ProtoNN, EdgeML's C++ example", 4 * (15 * 256 + 15 * 200 + 10 * 200), 0.934),
        ("ProtoNN, EdgeML's TensorFlow example", 4 * (60 * 256 + 60 * 80 + 10 * 80), 0.925),
    ],
}


def parts(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The official split, at most 8000 training rows."""
    X, y, X_test, y_test = load(name, np.float32).split()
    if len(y) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=0)
    return X, y, X_test, y_test


def _ours(make: Callable[[], Any]) -> Callable[..., Answer]:
    def answer(budget: int, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> Answer:
        found = shrink(make(), X, y, max_bytes=budget, dtypes=("int8",), random_state=0)
        plan = found.plan
        kind = "no map" if plan.rank is None else f"rank {plan.rank}"
        detail = f"{plan.n_prototypes} prototypes a class, {kind}, {plan.n_columns} columns"
        return found.n_bytes, found.accuracy, float(np.mean(found.exported.predict(X_test) == y_test)), detail

    return answer


def _held_out(X: np.ndarray, y: np.ndarray) -> tuple:
    return train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)


def _linear(budget: int, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> Answer:
    """Logistic regression with weights of 8 bits, on as many columns as fit."""
    n_classes, n_inputs = len(np.unique(y)), X.shape[1]
    index = 1 if n_inputs <= 256 else 2
    whole = n_classes * n_inputs + 4 * n_classes + 8
    n_columns = n_inputs if whole <= budget else (budget - 4 * n_classes - 8) // (n_classes + index)
    if n_columns < 1:
        return 0, 0.0, 0.0, "does not fit"
    used = whole if n_columns == n_inputs else n_columns * (n_classes + index) + 4 * n_classes + 8
    columns = np.sort(column_order(X, y)[:n_columns])

    def accuracy(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> float:
        low, high = X.min(), X.max()
        levels = [np.rint((part[:, columns] - low) / (high - low) * 254 - 127).clip(-127, 127) for part in (X, X_test)]
        model = LogisticRegression(C=0.1, max_iter=300).fit(levels[0] / 127.0, y)
        weights = np.rint(model.coef_ / np.abs(model.coef_).max() * 127) / 127 * np.abs(model.coef_).max()
        scores = levels[1] / 127.0 @ weights.T + model.intercept_
        return float(np.mean(model.classes_[scores.argmax(axis=1)] == y_test))

    fit, held, y_fit, y_held = _held_out(X, y)
    return used, accuracy(fit, y_fit, held, y_held), accuracy(X, y, X_test, y_test), f"{n_columns} columns"


def _tree_bytes(trees: Sequence[Any], n_classes: int) -> int:
    nodes = sum(int((tree.tree_.children_left >= 0).sum()) for tree in trees)
    return _NODE * nodes + _ROOT * len(trees) + n_classes


def _tree(budget: int, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> Answer:
    n_classes = len(np.unique(y))
    leaves = (budget - _ROOT - n_classes) // _NODE + 1
    fit, held, y_fit, y_held = _held_out(X, y)

    def make() -> DecisionTreeClassifier:
        return DecisionTreeClassifier(max_leaf_nodes=max(leaves, 2), random_state=0)

    model = make().fit(X, y)
    validation = make().fit(fit, y_fit).score(held, y_held)
    return _tree_bytes([model], n_classes), validation, model.score(X_test, y_test), f"{model.get_n_leaves()} leaves"


def _forest(budget: int, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> Answer:
    """The number of trees by validation; the leaves share what is left. Trees vote, as emlearn's do."""
    n_classes = len(np.unique(y))
    fit, held, y_fit, y_held = _held_out(X, y)
    found = []
    for n_trees in _TREES:
        leaves = (budget - n_classes - _ROOT * n_trees) // (_NODE * n_trees) + 1
        if leaves >= 2:
            model = RandomForestClassifier(n_trees, max_leaf_nodes=leaves, random_state=0).fit(fit, y_fit)
            found.append((_votes(model, held, y_held), n_trees, leaves))
    validation, n_trees, leaves = max(found)
    model = RandomForestClassifier(n_trees, max_leaf_nodes=leaves, random_state=0).fit(X, y)
    used = _tree_bytes(model.estimators_, n_classes)
    return used, validation, _votes(model, X_test, y_test), f"{n_trees} trees of {leaves} leaves at most"


def _votes(model: RandomForestClassifier, X: np.ndarray, y: np.ndarray) -> float:
    counts = np.zeros((len(X), len(model.classes_)))
    for tree in model.estimators_:
        counts[np.arange(len(X)), tree.predict(X).astype(np.int64)] += 1
    return float(np.mean(model.classes_[counts.argmax(axis=1)] == y))


METHODS: dict[str, Callable[..., Answer]] = {
    "GMLVQ, shrunk": _ours(lambda: GMLVQ(bounds=None, max_iter=EPOCHS, random_state=0)),
    "LOGM, shrunk": _ours(lambda: LOGM(bounds=None, max_iter=EPOCHS, random_state=0)),
    "GMLVQ by L-BFGS, shrunk": _ours(lambda: GMLVQ(bounds=None, max_iter=STEPS, solver="lbfgs", random_state=0)),
    "LOGM by L-BFGS, shrunk": _ours(lambda: LOGM(bounds=None, max_iter=STEPS, solver="lbfgs", random_state=0)),
    "linear, int8": _linear,
    "decision tree": _tree,
    "random forest": _forest,
}


def read(path: Path) -> list[dict[str, str]]:
    """The rows written so far."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def missing(path: Path, sets: Sequence[str], budgets: Sequence[int]) -> Iterator[tuple[str, int, str]]:
    """What no row tells yet, small budgets first."""
    done = {(row["set"], int(row["budget"]), row["method"]) for row in read(path)}
    for budget in budgets:
        for name in sets:
            for method in METHODS:
                online = "shrunk" in method and "L-BFGS" not in method
                if (name, budget, method) not in done and not (online and budget > MOST_ONLINE):
                    yield name, budget, method


def run(path: Path, seconds: float, sets: Sequence[str] = SETS, budgets: Sequence[int] = BUDGETS) -> bool:
    """Add rows until the time is over; whether all are there."""
    start = time.perf_counter()
    for name, budget, method in list(missing(path, sets, budgets)):
        if time.perf_counter() - start > seconds:
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            used, validation, test, detail = METHODS[method](budget, *parts(name))
        new = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(FIELDS)
            writer.writerow((name, budget, method, used, round(validation, 4), round(test, 4), detail))
        print(f"{name} {budget} {method}: {used} bytes, {test:.4f} ({detail})", flush=True)
    return True


def best_of_ours(rows: Sequence[dict[str, str]], name: str, budget: int) -> dict[str, str] | None:
    """The shrunk model that validation prefers."""
    own = [row for row in rows if row["set"] == name and int(row["budget"]) == budget and "shrunk" in row["method"]]
    return max(own, key=lambda row: float(row["validation"]), default=None)


def report(rows: Sequence[dict[str, str]]) -> str:
    """Test accuracy in percent, one line a set and budget, the best in bold, and how ours spend their bytes."""
    others = [method for method in METHODS if "shrunk" not in method]
    lines = []
    for name in SETS:
        for budget in BUDGETS:
            ours = best_of_ours(rows, name, budget)
            if ours is None:
                continue
            found = {row["method"]: row for row in rows if row["set"] == name and int(row["budget"]) == budget}
            cells = [_percent(row) for row in (ours, *(found.get(method) for method in others))]
            best = max(cells, key=lambda cell: float(cell or 0.0))
            how = f"{ours['method'].split(',')[0]}: {ours['detail']}, {ours['bytes']} bytes"
            cells = [f"**{cell}**" if cell == best else cell for cell in cells]
            lines.append((name, f"{budget // 1024} kB", *cells, how))
        for text, used, accuracy in PUBLISHED.get(name, []):
            lines.append((name, f"{used / 1024:.0f} kB", "", "", "", "", f"{text}: {100 * accuracy:.1f}"))
    return table(("set", "bytes", "protolearn", *others, "how"), lines)


def _percent(row: dict[str, str] | None) -> str:
    return "" if row is None or float(row["test"]) == 0.0 else f"{100 * float(row['test']):.1f}"


def main() -> None:
    """Run what is missing for a while; write table and picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=Path("size.csv"))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--budgets", nargs="*", type=int, default=BUDGETS)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    run(options.rows, options.seconds, options.sets, options.budgets)
    text = report(read(options.rows))
    print(text)
    if options.docs:
        from reproduction.size_plot import plot_sizes

        write_section(options.docs / "export.md", "size", text + "\n\n" + provenance(COMMAND))
        plot_sizes(read(options.rows), options.docs / "figures" / "size.png", SETS, PUBLISHED)


if __name__ == "__main__":
    main()
