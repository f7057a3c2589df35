"""Wilson's editing of dask collections: every pair of blocks is compared on the workers."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from protolearn.data.blocked import BlockedSet, Reader
from protolearn.reduction.neighbour_blocks import Neighbours, offer_block
from protolearn.reduction.wilson import not_outvoted


@dataclass(frozen=True)
class Edited:
    """What is left: for each block the mask (on its worker) and the number of rows, and classes that were kept whole.

    firsts : the number of the first row of each block
    """

    masks: list[Any]
    lengths: list[int]
    firsts: list[int]
    saved: np.ndarray


def edit_blocks(data: BlockedSet, n_neighbors: int) -> Edited:
    """Wilson's rule, row for row as in memory: N^2 distances, of which each worker measures its share."""
    source: Any = data.source
    sizes = source.reduce(_size, operator.or_)
    firsts = np.cumsum([0, *(sizes[number] for number in sorted(sizes))])[:-1]
    k = min(n_neighbors, data.n_samples - 1)
    neighbours = source.all_pairs(
        partial(_nobody, k), partial(_offer, data.reader, data.mean, [int(first) for first in firsts])
    )
    masks = source.per_block(partial(_votes, data.reader), neighbours)
    counts = _kept(data, source, masks)
    emptied = np.flatnonzero((counts.sum(axis=0) == 0) & (data.class_counts > 0))
    if len(emptied):
        masks = source.per_block(partial(_with_classes, data.reader, emptied), masks)
        counts = _kept(data, source, masks)
    return Edited(masks, [int(n) for n in counts.sum(axis=1)], [int(first) for first in firsts], emptied)


def _kept(data: BlockedSet, source: Any, masks: list[Any]) -> np.ndarray:
    """How many rows of each block and class the masks keep, (n_blocks, n_classes)."""
    return np.stack(source.collected(source.per_block(partial(_class_counts, data.reader), masks)))


def _size(number: int, X: Any, y: Any, weight: Any) -> dict[int, int]:
    return {number: X.shape[0]}


def _nobody(k: int, number: int, X: Any, y: Any) -> Neighbours:
    return Neighbours.none(X.shape[0], k)


def _offer(
    reader: Reader, origin: np.ndarray, firsts: list[int], found: Neighbours, number: int, X: Any, y: Any, other: int,
    X_other: Any, y_other: Any,
) -> Neighbours:  # fmt: skip
    mine, theirs = reader.read(number, X, y, None), reader.read(other, X_other, y_other, None)
    if mine is None or theirs is None:
        return found
    return offer_block(found, mine, theirs, firsts[number], firsts[other], origin)


def _codes(reader: Reader, y: Any) -> np.ndarray:
    return np.searchsorted(reader.classes, np.asarray(y).ravel())


def _votes(reader: Reader, number: int, X: Any, y: Any, found: Neighbours) -> np.ndarray:
    return not_outvoted(_codes(reader, y), found.labels, len(reader.classes))


def _with_classes(reader: Reader, emptied: np.ndarray, number: int, X: Any, y: Any, mask: np.ndarray) -> np.ndarray:
    return mask | np.isin(_codes(reader, y), emptied)


def _class_counts(reader: Reader, number: int, X: Any, y: Any, mask: np.ndarray) -> np.ndarray:
    return np.bincount(_codes(reader, y)[mask], minlength=len(reader.classes))
