"""The starts of LVQ_PAK 3.1: eveninit, propinit, balance.

All three take training samples that their neighbours classify rightly, in the order of the file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from protolearn.core.schedules import constant
from protolearn.core.threads import no_threads_in_forks
from protolearn.data import TrainingSet
from protolearn.initializers.base import INITIALIZERS
from protolearn.initializers.counts import divide_by_share
from protolearn.losses import LOSSES
from protolearn.metrics import METRICS
from protolearn.solvers import SOLVERS, Objective, Plan
from protolearn.solvers.batch import classification_error

_BLOCK = 512


@dataclass(frozen=True)
class LvqPakStart:
    """Samples that a k-nearest-neighbour vote of the training set classifies rightly, in file order.

    even : the same number for each class (eveninit), else by class share, at least one (propinit); both keep the total
        of the numbers asked for
    balanced : then even out the distances between prototypes of a class, and train by one epoch of OLVQ1 (balance);
        an epoch that raises the training error is undone
    n_neighbors : voters
    lvqpak_compat : as the programs do it: a sample votes for itself, and the medians of `balance` look only at
        later entries; else at all others

    A class with too few such samples leaves the rest of its number to the classes that have more.
    """

    even: bool = True
    balanced: bool = False
    n_neighbors: int = 5
    lvqpak_compat: bool = False

    def __call__(
        self, data: TrainingSet, counts: np.ndarray, random: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and labels of the first prototypes."""
        wanted = counts
        if not self.even:
            wanted = np.minimum(divide_by_share(int(counts.sum()), data.class_counts), data.class_counts)
        queue = _Candidates(data, self.n_neighbors, self.lvqpak_compat)
        chosen = [queue.take(code, int(n)) for code, n in enumerate(wanted)]
        missing = int(wanted.sum()) - sum(map(len, chosen))
        for code in np.argsort([len(rows) < n for rows, n in zip(chosen, wanted, strict=True)], kind="stable"):
            more = queue.take(code, missing)
            chosen[code] += more
            missing -= len(more)
        for code, rows in enumerate(chosen):
            # A class none of whose samples its neighbours get right still needs a prototype: its first sample.
            if not rows and data.class_counts[code]:
                chosen[code] = [int(np.flatnonzero(data.y == code)[0])]
        if self.balanced:
            chosen = self._balance(data, chosen, queue)
        labels = np.repeat(np.arange(len(counts)), [len(rows) for rows in chosen])
        positions = data.rows(np.concatenate([np.array(rows, dtype=np.int64) for rows in chosen]))
        return (self._olvq1_epoch(data, positions, labels, random), labels) if self.balanced else (positions, labels)

    def _balance(self, data: TrainingSet, chosen: list[list[int]], queue: _Candidates) -> list[list[int]]:
        """One prototype less for a class whose own distances are small, one more where they are large."""
        medians = np.array([self._median_distance(data.rows(np.array(rows, dtype=np.int64))) for rows in chosen])
        known = medians[np.isfinite(medians)]
        if not len(known):
            return chosen
        mean = known.mean()
        total = sum(map(len, chosen))
        for code in np.flatnonzero(np.isfinite(medians)):
            if medians[code] < mean / 1.3 and len(chosen[code]) > 1:
                chosen[code] = chosen[code][:-1]
            elif medians[code] > 1.3 * mean:
                chosen[code] = chosen[code] + queue.take(int(code), 1)
        by_distance = np.argsort(np.where(np.isfinite(medians), -medians, np.inf), kind="stable")
        for code in by_distance:
            chosen[code] = chosen[code] + queue.take(code, max(total - sum(map(len, chosen)), 0))
        for code in by_distance[::-1]:
            surplus = sum(map(len, chosen)) - total
            chosen[code] = chosen[code][: max(len(chosen[code]) - max(surplus, 0), 1)]
        return chosen

    def _median_distance(self, positions: np.ndarray) -> float:
        """Median over the prototypes of a class of the distance to the nearest other; infinite for a single one."""
        if len(positions) < 2:
            return np.inf
        gaps = np.sqrt(((positions[:, None] - positions[None]) ** 2).sum(axis=2))
        if self.lvqpak_compat:
            return float(np.median([gaps[i, i + 1 :].min() for i in range(len(gaps) - 1)]))
        np.fill_diagonal(gaps, np.inf)
        return float(np.median(gaps.min(axis=1)))

    @staticmethod
    def _olvq1_epoch(
        data: TrainingSet, positions: np.ndarray, labels: np.ndarray, random: np.random.RandomState
    ) -> np.ndarray:
        metric = METRICS["euclidean"]
        start = metric.start(positions, labels, data)
        objective = Objective(LOSSES["olvq1"](), metric, slope=1.0)
        plan = Plan(1, 0.3, 0.0, constant, random, scale=1.0, shuffle=False)
        tuned = SOLVERS["online"](start, data, objective, plan).prototypes
        # Few prototypes of many classes are wrong so often that the epoch can drive all of them out of the data.
        better = classification_error(tuned, data, metric) <= classification_error(start, data, metric)
        return tuned.positions if better else start.positions


class _Candidates:
    """The rows of each class, in file order, that their neighbours classify rightly; each is given out once."""

    def __init__(self, data: TrainingSet, n_neighbors: int, counts_itself: bool) -> None:
        self.data = data
        self.k = min(n_neighbors, data.n_samples - (not counts_itself))
        self.counts_itself = counts_itself
        self.neighbours = NearestNeighbors(n_neighbors=max(self.k, 1)).fit(data.X.astype(data.dtype, copy=False))
        self.next = [np.flatnonzero(data.y == code) for code in range(data.n_classes)]
        self.ready: list[list[int]] = [[] for _ in self.next]

    def take(self, code: int, n: int) -> list[int]:
        while len(self.ready[code]) < n and len(self.next[code]):
            rows, self.next[code] = self.next[code][:_BLOCK], self.next[code][_BLOCK:]
            self.ready[code] += [int(row) for row in rows[self._right(rows)]]
        given, self.ready[code] = self.ready[code][:n], self.ready[code][n:]
        return given

    def _right(self, rows: np.ndarray) -> np.ndarray:
        if self.k < 1:
            return np.ones(len(rows), dtype=bool)
        extra = 0 if self.counts_itself else 1
        with no_threads_in_forks():
            near = self.data.X[rows].astype(self.data.dtype, copy=False)
            found = self.neighbours.kneighbors(near, self.k + extra, return_distance=False)
        votes = np.zeros((len(rows), self.data.n_classes))
        for position, row in enumerate(rows):
            others = found[position] if self.counts_itself else found[position][found[position] != row][: self.k]
            votes[position] = np.bincount(self.data.y[others], minlength=self.data.n_classes)
        return votes[np.arange(len(rows)), self.data.y[rows]] >= votes.max(axis=1)


INITIALIZERS.add("eveninit", LvqPakStart())
INITIALIZERS.add("propinit", LvqPakStart(even=False))
INITIALIZERS.add("balance", LvqPakStart(balanced=True))
