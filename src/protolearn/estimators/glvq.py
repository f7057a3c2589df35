"""Generalized LVQ: the relative distance, under a Euclidean, a weighted or a matrix metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from protolearn.core.parameters import check_choice, stores_parameters
from protolearn.estimators.blocked import in_blocks
from protolearn.estimators.documentation import documented
from protolearn.estimators.learning import LearningClassifier
from protolearn.losses import LOSSES, Loss
from protolearn.metrics import Metric
from protolearn.metrics.diagonal import Diagonal
from protolearn.metrics.omega import Omega


def glvq_loss(transfer: str) -> Loss:
    """The relative distance, through a sigmoid or as it is."""
    check_choice("transfer", transfer, ("sigmoid", "identity"))
    return LOSSES["glvq_sigmoid" if transfer == "sigmoid" else "glvq"]()


@documented
class GLVQ(LearningClassifier):
    """Generalized learning vector quantization: minimise the relative distance of own and rival prototype.

        mu = (d_own - d_rival) / (d_own + d_rival), through a sigmoid of the given slope (LOGM paper) or as it is

    Sato and Yamada (1996).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import GLVQ
    >>> X, y = load_iris(return_X_y=True)
    >>> round(GLVQ(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.98
    """

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        transfer: str = "sigmoid",
        init: Any = "kmeans",
        bounds: str | None = "data",
        metric: str | Metric = "euclidean",
        solver: str = "online",
        max_iter: int = 100,
        learning_rate: float = 1.0,
        schedule: str | Callable = "linear",
        slope: float | None = None,
        regularization: float = 0.0,
        ridge: float = 0.0,
        metric_learning_rate: float = 0.1,
        learn_prototypes: bool = True,
        shuffle: bool = True,
        batch_size: int = 128,
        tol: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    def _make_loss(self) -> Loss:
        return glvq_loss(self.transfer)


@documented
class GRLVQ(LearningClassifier):
    """Generalized relevance LVQ: GLVQ with one learned weight a feature, shared by all prototypes.

    Hammer and Villmann (2002). `relevances_` sums to 1 (normalization="sum") or has mean 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import GRLVQ
    >>> X, y = load_iris(return_X_y=True)
    >>> round(GRLVQ(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.98
    """

    _attribute_texts = """    relevances_ : array of shape (n_features,)
        The weights of the features.
"""

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        transfer: str = "sigmoid",
        normalization: str = "sum",
        init: Any = "kmeans",
        bounds: str | None = "data",
        solver: str = "online",
        max_iter: int = 100,
        learning_rate: float = 1.0,
        schedule: str | Callable = "linear",
        slope: float | None = None,
        regularization: float = 0.0,
        ridge: float = 0.0,
        metric_learning_rate: float = 0.1,
        learn_prototypes: bool = True,
        shuffle: bool = True,
        batch_size: int = 128,
        tol: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    def _make_loss(self) -> Loss:
        return glvq_loss(self.transfer)

    def _make_metric(self) -> Metric:
        metric = Diagonal(normalization=self.normalization)
        metric.check()
        return metric


@documented
class GMLVQ(LearningClassifier):
    """Generalized matrix LVQ: GLVQ with a learned linear map of the features, shared by all prototypes.

        D = |Omega (x - m)|^2

    Schneider, Biehl and Hammer (2009). `transform` gives Omega x: the data as the classifier sees it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import GMLVQ
    >>> X, y = load_iris(return_X_y=True)
    >>> round(GMLVQ(n_prototypes=1, random_state=0).fit(X, y).score(X, y), 3)
    0.987
    """

    _texts = {"n_components": "map_rows"}
    _attribute_texts = """    omega_ : array of shape (n_components, n_features)
        The learned map.
"""

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        transfer: str = "sigmoid",
        n_components: int | str | None = "auto",
        normalization: str = "sum",
        init: Any = "kmeans",
        bounds: str | None = "data",
        solver: str = "online",
        max_iter: int = 100,
        learning_rate: float = 1.0,
        schedule: str | Callable = "linear",
        slope: float | None = None,
        regularization: float = 0.0,
        ridge: float = 0.0,
        metric_learning_rate: float = 0.1,
        learn_prototypes: bool = True,
        shuffle: bool = True,
        batch_size: int = 128,
        tol: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    def _make_loss(self) -> Loss:
        return glvq_loss(self.transfer)

    def _make_metric(self) -> Metric:
        metric = Omega(self.n_components, normalization=self.normalization)
        metric.check()
        return metric

    @in_blocks("features")
    def transform(self, X: Any) -> np.ndarray:
        """The samples after the learned map, Omega x.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        mapped : ndarray of shape (n_samples, n_components)
        """
        X = self._check_rows(X)
        return np.asarray(X @ self.omega_.T.astype(X.dtype, copy=False))

    @property
    def _n_features_out(self) -> int:
        return len(self.omega_)


@documented
class LGMLVQ(LearningClassifier):
    """Localized generalized matrix LVQ: GLVQ with a learned linear map for each class or each prototype.

    Schneider, Biehl and Hammer (2009). `omega_[s]` belongs to class s in `classes_`, or to prototype s.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import LGMLVQ
    >>> X, y = load_iris(return_X_y=True)
    >>> round(LGMLVQ(n_prototypes=1, random_state=0).fit(X, y).score(X, y), 3)
    0.993
    """

    _texts = {"n_components": "map_rows"}
    _attribute_texts = """    omega_ : array of shape (n_classes or n_prototypes, n_components, n_features)
        The learned map of each class or of each prototype.
"""

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        transfer: str = "sigmoid",
        n_components: int | str | None = "auto",
        scope: str = "class",
        normalization: str = "sum",
        init: Any = "kmeans",
        bounds: str | None = "data",
        solver: str = "online",
        max_iter: int = 100,
        learning_rate: float = 1.0,
        schedule: str | Callable = "linear",
        slope: float | None = None,
        regularization: float = 0.0,
        ridge: float = 0.0,
        metric_learning_rate: float = 0.1,
        learn_prototypes: bool = True,
        shuffle: bool = True,
        batch_size: int = 128,
        tol: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    def _make_loss(self) -> Loss:
        return glvq_loss(self.transfer)

    def _make_metric(self) -> Metric:
        check_choice("scope", self.scope, ("class", "prototype"))
        metric = Omega(self.n_components, self.scope, self.normalization)
        metric.check()
        return metric
