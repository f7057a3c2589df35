"""How many prototypes are enough: accuracy in cross-validation over a growing number of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

COUNTS = (1, 2, 3, 5, 8, 13, 21, 34, 55)
# Two numbers in a row that bring nothing: more will not either.
_PATIENCE = 2

Fold = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class TradeoffPoint:
    """Cross-validated accuracy with a number of prototypes.

    per_class : prototypes of each class asked for
    prototypes : prototypes of all classes, the mean over the folds
    accuracy : mean over the folds
    spread : standard error of that mean
    """

    per_class: int
    prototypes: float
    accuracy: float
    spread: float


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
    folds = []
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
    watch: Callable[[], None] | None = None,
) -> Iterator[TradeoffPoint]:
    """Points of the trade-off, one after the other, until more prototypes bring nothing.

    The walk ends where all of them would be half the training set, or after two numbers in a row without a gain.

    Parameters
    ----------
    classifier : with a parameter `n_prototypes`
    folds : as `folds_of` gives them
    counts : numbers of prototypes for each class, growing
    watch : called after each fit

    Yields
    ------
    point : TradeoffPoint
    """
    best, since = -np.inf, 0
    n_rows, n_classes = len(folds[0][1]), len(np.unique(folds[0][1]))
    for count in counts:
        if count != counts[0] and (2 * count * n_classes > n_rows or since >= _PATIENCE):
            return
        scores, sizes = [], []
        for X, y, X_test, y_test in folds:
            model = clone(classifier).set_params(n_prototypes=int(count))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores.append(model.fit(X, y).score(X_test, y_test))
            sizes.append(len(model.prototypes_))
            if watch is not None:
                watch()
        spread = float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
        yield TradeoffPoint(int(count), float(np.mean(sizes)), float(np.mean(scores)), spread)
        since = 0 if np.mean(scores) > best else since + 1
        best = max(best, float(np.mean(scores)))


def smallest_within_one_error(points: Sequence[TradeoffPoint]) -> TradeoffPoint:
    """The fewest prototypes whose accuracy is within one standard error of the best.

    Parameters
    ----------
    points : one or more

    Returns
    -------
    point : TradeoffPoint
    """
    best = max(points, key=lambda point: point.accuracy)
    enough = [point for point in points if point.accuracy >= best.accuracy - best.spread]
    return min(enough, key=lambda point: point.prototypes)
