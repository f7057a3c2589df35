"""What every classifier with prototypes does first: check the training set, choose where prototypes start."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import validate_data

from protolearn.core.pages import HasPage
from protolearn.core.parameters import as_numbers, check_choice
from protolearn.core.prototypes import PrototypeSet
from protolearn.data import Blocks, Samples, TrainingSet, blocked_set, class_codes, dense_rows, is_dask
from protolearn.data.ranges import check_range, size_and_spread
from protolearn.data.survey import Survey
from protolearn.estimators.blocked import block_source, in_blocks_only, note_columns, score_by_blocks
from protolearn.estimators.prediction import DistanceFeaturesMixin, NearestPrototypeMixin
from protolearn.estimators.tradeoff import count_by_folds
from protolearn.initializers import INITIALIZERS, Initializer, prototype_counts
from protolearn.metrics import METRICS, Metric

# Rows of its class that each prototype of a start on a sample stands for, at least.
_SAMPLES_A_PROTOTYPE = 30
# Spans of features from which on the narrower ones do not count in a distance: a thousandth, squared a millionth.
_UNEVEN = 1000.0


class CheckedClassifier(HasPage, NearestPrototypeMixin, ClassifierMixin, BaseEstimator):
    """Checks of the input, and prediction.

    data_min_, data_max_ : the range of each feature in the training set, where its rows were in memory

    _takes_blocks : whether `fit` needs sums over the samples only, so that they may be in blocks anywhere
    """

    class_weight: Any = None
    data_min_: np.ndarray
    data_max_: np.ndarray
    _takes_blocks = False

    def _check_training_set(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple:
        if is_dask(X) or isinstance(X, Blocks):
            raise TypeError(
                f"This needs samples in memory, and they come in blocks: pass an array to {type(self).__name__}, or "
                "choose `fit` of a classifier that learns by sums over blocks, such as GLVQ."
            )
        # scikit-learn sums float32 rows to see whether all are finite; the sum may overflow both ways.
        with np.errstate(invalid="ignore"):
            X, y = validate_data(
                self, X, y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=1
            )
        check_classification_targets(y)
        check_range("X", *size_and_spread(X), X.dtype)
        weight = _check_weight(sample_weight, X.shape[0])
        if weight is not None and (weight == 0).any():
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        if weight is not None and (weight == 1).all():
            weight = None
        return X, y, weight

    def _samples(self, X: Any, y: Any, sample_weight: Any) -> Samples:
        """Validated input of `fit`, in memory or in blocks; sets `classes_`."""
        if not (self._takes_blocks and in_blocks_only(X)):
            return self._training_set(X, y, sample_weight)
        for name in ("data_min_", "data_max_"):
            if hasattr(self, name):
                # Those of a fit before in memory; blocks are not read once more for them.
                delattr(self, name)
        source = block_source(X, y, sample_weight)
        data, survey = blocked_set(source, self._weights_of_classes)
        check_range("X", survey.largest, survey.largest)
        self._check_classes(survey.classes)
        note_columns(self, source, data.n_features)
        self.classes_ = survey.classes
        self._blocks_of_classes = survey.only_in if survey.n_blocks > 1 else np.full(len(survey.classes), -1)
        return data

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        """Validated input of `fit` in memory; sets `classes_`."""
        X, y, weight = self._check_training_set(X, y, sample_weight, reset=True)
        classes, codes = class_codes(y)
        self._check_classes(classes)
        self.classes_ = classes
        self._note_ranges(X)
        return TrainingSet(X, codes, self._with_class_weight(weight, codes), len(classes))

    def _note_ranges(self, X: Any, *, more: bool = False) -> None:
        """Keep the smallest and the largest value of each feature: an explanation names values between them only.

        more : X comes in addition to earlier rows; what is not known of those stays unknown
        """
        if more and not hasattr(self, "data_min_"):
            return
        low, high = min_max_axis(X, axis=0) if sparse.issparse(X) else (X.min(axis=0), X.max(axis=0))
        if more:
            low, high = np.minimum(low, self.data_min_), np.maximum(high, self.data_max_)
        self.data_min_, self.data_max_ = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)

    def _check_classes(self, classes: np.ndarray) -> None:
        # That of an earlier fit.
        if hasattr(self, "temperature_"):
            del self.temperature_
        if len(classes) < 2:
            raise ValueError(f"A classifier needs two classes; y has one class, {classes[0]!s}.")
        if getattr(self, "warm_start", False) and not np.array_equal(getattr(self, "classes_", classes), classes):
            raise ValueError(
                "warm_start goes on with the classes of the fit before, and y has others; set warm_start=False."
            )

    def _with_class_weight(self, weight: np.ndarray | None, codes: np.ndarray) -> np.ndarray | None:
        if self.class_weight is None:
            return weight
        present = np.unique(codes)
        total = np.bincount(codes, weights=weight, minlength=len(self.classes_))[present]
        factor = np.zeros(len(self.classes_))
        factor[present] = self._class_factors(self.classes_[present], total)
        return factor[codes] if weight is None else weight * factor[codes]

    def _weights_of_classes(self, survey: Survey) -> np.ndarray | None:
        return None if self.class_weight is None else self._class_factors(survey.classes, survey.weights)

    def _class_factors(self, classes: np.ndarray, total: np.ndarray) -> np.ndarray:
        """What class_weight multiplies the weights of each class by, from the sums of these weights."""
        chosen = self.class_weight
        if isinstance(chosen, str):
            check_choice("class_weight", chosen, ("balanced",))
            by_class = total.sum() / (len(classes) * total)
        else:
            by_class = compute_class_weight(chosen, classes=classes, y=classes)
        if not (by_class > 0).all():
            raise ValueError("class_weight must be above zero for every class; leave out the rows of a class instead.")
        check_range("class_weight", float(np.max(by_class)), float(np.max(by_class)))
        return by_class

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the samples whose class `predict` gives.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or data frame of shape (n_samples, n_features), or `Blocks`
        y : array-like of shape (n_samples,)
            The true classes; left out where X is `Blocks`, which hold them.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        accuracy : float
        """
        if in_blocks_only(X):
            return score_by_blocks(self, X, y, sample_weight)
        return super().score(X, y, sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PrototypeBase(DistanceFeaturesMixin, CheckedClassifier):
    """Also the start; a subclass has the parameters n_prototypes, init and metric."""

    _takes_blocks = True

    n_prototypes: Any
    init: Any
    metric: Any

    def _make_metric(self) -> Metric:
        metric = METRICS[self.metric] if isinstance(self.metric, str) else self.metric
        if not isinstance(metric, Metric):
            raise ValueError(f"metric must be one of {', '.join(METRICS)} or a Metric; got {self.metric!r}.")
        metric.check()
        return metric

    def _warn_of_scales(self, metric: Metric, start: PrototypeSet, *, learns: bool, stacklevel: int) -> None:
        """Warn where the features of the largest unit alone make the first distances.

        learns : whether the metric does; a map that begins there seldom finds the others, while weights may
        """
        if not hasattr(self, "data_min_"):
            return
        maps = metric.maps(start)
        if learns and maps is None:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.where(self.data_max_ > self.data_min_, self.data_max_ - self.data_min_, np.nan)
            # A map that is given may even them out.
            felt = spread if maps is None else spread * np.linalg.norm(maps, axis=1).max(axis=0)
            if np.isnan(felt).all():
                return
            wide, narrow = int(np.nanargmax(felt)), int(np.nanargmin(felt))
            if not all(span[wide] >= _UNEVEN * span[narrow] for span in (felt, spread)):
                return
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(len(spread))])
        why = (
            "so the widest features alone make the first distances, and learning seldom finds the others"
            if learns
            else "and the metric does not learn to weigh them, so the widest features alone decide"
        )
        warnings.warn(
            f"Feature {names[wide]} spans {spread[wide]:.3g} and {names[narrow]} {spread[narrow]:.3g}, {why}; put a "
            "StandardScaler before the classifier.",
            UserWarning,
            stacklevel=stacklevel,
        )

    def _start(
        self, data: Samples, metric: Metric, random: np.random.RandomState, *, further: bool = False
    ) -> PrototypeSet:
        """The first prototypes: by an initializer, from an array, or from a fitted estimator.

        further : these are of classes that a stream had not held before
        """
        given = self.init
        if isinstance(given, str) or callable(given):
            counts = prototype_counts(self._number_of_prototypes(data), data.class_counts, self.classes_)
            choose = INITIALIZERS[given] if isinstance(given, str) else given
            if given == "all" and not data.in_memory:
                raise ValueError('init="all" makes every sample a prototype, which then are in memory; pass an array.')
            # Samples in blocks: on a stratified sample, where it is.
            positions, labels = data.on_sample(
                partial(start_on_sample, choose, counts, random), _SAMPLES_A_PROTOTYPE * int(counts.max())
            )
            return metric.start(positions, labels, data)
        if hasattr(given, "prototypes_") and hasattr(given, "prototype_labels_"):
            positions, names = given.prototypes_, given.prototype_labels_
        elif isinstance(given, tuple) and len(given) == 2:
            positions, names = given
        else:
            positions, names = given, None
        positions, labels = self._check_given(positions, names, data)
        return metric.start(positions, labels, data)

    def _number_of_prototypes(self, data: Samples) -> Any:
        """`n_prototypes`, where it is "auto" the number that held-out rows choose."""
        if not (isinstance(self.n_prototypes, str) and self.n_prototypes == "auto"):
            return self.n_prototypes
        return data.on_sample(partial(count_by_folds, clone(self), self.classes_))

    def _check_given(self, positions: Any, names: Any, data: Samples) -> tuple[np.ndarray, np.ndarray]:
        positions = as_numbers(positions)
        if (
            positions is None
            or positions.ndim != 2
            or positions.shape[1] != data.n_features
            or not np.isfinite(positions).all()
        ):
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
            labels = np.repeat(np.arange(len(counts)), counts)
            self._check_classes_of_given(positions, labels, data)
            return positions, labels
        names = np.asarray(names)
        labels = np.minimum(np.searchsorted(self.classes_, names), len(self.classes_) - 1)
        if names.shape != (len(positions),) or not np.array_equal(self.classes_[labels], names):
            raise ValueError("The labels of init must be one class of y for each row; check both.")
        missing = np.setdiff1d(np.flatnonzero(data.class_counts), labels)
        if len(missing):
            raise ValueError(f"init has no prototype of class {self.classes_[missing[0]]!s}; add one.")
        return positions, labels

    def _check_classes_of_given(self, positions: np.ndarray, labels: np.ndarray, data: Samples) -> None:
        """Raise where rows of the training set, given without labels, would become prototypes of another class."""
        if not isinstance(data, TrainingSet):
            return
        for number, (position, code) in enumerate(zip(positions, labels, strict=True)):
            classes = data.y[rows_equal_to(data.X, position)]
            if len(classes) and code not in classes:
                raise ValueError(
                    f"Row {number} of init is a row of X of class {self.classes_[classes[0]]!s}, and would become a "
                    f"prototype of class {self.classes_[code]!s}: without labels, the rows of init go to the classes "
                    "in the order of the sorted labels; pass a pair (positions, labels)."
                )

    def _metric_and_theta(self, codes: np.ndarray) -> tuple[Metric, np.ndarray, np.ndarray]:
        metric = self._make_metric()
        return metric, self._theta, metric.slots(codes)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def start_on_sample(choose: Initializer, counts: np.ndarray, random: np.random.RandomState, data: TrainingSet) -> tuple:
    """The start on some samples, as a function that another process can import."""
    return choose(data, counts, random)


def rows_equal_to(X: Any, position: np.ndarray) -> np.ndarray:
    """The rows of a dense or sparse matrix that equal a position."""
    first = X[:, [0]].toarray()[:, 0] if sparse.issparse(X) else X[:, 0]
    rows = np.flatnonzero(first == position[0])
    return rows[(dense_rows(X, rows, np.float64) == position).all(axis=1)]


def _check_weight(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    """Weights as float64, or None where all count the same."""
    if sample_weight is None:
        return None
    # A copy: columns of data frames may be read-only, and compiled code is declared for arrays that are not.
    weight = np.array(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight must hold one number for each of the {n_samples} rows; got {weight.shape}.")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must hold finite numbers of at least 0; remove or mend the others.")
    check_range("sample_weight", float(weight.max()), float(weight.max()))
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; give at least two classes a weight above zero.")
    return weight


def _described(value: Any) -> str:
    """What was given, short enough for an error message."""
    shape = getattr(value, "shape", None)
    return f"an array of shape {shape}" if shape is not None else f"{value!r:.80}"
