"""Prototypes drawn from the training set."""

from __future__ import annotations

import numpy as np

from protolearn.data import TrainingSet
from protolearn.initializers.base import class_by_class, initializer


@initializer("random")
def random_samples(
    data: TrainingSet, counts: np.ndarray, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Training samples of each class, drawn without repetition, a heavier one more often (LPD 3.2)."""

    def choose(rows: np.ndarray, n: int) -> np.ndarray:
        weight = data.weights(rows)
        return data.rows(random.choice(rows, n, replace=False, p=weight / weight.sum()))

    return class_by_class(data, counts, choose)
