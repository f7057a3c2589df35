"""Gaussian learn1NN: large margins by the nearest mixture component of each class."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array

from protolearn.core.parameters import check_choice, check_number, stores_parameters
from protolearn.core.prototypes import PrototypeSet
from protolearn.data import Samples
from protolearn.estimators.documentation import documented
from protolearn.estimators.held_out import KeepingClassifier
from protolearn.losses import LOSSES, Loss
from protolearn.metrics import Metric
from protolearn.solvers import Solution

# The best sigma on validation was 0.25 of the gap for handwritten letters (64 features), 0.7 to 1.1 for Ripley's data
# (2 features), where the mean distance to the nearest prototype would be off by a factor of ten either way.
_SHARE_OF_GAP = 1 / 3


def mean_gap(start: PrototypeSet, data: Samples, metric: Metric) -> float:
    """Mean size of the difference between the squared distances to own and rival; 0 where a class is missing.

    Twice sigma divides just this difference in the exponent of d_j, so it is the unit of sigma.
    """
    total = data.reduce(partial(_gaps, start, metric), len(start))
    return total / data.total_weight if np.isfinite(total) else 0.0


def _gaps(start: PrototypeSet, metric: Metric, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    D = metric.distances(X, start)
    same = start.labels[None] == y[:, None]
    own, rival = np.where(same, D, np.inf).min(axis=1), np.where(same, np.inf, D).min(axis=1)
    if not (np.isfinite(own).all() and np.isfinite(rival).all()):
        return np.inf
    return float(weight @ np.abs(rival - own).astype(np.float64))


LOSS_NAMES = {"margin": "learn1nn", "cross_entropy": "learn1nn_cross_entropy"}


@documented
class Learn1NN(KeepingClassifier):
    """Gaussian learn1NN: prototypes of a 1-NN rule that is confident and right, by the nearest prototype of each class.

        d_j = exp(-D_j / 2 sigma) / sum over the classes,  phi = sigma (1 - d_k)      learn1NN (10), (11)
        w_k += alpha d_k (1 - d_k) (x - w_k),  w_j -= alpha d_j d_k (x - w_j)         (19), the winners of all classes

    The loss is the mean margin d - 1/2 but for a constant, so that on separable data the border is the one of the
    widest margin, however many prototypes there are. `predict_proba` returns d_j.
    Bermejo (2000), thesis, chapter 8.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import Learn1NN
    >>> X, y = load_iris(return_X_y=True)
    >>> Learn1NN(2, random_state=0).fit(X, y).score(X, y)
    0.9733333333333334
    """

    _texts = {
        "learning_rate": "learn1nn_alpha",
        "regularization": "learn1nn_lambda",
        "loss": "learn1nn_loss",
        "annealing": "sigma_annealing",
    }
    _attribute_texts = """    sigma_ : float
        The variance of the kernel at the end of learning.
"""

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        loss: str = "margin",
        sigma: float | None = None,
        annealing: float = 1.0,
        init: Any = "kmeans",
        bounds: str | None = "data",
        solver: str = "online",
        max_iter: int = 100,
        learning_rate: float = 0.1,
        schedule: str | Callable = "linear",
        regularization: float = 0.0,
        keep: str = "last",
        validation_fraction: float = 0.2,
        check_every: int = 1,
        patience: int | None = None,
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
        check_choice("loss", self.loss, LOSS_NAMES)
        return LOSSES[LOSS_NAMES[self.loss]]()

    def _check_parameters(self):
        if not (isinstance(self.sigma, float | np.floating) and np.isposinf(self.sigma)):
            check_number("sigma", self.sigma, above=0, optional=True)
        return super()._check_parameters()

    def _start(
        self, data: Samples, metric: Metric, random: np.random.RandomState, *, further: bool = False
    ) -> PrototypeSet:
        start = super()._start(data, metric, random, further=further)
        gap = mean_gap(start, data, metric)
        if gap > 0:
            self._default_sigma = _SHARE_OF_GAP * gap
        return start

    def _given_slope(self) -> float | None:
        sigma = getattr(self, "_default_sigma", None) if self.sigma is None else self.sigma
        return None if sigma is None else 1.0 / (2.0 * sigma)

    def _store(self, solution: Solution, loss: Loss, metric: Metric, dtype: np.dtype) -> None:
        super()._store(solution, loss, metric, dtype)
        with np.errstate(divide="ignore"):
            self.sigma_ = float(np.float64(1.0) / (2.0 * self._final_slope))

    def _link_and_slope(self) -> tuple[str, float]:
        # In the limit of sigma all d_j are equal and name no class: the relative distance does.
        return ("difference", self._final_slope) if self._final_slope > 0 else ("relative", 1.0)

    def margin(self, X: Any, y: Any) -> np.ndarray:
        """How confidently each sample is classified rightly: above zero where it is right, at most 1/2.

            rho(x) = z (d(x) - 1/2), z = +1 or -1                      learn1NN (26), two classes
            rho(x) = (d_k - largest other d_j) / 2                     any number; the same for two

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The true classes.

        Returns
        -------
        margins : ndarray of shape (n_samples,)
        """
        d = self.predict_proba(X)
        y = check_array(y, ensure_2d=False, dtype=None)
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if y.shape != (len(d),) or not np.array_equal(self.classes_[codes], y):
            raise ValueError("y must hold one class of the training set for each row of X; check both.")
        rows = np.arange(len(d))
        own = d[rows, codes]
        d[rows, codes] = -np.inf
        return 0.5 * (own - d.max(axis=1))

    def minimum_margin(self, X: Any, y: Any, near: float | None = None) -> float:
        """The margin of the worst sample, or of the worst one near the border.

        Parameters
        ----------
        X, y : as in `margin`
        near : float, optional
            Look at samples whose margin is less than this in size only, the paper's local minimum margin (28); None
            looks at all, (27).

        Returns
        -------
        margin : float
            1/2 where no sample is near the border.
        """
        margins = self.margin(X, y)
        if near is not None:
            margins = margins[np.abs(margins) < near]
        return float(margins.min(initial=0.5))
