"""What rows with known classes add to explanations: how often a model is right, and what its prototypes are like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from protolearn.data import TrainingSet
from protolearn.data.containers import rows_of
from protolearn.estimators.cases import nearest_cases
from protolearn.explain.explanation import certainty
from protolearn.explain.units import units_of

# Rows that a frequency is counted on, at least and, of many rows, at most so many groups.
_FEWEST, _MOST_GROUPS = 20, 10
# Distances of rows to prototypes that naming the nearest rows is worth, of many stored rows.
_MOST_DISTANCES = 1e9


def note_frequencies(model: Any, X: Any, y: Any) -> None:
    """Store in a model how often it is right on rows that it did not learn from, by certainty.

    `reliability_` of the classifier gets a row for each group of like certainty: the least certainty, how many of its
    rows are classified rightly, and how many there are. `explain` reads them as `frequency`.

    Parameters
    ----------
    model : as in `explain`
    X : what `model.predict` takes, rows that the model did not learn from
    y : array-like of shape (n_rows,)
        Their classes.
    """
    right = np.asarray(model.predict(X)) == np.asarray(y)
    sure = certainty(model, X)
    groups = min(_MOST_GROUPS, len(right) // _FEWEST)
    if groups:
        order = np.argsort(sure, kind="stable")
        found = [(sure[part[0]], right[part].sum(), len(part)) for part in np.array_split(order, groups)]
        _classifier(model).reliability_ = np.array(found, dtype=np.float64)


def note_cases(model: Any, X: Any, y: Any, names: Sequence[str]) -> None:
    """Store in a model of one set what its prototypes are like: the names of the nearest rows of their classes.

    Parameters
    ----------
    model : as in `explain`
    X, y : rows and their classes
    names : of the rows
    """
    classifier = units_of(model)[1]
    if len(classifier.prototype_labels_) * len(y) <= _MOST_DISTANCES:
        rows = nearest_rows(model, X, y)
        classifier.case_names_ = np.array([names[row] if row >= 0 else "" for row in rows])


def nearest_rows(model: Any, X: Any, y: Any) -> np.ndarray:
    """For each of `prototypes_`, the index of the nearest row of its class; -1 where the class has no row."""
    units, classifier = units_of(model)
    metric, prototypes = classifier._prototype_set()
    known = np.flatnonzero(np.isin(y, classifier.classes_))
    codes = np.searchsorted(classifier.classes_, np.asarray(y)[known])
    data = TrainingSet(units.features(rows_of(X, known)), codes, None, len(classifier.classes_))
    nearest = nearest_cases(prototypes.astype(np.dtype(np.float64)), data, metric)
    found = np.full(len(nearest), -1)
    found[classifier._class_order()] = np.where(nearest < 0, -1, known[nearest])
    return found


def _classifier(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model
