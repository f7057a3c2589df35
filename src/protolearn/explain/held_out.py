"""What rows with known classes add to explanations: how often a model is right, and what its prototypes are like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from protolearn.data.containers import rows_of
from protolearn.explain.explanation import certainty
from protolearn.explain.units import units_of

# Rows that a frequency is counted on, at least and, of many rows, at most so many groups.
_FEWEST, _MOST_GROUPS = 20, 10
_AT_A_TIME = 4096


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
    units, classifier = units_of(model)
    y, labels = np.asarray(y), classifier.prototype_labels_
    nearest, least = np.full(len(labels), -1), np.full(len(labels), np.inf)
    for start in range(0, len(y), _AT_A_TIME):
        part = np.arange(start, min(start + _AT_A_TIME, len(y)))
        rows = rows_of(X, part)
        D = np.where(y[part, None] == labels, classifier.transform(units.features(rows)), np.inf)
        closer = D.min(axis=0) < least
        nearest[closer], least[closer] = part[D.argmin(axis=0)][closer], D.min(axis=0)[closer]
    classifier.case_names_ = np.array([names[row] if row >= 0 else "" for row in nearest])


def _classifier(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model
