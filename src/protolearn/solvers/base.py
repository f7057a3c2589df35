"""What every solver receives and returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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
    box : (2, n_prototypes, n_features), the least and the largest position of each prototype, or of all as
        (2, 1, n_features); None bounds none
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
    box: np.ndarray | None = None


def confined(prototypes: PrototypeSet, box: np.ndarray | None) -> PrototypeSet:
    """The prototypes, each moved to the nearest point of the box (see `Plan`)."""
    if box is None:
        return prototypes
    positions = np.clip(prototypes.positions, *box)
    return prototypes.moved(positions.astype(prototypes.positions.dtype, copy=False), prototypes.theta)


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


WORSE = (
    "Learning ended with a mean loss of {last:.3g}, above the {first:.3g} it began with: the prototypes of the best "
    "epoch are kept. Choose a learning_rate below {rate:g}, or a larger regularization."
)


@dataclass(frozen=True)
class Solver:
    """One of SOLVERS: a function that minimises, and what estimators need to know of it.

    solve : makes a Solution of the start, the samples, an Objective and a Plan
    text : one sentence for the docstrings
    solve_blocks : the same for samples in blocks, where `solve` takes samples in memory only
    by_sample : moves prototypes at each sample: learns rules that have no loss, and watches the distances for steps
        that are too large
    by_block : learns from one block of a stream after the other (`partial_fit`); False: needs all data at once
    rate_factors : reads the plan's position_factor and metric_factor
    ridge : adds the plan's ridge to the loss
    by_sum : steps grow with the number of samples, and need rates that are made for sums, as LPD's are
    """

    solve: Callable[[PrototypeSet, Any, Objective, Plan], Solution]
    text: str
    solve_blocks: Callable[[PrototypeSet, Any, Objective, Plan], Solution] | None = None
    by_sample: bool = False
    by_block: bool = True
    rate_factors: bool = False
    ridge: bool = False
    by_sum: bool = False

    def __call__(self, start: PrototypeSet, data: Samples, objective: Objective, plan: Plan) -> Solution:
        """Minimise, from a start on some samples."""
        solve = self.solve if data.in_memory or self.solve_blocks is None else self.solve_blocks
        return solve(start, data, objective, plan)
