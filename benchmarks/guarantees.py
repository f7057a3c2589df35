"""Certificates under attack, counterfactuals in thousands, and both beside published figures and other libraries.

python -m benchmarks guarantees attacks            no class changes inside a radius; how tight the bounds are
python -m benchmarks guarantees counterfactuals    every answer is of the class asked for and within the limits
python -m benchmarks guarantees mixed              the same with whole numbers and categories, through a Preparation
python -m benchmarks guarantees accuracy           certified accuracy on two tables that others have published on
python -m benchmarks guarantees peers --dice PYTHON --ceml PYTHON    DiCE and ceml, each by the Python that has it

The tables come from the folder that PROTOLEARN_DATA names; each command writes one CSV file into --out.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from protolearn import (
    GLVQ,
    GMLVQ,
    GRLVQ,
    LGMLVQ,
    LOGM,
    LPD,
    LVQ1,
    MCE,
    RSLVQ,
    SNPC,
    HartCondensing,
    LaMaLVQ,
    MixtGauss,
    NearestPrototype,
    save,
)
from protolearn.explain import certified_accuracy, counterfactual
from protolearn.explain.certificate import Ball
from protolearn.explain.inputs import Inputs
from protolearn.tables import Preparation
from reproduction.datasets import load

TABLES = ("pima", "heart", "wdbc", "glass", "sonar", "vehicle", "segment", "ionosphere", "wine", "phoneme")
# Tables whose columns of these places are categories.
MIXED = {"heart": (1, 2, 5, 6, 8, 10, 11, 12), "australian14": (0, 3, 4, 5, 7, 8, 10, 11)}
_SHORT = {"max_iter": 10, "random_state": 0}
CLASSIFIERS = {
    "NearestPrototype": NearestPrototype(3, random_state=0),
    "LVQ1": LVQ1(3, **_SHORT),
    "GLVQ": GLVQ(3, **_SHORT),
    "GRLVQ": GRLVQ(2, **_SHORT),
    "GMLVQ": GMLVQ(2, **_SHORT),
    "GMLVQ, rank 2": GMLVQ(2, n_components=2, **_SHORT),
    "LGMLVQ, a class": LGMLVQ(2, **_SHORT),
    "LGMLVQ, a prototype": LGMLVQ(2, scope="prototype", **_SHORT),
    "MCE": MCE(2, **_SHORT),
    "SNPC": SNPC(2, **_SHORT),
    "RSLVQ": RSLVQ(2, **_SHORT),
    "LOGM": LOGM(2, **_SHORT),
    "LOGM, relevance": LOGM(2, metric="relevance", **_SHORT),
    "LOGM, local relevance": LOGM(2, metric="local_relevance", **_SHORT),
    "LPD": LPD(0.05, **_SHORT),
    "LaMaLVQ": LaMaLVQ(2, rounds=2, epochs=2, random_state=0),
    "MixtGauss": MixtGauss(2, random_state=0),
    "Hart": HartCondensing(),
}


def fitted(name: str, table: str, rows: int) -> tuple[Any, np.ndarray]:
    """A pipeline fitted on half of a table (at most 500 rows), and rows of the other half."""
    data = load(table)
    X, X_test, y, _ = train_test_split(
        np.asarray(data.X, dtype=np.float64), data.y, test_size=0.5, random_state=0, stratify=data.y
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(StandardScaler(), clone(CLASSIFIERS[name])).fit(X[:500], y[:500])
    return model, X_test[:rows]


def lengths(steps: np.ndarray, norm: float) -> np.ndarray:
    """The norm of each row."""
    return np.linalg.norm(steps, axis=1) if norm == 2 else np.abs(steps).max(axis=1)


class Attack:
    """Everything that is tried against the radii of some rows."""

    def __init__(self, model: Any, inputs: Inputs, X: np.ndarray, radius: np.ndarray, norm: float, seed: int) -> None:
        self.model, self.inputs, self.X, self.norm = model, inputs, X, norm
        self.radius = np.where(np.isfinite(radius), radius, 1e6)
        self.labels = model.predict(X)
        self.random = np.random.default_rng(seed)
        self.unit = X.std(axis=0) + 1e-9

    def changed(self, steps: np.ndarray) -> np.ndarray:
        """Whether a step of 0.999 of the radius in these directions changes the class."""
        size = lengths(steps, self.norm)
        scaled = steps * (0.999 * self.radius / np.where(size > 0, size, 1.0))[:, None]
        return self.model.predict(self.X + scaled) != self.labels

    def by_chance(self) -> np.ndarray:
        """A random direction: half of them in the units of the columns, with corners of the box among them."""
        steps = self.random.normal(size=self.X.shape)
        if self.random.random() < 0.5:
            steps *= self.unit
        return np.sign(steps) if self.norm != 2 and self.random.random() < 0.5 else steps

    def by_gradient(self, start: np.ndarray, n_steps: int = 12) -> np.ndarray:
        """Steps down the difference of the nearest distances of the others and of the own class, within the radius."""
        cells, steps = self.inputs.cells, start.copy()
        codes = np.searchsorted(self.inputs.classes, self.labels)
        for _ in range(n_steps):
            V = self.X + steps
            D = cells.distances(V)
            own = cells.labels[None] == codes[:, None]
            rival = np.where(own, np.inf, D).argmin(axis=1)
            nearest = np.where(own, D, np.inf).argmin(axis=1)
            gradient = np.empty_like(V)
            for k, v in enumerate(V):
                pulls = cells.pulls(v)
                gradient[k] = pulls[rival[k]] - pulls[nearest[k]]
            way = np.sign(gradient) if self.norm != 2 else gradient
            size = lengths(way, self.norm)
            steps = steps - 0.3 * (self.radius / np.where(size > 0, size, 1.0))[:, None] * way
            size = lengths(steps, self.norm)
            if self.norm == 2:
                steps *= np.minimum(1.0, self.radius / np.where(size > 0, size, 1.0))[:, None]
            else:
                steps = np.clip(steps, -self.radius[:, None], self.radius[:, None])
        return steps


def attacks(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each table, classifier and norm."""
    for table in options.tables:
        for name in options.classifiers:
            model, X = fitted(name, table, options.rows)
            for norm in (2, np.inf):
                # A linear programme for each row of several prototypes takes some milliseconds.
                rows = X if norm == 2 else X[: options.rows_of_maximum_norm]
                yield {"table": table, "classifier": name} | attacked(model, rows, norm, options.tries)


def attacked(model: Any, X: np.ndarray, norm: float, tries: int) -> dict[str, Any]:
    """Radii, what attacks make of them, and the nearest change that anything found."""
    inputs = Inputs.of(model)
    labels = model.predict(X)
    ball = Ball(inputs.cells, norm, True, with_steps=True)
    begin = time.process_time()
    codes = np.searchsorted(inputs.classes, labels)
    radius, exact = ball.radii(X, codes, np.ones(X.shape[1]), float(np.finfo(float).eps))
    seconds = time.process_time() - begin
    attack = Attack(model, inputs, X, radius, norm, 0)
    ways = [attack.by_chance() for _ in range(tries)]
    steps = np.nan_to_num(ball.steps)
    ways += [np.where(lengths(steps, norm)[:, None] > 0, steps, ways[0])]
    ways += [attack.by_gradient(np.zeros_like(X)), attack.by_gradient(0.5 * ways[-1])]
    broken = sum(int(attack.changed(way).sum()) for way in ways)
    nearest = nearest_change(model, X, labels, ways, norm)
    # A cell may be met at a corner, which a search along the way passes by.
    reached = model.predict(X + 1.0002 * steps) != labels
    nearest = np.where(reached, np.minimum(nearest, 1.0002 * lengths(steps, norm)), nearest)
    known = np.isfinite(radius) & (radius > 0) & np.isfinite(nearest)
    share = np.minimum(radius[known] / nearest[known], 1.0)
    return {
        "norm": "2" if norm == 2 else "inf",
        "rows": len(X),
        "attacks": len(ways) * len(X),
        "broken": broken,
        "exact": round(float(exact.mean()), 4),
        "share_median": round(float(np.median(share)), 4) if len(share) else None,
        "share_lowest_tenth": round(float(np.quantile(share, 0.1)), 4) if len(share) else None,
        "zero": int((radius == 0).sum()),
        "microseconds_a_row": round(1e6 * seconds / len(X), 1),
    }


def nearest_change(model: Any, X: np.ndarray, labels: np.ndarray, ways: list[np.ndarray], norm: float) -> np.ndarray:
    """The nearest changed row along any of the ways: an upper bound of the exact distance."""
    best = np.full(len(X), np.inf)
    for way in ways[-8:]:
        unit = way / np.where(lengths(way, norm) > 0, lengths(way, norm), 1.0)[:, None]
        high = np.full(len(X), 1e-3)
        for _ in range(40):
            inside = model.predict(X + high[:, None] * unit) == labels
            high = np.where(inside & (high < 1e9), 2.0 * high, high)
        changes = model.predict(X + high[:, None] * unit) != labels
        low = np.zeros(len(X))
        for _ in range(40):
            middle = (low + high) / 2.0
            inside = model.predict(X + middle[:, None] * unit) == labels
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        best = np.where(changes, np.minimum(best, high), best)
    return best


def counterfactuals(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each table and classifier: tries with limits drawn at random."""
    random = np.random.default_rng(0)
    each = -(-options.total // (len(options.tables) * len(options.classifiers)))
    for table in options.tables:
        for name in options.classifiers:
            model, X = fitted(name, table, options.rows)
            low, high = model[0].inverse_transform([model[-1].data_min_, model[-1].data_max_])
            limits = Limits([f"x{j}" for j in range(X.shape[1])], low, high)
            yield {"table": table, "classifier": name} | asked(model, X, limits, each, random)


def mixed(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The same for raw tables of numbers, whole numbers and categories, through a Preparation."""
    random = np.random.default_rng(0)
    each = -(-options.total // (len(MIXED) * len(options.classifiers)))
    for table, categories in MIXED.items():
        data = load(table)
        frame = as_frame(data.X, categories)
        learned, judged = train_test_split(np.arange(len(data.y)), test_size=0.5, random_state=0, stratify=data.y)
        low, high = (getattr(data.X[learned], end)(axis=0) for end in ("min", "max"))
        limits = MixedLimits(frame.columns, low, high, {frame.columns[j]: set(frame[:, j]) for j in categories})
        for name in options.classifiers:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = make_pipeline(Preparation(), clone(CLASSIFIERS[name])).fit(frame[learned], data.y[learned])
            rows = frame[judged][: options.rows]
            yield {"table": table, "classifier": name} | asked(model, rows, limits, each, random)


def as_frame(X: np.ndarray, categories: tuple[int, ...]) -> pl.DataFrame:
    """A data frame whose categories are texts and whose whole numbers are integers."""
    columns = {}
    for j, column in enumerate(np.asarray(X, dtype=float).T):
        if j in categories:
            columns[f"x{j}"] = [f"level {value:g}" for value in column]
        else:
            columns[f"x{j}"] = column.astype(int) if (column == np.floor(column)).all() else column
    return pl.DataFrame(columns)


class Limits:
    """What is asked of a counterfactual, and whether it is kept.

    low, high : the ranges of the rows that were learned
    """

    def __init__(self, names: list[str], low: np.ndarray, high: np.ndarray) -> None:
        self.names, self.low, self.high = names, low, high

    def drawn(self, random: np.random.Generator) -> dict[str, list[str]]:
        """Half of the columns, each under one limit."""
        some = [self.names[j] for j in random.permutation(len(self.names))[: max(len(self.names) // 2, 1)]]
        return {"fixed": some[::3], "only_up": some[1::3], "only_down": some[2::3]}

    def row(self, X: Any, k: int) -> Any:
        """Row k as the model takes it."""
        return X[k]

    def values(self, row: Any) -> dict[str, Any]:
        """The values of a row by column."""
        return dict(zip(self.names, np.asarray(row).tolist(), strict=True))

    def kept(self, before: dict[str, Any], after: dict[str, Any], limits: dict[str, list[str]]) -> bool:
        """Whether every value is within its range and its limit."""
        right = all(before[name] == after[name] for name in limits["fixed"])
        right &= all(after[name] >= before[name] for name in limits["only_up"])
        right &= all(after[name] <= before[name] for name in limits["only_down"])
        for name, low, high in zip(self.names, self.low, self.high, strict=True):
            # A value outside the ranges may stay or come nearer.
            slack = 1e-9 * (high - low)
            if not isinstance(after[name], str):
                right &= min(low, before[name]) - slack <= after[name] <= max(high, before[name]) + slack
        return right


class MixedLimits(Limits):
    """The same for raw rows: categories have known levels and no order, whole numbers stay whole."""

    def __init__(self, names: list[str], low: np.ndarray, high: np.ndarray, levels: dict[str, set[str]]) -> None:
        super().__init__(names, low, high)
        self.levels = levels

    def drawn(self, random: np.random.Generator) -> dict[str, list[str]]:
        """Categories are fixed or free."""
        found = super().drawn(random)
        return {
            limit: [name for name in names if limit == "fixed" or name not in self.levels]
            for limit, names in found.items()
        }

    def row(self, X: Any, k: int) -> Any:
        """A table of one row."""
        return X[k : k + 1]

    def values(self, row: Any) -> dict[str, Any]:
        """The values of a row by column."""
        return row.row(0, named=True)

    def kept(self, before: dict[str, Any], after: dict[str, Any], limits: dict[str, list[str]]) -> bool:
        """Whether the values are also of levels that were learned, and whole where they were."""
        right = super().kept(before, after, limits)
        right &= all(after[name] in levels for name, levels in self.levels.items())
        return right and all(float(after[name]).is_integer() for name in before if isinstance(before[name], int))


def asked(model: Any, X: Any, limited: Limits, tries: int, random: np.random.Generator) -> dict[str, Any]:
    """Tries of one model, each checked by `predict` and by the limits."""
    failures, none, proved, seconds = 0, 0, 0, []
    labels = model.predict(X)
    for _ in range(tries):
        k = int(random.integers(len(X)))
        x = limited.row(X, k)
        others = np.setdiff1d(model.classes_, labels[k : k + 1])
        to = random.choice(others) if random.random() < 0.5 else None
        limits = limited.drawn(random)
        begin = time.process_time()
        answer = counterfactual(model, x, to=to, **limits)
        seconds.append(time.process_time() - begin)
        if not answer:
            none += 1
            continue
        label = model.predict(answer.row if isinstance(answer.row, pl.DataFrame) else np.asarray(answer.row)[None])[0]
        right = label == to if to is not None else label != labels[k]
        right = right and limited.kept(limited.values(x), limited.values(answer.row), limits)
        failures += not right
        proved += answer.is_nearest
    return {
        "tries": tries,
        "failures": failures,
        "none": none,
        "nearest_proved": proved,
        "median_milliseconds": round(1e3 * float(np.median(seconds)), 2),
    }


def accuracy(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Certified accuracy in the maximum norm, columns scaled to 0 to 1 by the training set; means over splits."""
    for table, radius in (("breast", 0.3), ("pima", 0.05)):
        data = load(table)
        for name, model in {
            "GLVQ, 1 prototype a class": GLVQ(1, random_state=0),
            "GLVQ, 4 prototypes a class": GLVQ(4, random_state=0),
            "LOGM, 1 prototype a class": LOGM(1, random_state=0),
            "GMLVQ, 1 prototype a class": GMLVQ(1, random_state=0),
            "nearest class mean": NearestPrototype(1),
        }.items():
            errors, uncertified = [], []
            for seed in range(options.splits):
                X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.2, random_state=seed)
                scaler = MinMaxScaler().fit(X)
                learned = clone(model).fit(scaler.transform(X), y)
                Z = scaler.transform(X_test)
                errors.append(1.0 - learned.score(Z, y_test))
                uncertified.append(1.0 - float(certified_accuracy(learned, Z, y_test, radius, "inf")))
            yield (
                {
                    "table": table,
                    "radius": radius,
                    "model": name,
                    "splits": options.splits,
                    "error": round(100 * float(np.mean(errors)), 1),
                    "error_spread": round(100 * float(np.std(errors)), 1),
                    "certified_error": round(100 * float(np.mean(uncertified)), 1),
                    "certified_error_spread": round(100 * float(np.std(uncertified)), 1),
                }
            )


def peers(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Counterfactuals of DiCE and ceml beside ours, of the same prototypes, in standardised columns."""
    worker = Path(__file__).parent / "elsewhere" / "counterfactuals.py"
    for table in ("pima", "wdbc"):
        data = load(table)
        X, X_test, y, _ = train_test_split(data.X, data.y, test_size=0.5, random_state=0, stratify=data.y)
        scaler = StandardScaler().fit(X)
        Z, rows = scaler.transform(X), scaler.transform(X_test)[: options.rows_of_peers]
        model = GMLVQ(1, random_state=0).fit(Z, y)
        M = model.omega_.T @ model.omega_
        labels, answers, seconds = model.predict(rows), [], []
        for row in rows:
            begin = time.process_time()
            answers.append(np.asarray(counterfactual(model, row).row, dtype=float))
            seconds.append(time.process_time() - begin)
        ours = np.array(answers)
        yield judged(table, "protolearn", model, M, rows, labels, ours, seconds, Z)
        with tempfile.TemporaryDirectory() as folder:
            path, out = Path(folder, "problem.npz"), Path(folder, "found.npz")
            np.savez(
                path, X=Z, y=y, rows=rows, labels=labels, W=model.prototypes_, L=model.prototype_labels_,
                omega=model.omega_,
            )  # fmt: skip
            save(model, Path(folder, "model.json"))
            for library, python in (("dice", options.dice), ("ceml", options.ceml)):
                if python is None:
                    continue
                subprocess.run([python, str(worker), library, str(path), str(out)], check=True)
                with np.load(out) as stored:
                    answers, seconds = stored["found"], stored["seconds"].tolist()
                yield judged(table, library, model, M, rows, labels, answers, seconds, Z)


def judged(
    table: str, library: str, model: Any, M: np.ndarray, rows: np.ndarray, labels: np.ndarray, found: np.ndarray,
    seconds: list[float], Z: np.ndarray,
) -> dict[str, Any]:  # fmt: skip
    """Validity, distance in the model's metric, columns changed and time of the answers of one library."""
    answered = np.isfinite(found).all(axis=1)
    valid = np.zeros(len(rows), dtype=bool)
    valid[answered] = model.predict(found[answered]) != labels[answered]
    # A value that lies outside the ranges already may stay.
    low, high = np.minimum(Z.min(axis=0), rows) - 1e-6, np.maximum(Z.max(axis=0), rows) + 1e-6
    inside = answered & ((found >= low) & (found <= high)).all(axis=1)
    steps = found - rows
    distance = np.einsum("ij,jk,ik->i", steps, M, steps)
    changed = (np.abs(steps) > 1e-8).sum(axis=1)
    return {
        "table": table,
        "library": library,
        "rows": len(rows),
        "valid": round(float(valid.mean()), 4),
        "within_the_data": round(float(inside.mean()), 4),
        "median_root_distance": round(float(np.sqrt(np.median(distance[valid]))), 4) if valid.any() else None,
        "median_columns_changed": float(np.median(changed[valid])) if valid.any() else None,
        "median_milliseconds": round(1e3 * float(np.median(seconds)), 2),
    }


PARTS = {"attacks": attacks, "counterfactuals": counterfactuals, "mixed": mixed, "accuracy": accuracy, "peers": peers}


def main(arguments: list[str]) -> int:
    """Run one part and write its CSV file."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks guarantees",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    parser.add_argument("--classifiers", type=lambda text: text.split(";"), default=list(CLASSIFIERS))
    parser.add_argument("--rows", type=int, default=1000, help="of the test half, at most (default: 1000)")
    parser.add_argument("--rows-of-maximum-norm", type=int, default=1000)
    parser.add_argument("--tries", type=int, default=40, help="random directions for each row (default: 40)")
    parser.add_argument("--total", type=int, default=10_000, help="counterfactuals in all (default: 10,000)")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--rows-of-peers", type=int, default=50)
    parser.add_argument("--dice", help="a Python that has dice-ml")
    parser.add_argument("--ceml", help="a Python that has ceml")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    with open(options.out / f"guarantees-{options.part}.csv", "w", newline="") as file:
        writer = None
        for row in PARTS[options.part](options):
            if writer is None:
                writer = csv.DictWriter(file, list(row))
                writer.writeheader()
            writer.writerow(row)
            # Whoever interrupts keeps what is measured.
            file.flush()
            print(row, file=sys.stderr, flush=True)
    return 0
