"""Condensing: a subset that classifies its training set as the whole set does. Hart (1968)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from protolearn.compiled import VECTORISED, compiled, inline, matrix, stack, vector
from protolearn.data import TrainingSet, block_rows, dense_rows
from protolearn.solvers.kernels import fold, least, vectorised

# Members are kept in tiles, one feature a row and one member a column, so that the processor measures many at once.
_TILE = 64
_FIRST_TILES = 4
# A tile is in cache for this many rows.
_ROWS_AT_ONCE = 8
# What a member itself has seen: it has nothing to look at any more.
_EVERYTHING = np.iinfo(np.int64).max


def consistent_subset(data: TrainingSet, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hart's condensed set, in the order of its making, and how near each sample is to it.

        S = {the first sample}; pass over all samples and add each x that 1-NN on S gets wrong; repeat to no change

    A sample counts as right only if its class is strictly nearer than every other one, so that the set is consistent
    however ties are broken. Rows that are equal and of different classes cannot all be right: each class gets one of
    them, and the passes still end.

    Returns the rows of the set, and for each sample that is not in it the squared distances to the nearest member of
    its own class and to the nearest other one.

    Each sample remembers the nearest member of its own class and of the others, and how many members it has seen: over
    all passes it is compared with each member once. A tile of members none of which is nearer than these two is
    passed over whole.
    """
    n_samples = data.n_samples
    dtype = data.dtype
    own = np.full(n_samples, np.inf, dtype=dtype)
    rival = np.full(n_samples, np.inf, dtype=dtype)
    seen = np.zeros(n_samples, dtype=np.int64)
    # Places that are still free are infinitely far from everything.
    tiles = np.full((_FIRST_TILES, data.n_features, _TILE), np.inf, dtype=dtype)
    labels = np.full((_FIRST_TILES, _TILE), -1, dtype=np.int64)
    chosen = np.empty(n_samples, dtype=np.int64)
    visit = visit_rows.of(dtype)
    size = block_rows(data.n_features, dtype.itemsize)
    n_members, before = 0, -1
    while n_members != before:
        before = n_members
        for start in range(0, n_samples, size):
            rows = order[start : start + size]
            block = dense_rows(data.X, rows, dtype)
            done = 0
            while True:
                done, n_members = visit(block, rows, done, data.y, own, rival, seen, tiles, labels, chosen, n_members)
                if done == len(block):
                    break
                tiles = np.concatenate([tiles, np.full_like(tiles, np.inf)])
                labels = np.concatenate([labels, np.full_like(labels, -1)])
    return chosen[:n_members].copy(), own, rival


def _visit_signature(number: Any) -> Any:
    return types.UniTuple(types.int64, 2)(
        matrix(number),  # X, a block
        vector(types.int64),  # rows of the block in the data
        types.int64,  # where to begin
        vector(types.int64),  # y
        vector(number),  # nearest own member
        vector(number),  # nearest other member
        vector(types.int64),  # members seen, or _EVERYTHING
        stack(number),  # tiles of members
        matrix(types.int64),  # their labels
        vector(types.int64),  # rows of the members
        types.int64,  # members
    )


@vectorised
def _measure(x, tile, distances):
    """Squared distances to the members of a tile in float64, four features at a time."""
    n_features, n = tile.shape
    distances[:] = 0.0
    j = 0
    while j + 4 <= n_features:
        x0, x1, x2, x3 = np.float64(x[j]), np.float64(x[j + 1]), np.float64(x[j + 2]), np.float64(x[j + 3])
        for i in range(n):
            v0 = x0 - np.float64(tile[j, i])
            v1 = x1 - np.float64(tile[j + 1, i])
            v2 = x2 - np.float64(tile[j + 2, i])
            v3 = x3 - np.float64(tile[j + 3, i])
            distances[i] += v0 * v0 + v1 * v1 + v2 * v2 + v3 * v3
        j += 4
    while j < n_features:
        x0 = np.float64(x[j])
        for i in range(n):
            v0 = x0 - np.float64(tile[j, i])
            distances[i] += v0 * v0
        j += 1


@inline
def _look(x, tile, labels, row, label, own, rival, distances, folded):
    """Take note of a row's nearest own and nearest other member, if they are in this tile."""
    _measure(x, tile, distances)
    fold(distances, folded)
    if least(folded) < max(own[row], rival[row]):
        for i in range(labels.shape[0]):
            if labels[i] == label:
                own[row] = min(own[row], distances[i])
            else:
                rival[row] = min(rival[row], distances[i])


@compiled(_visit_signature, fastmath=VECTORISED)
def visit_rows(X, rows, begin, y, own, rival, seen, tiles, labels, chosen, n_members):
    """Show a block to the set, which takes in what it gets wrong; stops early where there is no room for it.

    A few rows at a time look at the tiles that are full, each tile while it is in cache; then each row in turn looks at
    the rest, which the rows before it may have filled. Returns how far it came and how many members there are.
    """
    distances = np.empty(_TILE)
    folded = np.empty(_TILE // 4)
    for first in range(begin, X.shape[0], _ROWS_AT_ONCE):
        last = min(first + _ROWS_AT_ONCE, X.shape[0])
        n_full = n_members // _TILE
        for t in range(seen[rows[first:last]].min() // _TILE, n_full):
            for n in range(first, last):
                row = rows[n]
                if seen[row] != _EVERYTHING:
                    _look(X[n], tiles[t], labels[t], row, y[row], own, rival, distances, folded)
        for n in range(first, last):
            row = rows[n]
            if seen[row] == _EVERYTHING:
                continue
            for t in range(max(n_full, seen[row] // _TILE), (n_members + _TILE - 1) // _TILE):
                _look(X[n], tiles[t], labels[t], row, y[row], own, rival, distances, folded)
            seen[row] = n_members
            if n_members == 0 or not own[row] < rival[row]:
                # The next visit of this row compares it with nothing new and takes it in.
                if n_members == labels.size:
                    return n, n_members
                t, i = divmod(n_members, _TILE)
                tiles[t, :, i] = X[n]
                labels[t, i] = y[row]
                chosen[n_members] = row
                seen[row] = _EVERYTHING
                n_members += 1
    return X.shape[0], n_members
