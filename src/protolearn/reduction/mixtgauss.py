"""MixtGauss: condensing to the means of a Gaussian mixture for each class."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from protolearn.core.parameters import check_choice, check_count, check_number, check_random, stores_parameters
from protolearn.data import Samples, TrainingSet, row_batches
from protolearn.estimators.blocked import in_blocks
from protolearn.estimators.documentation import documented
from protolearn.estimators.prediction import TOO_LARGE, with_predicted_first
from protolearn.estimators.start import start_on_sample
from protolearn.estimators.tradeoff import count_by_folds
from protolearn.initializers import INITIALIZERS, prototype_counts
from protolearn.reduction.base import Generator
from protolearn.reduction.class_sums import class_batches
from protolearn.reduction.mixtures import (
    STOPPING,
    ClassData,
    Mixture,
    MixtureStart,
    choose_by_bic,
    class_data,
    distinct_rows_of_classes,
    fit_mixtures,
    log_joint,
)

# A start this many ranges of the data away has left it.
_MOST_RANGES = 1e3


_STANDS_FOR = """    sample_prototypes_ : array of shape (n_samples,)
        The prototype that stands for each training sample; -1 for samples of weight 0.
    reduction_ : float
        Share of the samples removed.
"""


@documented
class MixtGauss(Generator):
    """Condensing: the means of a mixture of Gaussians for each class, fitted by EM.

        P(x | c) = sum_m alpha_m prod_k N(x_k; mu_mk, sigma_mk)                           (2)

    Lozano, Sotoca, Sanchez and Pla. Classes are fitted apart, with independent features; EM goes on while 1-NN on the
    means gets some class better (Algorithm 1). classify_by="mixture" uses the mixtures themselves: the class with the
    largest P(c) P(x | c), (1), with P(c) the share of the class. The paper prints a variance for a standard deviation
    (5), leaves the size of the disturbance open, and compares a class that went back with the step it rejected: see
    `protolearn.reduction.mixtgauss`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import MixtGauss
    >>> X, y = load_iris(return_X_y=True)
    >>> MixtGauss(n_prototypes=3, random_state=0).fit(X, y).score(X, y)
    0.98
    """

    _texts = {
        "n_prototypes": "mixture_components",
        "init": "mixture_init",
        "max_iter": "em_steps",
        "tol": "em_tol",
    }
    _attribute_texts = (
        _STANDS_FOR
        + """    means_, variances_ : arrays of shape (n_prototypes, n_features)
        The Gaussians; the means are the prototypes.
    priors_ : array of shape (n_prototypes,)
        Share of each Gaussian in its class (alpha).
    class_prior_ : array of shape (n_classes,)
        Share of each class.
    log_likelihood_curve_ : list
        Sum over the training set before each EM step and after the last.
    accuracy_curve_ : list
        Share of the training set that 1-NN on the means gets right, at the same times ("likelihood": first and last).
    n_iter_ : int
        EM steps.
"""
    )

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 3,
        *,
        init: str = "centroid",
        disturbance: float = 0.1,
        initial_spread: float = 0.1,
        literal_variance: bool = False,
        range_of: str = "class",
        stopping: str = "accuracy",
        classify_by: str = "prototypes",
        max_components: int = 10,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None: ...

    def _check_parameters(self) -> None:
        check_choice("init", self.init, ("centroid", *INITIALIZERS))
        check_number("disturbance", self.disturbance, above=0, at_most=_MOST_RANGES)
        check_number("initial_spread", self.initial_spread, above=0, at_most=_MOST_RANGES)
        check_choice("literal_variance", self.literal_variance, (True, False))
        check_choice("range_of", self.range_of, ("class", "all"))
        check_choice("stopping", self.stopping, STOPPING)
        check_choice("classify_by", self.classify_by, ("prototypes", "mixture"))
        check_count("max_components", self.max_components)
        check_count("max_iter", self.max_iter)
        check_number("tol", self.tol, at_least=0)
        if isinstance(self.n_prototypes, str):
            check_choice("n_prototypes", self.n_prototypes, ("bic", "auto"))

    _takes_blocks = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MixtGauss:
        """Fit the mixtures.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or data frame of shape (n_samples, n_features), or `Blocks`
            One EM step is one pass over blocks; there is no `sample_prototypes_` then.
        y : array-like of shape (n_samples,)
            Left out where X is `Blocks`, which hold the labels.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._check_parameters()
        data = self._samples(X, y, sample_weight)
        self._reduce(data, check_random(self.random_state))
        if not data.in_memory:
            return self
        weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
        if weight.ndim == 1:
            everywhere = np.full(len(weight), -1, dtype=np.int64)
            everywhere[weight > 0] = self.sample_prototypes_
            self.sample_prototypes_ = everywhere
        return self

    def _reduce(self, data: Samples, random: np.random.RandomState) -> None:
        parts = class_data(data, whole_range=self.range_of == "all")
        fitted = fit_mixtures(
            data,
            parts,
            self._start(data, parts, random),
            stopping=self.stopping,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        numbers = [len(mixture.means) for mixture in fitted.mixtures]
        self.variances_ = np.concatenate([mixture.variances for mixture in fitted.mixtures])
        self.priors_ = np.concatenate([mixture.priors for mixture in fitted.mixtures])
        totals = np.array([part.total for part in parts])
        self.class_prior_ = totals / totals.sum()
        self.log_likelihood_curve_ = fitted.log_likelihood
        self.accuracy_curve_ = fitted.accuracy
        self.n_iter_ = fitted.n_iter
        self._means = np.concatenate([mixture.means for mixture in fitted.mixtures])
        self._keep(self._means, np.repeat(np.arange(data.n_classes), numbers), data)
        if not isinstance(data, TrainingSet):
            return
        self.sample_prototypes_ = np.empty(data.n_samples, dtype=np.int64)
        for code, (first, mixture) in enumerate(zip(np.cumsum([0, *numbers]), fitted.mixtures, strict=False)):
            strongest = [mixture.log_densities(batch).argmax(axis=1) for batch, _ in class_batches(data, code)]
            self.sample_prototypes_[data.class_rows(code)] = first + np.concatenate(strongest)

    def _start(self, data: Samples, parts: list[ClassData], random: np.random.RandomState) -> list[Mixture]:
        start = MixtureStart(
            self.disturbance, self.initial_spread, self.literal_variance, whole_range=self.range_of == "all"
        )

        def begin(code: int, n: int) -> Mixture:
            part = parts[code]
            if self.init == "centroid":
                return start.mixture(part.centroid, part.ranges, part.floor, n, random)
            counts = np.where(np.arange(data.n_classes) == code, n, 0)
            positions, _ = data.on_sample(partial(start_on_sample, INITIALIZERS[self.init], counts, random))
            return start.around(positions.astype(np.float64), part.ranges, part.floor)

        if self.n_prototypes == "bic":
            return [
                choose_by_bic(part, partial(begin, code), self.max_components, self.max_iter, self.tol)
                for code, part in enumerate(parts)
            ]
        number = self.n_prototypes
        if number == "auto":
            number = data.on_sample(partial(count_by_folds, clone(self), self.classes_))
        wanted = prototype_counts(number, data.class_counts, self.classes_)
        # Equal rows cannot part two Gaussians, and a row of weight 2 is that row twice.
        numbers = distinct_rows_of_classes(parts, [int(n) for n in wanted])
        return [begin(code, n) for code, n in enumerate(numbers)]

    @property
    def means_(self) -> np.ndarray:
        """The means of the Gaussians: the prototypes."""
        return self.prototypes_

    def _mixtures(self) -> list[Mixture]:
        """The fitted mixture of each class."""
        codes = np.searchsorted(self.classes_, self.prototype_labels_)
        return [
            Mixture(self._means[codes == code], self.variances_[codes == code], self.priors_[codes == code])
            for code in range(len(self.classes_))
        ]

    def _log_joint(self, X: Any) -> np.ndarray:
        """ln P(c) P(x | c) for each row and class."""
        X = self._check_rows(X)
        mixtures = self._mixtures()
        result = np.empty((X.shape[0], len(self.classes_)))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, batch in row_batches(X, len(self.prototypes_), np.float64):
                result[rows] = log_joint(mixtures, self.class_prior_, batch)
        if not np.isfinite(result.max(axis=1)).all():
            raise ValueError(TOO_LARGE)
        return result

    def row_classifier(self) -> Callable[[Any], Any]:
        """A function of one row that returns its class, as `predict` does; what is learned later does not change it.

        Returns
        -------
        classify : callable taking an array-like of shape (n_features,) and returning a label
        """
        if self.classify_by == "prototypes":
            return super().row_classifier()
        check_is_fitted(self)
        mixtures, class_prior, classes = self._mixtures(), self.class_prior_.copy(), self.classes_
        n_features = self.n_features_in_

        def classify(row: Any) -> Any:
            x = np.asarray(row, dtype=np.float64)
            if x.shape != (n_features,):
                raise ValueError(f"A row has {n_features} features here; got an array of shape {x.shape}.")
            with np.errstate(over="ignore", invalid="ignore"):
                scores = log_joint(mixtures, class_prior, x[None])[0]
            best = scores.argmax()
            if not isfinite(scores[best]):
                raise ValueError("The row holds a number that is not finite, or too large to square; clean it first.")
            return classes[best]

        return classify

    @in_blocks("labels")
    def predict(self, X: Any) -> np.ndarray:
        """Class of the nearest mean, or of the largest P(c) P(x | c) with classify_by="mixture".

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        if self.classify_by == "prototypes":
            return super().predict(X)
        codes = self._log_joint(X).argmax(axis=1)
        return self.classes_[codes]

    @in_blocks("classes")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class: from the distances to the means, or P(c | x) with classify_by="mixture".

        `fit` calibrates neither; `protolearn.explain.calibrated` does the first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        if self.classify_by == "prototypes":
            return super().predict_proba(X)
        scores = self._log_joint(X)
        return with_predicted_first(softmax(scores, axis=1), scores.argmax(axis=1))

    @in_blocks("scores")
    def decision_function(self, X: Any) -> np.ndarray:
        """How much nearer each class is, or ln P(c) P(x | c) with classify_by="mixture".

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) with two classes, where above zero means
            the second one
        """
        if self.classify_by == "prototypes":
            return super().decision_function(X)
        scores = self._log_joint(X)
        return scores if len(self.classes_) != 2 else scores[:, 1] - scores[:, 0]
