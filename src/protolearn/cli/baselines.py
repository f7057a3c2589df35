"""The table that `fit` prints: 1-NN on everything, an RBF SVM, the prototypes."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

# Predictions are timed on at least so many rows at once, so that the call itself does not count.
_TIMED_ROWS = 2000
_REPEATS = 5
_TUNED_ROWS = 3000
_MOST_SVM_ROWS = 20_000
_BYTES = 8


def measured(method: str, model: Any, numbers: int, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """A row of the table; times are medians, of many predictions at once."""
    accuracy = float(np.mean(model.predict(X) == y))
    many = np.tile(X, (-(-_TIMED_ROWS // len(X)), 1)) if len(X) < _TIMED_ROWS else X
    times = []
    for _ in range(_REPEATS):
        begin = time.perf_counter()
        model.predict(many)
        times.append(time.perf_counter() - begin)
    return {
        "method": method,
        "accuracy": accuracy,
        "numbers": int(numbers),
        "kilobytes": numbers * _BYTES / 1024,
        "microseconds": 1e6 * statistics.median(times) / len(many),
    }


def nearest_neighbour(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, Any]:
    """1-NN on the whole training set."""
    from sklearn.neighbors import KNeighborsClassifier

    return measured(f"1-NN on all {len(X)} rows", KNeighborsClassifier(1).fit(X, y), X.size, X_test, y_test)


def support_vectors(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, Any] | None:
    """An RBF SVM, C chosen from 1, 10 and 100 by cross-validation where that is quick; None for very many rows."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    if len(X) > _MOST_SVM_ROWS:
        return None
    model: Any = SVC(C=10.0)
    if len(X) <= _TUNED_ROWS and np.unique(y, return_counts=True)[1].min() >= 3:
        model = GridSearchCV(SVC(), {"C": [1.0, 10.0, 100.0]}, cv=3).fit(X, y).best_estimator_
    else:
        model.fit(X, y)
    numbers = model.support_vectors_.size + model.dual_coef_.size + model.intercept_.size
    return measured(f"RBF SVM, {len(model.support_vectors_)} support vectors", model, numbers, X_test, y_test)


def prototypes(model: Any, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, Any]:
    """The prototypes, with the numbers of their metric."""
    numbers = model.prototypes_.size + getattr(model, "_theta", np.empty(0)).size
    if getattr(model, "classify_by", "prototypes") == "mixture":
        numbers += model.variances_.size + model.priors_.size
    name = f"{type(model).__name__}, {len(model.prototypes_)} prototypes"
    return measured(name, model, numbers, X_test, y_test)
