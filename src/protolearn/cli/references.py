"""What `fit` measures the prototypes against: what people use instead, learned in no more time than the prototypes."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from protolearn.auto.search import stratified_part
from protolearn.compare.methods import NEIGHBOURS

# Of larger tables so many rows say how long all would take.
PILOT = 1000
# Seconds that a reference may always take, and the share of the learning's that it may take beyond them.
ALWAYS, SHARE = 2.0, 1 / 3
# Rows that the references are tested on at least, where the table is large, and at most.
FEWEST_TESTED, MOST_TESTED = 1000, 10_000
# Where a setting is chosen: folds, rows at most and at least. A grid costs a multiple of a single fit.
_FOLDS, _TUNING_ROWS, _FEWEST_TUNING_ROWS = 3, 3000, 300
# Boosting of many classes and columns takes long however few the rows: it gets fewer iterations first, then fewer rows.
_ITERATIONS, _FEWEST_ITERATIONS, _BOOSTED_ROWS = 100, 5, 3000


@dataclass(frozen=True)
class Reference:
    """A classifier that many use.

    make : (balanced, seed) -> the unfitted classifier
    grid : settings that are chosen by cross-validation
    power : learning n times as many rows takes n^power times as long
    """

    name: str
    make: Callable[[bool, int], Any]
    grid: dict[str, list[Any]]
    power: float


@dataclass(frozen=True)
class Learned:
    """A reference that has learned.

    model : the classifier of prepared rows
    name : with what it stores, and from how many rows where these are not all
    numbers : that it stores, None where they cannot be counted
    """

    model: Any
    name: str
    numbers: int | None

    @property
    def n_bytes(self) -> int:
        """Four for each number; what pickle writes where numbers cannot be counted."""
        return len(pickle.dumps(self.model)) if self.numbers is None else 4 * self.numbers


def _weight(balanced: bool) -> str | None:
    return "balanced" if balanced else None


MAJORITY = Reference("majority class", lambda balanced, seed: DummyClassifier(), {}, 1.0)
NEIGHBOUR = Reference("k-NN", lambda balanced, seed: KNeighborsClassifier(), {"n_neighbors": list(NEIGHBOURS)}, 2.0)
REFERENCES = (
    MAJORITY,
    NEIGHBOUR,
    Reference(
        "logistic regression",
        lambda balanced, seed: LogisticRegression(max_iter=500, class_weight=_weight(balanced)),
        {},
        1.2,
    ),
    Reference(
        "RBF SVM",
        lambda balanced, seed: SVC(class_weight=_weight(balanced)),
        {"C": [1.0, 10.0, 100.0]},
        2.2,
    ),
    Reference(
        "gradient boosting",
        lambda balanced, seed: HistGradientBoostingClassifier(random_state=seed, class_weight=_weight(balanced)),
        {},
        1.0,
    ),
)


def learned(
    Z: np.ndarray, y: np.ndarray, *, seconds: float, balanced: bool = False, seed: int = 0
) -> Iterator[Learned]:
    """The references one after the other, each tuned and learned in about a third of some seconds, or in two.

    Parameters
    ----------
    Z : prepared rows
    y : labels
    seconds : that the learning of the prototypes took
    balanced : weigh the classes alike
    seed : of the parts of a large table
    """
    for reference in REFERENCES:
        with threadpool_limits(1), warnings.catch_warnings():
            # One that has not converged in its time is a reference all the same.
            warnings.simplefilter("ignore")
            yield _learned(reference, Z, y, max(ALWAYS, SHARE * seconds), balanced, seed)


def _learned(reference: Reference, Z: np.ndarray, y: np.ndarray, budget: float, balanced: bool, seed: int) -> Learned:
    random = np.random.RandomState(seed)
    codes = np.unique(y, return_inverse=True)[1]
    if isinstance(reference.make(balanced, seed), HistGradientBoostingClassifier):
        model, part = _boosted(reference.make(balanced, seed), Z, y, budget, random)
    else:
        tuning, rows = _TUNING_ROWS, len(y)
        # k-NN learns nothing, and classifies by all rows.
        if reference not in (MAJORITY, NEIGHBOUR):
            tuning, rows = _within(reference, Z, y, budget, balanced, seed)
        part = stratified_part(codes, tuning, random)
        model = _tuned(reference, Z[part], y[part], balanced, seed)
        part = stratified_part(codes, rows, random)
        model.fit(Z[part], y[part])
    told = "" if len(part) == len(y) else f" on {len(part)} rows"
    return Learned(model, _described(reference, model, len(y)) + told, _numbers(model, Z.shape[1]))


def _within(
    reference: Reference, Z: np.ndarray, y: np.ndarray, budget: float, balanced: bool, seed: int
) -> tuple[int, int]:
    """From how many rows a setting is chosen, and from how many a reference learns, in so many seconds."""
    pilot = stratified_part(np.unique(y, return_inverse=True)[1], PILOT, np.random.RandomState(seed))
    begin = time.monotonic()
    reference.make(balanced, seed).fit(Z[pilot], y[pilot])
    once = max(time.monotonic() - begin, 1e-6)

    def rows(seconds: float) -> int:
        return int((seconds / once) ** (1 / reference.power) * len(pilot))

    # Half for the last fit, a quarter for the fits of the grid, the rest for their predictions and the pilot.
    fits = _FOLDS * max(len(next(iter(reference.grid.values()), ())), 1)
    tuning = rows(budget / 4 / fits) * _FOLDS // (_FOLDS - 1)
    return max(min(tuning, _TUNING_ROWS), _FEWEST_TUNING_ROWS), max(min(rows(budget / 2), len(y)), PILOT)


def _boosted(
    model: Any, Z: np.ndarray, y: np.ndarray, budget: float, random: np.random.RandomState
) -> tuple[Any, np.ndarray]:
    """Boosting that has learned for about so many seconds, and the rows that it has learned from."""
    codes = np.unique(y, return_inverse=True)[1]
    part = stratified_part(codes, _BOOSTED_ROWS, random)
    begin = time.monotonic()
    done, more = 0, _FEWEST_ITERATIONS
    while more:
        done = min(done + more, _ITERATIONS)
        model.set_params(max_iter=done, warm_start=True).fit(Z[part], y[part])
        seconds = max(time.monotonic() - begin, 1e-6)
        more = int(done * (budget / seconds - 1)) if done < _ITERATIONS else 0
        # The first iterations take longest: go on for as long as that is worth another start.
        more = more if 4 * more > done else 0
    n_rows = min(int(len(part) * (budget / seconds - 1)), len(y))
    if done == _ITERATIONS and n_rows > len(part):
        part = stratified_part(codes, n_rows, random)
        model.set_params(warm_start=False).fit(Z[part], y[part])
    return model, part


def _tuned(reference: Reference, Z: np.ndarray, y: np.ndarray, balanced: bool, seed: int) -> Any:
    model = reference.make(balanced, seed)
    counts = np.unique(y, return_counts=True)[1]
    grid = dict(reference.grid)
    if "n_neighbors" in grid:
        grid["n_neighbors"] = [k for k in grid["n_neighbors"] if k <= len(y) * (_FOLDS - 1) // _FOLDS]
    if not grid or counts.max() < _FOLDS:
        return model.set_params(**{name: values[0] for name, values in grid.items()})
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(
        model, grid, cv=folds, scoring="balanced_accuracy" if balanced else "accuracy", refit=False, error_score=0.0
    ).fit(Z, y)
    return clone(model).set_params(**search.best_params_)


def _described(reference: Reference, model: Any, n_rows: int) -> str:
    if isinstance(model, KNeighborsClassifier):
        return f"{model.n_neighbors}-NN on all {n_rows} rows"
    if isinstance(model, SVC):
        return f"{reference.name}, {len(model.support_vectors_)} support vectors"
    if isinstance(model, HistGradientBoostingClassifier) and model.max_iter < _ITERATIONS:
        return f"{reference.name}, {model.max_iter} iterations"
    return reference.name


def _numbers(model: Any, n_features: int) -> int | None:
    """Numbers that a reference stores, the scale of its columns among them."""
    if isinstance(model, DummyClassifier):
        return 1
    scale = 2 * n_features
    if isinstance(model, KNeighborsClassifier):
        return model.n_samples_fit_ * n_features + scale
    if isinstance(model, SVC):
        return model.support_vectors_.size + model.dual_coef_.size + model.intercept_.size + scale
    if isinstance(model, LogisticRegression):
        return model.coef_.size + model.intercept_.size + scale
    return None


def rows_to_test(neighbours: Any, X: Any, y: np.ndarray, *, seconds: float, seed: int = 0) -> np.ndarray:
    """The test rows that all are tested on: all of them, or of many as many as k-NN classifies in the time it has.

    Parameters
    ----------
    neighbours : the fitted k-NN, which takes raw rows
    X, y : test rows and labels
    seconds : that the learning of the prototypes took
    seed : of the part
    """
    if len(y) <= FEWEST_TESTED:
        return np.arange(len(y))
    codes = np.unique(y, return_inverse=True)[1]
    random = np.random.RandomState(seed)
    pilot = stratified_part(codes, FEWEST_TESTED // 10, random)
    begin = time.monotonic()
    neighbours.predict(X[pilot])
    within = max(ALWAYS, SHARE * seconds) * len(pilot) / max(time.monotonic() - begin, 1e-6)
    return stratified_part(codes, int(np.clip(within, FEWEST_TESTED, MOST_TESTED)), random)


def with_preparation(preparation: Any, model: Any) -> Pipeline:
    """A classifier of prepared rows as one of raw rows."""
    return Pipeline([("prepare", preparation), ("classify", model)])
