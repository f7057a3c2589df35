"""Classifiers that learn: the units of the rates, the solver, the fitted attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from protolearn.core.parameters import check_choice, check_count, check_number, check_random
from protolearn.core.prototypes import PrototypeSet
from protolearn.core.schedules import annealed, as_schedule
from protolearn.core.threads import one_blas_thread
from protolearn.data import Samples, TrainingSet
from protolearn.data.ranges import LARGEST
from protolearn.data.training_set import largest_number
from protolearn.estimators.blocked import warn_of_sorted_rows
from protolearn.estimators.cases import BOUNDS, middle_of_classes, nearest_cases, rows_that_count
from protolearn.estimators.start import PrototypeBase
from protolearn.losses import Loss
from protolearn.losses.links import LARGEST_SLOPE
from protolearn.metrics import METRICS, Metric
from protolearn.solvers import SOLVERS, Objective, Plan, Solution
from protolearn.solvers.base import confined
from protolearn.solvers.inside import brought_inside
from protolearn.solvers.progress import ProgressLine

# A prototype a thousand times further away than any was at the start has run away.
_RUN_AWAY = 1e6
# How prototypes learn inside the range of the data: the slope is at least so many times what it was, the rate a share.
_LEAST_STEEPER, _INSIDE_RATE = 4.0, 0.1


def mean_nearest_distance(start: PrototypeSet, data: Samples, metric: Metric) -> tuple[float, float]:
    """The mean squared distance of the samples to the nearest start, of any class, and the largest one to any start.

    Where every sample sits on a prototype the mean is the total variance of the data, and 1 where that is 0 too.
    """
    nearest = partial(_nearest_distances, start, metric)
    total, largest = data.reduce(nearest, len(start), _sum_and_largest, start.work)
    mean = total / data.total_weight or float(np.trace(data.covariance)) or 1.0
    return mean, max(largest, mean)


def _nearest_distances(
    start: PrototypeSet, metric: Metric, X: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[float, float]:
    D = metric.distances(X, start)
    return float(weight @ D.min(axis=1).astype(np.float64)), float(D.max())


def _sum_and_largest(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] + other[0], max(one[1], other[1])


def distance_scale(start: PrototypeSet, data: Samples, metric: Metric) -> tuple[float, float]:
    """cov, the mean squared Euclidean distance to the nearest start (LOGM 6.2), and the largest under the metric."""
    cov, largest = mean_nearest_distance(start, data, METRICS["euclidean"])
    return cov, max(largest, mean_nearest_distance(start, data, metric)[1]) if metric.adaptive else largest


def _in_range(prototypes: PrototypeSet, metric: Metric, dtype: np.dtype) -> bool:
    """Whether distances to the prototypes can be computed, and the positions be kept in a number type."""
    largest = min(LARGEST, float(np.finfo(dtype).max))
    with np.errstate(over="ignore"):
        weights = metric.weights(prototypes)
    parts = (prototypes.theta,) if weights is None else (prototypes.theta, weights)
    finite = all(np.isfinite(part).all() for part in parts)
    return finite and largest_number(prototypes.positions) <= largest


class LearningClassifier(PrototypeBase):
    """A subclass names its loss in `_make_loss`, its metric in `_make_metric`, and its parameters in `__init__`."""

    _absent = {
        "metric": "the distance is a part of the method. PrototypeClassifier takes any loss with any metric; "
        "GLVQ, LOGM and DSM take a metric too.",
        "solver": "a rule that has no loss learns from sample to sample only. GLVQ, LOGM and DSM take a solver.",
    }

    # What a class has no parameter for keeps these values.
    n_prototypes: Any = 1
    init: Any = "kmeans"
    bounds: str | None = "data"
    metric: str | Metric = "euclidean"
    solver: str = "online"
    max_iter: int = 100
    learning_rate: float = 1.0
    schedule: str | Callable = "linear"
    slope: float | None = None
    annealing: float = 1.0
    regularization: float = 0.0
    ridge: float = 0.0
    metric_learning_rate: float = 0.1
    learn_prototypes: bool = True
    shuffle: bool = True
    batch_size: int = 128
    tol: float | None = None
    random_state: Any = None
    warm_start: bool = False
    verbose: int = 0
    callback: Callable | None = None

    # What a fit keeps of its way into the range of the data: the positions before, and how much steeper the slope is.
    _free_positions: np.ndarray | None = None
    _slope_factor: float = 1.0

    @classmethod
    def _solvers(cls, loss: Loss | None = None) -> list[str]:
        """The solvers to choose from, for a loss or for all of them."""
        rule = loss is not None and not loss.differentiable
        return [name for name, solver in SOLVERS.items() if solver.by_sample or not (rule or solver.by_sum)]

    def _make_loss(self) -> Loss:
        raise NotImplementedError("abstract: a classifier names its loss")

    def _check_parameters(self) -> tuple[Loss, Metric]:
        loss, metric = self._make_loss(), self._make_metric()
        loss.check()
        check_choice("bounds", self.bounds, BOUNDS)
        check_choice("solver", self.solver, self._solvers(loss))
        check_count("max_iter", self.max_iter)
        check_number("learning_rate", self.learning_rate, above=0)
        if loss.individual_rates:
            check_number("learning_rate", self.learning_rate, below=1)
        as_schedule(self.schedule)
        check_number("slope", self.slope, above=0, optional=True)
        check_number("annealing", self.annealing, above=0)
        check_number("regularization", self.regularization, at_least=0)
        check_number("ridge", self.ridge, at_least=0)
        if self.ridge and not SOLVERS[self.solver].ridge:
            others = " or ".join(f"solver={name!r}" for name, solver in SOLVERS.items() if solver.ridge)
            raise ValueError(f"solver={self.solver!r} learns without a ridge; choose {others}, or leave ridge at 0.")
        check_number("metric_learning_rate", self.metric_learning_rate, at_least=0)
        check_count("batch_size", self.batch_size)
        check_number("tol", self.tol, at_least=0, optional=True)
        if not self.learn_prototypes and not metric.adaptive:
            raise ValueError(
                "learn_prototypes=False leaves nothing to learn under the Euclidean metric; choose another metric, or "
                "NearestPrototype."
            )
        if not self.learn_prototypes and self.metric_learning_rate == 0:
            raise ValueError(
                "learn_prototypes=False and metric_learning_rate=0 leave nothing to learn; raise metric_learning_rate, "
                "or choose NearestPrototype."
            )
        return loss, metric

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None):
        """Learn prototypes (and metric) from a training set.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or data frame of shape (n_samples, n_features), or `Blocks`
            float32 stays float32. Large memory-mapped arrays are read in blocks (docs/scale.md).
        y : array-like of shape (n_samples,)
            Class labels of any kind; left out where X is `Blocks`, which hold them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a row of weight 2 counts as that row twice, one of weight 0 is left out.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, held_out: tuple[Any, Any] | None = None):
        loss, metric = self._check_parameters()
        data = self._samples(X, y, sample_weight)
        random = check_random(self.random_state)
        given = data
        if self.bounds == "class" and not (isinstance(data, TrainingSet) and isinstance(data.X, np.ndarray)):
            raise ValueError("bounds='class' needs the rows of each class, dense and in memory; choose 'data' or None.")
        data, validation = self._hold_out(data, held_out, random)
        goes_on = self.warm_start and hasattr(self, "prototypes_")
        # Only steps from sample to sample are watched for running away.
        watched = metric if SOLVERS[self.solver].by_sample else METRICS["euclidean"]
        # A start whose weights overflow is refused before the first step.
        with np.errstate(over="ignore", invalid="ignore"):
            start = self._current_set(data, metric) if goes_on else self._start(data, metric, random)
            self._scale, self._largest_distance = distance_scale(start, data, watched)
        self._check_start(start, metric, data)
        self._warn_of_scales(metric, start, learns=metric.adaptive, stacklevel=4)
        objective, plan = self._problem(
            loss, metric, start, data, random, max_iter=self.max_iter, validation=validation
        )
        solution = self._solve(start, data, objective, plan)
        solution = self._kept_inside(solution, loss, metric, data, random, validation=validation)
        self._store(solution, loss, metric, data.input_dtype)
        self._note_cases(solution.prototypes, metric, given, sample_weight)
        self._steps = solution.n_steps
        self._rates = solution.rates
        self._stream_random = random
        if solution.interrupted:
            raise KeyboardInterrupt("fit was interrupted; the model holds the prototypes of that moment")
        return self

    def _kept_inside(
        self,
        solution: Solution,
        loss: Loss,
        metric: Metric,
        data: Samples,
        random: np.random.RandomState,
        *,
        validation: Samples | None = None,
    ) -> Solution:
        """The solution with its prototypes inside their bounds; learning goes on from where they were.

        Where no shrinking leaves every decision as it is, the positions learn on inside: half as many epochs, at a
        tenth of the rate, for a loss steeper by as much as the distances between prototypes are shorter, at least
        four times: twice loses 0.2 points of accuracy more on the 28 sets where LOGM(4) needs it, 0.4 on GLVQ(2)'s 15.
        """
        self._free_positions, self._slope_factor = None, 1.0
        if self.bounds is None or not self.learn_prototypes:
            return solution
        free = solution.prototypes
        if self.bounds == "class" and isinstance(data, TrainingSet):
            box = middle_of_classes(data, free.labels)
        else:
            box = self._range_of(data)[:, None]
        inside = brought_inside(free, metric, box)
        if inside.prototypes is free:
            return solution
        self._free_positions = free.positions.astype(data.input_dtype)
        start, self._slope_factor = inside.prototypes, inside.shrunk
        if inside.exact or solution.interrupted or len(np.unique(free.labels)) < 2:
            return replace(solution, prototypes=start)
        self._slope_factor = max(inside.shrunk, _LEAST_STEEPER)
        epochs = -(-self.max_iter // 2)
        objective, plan = self._problem(loss, metric, start, data, random, max_iter=epochs, validation=validation)
        steeper = annealed(self._slope_factor, self.annealing, solution.n_steps)
        plan = replace(
            plan,
            box=box,
            annealing=1.0,
            metric_rate=0.0,
            position_rate=_INSIDE_RATE * plan.position_rate / (steeper if loss.differentiable else 1.0),
        )
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = SOLVERS[self.solver](start, data, replace(objective, slope=steeper * objective.slope), plan)
        prototypes = confined(found.prototypes, box)
        return replace(solution, prototypes=prototypes, interrupted=found.interrupted)

    def _range_of(self, data: Samples) -> np.ndarray:
        """The least and the largest value of each feature, (2, n_features)."""
        if not data.in_memory:
            self.data_min_, self.data_max_ = data.feature_ranges
        return np.stack([self.data_min_, self.data_max_])

    def _note_cases(self, found: PrototypeSet, metric: Metric, data: Samples, sample_weight: Any) -> None:
        """The nearest training row of each prototype, where the rows have an index."""
        self.prototype_cases_ = None
        if isinstance(data, TrainingSet):
            cases, rows = nearest_cases(found, data, metric), rows_that_count(sample_weight)
            self.prototype_cases_ = cases if rows is None else np.where(cases < 0, -1, rows[cases])

    def _check_start(self, start: PrototypeSet, metric: Metric, data: Samples) -> None:
        if not _in_range(start, metric, data.input_dtype):
            raise ValueError(
                f"The first weights of {type(self).__name__} overflow {data.input_dtype}, because the features differ "
                "too much in size; scale the features first, for example by StandardScaler."
            )

    def _hold_out(
        self, data: Samples, given: tuple[Any, Any] | None, random: np.random.RandomState
    ) -> tuple[Samples, Samples | None]:
        """The part to learn from, and the part that decides when to stop, where the method has one."""
        return data, None

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None):
        """Learn from one more block of a stream, in one pass.

        The first block sets the unit of the rates; a class that it lacks gets its prototypes from the first block that
        has it. A "linear" schedule, which has no end to aim at, holds its first rate. `bounds` do not hold the
        prototypes of a stream, whose range is not known: they follow where the rows drift.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array-like, needed in the first call
            All classes that will ever come.

        Returns
        -------
        self
        """
        loss, metric = self._check_parameters()
        if not SOLVERS[self.solver].by_block:
            others = " or ".join(repr(name) for name in self._solvers(loss) if SOLVERS[name].by_block)
            raise ValueError(f"solver={self.solver!r} needs all data at once; choose {others}.")
        first = not hasattr(self, "prototypes_")
        if first and classes is None:
            raise ValueError("The first call of partial_fit needs `classes`, all classes that will ever come.")
        X, y, weight = self._check_training_set(X, y, sample_weight, reset=first)
        if first:
            self.classes_ = np.unique(classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError("`classes` differs from that of the first call of partial_fit; leave it out.")
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if not np.array_equal(self.classes_[codes], y):
            unknown = y[self.classes_[codes] != y][0]
            raise ValueError(f"y holds class {unknown!s}, which is not in `classes` of the first partial_fit.")
        data = TrainingSet(X, codes, self._with_class_weight(weight, codes), len(self.classes_))
        self._note_ranges(X, more=not first)
        if first:
            self._stream_random = check_random(self.random_state)
            start = self._start(data, metric, self._stream_random)
            self._check_start(start, metric, data)
            self._steps, self._rates = 0, None
            self._scale, self._largest_distance = distance_scale(start, data, metric)
        else:
            start = self._with_new_classes(self._current_set(data, metric), data, metric)
            self._largest_distance = max(self._largest_distance, distance_scale(start, data, metric)[1])
        if len(np.unique(start.labels)) > 1:
            objective, plan = self._problem(
                loss, metric, start, data, self._stream_random, max_iter=1, first_step=self._steps
            )
            solution = self._solve(start, data, objective, plan)
        else:
            solution = Solution(start, n_iter=1, n_steps=self._steps)
        # The range of a stream is not known while it runs: its prototypes are free, and follow a drift.
        self._free_positions, self._slope_factor = None, 1.0
        self._store(solution, loss, metric, data.input_dtype)
        self.prototype_cases_ = None
        self._steps = max(solution.n_steps, self._steps + 1)
        self._rates = solution.rates
        if solution.interrupted:
            raise KeyboardInterrupt("partial_fit was interrupted; the model holds the prototypes of that moment")
        return self

    def _current_set(self, data: Samples, metric: Metric) -> PrototypeSet:
        """The fitted prototypes, to go on from."""
        labels = np.searchsorted(self.classes_, self.prototype_labels_)
        positions = self.prototypes_ if self._free_positions is None else self._free_positions
        current = PrototypeSet(positions, labels, self._theta, metric.slots(labels))
        return current.astype(data.dtype)

    def _with_new_classes(self, current: PrototypeSet, data: TrainingSet, metric: Metric) -> PrototypeSet:
        """Prototypes for classes that this block is the first to hold."""
        counts = np.where(np.isin(np.arange(data.n_classes), current.labels), 0, data.class_counts)
        if not counts.any():
            return current
        rows = np.flatnonzero(counts[data.y] > 0)
        fresh = TrainingSet(data.X[rows], data.y[rows], None, data.n_classes)
        added = self._start(fresh, metric, self._stream_random, further=True)
        theta = current.theta
        if metric.scope == "prototype":
            theta = np.concatenate([theta, added.theta])
        labels = np.concatenate([current.labels, added.labels])
        if self._rates is not None:
            self._rates = np.concatenate([self._rates, np.full(len(added), self._rates.max())])
        positions = np.concatenate([current.positions, added.positions])
        return PrototypeSet(positions, labels, theta, metric.slots(labels))

    def _problem(
        self,
        loss: Loss,
        metric: Metric,
        start: PrototypeSet,
        data: Samples,
        random: np.random.RandomState,
        *,
        max_iter: int,
        first_step: int | None = None,
        validation: Samples | None = None,
    ) -> tuple[Objective, Plan]:
        """What the solver gets: the loss with its numbers, and the rates in the units of the data.

        first_step : of a block of a stream, the steps before the block
        """
        scale = self._scale
        slope = self._slope(loss, scale)
        rate = self.learning_rate * loss.rate_unit(scale)
        metric_rate = 0.0
        if metric.adaptive and self.metric_learning_rate > 0:
            unit = metric.rate_unit(scale, data, loss.relative)
            metric_rate = self.metric_learning_rate * rate * unit
        stream = first_step is not None
        schedule = "constant" if stream and self.schedule == "linear" else self.schedule
        plan = Plan(
            max_iter=max_iter,
            position_rate=rate if self.learn_prototypes else 0.0,
            metric_rate=metric_rate,
            schedule=as_schedule(schedule),
            random=random,
            scale=scale,
            limit=_RUN_AWAY * self._largest_distance,
            annealing=self.annealing,
            shuffle=self.shuffle,
            tol=self.tol,
            batch_size=self.batch_size,
            ridge=self.ridge,
            variance=(data.mean_variance or 1.0) if self.ridge else 1.0,
            first_step=first_step or 0,
            n_steps=max(data.n_samples * self.max_iter, 1) if stream else None,
            rates=self._rates if stream else None,
        )
        plan = self._adjusted_plan(plan, start, data, metric, validation)
        return Objective(loss, metric, slope, self.regularization), plan

    def _solve(self, start: PrototypeSet, data: Samples, objective: Objective, plan: Plan) -> Solution:
        # A block of a stream is one epoch, and has no progress to show.
        stream = plan.n_steps is not None
        line = ProgressLine(type(self).__name__, plan.max_iter) if self.verbose and not stream else None
        plan = replace(plan, watch=self._watcher(line))
        solve = SOLVERS[self.solver]
        if solve.by_sample and not data.in_memory:
            warn_of_sorted_rows(self.classes_, self._blocks_of_classes)
        try:
            # A step too far is answered by a shorter one, or by a message.
            with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                solution = solve(start, data, objective, plan)
        finally:
            if line is not None:
                line.end()
        if not _in_range(solution.prototypes, objective.metric, data.input_dtype):
            message = (
                "Learning diverged: prototypes or weights went beyond all numbers that distances can be computed of. "
                "Those of the start are kept; choose smaller rates or a smaller regularization, or scale the features."
            )
            solution = replace(solution, prototypes=start, message=message)
        if solution.message:
            warnings.warn(solution.message, ConvergenceWarning, stacklevel=3)
        return solution

    def _slope(self, loss: Loss, scale: float) -> float:
        given = self._given_slope()
        return loss.default_slope(scale) if given is None else given

    def _given_slope(self) -> float | None:
        """The slope that the user gave, in the loss's own meaning of it."""
        return self.slope

    def _adjusted_plan(
        self, plan: Plan, start: PrototypeSet, data: Samples, metric: Metric, validation: Samples | None
    ) -> Plan:
        """The plan with what only one method has: other units of the rates, which prototypes to keep."""
        return plan

    def _watcher(self, line: ProgressLine | None) -> Callable | None:
        if line is None and self.callback is None:
            return None

        def watch(epoch: int, loss: float, prototypes: Callable[[], PrototypeSet]) -> bool:
            if line is not None:
                line.epoch(epoch, loss)
            return bool(self.callback is not None and self.callback(epoch, loss, prototypes().positions))

        return watch

    def _store(self, solution: Solution, loss: Loss, metric: Metric, dtype: np.dtype) -> None:
        found = solution.prototypes
        self.prototypes_ = found.positions.astype(dtype, copy=False)
        self.prototype_labels_ = self.classes_[found.labels]
        self._theta = found.theta
        self._link = loss.link
        slope = self._slope(loss, self._scale)
        # A slope that nobody can exceed stays finite.
        with np.errstate(over="ignore"):
            steeper = annealed(slope, self.annealing, solution.n_steps) * self._slope_factor
        self._final_slope = float(min(steeper, LARGEST_SLOPE))
        self.loss_curve_ = list(solution.loss_curve)
        self.n_iter_ = solution.n_iter
        for name in ("relevances_", "omega_"):
            if hasattr(self, name):
                delattr(self, name)
        if metric.adaptive:
            for name, learned in (("relevances_", metric.weights(found)), ("omega_", metric.maps(found))):
                if learned is not None:
                    setattr(self, name, learned[0] if metric.scope == "global" else learned)

    def _link_and_slope(self) -> tuple[str, float]:
        return self._link, self._final_slope

    def _sharpen(self, temperature: float) -> None:
        """Raise the probabilities of all rows to a power; the predicted classes stay the same."""
        if self._link == "relative":
            # An inverse power of the distances with the exponent 2.
            self._link, self._final_slope = "power", 2.0
        self._final_slope *= temperature
