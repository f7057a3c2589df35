"""Samples in blocks that live elsewhere: on disk, behind a function, on the workers of a cluster."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from protolearn.data.samples import Combine, OfBatch, Reducible, Samples
from protolearn.data.survey import Survey, as_rows, join_surveys, survey_block
from protolearn.data.training_set import TrainingSet, dtype_for

# A stratified sample of this size fits anywhere, and holds 500 rows of each class of MNIST.
_SAMPLE_BYTES = 1 << 25
# One step of Adam on a cluster is a round trip: an epoch of more steps would be made of waiting.
_MOST_ROUND_TRIPS = 50

OfRawBlock = Callable[[int, Any, Any, Any], Any]


class BlockSource(Protocol):
    """Where blocks come from. A block is (number from 0, X, y, weight or None), as the user stores it.

    visits : blocks come to this process one by one, so that work between two of them costs nothing
    feature_names : names of the columns, where they have any
    """

    visits: bool
    feature_names: list[str] | None

    @property
    def n_chains(self) -> int:
        """How many walks go on at the same time."""

    def reduce(self, function: OfRawBlock, combine: Combine, finish: Callable[[Any], Any] | None = None) -> Any:
        """`function` of each block, combined (None is left out), and `finish` of the result, where the blocks are."""

    def walk(self, step: Callable[..., Any], state: Any) -> list[Any]:
        """`step(state, number, X, y, weight)` from block to block, in `n_chains` walks; where each of them ends."""

    def blocks(self) -> Iterator[tuple[int, Any, Any, Any]]:
        """All blocks in order, in this process; only where `visits`."""


@dataclass(frozen=True)
class Reader:
    """Turns a block as stored into a training set of class codes, the same way in every process.

    part : (seed, from, to): of each block only the rows whose random number is in this range; None for all
    """

    classes: np.ndarray
    n_features: int
    dtype: np.dtype
    class_factor: np.ndarray | None = None
    part: tuple[int, float, float] | None = None

    def read(self, number: int, X: Any, y: Any, weight: Any) -> TrainingSet | None:
        """The rows of a block that count; None where there are none."""
        X, y, weight = as_rows(number, X, y, weight)
        if X.shape[1] != self.n_features:
            raise ValueError(f"Block {number} has {X.shape[1]} columns instead of {self.n_features}; has it changed?")
        codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        if not np.array_equal(self.classes[codes], y):
            unknown = y[self.classes[codes] != y][0]
            raise ValueError(f"Block {number} holds class {unknown!s}, which it did not have before; has it changed?")
        keep = np.ones(len(codes), dtype=bool) if weight is None else weight > 0
        if self.part is not None:
            seed, low, high = self.part
            drawn = np.random.default_rng([seed, number]).random(len(codes))
            keep &= (low <= drawn) & (drawn < high)
        if not keep.any():
            return None
        if not keep.all():
            X, codes, weight = X[keep], codes[keep], None if weight is None else weight[keep]
        if self.class_factor is not None:
            weight = self.class_factor[codes] if weight is None else weight * self.class_factor[codes]
        return TrainingSet(X, codes, weight, len(self.classes), self.dtype)


@dataclass(frozen=True)
class BlockedSet(Samples):
    """Samples that are never in one place; every number about them is a sum over blocks.

    Sums are taken where the blocks are: what travels is the function with its prototypes, and its result.
    """

    source: BlockSource
    reader: Reader
    n_samples: int
    total_weight: float
    class_counts: np.ndarray
    input_dtype: np.dtype
    in_memory = False

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """Number of classes."""
        return len(self.reader.classes)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns."""
        return self.reader.n_features

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        """The number type to compute in."""
        return self.reader.dtype

    @property
    def n_chains(self) -> int:  # type: ignore[override]
        """How many walks go on at the same time."""
        return self.source.n_chains

    def reduce(
        self, function: OfBatch, n_columns: int, combine: Combine = operator.add, work: float | None = None
    ) -> Any:
        """The sum over all blocks, each of which is summed in parts that fit in cache."""
        return self.source.reduce(partial(_sum_of_block, self.reader, function, n_columns, combine, work), combine)

    def walk(self, step: Callable[[Any, TrainingSet, int], Any], state: Any) -> list[Any]:
        """Walks over the blocks; a block of which no row counts is passed over."""
        return self.source.walk(partial(_step_on_block, self.reader, step), state)

    def on_sample(self, function: Callable[[TrainingSet], Any], least_rows: int = 0) -> Any:
        """What `function` makes of a sample with equally many rows of each class, or all where a class has fewer.

        A class gets its share of 32 MB, and `least_rows` at least. Blocks draw by their number, so that the sample does
        not depend on where they are; the function runs where the sample is.
        """
        share = _SAMPLE_BYTES // (self.dtype.itemsize * self.n_features * self.n_classes)
        most = max(share, least_rows, 1)
        # A few more are drawn than wanted, since how many rows draw a number below a bound is a matter of chance.
        below = (most + 6.0 * np.sqrt(most) + 10.0) / np.maximum(self.class_counts, 1)
        draw = partial(_draw, self.reader, below)
        return self.source.reduce(draw, operator.add, partial(_on_drawn, self.reader, most, function))

    def split(self, share: float, random: np.random.RandomState) -> tuple[BlockedSet, BlockedSet]:
        """The rows whose random number is at least `share`, and the others."""
        seed = random.randint(2**31 - 1)
        return self._part(seed, share, 1.0), self._part(seed, 0.0, share)

    def _part(self, seed: int, low: float, high: float) -> BlockedSet:
        reader = replace(self.reader, part=(seed, low, high))
        found = self.source.reduce(partial(_count, reader), operator.add)
        counts = np.zeros((2, self.n_classes)) if found is None else found
        return replace(
            self,
            reader=reader,
            n_samples=int(counts[0].sum()),
            total_weight=float(counts[1].sum()),
            class_counts=counts[0].astype(np.int64),
        )

    def n_batches(self, batch_size: int) -> int:
        """Mini-batches of an epoch: on a cluster each holds a part of every block, and there are 50 at most."""
        n = super().n_batches(batch_size)
        return n if self.source.visits else min(n, _MOST_ROUND_TRIPS)

    def batches(self, batch_size: int, random: np.random.RandomState | None) -> Iterator[Reducible]:
        """Mini-batches of the blocks in turn or, on a cluster, of all blocks together."""
        if self.source.visits:
            for block in self.source.blocks():
                rows = self.reader.read(*block)
                if rows is not None:
                    yield from rows.batches(batch_size, random)
            return
        seed = 0 if random is None else random.randint(2**31 - 1)
        bounds = np.linspace(0.0, 1.0, self.n_batches(batch_size) + 1)
        low, high = (0.0, 1.0) if self.reader.part is None else self.reader.part[1:]
        seed = seed if self.reader.part is None else self.reader.part[0]
        for first, last in itertools.pairwise(bounds):
            part = (seed, low + (high - low) * first, low + (high - low) * last)
            yield replace(self, reader=replace(self.reader, part=part))


def blocked_set(source: BlockSource, weigh: Callable[[Survey], np.ndarray | None]) -> tuple[BlockedSet, Survey]:
    """Look at every block once, and make a set of them; `weigh` gives the weight of each class, if any."""
    survey = source.reduce(survey_block, join_surveys)
    if survey is None:
        raise ValueError("There is no row with a weight above zero in any block; give at least two classes one.")
    factor = weigh(survey)
    weights = survey.weights if factor is None else survey.weights * factor
    dtype = dtype_for(survey.dtype, survey.low, survey.high)
    reader = Reader(survey.classes, survey.n_columns, dtype, factor)
    n = int(survey.counts.sum())
    return BlockedSet(source, reader, n, float(weights.sum()), survey.counts, survey.dtype), survey


def _sum_of_block(
    reader: Reader,
    function: OfBatch,
    n_columns: int,
    combine: Combine,
    work: float | None,
    number: int,
    X: Any,
    y: Any,
    weight: Any,
) -> Any:
    rows = reader.read(number, X, y, weight)
    return None if rows is None else rows.reduce(function, n_columns, combine, work)


def _step_on_block(reader: Reader, step: Callable, state: Any, number: int, X: Any, y: Any, weight: Any) -> Any:
    rows = reader.read(number, X, y, weight)
    return state if rows is None else step(state, rows, number)


def _count(reader: Reader, number: int, X: Any, y: Any, weight: Any) -> np.ndarray | None:
    """Rows and weight of each class."""
    rows = reader.read(number, X, y, weight)
    if rows is None:
        return None
    return np.stack([rows.class_counts, np.bincount(rows.y, rows.weights(slice(None)), minlength=rows.n_classes)])


@dataclass(frozen=True)
class _Drawn:
    """Rows with the random number each of them drew."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    drawn: np.ndarray


def _draw(reader: Reader, below: np.ndarray, number: int, X: Any, y: Any, weight: Any) -> list[_Drawn]:
    """The rows of a block whose random number is below that of their class."""
    rows = reader.read(number, X, y, weight)
    if rows is None:
        return []
    drawn = np.random.default_rng([number]).random(rows.n_samples)
    few = drawn < below[rows.y]
    kept = rows.chosen(few)
    return [_Drawn(kept.rows(slice(None)), kept.y, kept.weights(slice(None)), drawn[few])]


def _on_drawn(reader: Reader, most: int, function: Callable[[TrainingSet], Any], parts: list[_Drawn]) -> Any:
    """`function` of the rows of each class that drew the `most` lowest numbers."""
    X, y, weight, drawn = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y", "weight", "drawn")
    )
    order = np.lexsort((drawn, y))
    begin = np.searchsorted(y[order], np.arange(len(reader.classes)))
    kept = np.sort(order[np.arange(len(y)) - begin[y[order]] < most])
    equal = bool((weight == 1.0).all())
    return function(TrainingSet(X[kept], y[kept], None if equal else weight[kept], len(reader.classes), reader.dtype))
