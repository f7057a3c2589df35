"""Prediction by the nearest prototype: everything that needs the fitted prototypes only."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, validate_data

from protolearn.core.prototypes import PrototypeSet
from protolearn.core.threads import blas_threads, in_threads, one_blas_thread, threads_for
from protolearn.data import dense_rows, is_dask, row_batches, row_slices, working_dtype
from protolearn.estimators.blocked import in_blocks
from protolearn.losses.links import at_temperature, class_probabilities, class_scores
from protolearn.metrics import METRICS, Metric
from protolearn.metrics.base import ROUNDING, nearest_labels, squared_lengths

# Larger than where learning reads rows: an epoch keeps its prototypes in cache beside a batch, a prediction does not.
# Two threads take turns in the Python between two batches: with batches of a quarter they need half as long again.
_BATCH_BYTES = 1 << 21
TOO_LARGE = "X holds numbers too large to square: they lie far outside the training set; check their unit."
# Distances from which the nearest is found without computing them: below, predict_proba and predict round alike. Above,
# 100,000 rows take 0.27 of the time at 64 features and 100 prototypes, 0.25 at 16 and 390, 0.4 under Omega. To import
# numba and to read the kernel from its cache takes a second, which is what 30 million distances save.
_WORTH_FORMS, _WORTH_IMPORTING = 1_000_000, 30_000_000


def _worth_forms(n_distances: int) -> bool:
    return n_distances >= (_WORTH_FORMS if "numba" in sys.modules else _WORTH_IMPORTING)


def _by_forms(
    batch: np.ndarray, metric: Metric, prototypes: PrototypeSet, forms: tuple[np.ndarray, np.ndarray], codes: np.ndarray
) -> bool:
    """Fill in the labels of the nearest prototypes from one matrix product; False where a number is not finite."""
    vectors, constants = forms
    origin = prototypes.centring[0]
    rows = batch if origin is None else batch - origin
    products, gaps = vectors @ rows.T, np.empty(len(rows), dtype=vectors.dtype)
    if not nearest_labels.of(products.dtype)(products, constants, prototypes.labels, codes, gaps):
        return False
    longest = np.sqrt(squared_lengths(vectors).max())
    rounding = longest * np.sqrt(squared_lengths(rows)) + np.abs(constants).max()
    doubtful = np.flatnonzero(gaps <= ROUNDING * np.finfo(gaps.dtype).eps * rounding)
    if len(doubtful):
        codes[doubtful] = prototypes.labels[metric.nearest(batch[doubtful], prototypes)]
    return True


def with_predicted_first(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The probabilities with the largest of each row at its class in `codes`.

    Rounding can make equals of the first two of a row, or take the second for the first: the two change places, and
    the first gets one unit in the last place more.
    """
    doubtful = np.flatnonzero(probabilities.argmax(axis=1) != codes)
    leading, wanted = probabilities[doubtful].argmax(axis=1), codes[doubtful]
    largest = probabilities[doubtful, leading]
    probabilities[doubtful, leading] = probabilities[doubtful, wanted]
    # Above one half nothing else can be as large.
    probabilities[doubtful, wanted] = np.where(largest > 0.5, largest, np.nextafter(largest, 1.0))
    return probabilities


class NearestPrototypeMixin:
    """Methods of every classifier that has `prototypes_`, `prototype_labels_` and `classes_`."""

    # What other rooms of the package read of a fitted classifier: `_prototype_set` and `_class_order` (explanations,
    # reports), `_metric_and_theta`, `_calibrated_link` and, of MixtGauss, `_means` (exports), `_class_distances`
    # (explanations, calibration), `_link_and_slope` (probabilities of sets, calibration).

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
        order = self._class_order()
        metric, theta, slot = self._metric_and_theta(codes)
        return metric, PrototypeSet(self.prototypes_[order], codes[order], theta, slot[order])

    def _class_order(self) -> np.ndarray:
        """The rows of `prototypes_` in the order of their classes, in which `_prototype_set` has them."""
        return np.argsort(np.searchsorted(self.classes_, self.prototype_labels_), kind="stable")

    def _metric_and_theta(self, codes: np.ndarray) -> tuple[Metric, np.ndarray, np.ndarray]:
        metric = METRICS["euclidean"]
        return metric, np.empty((1, 0)), metric.slots(codes)

    def _link_and_slope(self) -> tuple[str, float]:
        return "relative", 1.0

    def _calibrated_link(self) -> tuple[str, float]:
        """The link and slope of `predict_proba`, with the temperature of `protolearn.explain.calibrated`."""
        return at_temperature(*self._link_and_slope(), getattr(self, "temperature_", 1.0))

    def _check_rows(self, X: Any, *, finite: bool = True) -> Any:
        check_is_fitted(self)
        # As in `fit`: scikit-learn's sum of float32 rows may overflow both ways.
        with np.errstate(invalid="ignore"):
            return validate_data(
                self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=finite
            )

    def _check_finite(self, X: Any) -> None:
        with np.errstate(invalid="ignore"):
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")

    def _sorted_prototypes(self, X: Any) -> tuple[Metric, PrototypeSet]:
        """Metric and prototypes in the number type in which distances to X are computed."""
        metric, prototypes = self._prototype_set()
        narrow = X.dtype == np.float32 and working_dtype(prototypes.positions) == np.float32
        return metric, prototypes if narrow else prototypes.astype(np.dtype(np.float64))

    def _batches_of_distances(self, X: Any) -> Iterator[tuple[slice, np.ndarray, PrototypeSet]]:
        """Squared distances to the sorted prototypes, batch by batch."""
        metric, prototypes = self._sorted_prototypes(X)
        for rows, batch in row_batches(X, len(prototypes), prototypes.positions.dtype):
            with blas_threads(X.shape[0] * prototypes.work):
                yield rows, self._finite_distances(metric, batch, prototypes), prototypes

    @staticmethod
    def _finite_distances(metric: Metric, batch: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            D = metric.distances(batch, prototypes)
            if not np.isfinite(D).all():
                # Squares of this batch overflow float32.
                D = metric.distances(batch.astype(np.float64), prototypes.astype(np.dtype(np.float64)))
        if not np.isfinite(D).all():
            raise ValueError(TOO_LARGE)
        return D

    def _class_distances(self, X: Any) -> np.ndarray:
        """Squared distance to the nearest prototype of each class; infinite for a class that has none yet."""
        return self._checked_class_distances(self._check_rows(X))

    def _checked_class_distances(self, X: Any) -> np.ndarray:
        """The same of checked rows."""
        result = np.full((X.shape[0], len(self.classes_)), np.inf)
        for rows, D, prototypes in self._batches_of_distances(X):
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
        codes = self._nearest_codes(self._check_rows(X, finite=False))
        return self.classes_[codes]

    def _nearest_codes(self, X: Any) -> np.ndarray:
        """Class codes of the nearest prototypes of checked rows; raises where a number is not finite.

        A number that is not finite makes every product with its row infinite or not a number, so products tell, and
        rows are looked at before only where there are none: to read a million rows once more takes a tenth of the time.
        """
        metric, prototypes = self._sorted_prototypes(X)
        dtype = prototypes.positions.dtype
        codes = np.empty(X.shape[0], dtype=np.int64)

        forms = metric.linear_forms(prototypes) if _worth_forms(X.shape[0] * len(prototypes)) else None
        if forms is None:
            self._check_finite(X)

        def classify(rows: slice) -> None:
            batch = dense_rows(X, rows, dtype)
            with np.errstate(over="ignore", invalid="ignore"):
                if forms is not None:
                    if _by_forms(batch, metric, prototypes, forms, codes[rows]):
                        return
                    self._check_finite(batch)
                nearest = metric.nearest(batch, prototypes)
            if (nearest < 0).any():
                raise ValueError(TOO_LARGE)
            codes[rows] = prototypes.labels[nearest]

        batches = row_slices(X.shape[0], max(len(prototypes), X.shape[1]), dtype.itemsize, _BATCH_BYTES)
        threads = threads_for(X.shape[0] * prototypes.work)
        with one_blas_thread():
            in_threads(classify, batches, threads)
        return codes

    def compiled(self) -> Callable[[Any], Any]:
        """Deprecated: `row_classifier`, which compiles nothing."""
        warnings.warn(
            "compiled() is called row_classifier() now, and goes after two releases.", FutureWarning, stacklevel=2
        )
        return self.row_classifier()

    def row_classifier(self) -> Callable[[Any], Any]:
        """A function of one row that returns its class, for services that are asked row by row.

        `predict` spends most of the time for one row on scikit-learn's checks. Here the prototypes are prepared once,
        and a row is checked for its length and for numbers that are not finite only. What is learned later does not
        change it.

        Returns
        -------
        classify : callable taking an array-like of shape (n_features,) and returning a label
        """
        check_is_fitted(self)
        metric, prototypes = self._prototype_set()
        prototypes = prototypes.astype(np.dtype(np.float64))
        measure = metric.row_distances(prototypes)
        labels = self.classes_[prototypes.labels]
        n_features = prototypes.positions.shape[1]

        def classify(row: Any) -> Any:
            x = np.asarray(row, dtype=np.float64)
            if x.shape != (n_features,):
                raise ValueError(f"A row has {n_features} features here; got an array of shape {x.shape}.")
            distances = measure(x)
            nearest = distances.argmin()
            # Squares of one number that is not finite make every distance infinite or not a number.
            if not isfinite(distances[nearest]):
                raise ValueError("The row holds a number that is not finite, or too large to square; clean it first.")
            return labels[nearest]

        return classify

    @in_blocks("classes")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class; rows sum to 1 and the largest entry is the class that `predict` gives.

        The sigmoid or softmax of the method's own paper over the nearest prototype of each class (see
        `protolearn.losses.links`). `fit` does not calibrate: a probability of 0.9 may be right in 0.7 of the cases.
        `protolearn.explain.calibrated` gives a copy of the model whose probabilities are as sure as they are right.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        X = self._check_rows(X)
        probabilities = class_probabilities(self._checked_class_distances(X), *self._calibrated_link())
        return with_predicted_first(probabilities, self._nearest_codes(X))

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
        columns = self._class_order()
        for rows, D, _ in self._batches_of_distances(X):
            with np.errstate(over="ignore"):
                result[rows, columns] = D
        if not np.isfinite(result).all():
            raise ValueError(TOO_LARGE + " Distances have the number type of X: float64 holds larger ones.")
        return result

    @property
    def _n_features_out(self) -> int:
        return len(self.prototypes_)
