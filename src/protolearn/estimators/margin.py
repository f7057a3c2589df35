"""Losses of the margin d_own - d_rival: minimum classification error and log-likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protolearn.core.parameters import stores_parameters
from protolearn.estimators.documentation import documented
from protolearn.estimators.learning import LearningClassifier
from protolearn.losses import LOSSES, Loss
from protolearn.metrics import Metric


@documented
class MCE(LearningClassifier):
    """Minimum classification error: the training error, smoothed by a sigmoid, by gradient descent.

        phi = s(slope (d_own - d_rival)) + alpha d_own                 LOGM (4) to (8), (22)

    Juang and Katagiri (1992), as in Jin, Liu and Hou (2010).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import MCE
    >>> X, y = load_iris(return_X_y=True)
    >>> round(MCE(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.98
    """

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
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
        return LOSSES["mce"]()


@documented
class LOGM(LearningClassifier):
    """Log-likelihood of the margin: the loss of logistic regression on how much nearer the rival is.

        phi = ln(1 + exp(slope (d_own - d_rival))) + alpha d_own       LOGM (20) to (23)

    `metric="euclidean"` is the paper's LOGM-P, "relevance" LOGM-PIW, "local_relevance" LOGM-PDW; with
    learn_prototypes=False a relevance metric gives LOGM-W. The steps are in units of the data, so that the defaults fit
    any scale. Jin, Liu and Hou (2010), Regularized margin-based conditional log-likelihood loss for prototype learning,
    Pattern Recognition 43.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import LOGM
    >>> X, y = load_iris(return_X_y=True)
    >>> round(LOGM(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.987
    """

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
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
        return LOSSES["logm"]()
