"""Reducers that keep some of the samples: editing and Hart's condensing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from protolearn.core.parameters import check_choice, check_count
from protolearn.data import BlockedSet, TrainingSet, is_dask, row_blocks
from protolearn.estimators.documentation import documented
from protolearn.estimators.editing_blocks import edit_blocks
from protolearn.estimators.reducing import Selector
from protolearn.initializers.random import distinct_rows
from protolearn.reduction.hart import consistent_subset
from protolearn.reduction.wilson import choose_neighbours, edit, multi_edit, repeated_edit

_INDICES = """    sample_indices_ : array of shape (n_prototypes,)
        The rows of X that were kept, in their order.
    reduction_ : float
        Share of the samples removed.
"""
_CANDIDATES = (1, 3, 5, 7, 9)
_FOLDS = 5


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
        _INDICES
        + """    n_neighbors_ : int
        The number of neighbours that voted; 0 stands for no editing.
    cv_scores_ : dict, with "auto" only
        Accuracy of each candidate.
"""
    )

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
    ) -> None:
        self.n_neighbors = n_neighbors
        self.method = method
        self.candidates = candidates
        self.cv = cv
        self.n_blocks = n_blocks
        self.patience = patience
        self.random_state = random_state

    _takes_blocks = True

    def _check_parameters(self) -> None:
        check_neighbours("n_neighbors", self.n_neighbors)
        check_choice("method", self.method, ("wilson", "repeated", "multi"))
        check_count("cv", self.cv, at_least=2)
        check_count("n_blocks", self.n_blocks, at_least=2)
        check_count("patience", self.patience)
        if self.n_neighbors == "auto":
            numbers = list(self.candidates) if isinstance(self.candidates, Iterable) else []
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
        from protolearn.distributed import row_numbers, rows_where

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
    _attribute_texts = _INDICES

    def __init__(
        self, *, shuffle: bool = False, edit_neighbors: int | str | None = None, random_state: Any = None
    ) -> None:
        self.shuffle = shuffle
        self.edit_neighbors = edit_neighbors
        self.random_state = random_state

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
        for rows, block in row_blocks(data.X, data.n_features, np.float64):
            squares[rows] = ((block - origin) ** 2).sum(axis=1)
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


def warn_of_saved(names: np.ndarray) -> None:
    """Say which classes editing would have removed."""
    for name in names:
        warnings.warn(
            f"Editing would remove every sample of class {name!s}: all of them are kept. Use fewer neighbours, or "
            "leave out the class.",
            UserWarning,
            stacklevel=2,
        )
