"""Structural risk minimisation over numbers of prototypes: learn1NN (30) to (33)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from protolearn.core.parameters import check_count, stores_parameters


def vc_dimension(n_prototypes: int, n_features: int) -> float:
    """VC dimension V of 1-NN rules with M prototypes in d dimensions, from its bound on the shatter coefficient.

        2^M V^((d + 1) M (M - 1) / 2) = 2^V                            learn1NN (32), (33)

    The larger of its two solutions. (32) is printed as an equality but is an upper bound (Devroye et al. 1996, 19.3),
    so V is one too. One prototype gives 1.

    Parameters
    ----------
    n_prototypes : int
        M, of all classes together.
    n_features : int
        d.

    Returns
    -------
    dimension : float
    """
    check_count("n_prototypes", n_prototypes)
    check_count("n_features", n_features)
    power = (n_features + 1) * n_prototypes * (n_prototypes - 1) / 2.0

    def surplus(v: float) -> float:
        return v * np.log(2.0) - n_prototypes * np.log(2.0) - power * np.log(v)

    # The left side grows slower than V from V = power / ln 2 on; the larger solution lies above it.
    low = max(power / np.log(2.0), float(n_prototypes), 1.0)
    high = 2.0 * low
    while surplus(high) < 0:
        high *= 2.0
    return float(brentq(surplus, low, high)) if surplus(low) < 0 else low


def complexity_penalty(n_prototypes: int, n_features: int, n_samples: int) -> float:
    """What structural risk minimisation adds to the training error.

        r(M, N) = sqrt(32 / N V ln(e N))                               learn1NN (31)

    An error is at most 1, and r passes 1 for any number of prototypes worth having: the paper finds it useless in
    practice (its Fig. 11), and so do we. A validation part chooses better.

    Parameters
    ----------
    n_prototypes, n_features : as for `vc_dimension`
    n_samples : int
        N.

    Returns
    -------
    penalty : float
    """
    check_count("n_samples", n_samples)
    return float(np.sqrt(32.0 / n_samples * vc_dimension(n_prototypes, n_features) * np.log(np.e * n_samples)))


class StructuralRiskSelector(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Fit one estimator for each number of prototypes, keep the one of the least penalised training error.

        penalised error = training error + r(M, N)                     learn1NN (30)

    For two classes; with more, wrap it in scikit-learn's OneVsRestClassifier, which is what the paper proposes.

    Parameters
    ----------
    estimator : classifier with a parameter `n_prototypes` and, once fitted, `prototypes_`
    n_prototypes : sequence of int
        Numbers for each class to try, default (1, 2, 3, 4, 8, 16).
    penalty_weight : float
        Factor of the penalty; 1 is the paper's, 0 chooses by training error alone.

    Attributes
    ----------
    best_estimator_ : the estimator kept
    best_n_prototypes_ : its number for each class
    results_ : dict of arrays "n_prototypes" (of all classes), "training_error", "penalty", "penalised_error"
    classes_, n_features_in_ : as everywhere in scikit-learn
    """

    @stores_parameters
    def __init__(
        self, estimator: Any = None, n_prototypes: Sequence[int] = (1, 2, 3, 4, 8, 16), penalty_weight: float = 1.0
    ) -> None: ...

    def fit(self, X: Any, y: Any) -> StructuralRiskSelector:
        """Fit all candidates and choose.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ValueError(
                f"The bound is for two classes, and y has {len(self.classes_)}; wrap the selector in scikit-learn's "
                "OneVsRestClassifier."
            )
        rows, fitted = [], []
        for number in self.n_prototypes:
            model = clone(self.estimator).set_params(n_prototypes=number).fit(X, y)
            total = len(model.prototypes_)
            penalty = complexity_penalty(total, X.shape[1], X.shape[0])
            error = 1.0 - model.score(X, y)
            rows.append((total, error, penalty, error + self.penalty_weight * penalty))
            fitted.append(model)
        names = ("n_prototypes", "training_error", "penalty", "penalised_error")
        self.results_ = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
        best = int(self.results_["penalised_error"].argmin())
        self.best_estimator_ = fitted[best]
        self.best_n_prototypes_ = self.n_prototypes[best]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Classes by the estimator kept.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities by the estimator kept.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)
