"""Condensing: a subset that classifies its training set as the whole set does. Hart (1968)."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.core.jit import VECTORISED, helper, kernel, matrix, stack, types, vector
from protolearn.core.searches import fold, least
from protolearn.data import TrainingSet, block_rows, dense_rows
from protolearn.metrics.euclidean import distances_to_columns
from protolearn.reduction.neighbours import squared_distance

# Members are kept in tiles too, one feature a row and one member a column, so that the processor measures many at once.
_TILE = 128
_FIRST_TILES = 4
# A tile is in cache for this many rows.
_ROWS_AT_ONCE = 8
# What a member itself has seen: it has nothing to look at any more.
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
    size = block_rows(data.n_features, dtype.itemsize)
    n_members, before, reach = 0, -1, 0.0
    while n_members != before:
        before = n_members
        for start in range(0, n_samples, size):
            rows = order[start : start + size]
            block = dense_rows(data.X, rows, dtype)
            done = 0
            while True:
                done, n_members, reach = visit(
                    block,
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
                if done == len(block):
                    break
                members = np.concatenate([members, np.empty_like(members)])
                labels = np.concatenate([labels, np.full_like(labels, -1)])
                tiles = np.concatenate([tiles, np.full_like(tiles, np.inf)])
    return chosen[:n_members].copy(), own, rival


def _visit_signature(number: Any) -> Any:
    return types.Tuple((types.int64, types.int64, types.float64))(
        matrix(number),  # X, a block
        vector(types.int64),  # rows of the block in the data
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
    """Show a block to the set, which takes in what it gets wrong; stops early where there is no room for it.

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
