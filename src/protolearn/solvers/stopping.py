"""Early stopping: when learning ends, and whether it returns the last prototypes or the best ones on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.data import Samples
from protolearn.metrics import Metric
from protolearn.solvers.base import Plan, Watcher
from protolearn.solvers.batch import classification_error

KEEP = ("last", "best", "validation")


class BestIterate:
    """Remembers the prototypes of the lowest 1-NN error, and says when errors no longer fall.

    keep="best" looks at the training set (LPD, end of 2.1), "validation" at the plan's held-out part (learn1NN 5.1.2).
    Among iterates of equal error the one of the lowest loss is kept: it has the wider margin.
    With `patience` checks in a row that bring no lower error, learning stops; the paper's "increases or stands" is 1.
    """

    def __init__(self, plan: Plan, data: Samples, metric: Metric) -> None:
        self.on_training_set = plan.keep == "best"
        judged = data if self.on_training_set else plan.validation
        if judged is None:
            raise ValueError('keep="validation" needs held-out samples; give a validation part or choose "best".')
        self.data = judged
        self.metric = metric
        self.every = plan.check_every
        self.patience = plan.patience
        self.best: PrototypeSet | None = None
        self.lowest = (np.inf, np.inf)
        self.idle = 0
        self.curve: list[float] = []

    def due(self, epoch: int) -> bool:
        """Whether to look after this epoch, counted from 1."""
        return epoch % self.every == 0

    def should_stop(self, prototypes: PrototypeSet, loss: float, error: float | None = None) -> bool:
        """Compare with the best so far; True where patience is at its end. `error` saves computing it again."""
        if error is None:
            error = classification_error(prototypes, self.data, self.metric)
        self.curve.append(error)
        self.idle = 0 if error < self.lowest[0] else self.idle + 1
        if (error, loss) < self.lowest:
            self.lowest, self.best = (error, loss), prototypes
        return self.patience is not None and self.idle >= self.patience


def best_iterate(plan: Plan, data: Samples, metric: Metric) -> BestIterate | None:
    """What remembers the best iterate for a plan; None where the last one is returned."""
    return None if plan.keep == "last" else BestIterate(plan, data, metric)


def unchanged(prototypes: PrototypeSet) -> PrototypeSet:
    """The prototypes themselves: bound by `partial`, what `EarlyStopping.should_stop` asks where they are at hand."""
    return prototypes


class EarlyStopping:
    """Ends learning when the mean loss no longer changes, the watcher says so, or the error no longer falls."""

    def __init__(self, tol: float | None, watch: Watcher | None, best: BestIterate | None = None) -> None:
        self.tol = tol
        self.watch = watch
        self.best = best
        self.curve: list[float] = []

    def should_stop(self, value: float, prototypes: Callable[[], PrototypeSet]) -> bool:
        """Note the loss of one more epoch; True where it was the last."""
        self.curve.append(float(value))
        best = self.best
        if best is not None and best.due(len(self.curve)) and best.should_stop(prototypes(), float(value)):
            return True
        if self.watch is not None and self.watch(len(self.curve), float(value), prototypes):
            return True
        if self.tol is None or len(self.curve) < 2:
            return False
        before, now = self.curve[-2:]
        return abs(before - now) <= self.tol * max(abs(before), abs(now))

    def chosen(self, last: PrototypeSet) -> PrototypeSet:
        """What the solver returns: the last prototypes, or the best ones."""
        return last if self.best is None or self.best.best is None else self.best.best
