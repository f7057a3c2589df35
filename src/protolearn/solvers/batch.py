"""Loss and gradient of a batch of samples, by matrix products: what every batch solver and a cluster sum up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from protolearn.core.prototypes import PrototypeSet
from protolearn.data import Samples
from protolearn.data.samples import Reducible
from protolearn.losses import AllPrototypesLoss
from protolearn.metrics import Metric
from protolearn.metrics.base import Coefficients, Gradients
from protolearn.solvers.base import Objective
from protolearn.solvers.kernels import all_prototypes_batch, pair_batch

# Sums of so many batches lose no more digits than the sums of thousands of rows within each of them.
_FEW_BATCHES = 8


@dataclass
class Gradient:
    """Sum of the weighted losses of some samples, its gradient, and the sum of the weights; sums of batches add up.

    Many batches add up in float64: in float32 they would lose digits.

    errors : weight of the samples that the nearest prototype classifies wrongly, where it was asked for
    """

    value: float
    positions: np.ndarray
    theta: np.ndarray
    weight: float = 0.0
    errors: float = 0.0
    n_batches: int = 1

    def __add__(self, other: Gradient) -> Gradient:
        n_batches = self.n_batches + other.n_batches
        dtype = None if n_batches <= _FEW_BATCHES else np.float64
        return Gradient(
            self.value + other.value,
            np.add(self.positions, other.positions, dtype=dtype),
            np.add(self.theta, other.theta, dtype=dtype),
            self.weight + other.weight,
            self.errors + other.errors,
            n_batches,
        )

    def __mul__(self, number: float) -> Gradient:
        return Gradient(
            self.value * number,
            self.positions * number,
            self.theta * number,
            self.weight * number,
            self.errors * number,
            self.n_batches,
        )

    def __truediv__(self, number: float) -> Gradient:
        return self * (1.0 / number)


def coefficients(
    prototypes: PrototypeSet, X: np.ndarray, y: np.ndarray, weight: np.ndarray, objective: Objective
) -> tuple[float, np.ndarray, Coefficients, Callable[[Coefficients], Gradients]]:
    """Sum over a dense batch of weight times loss, D, C = weight times d loss / d D, and what makes gradients of C.

    A loss of own and rival has two coefficients a row: C is sparse. The value is not finite where a distance is not.
    """
    loss, labels = objective.loss, prototypes.labels
    dtype = prototypes.positions.dtype
    parameters = objective.parameters(labels)
    formula = loss.coefficients.of(dtype)
    D, pullback = objective.metric.distances_and_pullback(X, prototypes)
    if isinstance(loss, AllPrototypesLoss):
        D = np.ascontiguousarray(D)
        C = np.empty_like(D)
        return all_prototypes_batch.of(dtype)(D, y, weight, labels, formula, parameters, C), D, C, pullback
    pairs, pulls = np.zeros((len(X), 2), dtype=np.int32), np.zeros((len(X), 2), dtype=dtype)
    columns = np.ascontiguousarray(D.T)
    value = pair_batch.of(dtype)(columns, y, weight, labels, formula, parameters, pairs, pulls)
    return value, D, pair_coefficients(pairs, pulls, len(prototypes)), pullback


def pair_coefficients(pairs: np.ndarray, pulls: np.ndarray, n_prototypes: int) -> sparse.csr_array:
    """The coefficients of own and rival as a sparse matrix of rows times prototypes."""
    n = len(pairs)
    return sparse.csr_array((pulls.ravel(), pairs.ravel(), np.arange(0, 2 * n + 1, 2)), shape=(n, n_prototypes))


def value_and_gradient(
    prototypes: PrototypeSet, objective: Objective, X: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> Gradient:
    """Sum over the samples of weight times loss, with its gradient by positions and metric parameters.

    X is one dense batch; the value is not finite where a distance is not.
    """
    value, _, C, pullback = coefficients(prototypes, X, y, weight, objective)
    found = Gradient(value, *pullback(C), float(weight.sum()))
    return with_penalty(found, prototypes, objective)


def with_penalty(found: Gradient, prototypes: PrototypeSet, objective: Objective) -> Gradient:
    """With the penalty of the prototypes themselves, which counts for each sample."""
    penalty = prototype_penalty(prototypes, objective)
    return found if penalty is None else found + penalty * found.weight


def prototype_penalty(prototypes: PrototypeSet, objective: Objective) -> Gradient | None:
    """The part of the objective that depends on the prototypes alone, where the loss has one."""
    if objective.regularization == 0:
        return None
    found = objective.loss.penalty(prototypes.positions, prototypes.labels)
    if found is None:
        return None
    value, gradient = found
    return Gradient(value, gradient, np.zeros(prototypes.theta.shape)) * objective.regularization


def total_gradient(prototypes: PrototypeSet, data: Reducible, objective: Objective) -> Gradient | None:
    """Sum of the loss over all samples, with its gradient: a sum over batches, wherever they are; None of no batch."""
    of_batch = partial(value_and_gradient, prototypes, objective)
    return data.reduce(of_batch, len(prototypes), work=prototypes.work)


def whole_gradient(prototypes: PrototypeSet, data: Samples, objective: Objective) -> Gradient:
    """As `total_gradient`, of one sample at least."""
    total = total_gradient(prototypes, data, objective)
    if total is None:
        raise ValueError("There is no sample to take the mean over; give at least one.")
    return total


def wrong(D: np.ndarray, y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which rows have a nearest prototype of another class than y."""
    return labels[D.argmin(axis=1)] != y


def classification_error(prototypes: PrototypeSet, data: Samples, metric: Metric) -> float:
    """Weighted share of samples whose nearest prototype is of another class."""
    wrong_weight = partial(_wrong_weight, prototypes, metric)
    return data.reduce(wrong_weight, len(prototypes), work=prototypes.work) / data.total_weight


def _wrong_weight(prototypes: PrototypeSet, metric: Metric, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    return float(weight @ wrong(metric.distances(X, prototypes), y, prototypes.labels))
