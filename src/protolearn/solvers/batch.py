"""Loss and gradient of a block of samples, by matrix products: what every batch solver and a cluster sum up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protolearn.data import TrainingSet
from protolearn.losses import FieldLoss
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

    def __truediv__(self, number: float) -> Gradient:
        return Gradient(self.value / number, self.positions / number, self.theta / number)


def value_and_gradient(
    prototypes: PrototypeSet, X: np.ndarray, y: np.ndarray, weight: np.ndarray, objective: Objective
) -> Gradient:
    """Sum over the samples of weight times loss, with its gradient by positions and metric parameters.

    X is one dense block; the value is not finite where a distance is not.
    """
    loss, metric = objective.loss, objective.metric
    D = metric.distances(X, prototypes)
    pull = np.empty_like(D)
    block = (field_block if isinstance(loss, FieldLoss) else pair_block).of(D.dtype)
    parameters = objective.parameters(prototypes.labels)
    value = block(D, y, weight, prototypes.labels, loss.coefficients.of(D.dtype), parameters, pull)
    return Gradient(value, *metric.gradient(X, prototypes, pull))


def mean_gradient(prototypes: PrototypeSet, data: TrainingSet, objective: Objective) -> Gradient:
    """Mean loss over all samples, with its gradient, block by block."""
    total = Gradient(0.0, np.zeros(prototypes.positions.shape), np.zeros(prototypes.theta.shape))
    for X, y, weight in data.blocks(len(prototypes)):
        total = total + value_and_gradient(prototypes, X, y, weight, objective)
    return total / data.total_weight
