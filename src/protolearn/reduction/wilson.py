"""Editing: samples that their neighbours outvote leave the training set.

Wilson (1972); repeated until nothing leaves: Tomek (1976); multi-edit: Devijver and Kittler (1980).
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from protolearn.core.parameters import check_choice, check_count, stores_parameters
from protolearn.data import BlockedSet, TrainingSet, is_dask
from protolearn.data.blocked import Reader
from protolearn.estimators.documentation import documented
from protolearn.reduction.base import Selector
from protolearn.reduction.neighbour_blocks import Neighbours, offer_block
from protolearn.reduction.neighbours import nearest_others, nearest_rows

_ROWS_AT_ONCE = 4096
# The nearest sample that editing leaves is nearly always among these; the others are searched for one by one.
_LOOK_AHEAD = 10
KEPT_ROWS = """    sample_indices_ : array of shape (n_prototypes,)
        The rows of X that were kept, in their order.
    reduction_ : float
        Share of the samples removed.
"""
_CANDIDATES = (1, 3, 5, 7, 9)
_FOLDS = 5


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
        partial(_no_neighbours, k), partial(_offer, data.reader, data.mean, [int(first) for first in firsts])
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


def _no_neighbours(k: int, number: int, X: Any, y: Any) -> Neighbours:
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


def check_neighbours(name: str, value: Any, *, optional: bool = False) -> None:
    """Raise unless `value` is a number of neighbours or "auto"."""
    if isinstance(value, str):
        check_choice(name, value, ("auto",))
    else:
        check_count(name, value, optional=optional)


@documented
class WilsonEditing(Selector):
    """Editing: drop every sample whose k nearest others outvote it.

    Wilson (1972). Makes 1-NN smoother, not much smaller: put it before a condensing method. A draw that includes the
    sample's class keeps it; equal distances: the lower row is nearer. A class that would vanish is kept whole, with a
    warning.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import WilsonEditing
    >>> X, y = load_iris(return_X_y=True)
    >>> editing = WilsonEditing(n_neighbors=3).fit(X, y)
    >>> len(editing.sample_indices_)
    144
    """

    _texts = {"n_neighbors": "editing_neighbors", "method": "editing", "patience": "editing_patience"}
    _attribute_texts = (
        KEPT_ROWS
        + """    n_neighbors_ : int
        The number of neighbours that voted; 0 stands for no editing.
    cv_scores_ : dict, with "auto" only
        Accuracy of each candidate.
"""
    )

    @stores_parameters
    def __init__(
        self,
        n_neighbors: int | str = 3,
        *,
        method: str = "wilson",
        candidates: Iterable[int] = _CANDIDATES,
        cv: int = _FOLDS,
        n_blocks: int = 3,
        patience: int = 5,
        random_state: Any = None,
    ) -> None: ...

    _takes_blocks = True

    def _check_parameters(self) -> None:
        check_neighbours("n_neighbors", self.n_neighbors)
        check_choice("method", self.method, ("wilson", "repeated", "multi"))
        check_count("cv", self.cv, at_least=2)
        check_count("n_blocks", self.n_blocks, at_least=2)
        check_count("patience", self.patience)
        if self.n_neighbors == "auto":
            numbers: list[int] = list(self.candidates) if isinstance(self.candidates, Iterable) else []
            if not numbers or not all(isinstance(k, Integral) and k >= 1 for k in numbers):
                raise ValueError(f"candidates must be whole numbers of at least 1; got {self.candidates!r}.")

    def fit(self, X: Any, y: Any) -> WilsonEditing:
        """Edit the training set.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or data frame of shape (n_samples, n_features)
            A dask collection is edited by its workers; `prototypes_`, `prototype_labels_` and `sample_indices_` are
            then dask collections too, to train another classifier on.
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        return self._fit_dask(X, y) if is_dask(X) else super().fit(X, y)

    def _fit_dask(self, X: Any, y: Any) -> WilsonEditing:
        from protolearn.data.dask import row_numbers, rows_where

        self._check_parameters()
        if self.method != "wilson" or self.n_neighbors == "auto":
            raise ValueError(
                'Dask collections are edited by method="wilson" with a number of neighbours; repeat it on what '
                "fit_resample returns, or choose the number on a sample."
            )
        data = self._samples(X, y, None)
        assert isinstance(data, BlockedSet)
        edited = edit_blocks(data, int(self.n_neighbors))
        warn_of_saved(self.classes_[edited.saved])
        self.n_neighbors_ = int(self.n_neighbors)
        self.prototypes_ = rows_where(X, edited.masks, edited.lengths)
        self.prototype_labels_ = rows_where(y, edited.masks, edited.lengths)
        self.sample_indices_ = row_numbers(edited.masks, edited.firsts, edited.lengths)
        self.reduction_ = 1.0 - sum(edited.lengths) / data.n_samples
        return self

    def _resampled(self, X: Any, y: Any) -> tuple[Any, Any]:
        return (self.prototypes_, self.prototype_labels_) if is_dask(X) else super()._resampled(X, y)

    def _reduce(self, data: TrainingSet, random: np.random.RandomState) -> None:
        X, y, n_classes = data.X, data.y, data.n_classes
        if self.method == "multi":
            self.n_neighbors_ = 1
            kept, saved = multi_edit(X, y, n_classes, n_blocks=self.n_blocks, patience=self.patience, random=random)
        else:
            self.n_neighbors_ = self._number_of_neighbours(data, random)
            if self.n_neighbors_ == 0:
                kept, saved = np.arange(len(y)), np.empty(0, dtype=np.int64)
            else:
                rule = edit if self.method == "wilson" else repeated_edit
                kept, saved = rule(X, y, self.n_neighbors_, n_classes)
        warn_of_saved(self.classes_[saved])
        self._keep_rows(kept, data)

    def _number_of_neighbours(self, data: TrainingSet, random: np.random.RandomState) -> int:
        if self.n_neighbors != "auto":
            return int(self.n_neighbors)
        chosen, self.cv_scores_ = choose_neighbours(
            data.X, data.y, data.n_classes, candidates=list(self.candidates), n_folds=self.cv, random=random
        )
        return chosen


def warn_of_saved(names: np.ndarray) -> None:
    """Say which classes editing would have removed."""
    for name in names:
        warnings.warn(
            f"Editing would remove every sample of class {name!s}: all of them are kept. Use fewer neighbours, or "
            "leave out the class.",
            UserWarning,
            stacklevel=2,
        )
