"""Any loss under any metric with any solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protolearn.core.parameters import stores_parameters
from protolearn.estimators.documentation import documented
from protolearn.estimators.learning import LearningClassifier
from protolearn.losses import LOSSES, CustomLoss, Loss
from protolearn.metrics import Metric


@documented
class PrototypeClassifier(LearningClassifier):
    """Prototypes learned by a loss of your choice, under a metric and with a solver of your choice.

    Examples
    --------
    A hinge on the margin, written on the spot, runs in the same compiled epoch as the losses of the library:

    >>> from sklearn.datasets import load_iris
    >>> from protolearn import PrototypeClassifier
    >>> def hinge(d_own, d_rival, slope):
    ...     margin = slope * (d_rival - d_own)
    ...     if margin >= 1.0:
    ...         return 0.0, 0.0, 0.0
    ...     return 1.0 - margin, slope, -slope
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PrototypeClassifier(n_prototypes=2, loss=hinge, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        loss: str | Loss | Callable = "logm",
        init: Any = "kmeans",
        bounds: str | None = "data",
        metric: str | Metric = "euclidean",
        solver: str = "online",
        max_iter: int = 100,
        learning_rate: float = 1.0,
        schedule: str | Callable = "linear",
        slope: float | None = None,
        annealing: float = 1.0,
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
        if isinstance(self.loss, Loss):
            return self.loss
        if isinstance(self.loss, str):
            return LOSSES[self.loss]()
        if callable(self.loss):
            return CustomLoss(self.loss)
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, a Loss or a function; got {self.loss!r}.")
