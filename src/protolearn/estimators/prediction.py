"""Prediction by the nearest prototype: everything that needs the fitted prototypes only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from protolearn.data import is_dask, row_blocks, working_dtype
from protolearn.estimators.blocked import in_blocks
from protolearn.losses.links import class_probabilities, class_scores
from protolearn.metrics import METRICS, Metric
from protolearn.prototypes import PrototypeSet
from protolearn.threads import blas_threads


class NearestPrototypeMixin:
    """Methods of every classifier that has `prototypes_`, `prototype_labels_` and `classes_`."""

    classes_: np.ndarray
    prototypes_: np.ndarray
    prototype_labels_: np.ndarray

    def _prototype_set(self) -> tuple[Metric, PrototypeSet]:
        """The fitted metric and prototypes, prototypes in the order of their classes.

        Sorted, so that the lowest index on a tie is also the first class.
        """
        if is_dask(self.prototypes_):
            raise TypeError(
                f"{type(self).__name__} left what it keeps on the workers and does not classify by it; train a "
                "classifier on what fit_resample returns."
            )
        codes = np.searchsorted(self.classes_, self.prototype_labels_)
        order = np.argsort(codes, kind="stable")
        metric, theta, slot = self._metric_and_theta(codes)
        return metric, PrototypeSet(self.prototypes_[order], codes[order], theta, slot[order])

    def _metric_and_theta(self, codes: np.ndarray) -> tuple[Metric, np.ndarray, np.ndarray]:
        metric = METRICS["euclidean"]
        return metric, np.empty((1, 0)), metric.slots(codes)

    def _link_and_slope(self) -> tuple[str, float]:
        return "relative", 1.0

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])

    def _blocks_of_distances(self, X: Any) -> Iterator[tuple[slice, np.ndarray, PrototypeSet]]:
        """Squared distances to the sorted prototypes, block by block."""
        metric, prototypes = self._prototype_set()
        narrow = X.dtype == np.float32 and working_dtype(prototypes.positions) == np.float32
        if not narrow:
            prototypes = prototypes.astype(np.dtype(np.float64))
        for rows, block in row_blocks(X, len(prototypes), prototypes.positions.dtype):
            with np.errstate(over="ignore", invalid="ignore"), blas_threads(X.shape[0] * prototypes.positions.size):
                D = metric.distances(block, prototypes)
            if narrow and not np.isfinite(D).all():
                # Squares of this block overflow float32.
                D = metric.distances(block.astype(np.float64), prototypes.astype(np.dtype(np.float64)))
            yield rows, D, prototypes

    def _class_distances(self, X: Any) -> np.ndarray:
        """Squared distance to the nearest prototype of each class; infinite for a class that has none yet."""
        X = self._check_rows(X)
        result = np.full((X.shape[0], len(self.classes_)), np.inf)
        for rows, D, prototypes in self._blocks_of_distances(X):
            codes, first = np.unique(prototypes.labels, return_index=True)
            result[rows, codes] = np.minimum.reduceat(D, first, axis=1)
        return result

    @in_blocks("labels")
    def predict(self, X: Any) -> np.ndarray:
        """Class of the nearest prototype, the first class on a tie.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        codes = self._nearest_codes(self._check_rows(X))
        return self.classes_[codes]

    def _nearest_codes(self, X: Any) -> np.ndarray:
        """Class codes of the nearest prototypes of checked rows."""
        codes = np.empty(X.shape[0], dtype=np.int64)
        for rows, D, prototypes in self._blocks_of_distances(X):
            codes[rows] = prototypes.labels[D.argmin(axis=1)]
        return codes

    @in_blocks("classes")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class; rows sum to 1 and the largest entry is the class that `predict` gives.

        The sigmoid or softmax of the method's own paper over the nearest prototype of each class (see
        `protolearn.losses.links`).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return class_probabilities(self._class_distances(X), *self._link_and_slope())

    @in_blocks("scores")
    def decision_function(self, X: Any) -> np.ndarray:
        """How much nearer each class is, in the units the method compares distances in.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) with two classes, where above zero means
            the second one
        """
        scores = class_scores(self._class_distances(X), self._link_and_slope()[0])
        if len(self.classes_) != 2:
            return scores
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(scores[:, 1] - scores[:, 0], nan=0.0)


class DistanceFeaturesMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """`transform` of classifiers that may stand inside a pipeline: the distances to the prototypes as features."""

    @in_blocks("features")
    def transform(self, X: Any) -> np.ndarray:
        """Squared distance of each sample to each prototype, under the prototype's metric.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_prototypes), columns in the order of `prototypes_`
        """
        X = self._check_rows(X)
        result = np.empty((X.shape[0], len(self.prototypes_)), dtype=X.dtype)
        codes = np.searchsorted(self.classes_, self.prototype_labels_)
        columns = np.argsort(codes, kind="stable")
        for rows, D, _ in self._blocks_of_distances(X):
            result[rows, columns] = D
        return result

    @property
    def _n_features_out(self) -> int:
        return len(self.prototypes_)
