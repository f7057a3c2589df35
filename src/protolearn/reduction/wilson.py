"""Editing: samples that their neighbours outvote leave the training set.

Wilson (1972); repeated until nothing leaves: Tomek (1976); multi-edit: Devijver and Kittler (1980).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protolearn.reduction.neighbours import nearest_others, nearest_rows

_ROWS_AT_ONCE = 4096
# The nearest sample that editing leaves is nearly always among these; the others are searched for one by one.
_LOOK_AHEAD = 10


def agreeing(y: np.ndarray, neighbours: np.ndarray, n_classes: int) -> np.ndarray:
    """Which samples no other class outvotes among their neighbours: a draw that includes their class keeps them."""
    keep = np.empty(len(y), dtype=bool)
    for start in range(0, len(y), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        keep[rows] = not_outvoted(y[rows], y[neighbours[rows]], n_classes)
    return keep


def not_outvoted(y: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Which samples no other class outvotes among the labels of their neighbours, (n_samples, n_neighbours)."""
    cells = np.arange(len(labels))[:, None] * n_classes + labels
    votes = np.bincount(cells.ravel(), minlength=len(labels) * n_classes).reshape(-1, n_classes)
    return votes[np.arange(len(labels)), y] >= votes.max(axis=1)


def with_every_class(keep: np.ndarray, y: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """`keep`, with all samples of the classes that it would empty; and the codes of these classes."""
    emptied = np.flatnonzero(
        (np.bincount(y[keep], minlength=n_classes) == 0) & (np.bincount(y, minlength=n_classes) > 0)
    )
    return keep | np.isin(y, emptied), emptied


def edit(X: Any, y: np.ndarray, n_neighbors: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's rule: keep what its `n_neighbors` nearest others do not outvote.

    Returns the kept indices and the codes of classes that were kept whole because editing would have emptied them. With
    fewer others than `n_neighbors`, all of them vote.
    """
    neighbours = nearest_others(X, min(n_neighbors, len(y) - 1))
    keep, emptied = with_every_class(agreeing(y, neighbours, n_classes), y, n_classes)
    return np.flatnonzero(keep), emptied


def repeated_edit(X: Any, y: np.ndarray, n_neighbors: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's rule again and again on what is left, until nothing leaves."""
    left = np.arange(len(y))
    saved: set[int] = set()
    while True:
        kept, emptied = edit(X[left], y[left], n_neighbors, n_classes)
        saved |= set(emptied.tolist())
        if len(kept) == len(left):
            return left, np.array(sorted(saved), dtype=np.int64)
        left = left[kept]


def multi_edit(
    X: Any, y: np.ndarray, n_classes: int, *, n_blocks: int, patience: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Devijver and Kittler: blocks at random, each edited by 1-NN on the next, until `patience` rounds remove nothing.

    The block that judges a sample does not know it, which makes the rounds independent; with fewer than `n_blocks`
    samples of any kind left, the rounds end.
    """
    left = np.arange(len(y))
    saved: set[int] = set()
    quiet = 0
    while quiet < patience and len(left) >= n_blocks:
        blocks = np.array_split(random.permutation(left), n_blocks)
        keep = np.ones(len(y), dtype=bool)
        for judged, judges in zip(blocks, blocks[1:] + blocks[:1], strict=True):
            nearest = nearest_rows(X[judges], X[judged], 1)
            keep[judged] = y[judges[nearest[:, 0]]] == y[judged]
        kept, emptied = with_every_class(keep[left], y[left], n_classes)
        saved |= set(emptied.tolist())
        quiet = 0 if not kept.all() else quiet + 1
        left = left[kept]
    return left, np.array(sorted(saved), dtype=np.int64)


def choose_neighbours(
    X: Any,
    y: np.ndarray,
    n_classes: int,
    *,
    candidates: Sequence[int],
    n_folds: int,
    random: np.random.RandomState,
) -> tuple[int, dict[int, float]]:
    """The number of neighbours with the best cross-validated 1-NN accuracy after editing; 0 stands for no editing.

    Only the training set is used (MixtGauss, section 4). Folds are drawn class by class. Equal accuracy: the gentler
    choice, no editing first. Returns the choice and the accuracy of each candidate.
    """
    fold = np.empty(len(y), dtype=np.int64)
    order = random.permutation(len(y))
    fold[order[np.argsort(y[order], kind="stable")]] = np.arange(len(y)) % n_folds
    hits = dict.fromkeys([0, *sorted(candidates)], 0)
    for held_out in range(n_folds):
        train, test = np.flatnonzero(fold != held_out), np.flatnonzero(fold == held_out)
        if len(train) < 2 or not len(test):
            continue
        neighbours = nearest_others(X[train], min(max(hits), len(train) - 1))
        ahead = nearest_rows(X[train], X[test], min(_LOOK_AHEAD, len(train)))
        for k in hits:
            keep = agreeing(y[train], neighbours[:, :k], n_classes) if k else np.ones(len(train), dtype=bool)
            keep, _ = with_every_class(keep, y[train], n_classes)
            nearest = _nearest_kept(X, train, test, keep, ahead)
            hits[k] += int((y[nearest] == y[test]).sum())
    scores = {k: count / len(y) for k, count in hits.items()}
    return max(scores, key=lambda k: (scores[k], -k)), scores


def _nearest_kept(X: Any, train: np.ndarray, test: np.ndarray, keep: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """The nearest kept training row of each test row, from lists of the nearest ones where these hold one."""
    kept = keep[ahead]
    nearest = train[ahead[np.arange(len(test)), kept.argmax(axis=1)]]
    missing = np.flatnonzero(~kept.any(axis=1))
    if len(missing):
        nearest[missing] = train[keep][nearest_rows(X[train[keep]], X[test[missing]], 1)[:, 0]]
    return nearest
