"""What every solver receives and returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.core.registry import Registry
from protolearn.core.schedules import Schedule
from protolearn.data import Samples
from protolearn.losses import Loss
from protolearn.metrics import Metric

SOLVERS = Registry("solver")

# Called after each epoch with (epoch from 1, mean loss, prototypes as a function); True stops the fit.
Watcher = Callable[[int, float, Callable[[], PrototypeSet]], bool]


@dataclass(frozen=True)
class Objective:
    """A loss under a metric, with its numbers."""

    loss: Loss
    metric: Metric
    slope: float
    regularization: float = 0.0

    def parameters(self, labels: np.ndarray) -> np.ndarray:
        """What the compiled loss reads."""
        return self.loss.parameters(self.slope, self.regularization, labels)


@dataclass(frozen=True)
class Plan:
    """How to minimise: numbers that are already in the units of the data.

    max_iter : epochs
    position_rate, metric_rate : eta(0) and rho(0); 0 freezes the positions or the metric
    schedule : factor of both at a step
    annealing : factor of the slope after each presented sample; the rates shrink by as much
    shuffle : a new random order each epoch; else the rows as they stand, over and over
    tol : stop when the relative change of the mean loss is below; None never stops (online) or 1e-6 (batch)
    scale : mean squared distance to the nearest start: the unit of squared distances
    limit : a squared distance that has no other cause than a step size that is too large
    batch_size : rows of a mini-batch
    ridge : lambda of the ridge that draws positions and metric to their start: batch solvers
    variance : the mean variance of a feature, the unit of the ridge's squared moves
    first_step, n_steps : where a schedule starts and ends; n_steps None means max_iter epochs
    watch : called after each epoch
    position_factor, metric_factor : factors of the two rates for each number: solvers "batch_sum" and "online"
    keep : which prototypes of the way are returned: "last", "best" on the training set, best on "validation"
    validation : the held-out part
    check_every : epochs between two looks at the error
    patience : looks without a lower error after which learning stops; None never stops for it
    """

    max_iter: int
    position_rate: float
    metric_rate: float
    schedule: Schedule
    random: np.random.RandomState
    scale: float
    limit: float = np.inf
    annealing: float = 1.0
    shuffle: bool = True
    tol: float | None = None
    batch_size: int = 128
    ridge: float = 0.0
    variance: float = 1.0
    first_step: int = 0
    n_steps: int | None = None
    rates: np.ndarray | None = None
    watch: Watcher | None = None
    position_factor: np.ndarray | float = 1.0
    metric_factor: np.ndarray | float = 1.0
    keep: str = "last"
    validation: Samples | None = None
    check_every: int = 1
    patience: int | None = None


@dataclass
class Solution:
    """Where a solver arrived.

    message : empty, or the one sentence the user must read
    interrupted : Ctrl-C was pressed; the prototypes are those of that moment
    """

    prototypes: PrototypeSet
    loss_curve: list[float] = field(default_factory=list)
    n_iter: int = 0
    n_steps: int = 0
    rates: np.ndarray | None = None
    message: str = ""
    interrupted: bool = False


DIVERGED = (
    "Learning diverged in epoch {epoch}: a distance was no longer finite. The prototypes of before are kept; choose a "
    "learning_rate below {rate:g}, or scale the features."
)


class Judge(Protocol):
    """What keeps the best prototypes of the way (protolearn.solvers.keeping)."""

    kept: PrototypeSet | None

    def due(self, epoch: int) -> bool:
        """Whether to look after this epoch."""

    def ends(self, prototypes: PrototypeSet, loss: float) -> bool:
        """Look; True where learning should stop."""


WORSE = (
    "Learning ended with a mean loss of {last:.3g}, above the {first:.3g} it began with: the prototypes of the best "
    "epoch are kept. Choose a learning_rate below {rate:g}, or a larger regularization."
)


class LossWatch:
    """Stops when the mean loss no longer changes, when the watcher says so, or when the judge does."""

    def __init__(self, tol: float | None, watch: Watcher | None, judge: Judge | None = None) -> None:
        self.tol = tol
        self.watch = watch
        self.judge = judge
        self.curve: list[float] = []

    def ends(self, value: float, prototypes: Callable[[], PrototypeSet]) -> bool:
        """Note the loss of one more epoch; True where it was the last."""
        self.curve.append(float(value))
        judge = self.judge
        if judge is not None and judge.due(len(self.curve)) and judge.ends(prototypes(), float(value)):
            return True
        if self.watch is not None and self.watch(len(self.curve), float(value), prototypes):
            return True
        if self.tol is None or len(self.curve) < 2:
            return False
        before, now = self.curve[-2:]
        return abs(before - now) <= self.tol * max(abs(before), abs(now))

    def kept(self, last: PrototypeSet) -> PrototypeSet:
        """What the solver returns: the last prototypes, or those the judge kept."""
        return last if self.judge is None or self.judge.kept is None else self.judge.kept
