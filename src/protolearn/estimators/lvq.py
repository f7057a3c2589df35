"""Kohonen's rules and decision surface mapping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protolearn.core.parameters import stores_parameters
from protolearn.estimators.documentation import documented
from protolearn.estimators.learning import LearningClassifier
from protolearn.losses import LOSSES, Loss
from protolearn.metrics import Metric


@documented
class LVQ1(LearningClassifier):
    """Learning vector quantization: pull the nearest prototype where it is right, push it where it is wrong.

        m_c += alpha (x - m_c) or -= alpha (x - m_c)

    Kohonen (1990). A rule, not a loss: online only.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import LVQ1
    >>> X, y = load_iris(return_X_y=True)
    >>> round(LVQ1(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.953
    """

    _texts = {"learning_rate": "alpha"}

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        init: Any = "kmeans",
        bounds: str | None = "data",
        max_iter: int = 100,
        learning_rate: float = 0.05,
        schedule: str | Callable = "linear",
        shuffle: bool = True,
        tol: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    def _make_loss(self) -> Loss:
        return LOSSES["lvq1"]()


@documented
class OLVQ1(LearningClassifier):
    """LVQ1 with a learning rate for each prototype, which falls as it is right and rises as it is wrong.

        alpha_c /= 1 + alpha_c after a right answer, /= 1 - alpha_c after a wrong one, never above the first rate

    Kohonen (1992); fast: one to ten epochs do.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import OLVQ1
    >>> X, y = load_iris(return_X_y=True)
    >>> round(OLVQ1(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.953
    """

    _texts = {"learning_rate": "alpha"}

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        init: Any = "kmeans",
        bounds: str | None = "data",
        max_iter: int = 10,
        learning_rate: float = 0.3,
        shuffle: bool = True,
        tol: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    def _make_loss(self) -> Loss:
        return LOSSES["olvq1"]()


@documented
class LVQ2(LearningClassifier):
    """Where the nearest prototype is wrong and the second nearest right, move both, near their mid-plane only.

    Kohonen (1990). Best after LVQ1: pass a fitted LVQ1 as `init`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import LVQ2
    >>> X, y = load_iris(return_X_y=True)
    >>> round(LVQ2(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.973
    """

    _texts = {"learning_rate": "alpha"}

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        window: float = 0.3,
        lvq_pak_window: bool = False,
        init: Any = "kmeans",
        bounds: str | None = "data",
        max_iter: int = 20,
        learning_rate: float = 0.03,
        schedule: str | Callable = "linear",
        shuffle: bool = True,
        tol: float | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    def _make_loss(self) -> Loss:
        return LOSSES["lvq2"](self.window, self.lvq_pak_window)


@documented
class LVQ21(LearningClassifier):
    """LVQ2.1: where one of the two nearest prototypes is right and one wrong, move both, near their mid-plane only.

    Kohonen (1990); LVQ_PAK calls it lvq2. The prototypes drift apart in long runs: keep it short.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import LVQ21
    >>> X, y = load_iris(return_X_y=True)
    >>> round(LVQ21(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.973
    """

    _texts = {"learning_rate": "alpha"}

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        window: float = 0.3,
        lvq_pak_window: bool = False,
        init: Any = "kmeans",
        bounds: str | None = "data",
        max_iter: int = 20,
        learning_rate: float = 0.03,
        schedule: str | Callable = "linear",
        shuffle: bool = True,
        tol: float | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    def _make_loss(self) -> Loss:
        return LOSSES["lvq21"](self.window, self.lvq_pak_window)


@documented
class LVQ3(LearningClassifier):
    """LVQ2.1 with a small pull on both nearest prototypes where both are right, which keeps them in place.

    Kohonen (1990).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import LVQ3
    >>> X, y = load_iris(return_X_y=True)
    >>> round(LVQ3(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.967
    """

    _texts = {"learning_rate": "alpha"}

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        window: float = 0.3,
        lvq_pak_window: bool = False,
        epsilon: float = 0.2,
        init: Any = "kmeans",
        bounds: str | None = "data",
        max_iter: int = 20,
        learning_rate: float = 0.03,
        schedule: str | Callable = "linear",
        shuffle: bool = True,
        tol: float | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    def _make_loss(self) -> Loss:
        return LOSSES["lvq3"](self.window, self.lvq_pak_window, self.epsilon)


@documented
class DSM(LearningClassifier):
    """Decision surface mapping: on an error push the nearest prototype and pull the nearest of the right class.

    Geva and Sitte (1991). It minimises the perceptron loss max(d_own - d_rival, 0) / 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import DSM
    >>> X, y = load_iris(return_X_y=True)
    >>> round(DSM(n_prototypes=2, random_state=0).fit(X, y).score(X, y), 3)
    0.987
    """

    _texts = {"learning_rate": "alpha"}

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
        learning_rate: float = 0.05,
        schedule: str | Callable = "linear",
        metric_learning_rate: float = 0.1,
        shuffle: bool = True,
        batch_size: int = 128,
        tol: float | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    def _make_loss(self) -> Loss:
        return LOSSES["dsm"]()
