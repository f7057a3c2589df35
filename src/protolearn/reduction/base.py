"""Reducers: classifiers by 1-NN on a smaller training set."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.core.parameters import check_random
from protolearn.data import Samples, TrainingSet, dense_rows
from protolearn.data.containers import like_column, like_frame, rows_of
from protolearn.estimators.start import CheckedClassifier


class Reducer(CheckedClassifier):
    """A classifier by 1-NN on a smaller training set.

    It has no `transform`: imbalanced-learn takes a step of a pipeline for a resampler or a transformer, not for both.
    """

    random_state: Any = None

    def fit(self, X: Any, y: Any) -> Reducer:
        """Reduce the training set.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        self._check_parameters()
        data = self._training_set(X, y, None)
        self._reduce(data, check_random(self.random_state))
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Reduce the training set and return what is left of it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        X_resampled, y_resampled : in the containers of X and y; a selector's array is its `prototypes_`, not a copy
        """
        self.fit(X, y)
        return self._resampled(X, y)

    def _check_parameters(self) -> None:
        raise NotImplementedError("abstract: a reducer checks its parameters")

    def _reduce(self, data: TrainingSet, random: np.random.RandomState) -> None:
        raise NotImplementedError("abstract: a reducer reduces")

    def _resampled(self, X: Any, y: Any) -> tuple[Any, Any]:
        raise NotImplementedError("abstract: a reducer returns what is left")

    def _keep(self, positions: np.ndarray, codes: np.ndarray, data: Samples) -> None:
        self.prototypes_ = np.ascontiguousarray(positions, dtype=data.input_dtype)
        self.prototype_labels_ = self.classes_[codes]
        self.reduction_ = 1.0 - len(positions) / data.n_samples


class Selector(Reducer):
    """A reducer that keeps some of the samples: `sample_indices_`."""

    def _keep_rows(self, rows: np.ndarray, data: TrainingSet) -> None:
        self.sample_indices_ = np.sort(rows)
        self._keep(dense_rows(data.X, self.sample_indices_, data.X.dtype), data.y[self.sample_indices_], data)

    def _resampled(self, X: Any, y: Any) -> tuple[Any, Any]:
        # The kept rows may be most of a large array: as in scikit-learn's neighbours, one copy serves both.
        plain = isinstance(X, np.ndarray) and X.dtype == self.prototypes_.dtype
        return self.prototypes_ if plain else rows_of(X, self.sample_indices_), rows_of(y, self.sample_indices_)


class Generator(Reducer):
    """A reducer that makes new samples: `sample_prototypes_` says which prototype stands for each training sample."""

    sample_prototypes_: np.ndarray

    def _resampled(self, X: Any, y: Any) -> tuple[Any, Any]:
        return like_frame(self.prototypes_, X), like_column(self.prototype_labels_, y)
