"""Condensing: a subset that classifies its training set as the whole set does. Hart (1968)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from protolearn.compiled import VECTORISED, compiled, matrix, vector
from protolearn.data import TrainingSet, block_rows, dense_rows
from protolearn.reduction.neighbours import squared_distance

_FIRST_CAPACITY = 256


def consistent_subset(data: TrainingSet, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hart's condensed set, in the order of its making, and how near each sample is to it.

        S = {the first sample}; pass over all samples and add each x that 1-NN on S gets wrong; repeat to no change

    A sample counts as right only if its class is strictly nearer than every other one, so that the set is consistent
    however ties are broken. Rows that are equal and of different classes cannot all be right: each class gets one of
    them, and the passes still end.

    Returns the rows of the set, and for each sample that is not in it the squared distances to the nearest member of
    its own class and to the nearest other one.

    Each sample remembers the nearest member of its own class and of the others, and how many members it has seen: over
    all passes it is compared with each member once.
    """
    n_samples = data.n_samples
    dtype = data.dtype
    own = np.full(n_samples, np.inf, dtype=dtype)
    rival = np.full(n_samples, np.inf, dtype=dtype)
    seen = np.zeros(n_samples, dtype=np.int64)
    member = np.zeros(n_samples, dtype=np.bool_)
    positions = np.empty((min(_FIRST_CAPACITY, n_samples), data.n_features), dtype=dtype)
    labels = np.empty(len(positions), dtype=np.int64)
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
                done, n_members = visit(
                    block, rows, done, data.y, own, rival, seen, member, positions, labels, chosen, n_members
                )
                if done == len(block):
                    break
                positions = _grown(positions, n_samples)
                labels = _grown(labels, n_samples)
    return chosen[:n_members].copy(), own, rival


def _grown(array: np.ndarray, largest: int) -> np.ndarray:
    grown = np.empty((min(2 * len(array), largest), *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def _visit_signature(number: Any) -> Any:
    return types.UniTuple(types.int64, 2)(
        matrix(number),  # X, a block
        vector(types.int64),  # rows of the block in the data
        types.int64,  # where to begin
        vector(types.int64),  # y
        vector(number),  # nearest own member
        vector(number),  # nearest other member
        vector(types.int64),  # members seen
        vector(types.boolean),  # is a member
        matrix(number),  # positions of the members
        vector(types.int64),  # labels of the members
        vector(types.int64),  # rows of the members
        types.int64,  # members
    )


@compiled(_visit_signature, fastmath=VECTORISED)
def visit_rows(X, rows, begin, y, own, rival, seen, member, positions, labels, chosen, n_members):
    """Show a block to the set, which takes in what it gets wrong; stops early where there is no room for it.

    Returns how far it came and how many members there are.
    """
    for n in range(begin, X.shape[0]):
        row = rows[n]
        if member[row]:
            continue
        x = X[n]
        for s in range(seen[row], n_members):
            distance = X.dtype.type(squared_distance(x, positions[s]))
            if labels[s] == y[row]:
                own[row] = min(own[row], distance)
            else:
                rival[row] = min(rival[row], distance)
        seen[row] = n_members
        if n_members == 0 or not own[row] < rival[row]:
            # The next visit of this row compares it with nothing new and takes it in.
            if n_members == positions.shape[0]:
                return n, n_members
            positions[n_members] = x
            labels[n_members] = y[row]
            chosen[n_members] = row
            member[row] = True
            n_members += 1
    return X.shape[0], n_members
