"""The 1-NN error of a training set whose samples are classified by all the others."""

from __future__ import annotations

import numpy as np

from protolearn.data import TrainingSet, batch_rows
from protolearn.metrics import Metric

# Some seconds' worth of distances; a larger set is judged by a part of its samples against all.
_MOST_DISTANCES = 2e8
_LEAST_JUDGED = 1000


def leave_one_out_error(data: TrainingSet, metric: Metric) -> float:
    """Weighted share of samples whose nearest other sample, under the metric of that one's class, is of another class.

    A row of weight 2 stands for two samples, so it is its own nearest neighbour. Of equally near samples the one with
    the lowest index counts. The metric's own parameters (the variances of CDVW) are those of the whole set.
    """
    everything = metric.start(data.rows(slice(None)), data.y, data)
    n_judged = int(min(data.n_samples, max(_LEAST_JUDGED, _MOST_DISTANCES // data.n_samples)))
    judged = data.content_order[:n_judged]
    size = max(batch_rows(data.n_samples, data.dtype.itemsize), 1)
    wrong = total = 0.0
    for first in range(0, n_judged, size):
        rows = judged[first : first + size]
        weight = data.weights(rows)
        D = metric.distances(data.rows(rows), everything)
        alone = weight <= 1.0
        D[np.flatnonzero(alone), rows[alone]] = np.inf
        wrong += float(weight @ (data.y[D.argmin(axis=1)] != data.y[rows]))
        total += float(weight.sum())
    return wrong / total
