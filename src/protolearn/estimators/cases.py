"""The training row that is nearest to each prototype."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.core.threads import one_blas_thread
from protolearn.data import TrainingSet, dense_rows, row_slices
from protolearn.metrics import Metric

# What prototypes stay inside: the range of each feature in the training set, the middle of their class, or nothing.
BOUNDS = ("data", "class", None)
# The middle: the values between these shares of the rows of a class.
_MIDDLE = (0.1, 0.9)


def middle_of_classes(data: TrainingSet, labels: np.ndarray) -> np.ndarray:
    """The box of each prototype (see `Plan`): where the middle four fifths of its class lie, and the class mean."""
    boxes = np.empty((2, len(labels), data.n_features))
    for code in np.unique(labels):
        rows = np.flatnonzero(data.y == code)
        X, weight = data.rows(rows).astype(np.float64), data.weights(rows)
        order = X.argsort(axis=0)
        reached = weight[order].cumsum(axis=0)
        mean = np.average(X, axis=0, weights=weight)
        for box, share, widened in zip(boxes, _MIDDLE, (np.minimum, np.maximum), strict=True):
            # A row of weight 2 counts as that row twice, whatever the rounding of the sums.
            place = (reached < (1.0 - 1e-9) * share * reached[-1]).sum(axis=0)
            at = np.take_along_axis(order, place[None], axis=0)
            box[labels == code] = widened(np.take_along_axis(X, at, axis=0)[0], mean)
    return boxes


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
