"""Soft nearest prototypes: posteriors under equal Gaussians around the prototypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protolearn.core.parameters import stores_parameters
from protolearn.estimators.documentation import documented
from protolearn.estimators.learning import LearningClassifier
from protolearn.losses import LOSSES, Loss
from protolearn.metrics import Metric


@documented
class SNPC(LearningClassifier):
    """Soft nearest prototype classifier: the posterior probability of an error, all prototypes taking part.

        phi = 1 - P_k - alpha ln sum_own exp(-slope D)                 LOGM (10) to (14), (25)

    The slope grows by `annealing` after each sample, as in the paper. Seo, Bode and Obermayer (2003).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import SNPC
    >>> X, y = load_iris(return_X_y=True)
    >>> round(SNPC(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
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
        annealing: float = 1.00001,
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
        return LOSSES["snpc"]()


@documented
class MAXP1(LearningClassifier):
    """SNPC with the S + 1 nearest prototypes only, which saves most of the time.

    LOGM (35), (36).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import MAXP1
    >>> X, y = load_iris(return_X_y=True)
    >>> round(MAXP1(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.98
    """

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        n_nearest: int | None = None,
        include_own: bool = False,
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
        return LOSSES["maxp1"](self.n_nearest, self.include_own)


@documented
class RSLVQ(LearningClassifier):
    """Robust soft LVQ: the negative log posterior of the own class, all prototypes taking part.

        phi = -ln P_k - alpha ln sum_own exp(-slope D)                 LOGM (17), (18), (25)

    Seo and Obermayer (2003). slope = 1 / (2 sigma^2).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import RSLVQ
    >>> X, y = load_iris(return_X_y=True)
    >>> round(RSLVQ(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
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
        return LOSSES["rslvq"]()


@documented
class RSLVQ1(LearningClassifier):
    """RSLVQ with the S + 1 nearest prototypes only, which saves most of the time.

    LOGM (35), (36). Where none of them is of the sample's class the paper's sum is empty and its log infinite: the
    nearest own prototype takes the last place, or, with include_own=False, the others are only pushed, which can drive
    prototypes out of the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import RSLVQ1
    >>> X, y = load_iris(return_X_y=True)
    >>> round(RSLVQ1(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.987
    """

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        n_nearest: int | None = None,
        include_own: bool = True,
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
        return LOSSES["rslvq1"](self.n_nearest, self.include_own)
