"""How many prototypes are enough: accuracy in cross-validation over a growing number of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold

from protolearn.data import TrainingSet

COUNTS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987)
# Two numbers in a row that bring nothing: more will not either.
_PATIENCE = 2

# Rows and labels to learn from, rows and labels to judge by, and, where rows have them, the weights of both.
Fold = tuple[np.ndarray, ...]
# Folds of n_prototypes="auto", and rows that they are made of at most.
_FOLDS, _MOST_ROWS = 3, 20_000


@dataclass(frozen=True)
class TradeoffPoint:
    """Cross-validated accuracy with a number of prototypes.

    per_class : prototypes of each class asked for
    prototypes : prototypes of all classes, the mean over the folds
    accuracy : mean over the folds
    spread : standard error of that mean
    scores : of the folds
    """

    per_class: int
    prototypes: float
    accuracy: float
    spread: float
    scores: tuple[float, ...]


def folds_of(X: Any, y: np.ndarray, prepare: Any, *, n_folds: int = 5, seed: int = 0) -> list[Fold]:
    """Stratified folds, each prepared by a fresh fit on its own training part.

    Parameters
    ----------
    X : data frame or array, rows by `X[indices]`
    y : array of labels
    prepare : transformer
    n_folds : int
        Fewer where no class has that many rows.
    seed : int

    Returns
    -------
    folds : list of (X_train, y_train, X_test, y_test)
    """
    largest = int(np.unique(y, return_counts=True)[1].max())
    if largest < 2:
        raise ValueError(
            "Every class has one row only, so that none is left to test on; give the table more rows of each class."
        )
    splitter = StratifiedKFold(max(min(n_folds, largest), 2), shuffle=True, random_state=seed)
    folds: list[Fold] = []
    with warnings.catch_warnings():
        # A class with fewer rows than folds is missing from some of them, which does no harm here.
        warnings.simplefilter("ignore")
        for train, test in splitter.split(np.zeros(len(y)), y):
            fitted = clone(prepare)
            folds.append((fitted.fit_transform(X[train]), y[train], fitted.transform(X[test]), y[test]))
    return folds


def walk_tradeoff(
    classifier: Any,
    folds: Sequence[Fold],
    counts: Sequence[int] = COUNTS,
    *,
    score: Callable[..., float] = accuracy_score,
    watch: Callable[[int, int, float], None] | None = None,
) -> Iterator[TradeoffPoint]:
    """Points of the trade-off, one after the other, for as long as the score rises beyond its error.

    The walk ends where the prototypes would be half the training set, or after two numbers in a row whose score is not
    above the best before them by more than the standard error of the difference over the folds.

    Parameters
    ----------
    classifier : with a parameter `n_prototypes`
    folds : as `folds_of` gives them
    counts : numbers of prototypes for each class, growing
    score : of true and predicted labels, with weights where rows have them, such as scikit-learn's
        balanced_accuracy_score
    watch : called after each fit with the number a class, the fits that this number still needs, and the seconds of
        the one that is done

    Yields
    ------
    point : TradeoffPoint
    """
    best, since = None, 0
    n_rows, n_classes = len(folds[0][1]), len(np.unique(folds[0][1]))
    for count in counts:
        if count != counts[0] and (2 * count * n_classes > n_rows or since >= _PATIENCE):
            return
        scores, sizes = [], []
        for X, y, X_test, y_test, *weights in folds:
            begin = time.monotonic()
            model = clone(classifier).set_params(n_prototypes=int(count))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                predicted = model.fit(X, y, *weights[:1]).predict(X_test)
            judged = {"sample_weight": weights[1]} if weights else {}
            scores.append(float(score(y_test, predicted, **judged)))
            sizes.append(len(model.prototypes_))
            if watch is not None:
                watch(count, len(folds) - len(scores), time.monotonic() - begin)
        point = TradeoffPoint(
            int(count), float(np.mean(sizes)), float(np.mean(scores)), _standard_error(scores), tuple(scores)
        )
        yield point
        if best is None or above(point, best):
            best, since = point, 0
        else:
            since += 1


def count_by_folds(classifier: Any, classes: np.ndarray, data: TrainingSet) -> int:
    """How many prototypes a class n_prototypes="auto" takes: the fewest that held-out rows do not tell from the best.

    Parameters
    ----------
    classifier : unfitted
    classes : labels of the class codes
    data : rows in memory; of many a stratified part
    """
    quiet = {"verbose": 0, "callback": None, "warm_start": False}
    known = classifier.get_params(deep=False)
    classifier = clone(classifier).set_params(**{name: value for name, value in quiet.items() if name in known})
    X, y, weight = _distinct_rows(data)
    random = np.random.RandomState(0)
    if len(y) > _MOST_ROWS:
        rows = np.sort(random.permutation(len(y))[:_MOST_ROWS])
        X, y, weight = X[rows], y[rows], weight[rows]
    largest = int(np.bincount(y).max())
    if largest < 2:
        return 1
    splitter = StratifiedKFold(min(_FOLDS, largest), shuffle=True, random_state=random)
    folds: list[Fold] = []
    with warnings.catch_warnings():
        # A class with fewer rows than folds is missing from some of them, which does no harm here.
        warnings.simplefilter("ignore")
        for train, test in splitter.split(y, y):
            fold = X[train], classes[y[train]], X[test], classes[y[test]]
            folds.append(fold if (weight == 1.0).all() else (*fold, weight[train], weight[test]))
    if any(len(np.unique(fold[1])) < 2 for fold in folds):
        return 1
    try:
        points = list(walk_tradeoff(classifier, folds))
    except ValueError:
        # Some methods need two prototypes of each class.
        points = list(walk_tradeoff(classifier, folds, COUNTS[1:]))
    return smallest_within_one_error(points).per_class


def _distinct_rows(data: TrainingSet) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows in the order of their contents, equal ones as one of their weight: weight 2 counts as a row twice."""
    order = data.content_order
    X, y = data.X[order], data.y[order]
    weight = np.ones(len(y)) if data.weight is None else data.weight[order]
    differs = X[1:] != X[:-1]
    differs = np.diff(differs.indptr) > 0 if sparse.issparse(X) else differs.any(axis=1)
    first = np.flatnonzero(np.append(True, (y[1:] != y[:-1]) | differs))
    return X[first], y[first], np.add.reduceat(weight, first)


def above(point: TradeoffPoint, other: TradeoffPoint) -> bool:
    """Whether a point is better than another by more than the standard error of the difference over the folds."""
    difference = np.subtract(point.scores, other.scores)
    return bool(difference.mean() > _standard_error(difference))


def smallest_within_one_error(points: Sequence[TradeoffPoint]) -> TradeoffPoint:
    """The point of fewest prototypes that is within one standard error of the most accurate one.

    The error is that of the difference of the two over the same folds. The error of the most accurate point alone would
    be larger where one fold is hard for every number of prototypes, and too few of them would do.

    Parameters
    ----------
    points : one or more

    Returns
    -------
    point : TradeoffPoint
    """
    best = max(points, key=lambda point: point.accuracy)
    return min((point for point in points if not above(best, point)), key=lambda point: point.prototypes)


def _standard_error(values: Any) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))
