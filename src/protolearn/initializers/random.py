"""Prototypes drawn from the training set."""

from __future__ import annotations

import numpy as np

from protolearn.data import TrainingSet, batch_rows
from protolearn.initializers.base import class_by_class, initializer


@initializer("random")
def random_samples(
    data: TrainingSet, counts: np.ndarray, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Training samples of each class, drawn without repetition, a heavier one more often (LPD 3.2).

    Equal samples are one point with the sum of their weights: two prototypes at one point never part, and a row of
    weight 2 draws like that row twice. A class with fewer distinct points than asked for gives them all.
    """

    def choose(rows: np.ndarray, n: int) -> np.ndarray:
        first = distinct_rows(data, rows)
        weight = np.add.reduceat(data.weights(rows), first)
        return data.rows(random.choice(rows[first], min(n, len(first)), replace=False, p=weight / weight.sum()))

    return class_by_class(data, counts, choose)


def distinct_rows(data: TrainingSet, rows: np.ndarray) -> np.ndarray:
    """Where each run of equal samples begins in `rows`, which are in content order: equal ones are neighbours."""
    size = batch_rows(data.n_features, data.dtype.itemsize)
    new = np.ones(len(rows), dtype=bool)
    for start in range(0, len(rows) - 1, size):
        batch = data.rows(rows[start : start + size + 1])
        new[start + 1 : start + size + 1] = (batch[1:] != batch[:-1]).any(axis=1)
    return np.flatnonzero(new)
