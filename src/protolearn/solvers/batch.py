"""Loss and gradient of a block of samples, by matrix products: what every batch solver and a cluster sum up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from protolearn.data import Samples
from protolearn.data.samples import Reducible
from protolearn.losses import FieldLoss
from protolearn.metrics import Metric
from protolearn.metrics.pulls import PairPull, Pull
from protolearn.prototypes import PrototypeSet
from protolearn.solvers import omega_block, thin_block
from protolearn.solvers.base import Objective
from protolearn.solvers.kernels import field_block, pair_block

# Sums of so many blocks lose no more digits than the sums of thousands of rows within each of them.
_FEW_BLOCKS = 8


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
) -> tuple[float, np.ndarray, Pull]:
    """Sum over a dense block of weight times loss, the distances D, and weight times d loss / d D.

    Of a loss of own and rival, D is right for these two; in place of other distances there may be any larger numbers.
    The value is not finite where a distance is not.
    """
    loss, labels = objective.loss, prototypes.labels
    dtype = prototypes.positions.dtype
    parameters = objective.parameters(labels)
    formula = loss.coefficients.argument(dtype)
    if isinstance(loss, FieldLoss):
        D = objective.metric.distances(X, prototypes)
        pull = np.empty_like(D)
        return field_block.of(dtype)(D, y, weight, labels, formula, parameters, pull), D, pull
    D = objective.metric.distances_of_nearest(X, y, prototypes, objective.kept)
    pairs, pulls = np.zeros((len(X), 2), dtype=np.int32), np.zeros((len(X), 2), dtype=dtype)
    value = pair_block.of(dtype)(D, y, weight, labels, formula, parameters, pairs, pulls)
    return value, D.T, PairPull(pairs, pulls, len(prototypes))


@dataclass
class BlockSums:
    """What blocks of samples add up, many of them in float64: in float32 they would lose digits.

    value : weighted losses
    moments : what the metric makes its gradient of
    errors : weight of the samples that the nearest prototype classifies wrongly, where it was asked for
    n_blocks : how many blocks these are the sums of
    """

    value: float
    moments: tuple[np.ndarray, ...]
    weight: float
    errors: float = 0.0
    n_blocks: int = 1

    def __add__(self, other: BlockSums) -> BlockSums:
        n_blocks = self.n_blocks + other.n_blocks
        dtype = None if n_blocks <= _FEW_BLOCKS else np.float64
        return BlockSums(
            self.value + other.value,
            tuple(np.add(one, two, dtype=dtype) for one, two in zip(self.moments, other.moments, strict=True)),
            self.weight + other.weight,
            self.errors + other.errors,
            n_blocks,
        )

    def gradient(self, prototypes: PrototypeSet, objective: Objective) -> Gradient:
        """Value and gradient of all of them, with the penalty of the prototypes themselves counted for each sample."""
        found = Gradient(self.value, *objective.metric.gradient_of(prototypes, self.moments), self.weight)
        penalty = prototype_penalty(prototypes, objective)
        return found if penalty is None else found + penalty * self.weight


def sums_of_block(
    prototypes: PrototypeSet, objective: Objective, X: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> BlockSums:
    """Losses and moments of one dense block."""
    for way in (omega_block, thin_block):
        if way.serves(prototypes, objective):
            value, moments = way.value_and_moments(prototypes, objective, X, y, weight)
            break
    else:
        value, _, pull = coefficients(prototypes, X, y, weight, objective)
        moments = objective.metric.moments(X, prototypes, pull)
    return BlockSums(value, moments, float(weight.sum()))


@dataclass(frozen=True)
class SumsOfBlock:
    """`sums_of_block` for certain prototypes."""

    prototypes: PrototypeSet
    objective: Objective

    def __call__(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> BlockSums:
        """Of one block."""
        return sums_of_block(self.prototypes, self.objective, X, y, weight)

    def of_pieces(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, length: int) -> BlockSums | None:
        """The sums over pieces of so many rows each, in one call; None where blocks are left to threads of Python."""
        if not omega_block.serves(self.prototypes, self.objective):
            return None
        found = omega_block.value_and_moments_of_pieces(self.prototypes, self.objective, X, y, weight, length)
        return None if found is None else BlockSums(*found, float(weight.sum()), n_blocks=-(-len(X) // length))


def value_and_gradient(
    prototypes: PrototypeSet, X: np.ndarray, y: np.ndarray, weight: np.ndarray, objective: Objective
) -> Gradient:
    """Sum over the samples of weight times loss, with its gradient by positions and metric parameters.

    X is one dense block; the value is not finite where a distance is not.
    """
    return sums_of_block(prototypes, objective, X, y, weight).gradient(prototypes, objective)


def prototype_penalty(prototypes: PrototypeSet, objective: Objective) -> Gradient | None:
    """The part of the objective that depends on the prototypes alone, where the loss has one."""
    if objective.regularization == 0:
        return None
    found = objective.loss.penalty(prototypes.positions, prototypes.labels)
    if found is None:
        return None
    value, slope = found
    return Gradient(value, slope, np.zeros(prototypes.theta.shape)) * objective.regularization


def total_gradient(prototypes: PrototypeSet, data: Reducible, objective: Objective) -> Gradient | None:
    """Sum of the loss over all samples, with its gradient: a sum over blocks, wherever they are; None of no block."""
    of_block = SumsOfBlock(prototypes, objective)
    objective.metric.prepare(prototypes, objective.kept)
    sums: BlockSums | None = data.reduce(of_block, len(prototypes), work=prototypes.work)
    return None if sums is None else sums.gradient(prototypes, objective)


def whole_gradient(prototypes: PrototypeSet, data: Samples, objective: Objective) -> Gradient:
    """As `total_gradient`, of one sample at least."""
    total = total_gradient(prototypes, data, objective)
    if total is None:
        raise ValueError("There is no sample to take the mean over; give at least one.")
    return total


def mean_gradient(prototypes: PrototypeSet, data: Samples, objective: Objective) -> Gradient:
    """Mean loss over all samples, with its gradient."""
    return whole_gradient(prototypes, data, objective) / data.total_weight


def wrong(D: np.ndarray, y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which rows have a nearest prototype of another class than y."""
    return labels[D.argmin(axis=1)] != y


def classification_error(prototypes: PrototypeSet, data: Samples, metric: Metric) -> float:
    """Weighted share of samples whose nearest prototype is of another class."""
    wrong_weight = partial(_wrong_weight, prototypes, metric)
    return data.reduce(wrong_weight, len(prototypes), work=prototypes.work) / data.total_weight


def _wrong_weight(prototypes: PrototypeSet, metric: Metric, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    return float(weight @ wrong(metric.distances(X, prototypes), y, prototypes.labels))
