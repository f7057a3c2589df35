"""The training row that is nearest to each prototype."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.core.threads import one_blas_thread
from protolearn.data import TrainingSet, dense_rows, row_slices
from protolearn.metrics import Metric

# What prototypes stay inside: the range of each feature in the training set, or nothing.
BOUNDS = ("data", None)


def nearest_cases(prototypes: PrototypeSet, data: TrainingSet, metric: Metric) -> np.ndarray:
    """The index of the row nearest to each prototype among those of its class, the first on a tie.

    -1 where the class has no row.
    """
    found = np.full(len(prototypes), -1)
    for code in np.unique(prototypes.labels):
        members = np.flatnonzero(prototypes.labels == code)
        slot = prototypes.slot[members]
        own = PrototypeSet(prototypes.positions[members], prototypes.labels[members], prototypes.theta, slot)
        rows = np.flatnonzero(data.y == code)
        least = np.full(len(members), np.inf)
        for part in row_slices(len(rows), max(len(members), data.n_features), data.dtype.itemsize):
            # A prototype that is too far to measure has no nearest row.
            with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
                D = metric.distances(dense_rows(data.X, rows[part], data.dtype), own)
            first = D.argmin(axis=0)
            nearest = D[first, np.arange(len(members))]
            nearer = nearest < least
            found[members[nearer]], least[nearer] = rows[part][first[nearer]], nearest[nearer]
    return found


def rows_that_count(sample_weight: Any) -> np.ndarray | None:
    """The indices of the rows with a weight above zero; None where all have one."""
    weight = None if sample_weight is None else np.asarray(sample_weight)
    if weight is None or weight.ndim == 0 or (weight > 0).all():
        return None
    return np.flatnonzero(weight > 0)
