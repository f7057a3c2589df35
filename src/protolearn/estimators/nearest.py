"""The nearest-prototype rule on prototypes that do not learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.core.parameters import check_random, stores_parameters
from protolearn.data import Samples
from protolearn.estimators.documentation import documented
from protolearn.estimators.start import PrototypeBase
from protolearn.metrics import Metric


@documented
class NearestPrototype(PrototypeBase):
    """Classify by the nearest prototype; the prototypes are given, or stay where an initializer puts them.

    With init="kmeans" this is the k-means row of LOGM's Table 8; with one prototype a class, the nearest class mean.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import NearestPrototype
    >>> X, y = load_iris(return_X_y=True)
    >>> round(NearestPrototype(n_prototypes=3, random_state=0).fit(X, y).score(X, y), 3)
    0.973
    """

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        init: Any = "kmeans",
        metric: str | Metric = "euclidean",
        metric_parameters: Any = None,
        random_state: Any = None,
    ) -> None: ...

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NearestPrototype:
        """Choose the prototypes.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or data frame of shape (n_samples, n_features), or `Blocks`
        y : array-like of shape (n_samples,)
            Left out where X is `Blocks`, which hold the labels.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        metric = self._make_metric()
        data = self._samples(X, y, sample_weight)
        start = self._start(data, metric, check_random(self.random_state))
        self.prototypes_ = start.positions.astype(data.input_dtype, copy=False)
        self.prototype_labels_ = self.classes_[start.labels]
        if self.metric_parameters is None:
            self._theta = start.theta
            self._warn_of_scales(metric, start, learns=False, stacklevel=3)
        else:
            self._theta = self._given_theta(metric, start.theta, data)
        return self

    def _given_theta(self, metric: Metric, like: np.ndarray, data: Samples) -> np.ndarray:
        theta = np.asarray(self.metric_parameters, dtype=data.dtype)
        if theta.ndim == like.ndim - 1 and metric.adaptive:
            theta = np.repeat(theta[None], len(like), axis=0)
        right = theta.ndim == like.ndim and len(theta) == len(like) and theta.shape[-1] == like.shape[-1]
        if not right or not np.isfinite(theta).all():
            raise ValueError(
                f"metric_parameters must be finite and of shape {like.shape[1:]} or {like.shape} for this metric; got "
                f"{np.shape(self.metric_parameters)}."
            )
        return theta
