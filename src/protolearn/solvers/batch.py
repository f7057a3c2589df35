"""Loss and gradient of a block of samples, by matrix products: what every batch solver and a cluster sum up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protolearn.data import TrainingSet
from protolearn.losses import FieldLoss
from protolearn.metrics import Metric
from protolearn.prototypes import PrototypeSet
from protolearn.solvers.base import Objective
from protolearn.solvers.kernels import field_block, pair_block


@dataclass
class Gradient:
    """Sum of the weighted losses of some samples, and its gradient; sums of blocks add up."""

    value: float
    positions: np.ndarray
    theta: np.ndarray

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(self.value + other.value, self.positions + other.positions, self.theta + other.theta)

    def __mul__(self, number: float) -> Gradient:
        return Gradient(self.value * number, self.positions * number, self.theta * number)

    def __truediv__(self, number: float) -> Gradient:
        return Gradient(self.value / number, self.positions / number, self.theta / number)


def coefficients(
    prototypes: PrototypeSet, X: np.ndarray, y: np.ndarray, weight: np.ndarray, objective: Objective
) -> tuple[float, np.ndarray, np.ndarray]:
    """Sum over a dense block of weight times loss, the distances D, and weight times d loss / d D.

    The value is not finite where a distance is not.
    """
    loss, metric = objective.loss, objective.metric
    D = metric.distances(X, prototypes)
    pull = np.empty_like(D)
    block = (field_block if isinstance(loss, FieldLoss) else pair_block).of(D.dtype)
    parameters = objective.parameters(prototypes.labels)
    value = block(D, y, weight, prototypes.labels, loss.coefficients.of(D.dtype), parameters, pull)
    return value, D, pull


def value_and_gradient(
    prototypes: PrototypeSet, X: np.ndarray, y: np.ndarray, weight: np.ndarray, objective: Objective
) -> Gradient:
    """Sum over the samples of weight times loss, with its gradient by positions and metric parameters.

    X is one dense block; the value is not finite where a distance is not. The penalty of the prototypes themselves is
    counted for each sample, like the loss.
    """
    value, _, pull = coefficients(prototypes, X, y, weight, objective)
    found = Gradient(value, *objective.metric.gradient(X, prototypes, pull))
    penalty = prototype_penalty(prototypes, objective)
    return found if penalty is None else found + penalty * float(weight.sum())


def prototype_penalty(prototypes: PrototypeSet, objective: Objective) -> Gradient | None:
    """The part of the objective that depends on the prototypes alone, where the loss has one."""
    if objective.regularization == 0:
        return None
    found = objective.loss.penalty(prototypes.positions, prototypes.labels)
    if found is None:
        return None
    value, slope = found
    return Gradient(value, slope, np.zeros(prototypes.theta.shape)) * objective.regularization


def mean_gradient(prototypes: PrototypeSet, data: TrainingSet, objective: Objective) -> Gradient:
    """Mean loss over all samples, with its gradient, block by block."""
    total = Gradient(0.0, np.zeros(prototypes.positions.shape), np.zeros(prototypes.theta.shape))
    for X, y, weight in data.blocks(len(prototypes)):
        total = total + value_and_gradient(prototypes, X, y, weight, objective)
    return total / data.total_weight


def wrong(D: np.ndarray, y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which rows have a nearest prototype of another class than y."""
    return labels[D.argmin(axis=1)] != y


def classification_error(prototypes: PrototypeSet, data: TrainingSet, metric: Metric) -> float:
    """Weighted share of samples whose nearest prototype is of another class."""
    total = 0.0
    for X, y, weight in data.blocks(len(prototypes)):
        total += float(weight @ wrong(metric.distances(X, prototypes), y, prototypes.labels))
    return total / data.total_weight
