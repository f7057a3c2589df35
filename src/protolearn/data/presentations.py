"""What an online epoch shows of a training set: rows by their weight, in random order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from protolearn.data.orders import evenly, index_type, one_window, shuffled

if TYPE_CHECKING:
    from protolearn.data.training_set import TrainingSet

# Up to this mean weight rows are repeated by their weights; beyond, each is shown once and its step scaled.
_MOST_REPEATS = 16

# Rows, and what share of a step the showing of each makes (None: a whole one).
Shown = tuple[np.ndarray, np.ndarray | None]


class Presentations:
    """Which rows an epoch shows, in which order, and what share of a step each showing makes.

    A row of weight 2.3 is shown twice and once more with 0.3 of a step. A set of one window (`TrainingSet.windows`) is
    repeated by its weights once for all epochs, a larger one a window at a time, so that nothing is kept of it: all
    showings of a row then are in one window.

    random : draws a new order each epoch; None shows the rows as they stand
    length : showings of an epoch
    total : sum of their shares
    """

    def __init__(self, data: TrainingSet, random: np.random.RandomState | None) -> None:
        self._data, self._random = data, random
        self._whole: Shown | None = None
        self._mean_weight = data.total_weight / data.n_samples
        if one_window(data.n_samples):
            (rows,) = data.windows(random)
            if data.weight is not None:
                # Added up in content order: the same wherever the rows stand.
                self._mean_weight = data.weight[rows].mean()
            self._whole = self._by_weight(rows)
        self.length, self.total = 0, 0.0
        for rows, share in self._in_order(None):
            self.length += len(rows)
            self.total += len(rows) if share is None else share.sum()

    def _in_order(self, random: np.random.RandomState | None) -> Iterator[Shown]:
        """The windows of an epoch, none of them shuffled yet."""
        if self._whole is not None:
            yield self._whole
        else:
            yield from map(self._by_weight, self._data.windows(random))

    def _by_weight(self, rows: np.ndarray) -> Shown:
        """Rows as often as their weights say."""
        if self._data.weight is None:
            return rows, None
        weight = self._data.weight[rows]
        if self._mean_weight > _MOST_REPEATS:
            return rows, weight / self._mean_weight
        whole = np.floor(weight).astype(np.int64)
        rest = weight - whole
        copies = whole + (rest > 0)
        share = np.ones(int(copies.sum()))
        ends = np.cumsum(copies)
        share[ends[rest > 0] - 1] = rest[rest > 0]
        return np.repeat(rows, copies), share

    def epoch(self) -> Iterator[Shown]:
        """The next epoch, window by window."""
        for rows, share in self._in_order(self._random):
            if share is None:
                yield shuffled(rows, self._random), None
            else:
                places = shuffled(np.arange(len(rows), dtype=index_type(len(rows))), self._random)
                yield rows[places], share[places]

    def epochs(self, count: int, size: int) -> Iterator[Shown]:
        """The next epochs, `size` showings at a time at most; windows and epochs are joined where there are several."""
        found = itertools.chain.from_iterable(self.epoch() for _ in range(count))
        for rows, share in found if count == 1 else [_joined(list(found))]:
            for first in range(0, len(rows), size):
                part = slice(first, first + size)
                yield rows[part], None if share is None else share[part]

    def sample(self, most: int) -> np.ndarray:
        """Rows of `most` showings at most, evenly from all."""
        rows, _ = self._by_weight(evenly(self._data.n_samples, most)) if self._whole is None else self._whole
        return rows[:: -(-len(rows) // most)]


def _joined(shown: list[Shown]) -> Shown:
    shares = [share for _, share in shown if share is not None]
    return np.concatenate([rows for rows, _ in shown]), np.concatenate(shares) if shares else None
