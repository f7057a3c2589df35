"""Prototypes at the means of their classes."""

from __future__ import annotations

import numpy as np

from protolearn.data import TrainingSet, batch_rows
from protolearn.initializers.base import class_by_class, initializer

# Prototypes at one point never part: the lowest index wins every tie. A hundredth of the spread parts them.
_JITTER = 0.01


def weighted_mean(data: TrainingSet, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of some rows by their weights, in float64."""
    size = batch_rows(data.n_features, 8)
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    total = data.weights(rows).sum()
    mean = sum(data.weights(part) @ data.rows(part).astype(np.float64) for part in parts) / total
    variance = sum(data.weights(part) @ (data.rows(part) - mean) ** 2 for part in parts) / total
    return mean, np.sqrt(variance)


@initializer("class_mean")
def class_mean(data: TrainingSet, counts: np.ndarray, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """The class mean; several prototypes of a class differ by normal noise of 0.01 standard deviations (LaMaLVQ)."""

    def choose(rows: np.ndarray, n: int) -> np.ndarray:
        mean, spread = weighted_mean(data, rows)
        noise = random.standard_normal((n, len(mean))) if n > 1 else np.zeros((1, len(mean)))
        return mean + _JITTER * spread * noise

    return class_by_class(data, counts, choose)
