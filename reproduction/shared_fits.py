"""Many fits on one training part that differ in their settings only: what they have in common is done once."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from protolearn.core.prototypes import PrototypeSet
from protolearn.data import TrainingSet, class_codes
from protolearn.estimators.learning import LearningClassifier, distance_scale
from protolearn.estimators.nearest import NearestPrototype
from protolearn.metrics import Metric
from protolearn.solvers import Objective, Plan
from protolearn.solvers.online import LOOK_AT, OnlineRun

# Rows of all epochs at once: 256 MB at most.
_MOST_NUMBERS = 1 << 25


@dataclass(frozen=True)
class Trained:
    """Prototypes and metric, enough to classify the rows of a hold-out."""

    classes: np.ndarray
    metric: Metric
    prototypes: PrototypeSet

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of the nearest prototype; they are sorted by class, so the first class on a tie."""
        return self.classes[self.prototypes.labels[self.metric.distances(X, self.prototypes).argmin(axis=1)]]


def fit_in_one_call(
    start: PrototypeSet, data: TrainingSet, objective: Objective, plan: Plan, order: np.ndarray
) -> PrototypeSet | None:
    """The prototypes that `online` ends with, by one call of the kernel over the rows of all epochs.

    For many short fits that share `order`, such as those of a grid of settings: 100 epochs over 90 rows take a third of
    the time. None where `online` has more to do: learning diverged, or ended above the loss it began with.
    """
    presentations = data.presentations(plan.random)
    stream = OnlineRun(start, data, objective, plan, epoch_length=presentations.length)
    before = stream.loss_at_start(presentations.sample(LOOK_AT))
    values = np.empty(len(order))
    if stream.run_rows(order, None, values) < len(order) or not values[-presentations.length :].mean() <= before:
        return None
    return stream.packed.prototypes()


class SharedFits:
    """A training part: one k-means for each number of prototypes, one order of presentation, one scale for each start.

    `predictions` equals `predict` of an estimator that was fitted with the same start and random_state: the compiled
    epochs are the same, only the checks of the input, the loss curve and nine of ten calls of the kernel are left out.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, seed: int) -> None:
        self.X, self.y, self.seed = X, y, seed
        self._starts: dict[int, NearestPrototype] = {}
        self._orders: dict[int, np.ndarray] = {}
        self._scales: dict[Any, tuple[PrototypeSet, float, float]] = {}

    @cached_property
    def _data(self) -> TrainingSet:
        classes, codes = class_codes(self.y)
        return TrainingSet(self.X, codes, None, len(classes))

    def start(self, size: int) -> NearestPrototype:
        """The k-means of each class with `size` centres."""
        if size not in self._starts:
            self._starts[size] = NearestPrototype(size, random_state=self.seed).fit(self.X, self.y)
        return self._starts[size]

    def predictions(self, model: Any, size: int | None, X: np.ndarray) -> np.ndarray:
        """Classes of X by `model`, learned from the k-means start with `size` centres where a size is given."""
        # Not `clone`, which takes as long as the fit of a small set.
        model = copy(model)
        if size is None:
            return model.fit(self.X, self.y).predict(X)
        if isinstance(model, NearestPrototype):
            return self.start(size).predict(X)
        model.init = self.start(size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trained = self._trained(model, size)
            return (model.fit(self.X, self.y) if trained is None else trained).predict(X)

    def _trained(self, model: LearningClassifier, size: int) -> Trained | None:
        """The cheap way; None where `fit` must do it."""
        data = self._data
        plain = model.solver == "online" and model.shuffle and model.tol is None and model.class_weight is None
        # Prototypes that are kept inside the range of the data learn on there.
        plain = plain and (model.bounds is None or not model.learn_prototypes)
        size_of_all = data.n_samples * model.max_iter * data.n_features
        if not plain or sparse.issparse(self.X) or model.random_state != self.seed or size_of_all > _MOST_NUMBERS:
            return None
        loss, metric = model._check_parameters()
        begin = self.start(size)
        model.classes_ = begin.classes_
        key = size, metric
        if key not in self._scales:
            first = metric.start(begin.prototypes_, np.searchsorted(begin.classes_, begin.prototype_labels_), data)
            self._scales[key] = first, *distance_scale(first, data, metric)
        first, model._scale, model._largest_distance = self._scales[key]
        random = np.random.RandomState(self.seed)
        objective, plan = model._problem(loss, metric, first, data, random, max_iter=model.max_iter)
        found = fit_in_one_call(first, data, objective, plan, self._order(model.max_iter))
        return None if found is None else Trained(begin.classes_, metric, found)

    def _order(self, epochs: int) -> np.ndarray:
        """The rows of all epochs, as `fit` draws them from the seed."""
        if epochs not in self._orders:
            presentations = self._data.presentations(np.random.RandomState(self.seed))
            drawn = [rows for _ in range(epochs) for rows, _ in presentations.epoch()]
            self._orders[epochs] = np.concatenate(drawn)
        return self._orders[epochs]
