"""What a solver needs of the samples, wherever they are: sums over batches of rows, and their moments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from protolearn.data.training_set import TrainingSet

# (X, y, weight) of one dense batch -> something that adds up; and how it adds up.
OfBatch = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]
Combine = Callable[[Any, Any], Any]


class Reducible(Protocol):
    """Some samples that can be summed over."""

    def reduce(
        self, function: OfBatch, n_columns: int, combine: Combine = operator.add, work: float | None = None
    ) -> Any:
        """The sum over dense batches of what `function` makes of each."""


@dataclass(frozen=True)
class Batch:
    """A mini-batch: some dense rows, their class codes and weights."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    def reduce(
        self, function: OfBatch, n_columns: int, combine: Combine = operator.add, work: float | None = None
    ) -> Any:
        """What `function` makes of the batch."""
        return function(self.X, self.y, self.weight)


class Samples:
    """Base of the sets that solvers take: `TrainingSet` in memory, `BlockedSet` anywhere else.

    n_classes, n_features, n_samples : sizes
    dtype : the number type to compute in
    input_dtype : the number type of the rows as the user gave them, and of the fitted prototypes
    class_counts : rows of each class, not weighted
    total_weight : sum of the weights
    n_chains : how many walks over the samples go on at the same time (see `walk`)

    Functions that are passed to `reduce`, `walk` and `on_sample` may run in another process: they are module level
    functions, or `functools.partial` of them.
    """

    n_classes: int
    n_features: int
    n_samples: int
    dtype: np.dtype
    input_dtype: np.dtype
    class_counts: np.ndarray
    total_weight: float
    n_chains: int = 1
    in_memory: bool = True

    def reduce(
        self, function: OfBatch, n_columns: int, combine: Combine = operator.add, work: float | None = None
    ) -> Any:
        """The sum over dense batches of what `function` makes of each: the one operation a batch solver needs.

        n_columns : the widest matrix that `function` makes for a row
        work : multiply-adds that it takes for a row, where they are not one for each feature and column
        """
        raise NotImplementedError("abstract: samples add up")

    def walk(self, step: Callable[[Any, TrainingSet, int], Any], state: Any) -> list[Any]:
        """Where `state` arrives after `step(state, block, number)` over all blocks, in `n_chains` walks at a time.

        Each walk begins at `state` and reads its share of the blocks, one after the other.
        """
        raise NotImplementedError("abstract: samples can be walked over")

    def on_sample(self, function: Callable[[TrainingSet], Any], least_rows: int = 0) -> Any:
        """What `function` makes of a set that fits in memory: all samples, or a stratified sample of them."""
        raise NotImplementedError("abstract: samples can be sampled")

    def split(self, share: float, random: np.random.RandomState) -> tuple[Samples, Samples]:
        """The samples without a random share of each class, and that share."""
        raise NotImplementedError("abstract: samples can be split")

    def batches(self, batch_size: int, random: np.random.RandomState | None) -> Iterator[Reducible]:
        """Mini-batches of one epoch, in random order or, without `random`, as the rows stand."""
        raise NotImplementedError("abstract: samples come in batches")

    def n_batches(self, batch_size: int) -> int:
        """About how many mini-batches an epoch has."""
        return -(-self.n_samples // batch_size)

    @cached_property
    def mean(self) -> np.ndarray:
        """Weighted mean of the features, in float64."""
        return self.reduce(_weighted_sum, self.n_features) / self.total_weight

    @cached_property
    def covariance(self) -> np.ndarray:
        """Weighted covariance matrix of the features, in float64."""
        return self.reduce(partial(_scatter, mean=self.mean), self.n_features) / self.total_weight

    @cached_property
    def mean_variance(self) -> float:
        """The weighted variance of a feature, the mean over the features."""
        squares = self.reduce(partial(_squares, mean=self.mean), self.n_features)
        return float(squares) / (self.total_weight * self.n_features)

    @cached_property
    def feature_ranges(self) -> np.ndarray:
        """(2, n_features): the least and the largest value of each feature, in float64."""
        return self.reduce(_extremes, self.n_features, _widest)

    @cached_property
    def squared_half_range(self) -> float:
        """Mean over the features of ((max - min) / 2)^2: 1 on features scaled to [-1, 1]."""
        low, high = self.feature_ranges
        return float(np.mean(((high - low) / 2.0) ** 2)) or 1.0


def _weighted_sum(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return weight @ X.astype(np.float64)


def _scatter(X: np.ndarray, y: np.ndarray, weight: np.ndarray, *, mean: np.ndarray) -> np.ndarray:
    centred = X - mean
    return (centred * weight[:, None]).T @ centred


def _squares(X: np.ndarray, y: np.ndarray, weight: np.ndarray, *, mean: np.ndarray) -> float:
    away = X - mean
    return float(weight @ np.einsum("ij,ij->i", away, away, dtype=np.float64))


def _extremes(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.stack([X.min(axis=0), X.max(axis=0)]).astype(np.float64)


def _widest(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.stack([np.minimum(one[0], other[0]), np.maximum(one[1], other[1])])
