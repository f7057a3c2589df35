"""Learning prototypes and distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array

from protolearn.core.parameters import check_choice, check_number, stores_parameters
from protolearn.core.prototypes import PrototypeSet
from protolearn.data import Samples, TrainingSet, batch_rows
from protolearn.estimators.documentation import documented
from protolearn.estimators.held_out import KeepingClassifier
from protolearn.estimators.learning import mean_nearest_distance
from protolearn.losses import LOSSES, Loss
from protolearn.metrics import METRICS, Metric
from protolearn.metrics.squared_diagonal import SquaredDiagonal, class_spread
from protolearn.solvers import SOLVERS, Plan, Solution

INITIAL_WEIGHTS = ("auto", "ones", "inverse_std")
STEP_FACTORS = ("scale_free", "constant", "inverse_std")
# Distances of some seconds, for the 1-NN error of the start; a larger set is judged by a part of its samples.
_MOST_DISTANCES = 2e8
_LEAST_JUDGED = 1000


@documented
class LPD(KeepingClassifier):
    """Learning prototypes and distances: positions, and a weight vector for each prototype, by the 1-NN training error.

        J = mean over x of s(slope (d(x, own) / d(x, rival) - 1)),  d^2 = sum_j w_ij^2 (x_j - m_ij)^2   LPD (1) to (5)

    Starts at training samples drawn by class size. The weights start at 1, or at 1 / standard deviation of the class,
    whichever makes the better 1-NN rule on the training set left one out (`weights_start_` says which). Batch descent
    along the summed gradient, Fig. 1; returned is the iterate of the lowest training error, not the last one.

    The paper's steps have the units of the data (nu 0.01, mu 0.001, both times 1 / standard deviation where the weights
    start there), so that prototypes stand still along features of large numbers. By default the steps here are those
    that the printed numbers make on features of unit spread (docs/lpd.md compares both).
    Paredes and Vidal (2006), Learning prototypes and distances, Pattern Recognition 39.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import LPD
    >>> X, y = load_iris(return_X_y=True)
    >>> LPD(random_state=0).fit(X, y).score(X, y)
    0.9933333333333333
    """

    _texts = {
        "init": "lpd_init",
        "learning_rate": "nu",
        "metric_learning_rate": "mu",
        "slope": "beta",
        "tol": "lpd_tol",
    }

    _attribute_texts = """    relevances_ : array of shape (n_prototypes, n_features)
        The weights of the features for each prototype: their squares w^2.
    weights_ : array of shape (n_prototypes, n_features)
        The weights w of each prototype; `relevances_` holds their squares.
    weights_start_ : {"ones", "inverse_std"}
        Where the weights started.
"""

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 0.05,
        *,
        init: Any = "random",
        bounds: str | None = "data",
        initial_weights: str = "auto",
        solver: str = "batch_sum",
        max_iter: int = 300,
        learning_rate: float = 0.01,
        metric_learning_rate: float = 0.001,
        step_factors: str = "scale_free",
        schedule: str | Callable = "constant",
        slope: float = 10.0,
        keep: str = "best",
        validation_fraction: float = 0.2,
        check_every: int = 1,
        patience: int | None = None,
        exponent: float = 2.0,
        learn_prototypes: bool = True,
        shuffle: bool = True,
        tol: float | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable | None = None,
    ) -> None: ...

    @classmethod
    def _solvers(cls, loss: Loss | None = None) -> list[str]:
        return list(SOLVERS)

    def _make_loss(self) -> Loss:
        return LOSSES["lpd"]()

    def _make_metric(self) -> Metric:
        return METRICS["local_squared_relevance"]

    def _check_parameters(self):
        check_choice("initial_weights", self.initial_weights, INITIAL_WEIGHTS)
        check_choice("step_factors", self.step_factors, STEP_FACTORS)
        check_number("exponent", self.exponent, above=0)
        return super()._check_parameters()

    def _start(
        self, data: Samples, metric: Metric, random: np.random.RandomState, *, further: bool = False
    ) -> PrototypeSet:
        if not further:
            self.weights_start_ = self.initial_weights
            if self.initial_weights == "auto":
                plain, by_variance = (
                    data.on_sample(partial(leave_one_out_error, metric=METRICS[name]))
                    for name in ("euclidean", "class_variance")
                )
                self.weights_start_ = "ones" if plain < by_variance else "inverse_std"
        initial = "ones" if self.weights_start_ == "ones" else "inverse_spread"
        return super()._start(data, SquaredDiagonal("prototype", initial), random, further=further)

    def _adjusted_plan(
        self, plan: Plan, start: PrototypeSet, data: Samples, metric: Metric, validation: Samples | None
    ) -> Plan:
        plan = super()._adjusted_plan(plan, start, data, metric, validation)
        if not SOLVERS[self.solver].rate_factors:
            return plan
        position_rate = self.learning_rate if self.learn_prototypes else 0.0
        plan = replace(plan, position_rate=position_rate, metric_rate=self.metric_learning_rate)
        by_spread = self.weights_start_ == "inverse_std"
        if self.step_factors == "constant" or (self.step_factors == "inverse_std" and not by_spread):
            return plan
        spread = class_spread(data)[start.labels] if by_spread else np.ones(start.positions.shape)
        if self.step_factors == "inverse_std":
            return replace(plan, position_factor=1.0 / spread, metric_factor=1.0 / spread)
        unit, _ = mean_nearest_distance(start, data, metric)
        return replace(plan, position_factor=unit * spread**2, metric_factor=1.0 / spread**2)

    def _store(self, solution: Solution, loss: Loss, metric: Metric, dtype: np.dtype) -> None:
        super()._store(solution, loss, metric, dtype)
        self.weights_ = solution.prototypes.theta

    def _link_and_slope(self) -> tuple[str, float]:
        return self._link, self.exponent

    def verify(self, X: Any, claimed_labels: Any) -> np.ndarray:
        """How likely each sample is of the class it claims to be: an identity is accepted above a threshold.

        The probability (9) of the claimed class; `protolearn.explain.verification_curve` makes false acceptance, false
        rejection and the half-total error rate of these scores, and `protolearn.report.plot_verification` draws them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        claimed_labels : array-like of shape (n_samples,)
            One class of `classes_` for each row.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        claimed = check_array(claimed_labels, ensure_2d=False, dtype=None)
        codes = np.minimum(np.searchsorted(self.classes_, claimed), len(self.classes_) - 1)
        if claimed.shape != (len(probabilities),) or not np.array_equal(self.classes_[codes], claimed):
            raise ValueError("claimed_labels must hold one class of the training set for each row of X; check both.")
        return probabilities[np.arange(len(codes)), codes]


def leave_one_out_error(data: TrainingSet, metric: Metric) -> float:
    """Weighted share of samples whose nearest other sample, under the metric of that one's class, is of another class.

    A row of weight 2 stands for two samples, so it is its own nearest neighbour. Of equally near samples the one with
    the lowest index counts. The metric's own parameters (the variances of CDVW) are those of the whole set.
    """
    everything = metric.start(data.rows(slice(None)), data.y, data)
    n_judged = int(min(data.n_samples, max(_LEAST_JUDGED, _MOST_DISTANCES // data.n_samples)))
    judged = data.content_order[:n_judged]
    size = max(batch_rows(data.n_samples, data.dtype.itemsize), 1)
    wrong = total = 0.0
    for first in range(0, n_judged, size):
        rows = judged[first : first + size]
        weight = data.weights(rows)
        D = metric.distances(data.rows(rows), everything)
        alone = weight <= 1.0
        D[np.flatnonzero(alone), rows[alone]] = np.inf
        wrong += float(weight @ (data.y[D.argmin(axis=1)] != data.y[rows]))
        total += float(weight.sum())
    return wrong / total
