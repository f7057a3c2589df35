"""Condensing: a subset that classifies its training set as the whole set does. Hart (1968)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from protolearn.core.jit import VECTORISED, helper, kernel, matrix, stack, types, vector
from protolearn.core.parameters import check_choice, stores_parameters
from protolearn.core.searches import fold, least
from protolearn.data import TrainingSet, batch_rows, dense_rows, row_batches
from protolearn.estimators.documentation import documented
from protolearn.initializers.random import distinct_rows
from protolearn.metrics.euclidean import distances_to_columns
from protolearn.reduction.base import Selector
from protolearn.reduction.neighbours import squared_distance
from protolearn.reduction.wilson import KEPT_ROWS, WilsonEditing, check_neighbours

# Members are kept in tiles too, one feature a row and one member a column, so that the processor measures many at once.
_TILE = 128
_FIRST_TILES = 4
# A tile is in cache for this many rows.
_ROWS_AT_ONCE = 8
# Takes the place of the number of members that a sample was compared with once it is one itself: no more are needed.
_EVERYTHING = np.iinfo(np.int64).max
# The square of a larger number, summed, might not fit float32.
_LARGEST_IN_FLOAT32 = 1e15


def consistent_subset(data: TrainingSet, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hart's condensed set, in the order of its making, and how near each sample is to it.

        S = {the first sample}; pass over all samples and add each x that 1-NN on S gets wrong; repeat to no change

    A sample counts as right only if its class is strictly nearer than every other one, so that the set is consistent
    however ties are broken. Rows that are equal and of different classes cannot all be right: each class gets one of
    them, and the passes still end.

    Returns the rows of the set, and for each sample that is not in it the squared distances to the nearest member of
    its own class and to the nearest other one.

    Each sample remembers the nearest member of its own class and of the others, and how many members it has seen: over
    all passes it is compared with each member once. A tile of members none of which is nearer than these two, as
    float32 tells for certain, is passed over whole; the others are measured in float64.
    """
    n_samples = data.n_samples
    dtype = data.dtype
    own = np.full(n_samples, np.inf, dtype=dtype)
    rival = np.full(n_samples, np.inf, dtype=dtype)
    seen = np.zeros(n_samples, dtype=np.int64)
    members = np.empty((_FIRST_TILES * _TILE, data.n_features), dtype=dtype)
    labels = np.full(len(members), -1, dtype=np.int64)
    # Places that are still free are infinitely far from everything.
    tiles = np.full((_FIRST_TILES, data.n_features, _TILE), np.inf, dtype=np.float32)
    # Far from the origin float32 loses its digits.
    origin = dense_rows(data.X, order[:1], np.dtype(np.float64))[0]
    chosen = np.empty(n_samples, dtype=np.int64)
    visit = visit_rows.of(dtype)
    size = batch_rows(data.n_features, dtype.itemsize)
    n_members, before, reach = 0, -1, 0.0
    while n_members != before:
        before = n_members
        for start in range(0, n_samples, size):
            rows = order[start : start + size]
            batch = dense_rows(data.X, rows, dtype)
            done = 0
            while True:
                done, n_members, reach = visit(
                    batch,
                    rows,
                    done,
                    data.y,
                    own,
                    rival,
                    seen,
                    members,
                    labels,
                    tiles,
                    origin,
                    chosen,
                    n_members,
                    reach,
                )
                if done == len(batch):
                    break
                members = np.concatenate([members, np.empty_like(members)])
                labels = np.concatenate([labels, np.full_like(labels, -1)])
                tiles = np.concatenate([tiles, np.full_like(tiles, np.inf)])
    return chosen[:n_members].copy(), own, rival


def _visit_signature(number: Any) -> Any:
    return types.Tuple((types.int64, types.int64, types.float64))(
        matrix(number),  # X, a batch
        vector(types.int64),  # rows of the batch in the data
        types.int64,  # where to begin
        vector(types.int64),  # y
        vector(number),  # nearest own member
        vector(number),  # nearest other member
        vector(types.int64),  # members seen, or _EVERYTHING
        matrix(number),  # members
        vector(types.int64),  # their labels, -1 where there is none
        stack(types.float32),  # tiles of members, measured from the origin
        vector(types.float64),  # origin
        vector(types.int64),  # rows of the members
        types.int64,  # members
        types.float64,  # how far from the origin the farthest of them is
    )


@helper
def _for_certain(distance, size, n_features):
    """A squared distance that float32 must find for the true one to be no smaller than `distance`.

    `size` is the sum of the lengths of both ends: each is rounded by 2^-24 of itself, and the sum of squares by as many
    roundings as it has terms.
    """
    if size > _LARGEST_IN_FLOAT32:
        return np.inf
    return (np.sqrt(distance) + 2.0**-23 * size) ** 2 * (1.0 + (n_features + 8) * 2.0**-23)


@helper
def _look(X, n, members, X_rough, at, tiles, t, size, labels, row, label, own, rival, distances, folded):
    """Take note of a row's nearest own and nearest other member, if they are in this tile."""
    distances_to_columns(X_rough[at], tiles[t], distances)
    fold(distances, folded)
    limit = _for_certain(max(own[row], rival[row]), size, X.shape[1])
    # Without a limit all are measured, since float32 may have made infinities or worse of them.
    unlimited = limit == np.inf
    if not unlimited and least(folded) >= limit:
        return
    for i in range(_TILE):
        s = t * _TILE + i
        if (unlimited or distances[i] < limit) and labels[s] >= 0:
            distance = squared_distance(X[n], members[s])
            if labels[s] == label:
                own[row] = min(own[row], distance)
            else:
                rival[row] = min(rival[row], distance)


@kernel(_visit_signature, fastmath=VECTORISED)
def visit_rows(X, rows, begin, y, own, rival, seen, members, labels, tiles, origin, chosen, n_members, reach):
    """Show a batch to the set, which takes in what it gets wrong; stops early where there is no room for it.

    A few rows at a time look at the tiles that are full, each tile while it is in cache; then each row in turn looks at
    the rest, which the rows before it may have filled. Returns how far it came, how many members there are, and how far
    from the origin the farthest of them is.
    """
    distances, folded = np.empty(_TILE, dtype=np.float32), np.empty(_TILE // 4, dtype=np.float32)
    X_rough = np.empty((_ROWS_AT_ONCE, X.shape[1]), dtype=np.float32)
    length = np.empty(_ROWS_AT_ONCE)
    for first in range(begin, X.shape[0], _ROWS_AT_ONCE):
        last = min(first + _ROWS_AT_ONCE, X.shape[0])
        for n in range(first, last):
            total = 0.0
            for j in range(X.shape[1]):
                v = X[n, j] - origin[j]
                X_rough[n - first, j] = v
                total += v * v
            length[n - first] = np.sqrt(total)
        n_full = n_members // _TILE
        least_seen = _EVERYTHING
        for n in range(first, last):
            least_seen = min(least_seen, seen[rows[n]])
        for t in range(least_seen // _TILE, n_full):
            for n in range(first, last):
                row, at = rows[n], n - first
                if seen[row] != _EVERYTHING:
                    size = length[at] + reach
                    _look(
                        X, n, members, X_rough, at, tiles, t, size, labels, row, y[row], own, rival, distances, folded
                    )
        for n in range(first, last):
            row, at = rows[n], n - first
            if seen[row] == _EVERYTHING:
                continue
            for t in range(max(n_full, seen[row] // _TILE), (n_members + _TILE - 1) // _TILE):
                size = length[at] + reach
                _look(X, n, members, X_rough, at, tiles, t, size, labels, row, y[row], own, rival, distances, folded)
            seen[row] = n_members
            if n_members == 0 or not own[row] < rival[row]:
                # The next visit of this row compares it with nothing new and takes it in.
                if n_members == labels.size:
                    return n, n_members, reach
                t, i = divmod(n_members, _TILE)
                for j in range(X.shape[1]):
                    tiles[t, j, i] = X_rough[at, j]
                    members[n_members, j] = X[n, j]
                reach = max(reach, length[at])
                labels[n_members] = y[row]
                chosen[n_members] = row
                seen[row] = _EVERYTHING
                n_members += 1
    return X.shape[0], n_members, reach


@documented
class HartCondensing(Selector):
    """Condensing: a subset on which 1-NN gets the whole training set right.

        S = {the first sample}; add each sample that 1-NN on S gets wrong; repeat until none is added

    Hart (1968). Always consistent with `predict`. Where equal rows have different labels, no rule can get all of them
    right: the class that most of them have stays, the first class on a draw, and a warning says how many samples are
    wrong, which is the least possible. imbalanced-learn's `CondensedNearestNeighbour` is another method: it compares
    one class at a time with the smallest one, which it keeps whole. Noise is kept too: edit first where classes
    overlap.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import HartCondensing
    >>> X, y = load_iris(return_X_y=True)
    >>> condensed = HartCondensing().fit(X, y)
    >>> len(condensed.sample_indices_), condensed.score(X, y)
    (24, 1.0)
    """

    _texts = {"shuffle": "hart_shuffle"}
    _attribute_texts = KEPT_ROWS

    @stores_parameters
    def __init__(
        self, *, shuffle: bool = False, edit_neighbors: int | str | None = None, random_state: Any = None
    ) -> None: ...

    def _check_parameters(self) -> None:
        check_choice("shuffle", self.shuffle, (True, False))
        check_neighbours("edit_neighbors", self.edit_neighbors, optional=True)

    def _reduce(self, data: TrainingSet, random: np.random.RandomState) -> None:
        candidates = self._edited(data, random)
        right = not_contradicted(data.chosen(candidates))
        warn_of_contradictions(right)
        candidates = candidates[right]
        if len(candidates) < data.n_samples:
            edited = TrainingSet(data.X[candidates], data.y[candidates], None, data.n_classes)
        else:
            edited = data
        order = random.permutation(edited.n_samples) if self.shuffle else np.arange(edited.n_samples)
        members, own, rival = consistent_subset(edited, order)
        self._keep_rows(candidates[members], data)
        outside = np.ones(edited.n_samples, dtype=bool)
        outside[members] = False
        doubtful = np.flatnonzero(outside & ~(rival > own + self._rounding(edited, rival)))
        while len(doubtful):
            wrong = doubtful[self._nearest_codes(edited.X[doubtful]) != edited.y[doubtful]]
            if not len(wrong):
                return
            outside[wrong] = False
            self._keep_rows(candidates[~outside], data)
            doubtful = np.flatnonzero(outside)

    def _rounding(self, data: TrainingSet, rival: np.ndarray) -> np.ndarray:
        """How much the distances that `predict` takes from a matrix product may be off for each sample.

        |x|^2 - 2 x'm + |m|^2, measured from the mean of the prototypes, with |m| at most |x| plus the distance.
        """
        origin = self.prototypes_.mean(axis=0, dtype=np.float64)
        squares = np.empty(data.n_samples)
        for rows, batch in row_batches(data.X, data.n_features, np.float64):
            squares[rows] = ((batch - origin) ** 2).sum(axis=1)
        reach = (np.sqrt(squares) + np.sqrt(np.where(np.isfinite(rival), rival, 0.0))) ** 2
        return (data.n_features + 16) * np.finfo(data.X.dtype).eps * (squares + reach)

    def _edited(self, data: TrainingSet, random: np.random.RandomState) -> np.ndarray:
        if self.edit_neighbors is None:
            return np.arange(data.n_samples)
        editing = WilsonEditing(self.edit_neighbors, random_state=random)
        return editing.fit(data.X, self.classes_[data.y]).sample_indices_


def not_contradicted(data: TrainingSet) -> np.ndarray:
    """Whether each sample has the class that most of its equals have, the first class on a draw."""
    alike = TrainingSet(data.X, np.zeros_like(data.y), None, 1, data.number_type)
    order = alike.content_order
    first = distinct_rows(alike, order)
    if len(first) == data.n_samples:
        return np.ones(data.n_samples, dtype=bool)
    group = np.empty(data.n_samples, dtype=np.int64)
    group[order] = np.repeat(np.arange(len(first)), np.diff([*first, data.n_samples]))
    votes = np.bincount(group * data.n_classes + data.y, minlength=len(first) * data.n_classes)
    return votes.reshape(-1, data.n_classes).argmax(axis=1)[group] == data.y


def warn_of_contradictions(right: np.ndarray) -> None:
    """Say how many samples have equals of another class."""
    if right.all():
        return
    warnings.warn(
        f"{np.sum(~right)} of the {len(right)} samples equal others of another class, and no rule can get both right: "
        "the class that most of the equals have stays. Check these labels, or leave these samples out.",
        UserWarning,
        stacklevel=2,
    )
