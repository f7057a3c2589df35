"""Which of the prototypes on the way a solver returns: the last, or the best on the training set or a held-out part."""

from __future__ import annotations

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.data import Samples
from protolearn.metrics import Metric
from protolearn.solvers.base import Plan
from protolearn.solvers.batch import classification_error

KEEP = ("last", "best", "validation")


class Keeper:
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
        self.kept: PrototypeSet | None = None
        self.lowest = (np.inf, np.inf)
        self.idle = 0
        self.curve: list[float] = []

    def due(self, epoch: int) -> bool:
        """Whether to look after this epoch, counted from 1."""
        return epoch % self.every == 0

    def ends(self, prototypes: PrototypeSet, loss: float, error: float | None = None) -> bool:
        """Compare with the best so far; True where patience is at its end. `error` saves computing it again."""
        if error is None:
            error = classification_error(prototypes, self.data, self.metric)
        self.curve.append(error)
        self.idle = 0 if error < self.lowest[0] else self.idle + 1
        if (error, loss) < self.lowest:
            self.lowest, self.kept = (error, loss), prototypes
        return self.patience is not None and self.idle >= self.patience


def make_keeper(plan: Plan, data: Samples, metric: Metric) -> Keeper | None:
    """The keeper that a plan asks for; None where the last prototypes are returned."""
    return None if plan.keep == "last" else Keeper(plan, data, metric)
