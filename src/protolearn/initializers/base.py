"""Where prototypes start: a function (data, counts, random) -> positions, labels, registered by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from protolearn.core.registry import Registry
from protolearn.data import TrainingSet

Initializer = Callable[[TrainingSet, np.ndarray, np.random.RandomState], tuple[np.ndarray, np.ndarray]]
INITIALIZERS = Registry("init")


def initializer(name: str) -> Callable[[Initializer], Initializer]:
    """Register a function as an initializer."""

    def add(function: Initializer) -> Initializer:
        INITIALIZERS.add(name, function)
        return function

    return add


def class_by_class(
    data: TrainingSet,
    counts: np.ndarray,
    choose: Callable[[np.ndarray, int], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Positions that `choose(rows of the class, number wanted)` gives for each class in turn."""
    coded = [(choose(data.class_rows(code), int(n)), code) for code, n in enumerate(counts) if n > 0]
    labels = [np.full(len(positions), code) for positions, code in coded]
    return np.concatenate([positions for positions, _ in coded]), np.concatenate(labels)
