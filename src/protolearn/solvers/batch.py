"""Loss and gradient of a block of samples, by matrix products: what every batch solver and a cluster sum up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from protolearn.data import Samples
from protolearn.data.samples import Reducible
from protolearn.losses import FieldLoss
from protolearn.metrics import Metric
from protolearn.prototypes import PrototypeSet
from protolearn.solvers.base import Objective
from protolearn.solvers.kernels import field_block, pair_block


@dataclass
class Gradient:
    """Sum of the weighted losses of some samples, its gradient, and the sum of the weights; sums of blocks add up."""

    value: float
    positions: np.ndarray
    theta: np.ndarray
    weight: float = 0.0

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(
            self.value + other.value,
            self.positions + other.positions,
            self.theta + other.theta,
            self.weight + other.weight,
        )

    def __mul__(self, number: float) -> Gradient:
        return Gradient(self.value * number, self.positions * number, self.theta * number, self.weight * number)

    def __truediv__(self, number: float) -> Gradient:
        return Gradient(self.value / number, self.positions / number, self.theta / number, self.weight / number)


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


def total_gradient(prototypes: PrototypeSet, data: Reducible, objective: Objective) -> Gradient:
    """Sum of the loss over all samples, with its gradient: a sum over blocks, wherever they are."""
    return data.reduce(partial(_of_block, prototypes, objective), len(prototypes))


def mean_gradient(prototypes: PrototypeSet, data: Samples, objective: Objective) -> Gradient:
    """Mean loss over all samples, with its gradient."""
    return total_gradient(prototypes, data, objective) / data.total_weight


def _of_block(
    prototypes: PrototypeSet, objective: Objective, X: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> Gradient:
    """Value and gradient of a block, in float64: sums of many blocks of float32 would lose digits."""
    found = value_and_gradient(prototypes, X, y, weight, objective)
    positions, theta = (part.astype(np.float64, copy=False) for part in (found.positions, found.theta))
    return Gradient(found.value, positions, theta, float(weight.sum()))


def wrong(D: np.ndarray, y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which rows have a nearest prototype of another class than y."""
    return labels[D.argmin(axis=1)] != y


def classification_error(prototypes: PrototypeSet, data: Samples, metric: Metric) -> float:
    """Weighted share of samples whose nearest prototype is of another class."""
    return data.reduce(partial(_wrong_weight, prototypes, metric), len(prototypes)) / data.total_weight


def _wrong_weight(prototypes: PrototypeSet, metric: Metric, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    return float(weight @ wrong(metric.distances(X, prototypes), y, prototypes.labels))
