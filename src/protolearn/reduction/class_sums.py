"""Sums over the rows of a class, or over those of all classes at once, wherever the samples are."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from protolearn.data import Samples, TrainingSet
from protolearn.data.samples import Combine

# Products with a handful of components gain nothing from batches that fit in cache, and many small ones cost time.
_BATCH_BYTES = 1 << 23

# (X in float64, weight) of some rows of a class -> something that adds up.
OfRows = Callable[[np.ndarray, np.ndarray], Any]


def sum_over_class(data: Samples, code: int, function: OfRows, combine: Combine = operator.add) -> Any:
    """The sum over one class."""
    if isinstance(data, TrainingSet):
        return reduce(combine, (function(X, weight) for X, weight in class_batches(data, code)))
    return data.reduce(partial(_of_class, code, function), data.n_features, combine)


def class_batches(data: TrainingSet, code: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of a class in float64 and their weights, batch by batch, in content order."""
    members = data.class_rows(code)
    size = max(_BATCH_BYTES // (8 * data.n_features), 1)
    for start in range(0, len(members), size):
        rows = members[start : start + size]
        yield data.rows(rows).astype(np.float64, copy=False), data.weights(rows)


def sums_over_classes(data: Samples, functions: Sequence[OfRows], combine: Combine = operator.add) -> list[Any]:
    """The sum over each class of its own function: in one pass where the samples are in blocks."""
    if isinstance(data, TrainingSet):
        return [sum_over_class(data, code, function, combine) for code, function in enumerate(functions)]
    return data.reduce(partial(_of_classes, functions), data.n_features, partial(_each, combine))


def _of_class(code: int, function: OfRows, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
    members = y == code
    return function(X[members].astype(np.float64, copy=False), weight[members]) if members.any() else None


def _of_classes(functions: Sequence[OfRows], X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> list[Any]:
    return [_of_class(code, function, X, y, weight) for code, function in enumerate(functions)]


def _each(combine: Combine, one: list[Any], other: list[Any]) -> list[Any]:
    return [b if a is None else a if b is None else combine(a, b) for a, b in zip(one, other, strict=True)]
