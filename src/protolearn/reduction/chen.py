"""Condensing by splitting space: Chen and Jozwik (1996), and the variants of Sanchez (2004).

The MixtGauss paper compares with Chen without describing it: the splitting is that of the original.
"""

from __future__ import annotations

import heapq
import warnings
from dataclasses import dataclass
from itertools import count
from numbers import Integral, Real

import numpy as np

from protolearn.core.parameters import check_choice, stores_parameters
from protolearn.data import TrainingSet, batch_rows
from protolearn.estimators.documentation import documented
from protolearn.metrics.base import expanded_distances
from protolearn.reduction.base import Generator

CRITERIA = ("diameter", "overlap")
# Exact diameters cost the square of the block; from here on the sweeps' bound takes their place unless asked otherwise.
EXACT_UP_TO = 4096
_BLOCK = 512
_MOST_SWEEPS = 16
_STANDS_FOR = """    sample_prototypes_ : array of shape (n_samples,)
        The prototype that stands for each training sample; -1 for samples of weight 0.
    reduction_ : float
        Share of the samples removed.
"""


@dataclass(frozen=True)
class BlockSplit:
    """A block of samples and where it would be cut.

    rows : indices of its samples
    labels : class codes in it, sorted
    diameter : squared distance of its two mutually farthest samples, or a lower bound of it
    ends : these two samples
    overlap : mean squared distance within classes over that between classes; -1 where there is one class
    """

    rows: np.ndarray
    labels: np.ndarray
    diameter: float
    ends: tuple[int, int]
    overlap: float

    def urgency(self, criterion: str) -> tuple:
        """Blocks of several classes first; then by the criterion."""
        size = (self.diameter,) if criterion == "diameter" else (self.overlap, self.diameter)
        return (len(self.labels) > 1, *size)


def split_blocks(
    data: TrainingSet, n_wanted: int | None, *, criterion: str, by_class: bool, exact: bool | None
) -> list[np.ndarray]:
    """Cut the training set into blocks until there are enough of them; their rows, block by block.

    n_wanted : number of prototypes; None goes on until no block can be cut that holds several classes
    criterion : which block is cut next, the one of largest "diameter" or of largest "overlap" of its classes
    by_class : whether a block makes one prototype for each of its classes, or one in all
    exact : whether diameters are exact; None for blocks of up to 4096 samples only. Otherwise sweeps from the farthest
        sample to the sample farthest from it, and on, give a pair at least half as far apart as the farthest one

    A block is cut by its two farthest samples: each sample goes with the nearer one, on a tie with the first. A block
    of equal samples is never cut.
    """
    number = count()
    waiting: list[tuple] = []
    finished: list[np.ndarray] = []
    made = 0

    def add(rows: np.ndarray) -> None:
        nonlocal made
        block = _measured(data, rows, criterion, exact)
        made += len(block.labels) if by_class else 1
        if block.diameter > 0:
            # Equal urgency: the older block first. Tuples are compared from the left, the number is always different.
            heapq.heappush(waiting, (*(-part for part in block.urgency(criterion)), next(number), block))
        else:
            finished.append(block.rows)

    add(np.arange(data.n_samples))
    while waiting and (n_wanted is None or made < n_wanted):
        block = waiting[0][-1]
        if n_wanted is None and len(block.labels) == 1:
            break
        heapq.heappop(waiting)
        made -= len(block.labels) if by_class else 1
        first = _nearer_to_first(data, block)
        add(block.rows[first])
        add(block.rows[~first])
    blocks = finished + [entry[-1].rows for entry in waiting]
    return sorted(blocks, key=lambda rows: rows[0])


def _nearer_to_first(data: TrainingSet, block: BlockSplit) -> np.ndarray:
    ends = data.rows(np.array(block.ends)).astype(np.float64)
    first = np.empty(len(block.rows), dtype=bool)
    size = batch_rows(data.n_features, 8)
    for start in range(0, len(block.rows), size):
        part = slice(start, start + size)
        X = data.rows(block.rows[part])
        first[part] = ((X - ends[0]) ** 2).sum(axis=1) <= ((X - ends[1]) ** 2).sum(axis=1)
    return first


def _measured(data: TrainingSet, rows: np.ndarray, criterion: str, exact: bool | None) -> BlockSplit:
    y = data.y[rows]
    labels = np.unique(y)
    if len(rows) == 1:
        return BlockSplit(rows, labels, 0.0, (int(rows[0]), int(rows[0])), -1.0)
    X = data.rows(rows)
    X -= X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    i, j = farthest_pair(X, exact=len(rows) <= EXACT_UP_TO if exact is None else exact)
    ends = int(rows[min(i, j)]), int(rows[max(i, j)])
    p, q = data.rows(np.array(ends)).astype(np.float64)
    overlap = _overlap(X, y, labels) if criterion == "overlap" else -1.0
    return BlockSplit(rows, labels, float(((p - q) ** 2).sum()), ends, overlap)


def farthest_pair(X: np.ndarray, *, exact: bool) -> tuple[int, int]:
    """Two mutually farthest rows of centred data, or a pair at least half as far apart.

    The exact search starts from the sweeps' pair and goes outside in: rows i and j are at most |x_i| + |x_j| apart, so
    pairs of rows near the centre need no look.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    i = int(norms.argmax())
    j, gap = i, -1.0
    for _ in range(_MOST_SWEEPS):
        D = expanded_distances(X[i : i + 1], X)[0]
        farthest = int(D.argmax())
        if float(D[farthest]) <= gap:
            break
        gap, j, i = float(D[farthest]), i, farthest
    if not exact:
        return i, j
    order = np.argsort(-norms, kind="stable")
    reach = norms[order]
    for start in range(0, len(order), _BLOCK):
        rows = order[start : start + _BLOCK]
        if (2 * reach[start]) ** 2 <= gap:
            break
        for other in range(start, len(order), _BLOCK):
            if (reach[start] + reach[other]) ** 2 <= gap:
                break
            columns = order[other : other + _BLOCK]
            D = expanded_distances(X[rows], X[columns])
            best = int(D.argmax())
            if float(D.flat[best]) > gap:
                gap = float(D.flat[best])
                i, j = int(rows[best // len(columns)]), int(columns[best % len(columns)])
    return i, j


def _overlap(X: np.ndarray, y: np.ndarray, labels: np.ndarray) -> float:
    """Mean squared distance of two samples of one class over that of two samples of different classes.

    Sanchez compares mean distances, which takes every pair; sums of squared distances follow from the class means:
    the sum over pairs is n times the sum of squares around the mean.
    """
    if len(labels) < 2:
        return -1.0
    n = len(X)
    within = pairs = 0.0
    for code in labels:
        rows = X[y == code].astype(np.float64, copy=False)
        within += len(rows) * float(((rows - rows.mean(axis=0)) ** 2).sum())
        pairs += len(rows) * (len(rows) - 1) / 2
    between = n * float(np.einsum("ij,ij->", X, X, dtype=np.float64)) - within
    if not pairs or between <= 0:
        return 0.0
    return (within / pairs) / (between / (n * (n - 1) / 2 - pairs))


@documented
class ChenCondensing(Generator):
    """Condensing: split the training set into blocks, and put a prototype at the centre of each.

    Chen and Jozwik (1996): the widest block of several classes is cut between its two farthest samples, until there are
    enough; then the widest of all. The label is the majority's, the first class on a draw. A class may be left without
    a prototype, with a warning. The variants follow Sanchez (2004): centroids="class" (RSP1; it stops at the first
    number of prototypes at or above the wanted one, and is the most accurate of the family on the MixtGauss paper's
    sets), criterion="overlap" (after RSP2), n_prototypes=None (RSP3).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import ChenCondensing
    >>> X, y = load_iris(return_X_y=True)
    >>> round(ChenCondensing(n_prototypes=3).fit(X, y).score(X, y), 3)
    0.967
    """

    _texts = {"n_prototypes": "total_prototypes"}
    _attribute_texts = _STANDS_FOR

    @stores_parameters
    def __init__(
        self,
        n_prototypes: int | float | None = 3,
        *,
        centroids: str = "block",
        criterion: str = "diameter",
        exact_diameter: bool | None = None,
    ) -> None: ...

    def _check_parameters(self) -> None:
        check_choice("centroids", self.centroids, ("block", "class"))
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("exact_diameter", self.exact_diameter, (True, False, None))

    def _total(self, data: TrainingSet) -> int | None:
        wanted: int | float | None = self.n_prototypes
        if wanted is None:
            return None
        if isinstance(wanted, Integral) and not isinstance(wanted, bool) and wanted >= 1:
            return int(wanted) * data.n_classes
        if isinstance(wanted, Real) and 0 < wanted < 1:
            return max(round(wanted * data.n_samples), 1)
        raise ValueError(
            "n_prototypes must be a whole number of at least 1 (times the number of classes), a share between 0 and 1 "
            f"of the training set, or None; got {wanted!r}. Chen's method decides itself how many each class gets."
        )

    def _reduce(self, data: TrainingSet, random: np.random.RandomState) -> None:
        by_class = self.centroids == "class"
        blocks = split_blocks(
            data, self._total(data), criterion=self.criterion, by_class=by_class, exact=self.exact_diameter
        )
        groups: list[tuple[np.ndarray, int]] = []
        for rows in blocks:
            labels = np.bincount(data.y[rows], minlength=data.n_classes)
            if by_class:
                groups += [(rows[data.y[rows] == code], int(code)) for code in np.flatnonzero(labels)]
            else:
                groups.append((rows, int(labels.argmax())))
        groups.sort(key=lambda group: group[1])
        self.sample_prototypes_ = np.empty(data.n_samples, dtype=np.int64)
        for number, (rows, _) in enumerate(groups):
            self.sample_prototypes_[rows] = number
        codes = np.array([code for _, code in groups])
        positions = np.stack([data.rows(rows).mean(axis=0, dtype=np.float64) for rows, _ in groups])
        for code in np.setdiff1d(np.arange(data.n_classes), codes):
            warnings.warn(
                f"Class {self.classes_[code]!s} is in the majority in no block and gets no prototype. Ask for more "
                'prototypes, or set centroids="class".',
                UserWarning,
                stacklevel=2,
            )
        self._keep(positions, codes, data)
