"""What every classifier with prototypes does first: check the training set, choose where prototypes start."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from protolearn.data import TrainingSet
from protolearn.estimators.prediction import DistanceFeaturesMixin, NearestPrototypeMixin
from protolearn.initializers import INITIALIZERS, prototype_counts
from protolearn.metrics import METRICS, Metric
from protolearn.parameters import check_choice
from protolearn.prototypes import PrototypeSet


class CheckedClassifier(NearestPrototypeMixin, ClassifierMixin, BaseEstimator):
    """Checks of the input, and prediction."""

    class_weight: Any = None

    def _check_training_set(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple:
        X, y = validate_data(
            self, X, y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=1
        )
        check_classification_targets(y)
        weight = _check_weight(sample_weight, X.shape[0])
        if weight is not None and (weight == 0).any():
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        if weight is not None and (weight == 1).all():
            weight = None
        return X, y, weight

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        """Validated input of `fit`; sets `classes_`."""
        X, y, weight = self._check_training_set(X, y, sample_weight, reset=True)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"A classifier needs two classes; y has one class, {classes[0]!s}.")
        if getattr(self, "warm_start", False) and not np.array_equal(getattr(self, "classes_", classes), classes):
            raise ValueError(
                "warm_start goes on with the classes of the fit before, and y has others; set warm_start=False."
            )
        self.classes_ = classes
        return TrainingSet(X, codes, self._with_class_weight(weight, codes), len(classes))

    def _with_class_weight(self, weight: np.ndarray | None, codes: np.ndarray) -> np.ndarray | None:
        if self.class_weight is None:
            return weight
        present = np.unique(codes)
        chosen = self.class_weight
        if isinstance(chosen, str):
            check_choice("class_weight", chosen, ("balanced",))
            total = np.bincount(codes, weights=weight, minlength=len(self.classes_))[present]
            by_class = total.sum() / (len(present) * total)
        else:
            by_class = compute_class_weight(chosen, classes=self.classes_[present], y=self.classes_[codes])
        factor = np.zeros(len(self.classes_))
        factor[present] = by_class
        if not (factor[present] > 0).all():
            raise ValueError("class_weight must be above zero for every class; leave out the rows of a class instead.")
        return factor[codes] if weight is None else weight * factor[codes]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PrototypeBase(DistanceFeaturesMixin, CheckedClassifier):
    """Also the start; a subclass has the parameters n_prototypes, init and metric."""

    n_prototypes: Any
    init: Any
    metric: Any

    def _make_metric(self) -> Metric:
        metric = METRICS[self.metric] if isinstance(self.metric, str) else self.metric
        if not isinstance(metric, Metric):
            raise ValueError(f"metric must be one of {', '.join(METRICS)} or a Metric; got {self.metric!r}.")
        metric.check()
        return metric

    def _start(self, data: TrainingSet, metric: Metric, random: np.random.RandomState) -> PrototypeSet:
        """The first prototypes: by an initializer, from an array, or from a fitted estimator."""
        given = self.init
        if isinstance(given, str) or callable(given):
            counts = prototype_counts(self.n_prototypes, data.class_counts, self.classes_)
            choose = INITIALIZERS[given] if isinstance(given, str) else given
            positions, labels = choose(data, counts, random)
            return metric.start(positions, labels, data)
        if hasattr(given, "prototypes_") and hasattr(given, "prototype_labels_"):
            positions, names = given.prototypes_, given.prototype_labels_
        elif isinstance(given, tuple) and len(given) == 2:
            positions, names = given
        else:
            positions, names = given, None
        positions, labels = self._check_given(positions, names, data)
        return metric.start(positions, labels, data)

    def _check_given(self, positions: Any, names: Any, data: TrainingSet) -> tuple[np.ndarray, np.ndarray]:
        positions = np.asarray(positions, dtype=np.float64)
        if positions.ndim != 2 or positions.shape[1] != data.n_features or not np.isfinite(positions).all():
            raise ValueError(
                f"init must be one of {', '.join(INITIALIZERS)}, a fitted estimator, a pair (positions, labels) or an "
                f"array of finite positions with {data.n_features} columns; got {_described(self.init)}."
            )
        if names is None:
            counts = prototype_counts(self.n_prototypes, data.class_counts, self.classes_)
            if counts.sum() != len(positions):
                raise ValueError(
                    f"init has {len(positions)} rows, and n_prototypes asks for {counts.sum()}, class by class in the "
                    "order of the sorted labels; make them agree, or pass a pair (positions, labels)."
                )
            return positions, np.repeat(np.arange(len(counts)), counts)
        names = np.asarray(names)
        labels = np.minimum(np.searchsorted(self.classes_, names), len(self.classes_) - 1)
        if names.shape != (len(positions),) or not np.array_equal(self.classes_[labels], names):
            raise ValueError("The labels of init must be one class of y for each row; check both.")
        missing = np.setdiff1d(np.unique(data.y), labels)
        if len(missing):
            raise ValueError(f"init has no prototype of class {self.classes_[missing[0]]!s}; add one.")
        return positions, labels

    def _metric_and_theta(self, codes: np.ndarray) -> tuple[Metric, np.ndarray, np.ndarray]:
        metric = self._make_metric()
        return metric, self._theta, metric.slots(codes)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _check_weight(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    """Weights as float64, or None where all count the same."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight must hold one number for each of the {n_samples} rows; got {weight.shape}.")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must hold finite numbers of at least 0; remove or mend the others.")
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; give at least two classes a weight above zero.")
    return weight


def _described(value: Any) -> str:
    """What was given, short enough for an error message."""
    shape = getattr(value, "shape", None)
    return f"an array of shape {shape}" if shape is not None else f"{value!r:.80}"
