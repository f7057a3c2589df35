"""One sample at a time, as the papers do it, in a compiled epoch."""

from __future__ import annotations

import numpy as np

from protolearn.compiled import Compiled
from protolearn.data import TrainingSet, block_rows
from protolearn.losses import FieldLoss, Loss, NearestLoss
from protolearn.metrics import Metric
from protolearn.metrics.base import Packed
from protolearn.metrics.euclidean import Euclidean, across_prototypes
from protolearn.metrics.omega import Omega
from protolearn.prototypes import PrototypeSet
from protolearn.schedules import annealed
from protolearn.searches import class_starts, searched_by_class
from protolearn.solvers.ahead import ahead_epoch, looks_ahead, pack_rows
from protolearn.solvers.base import DIVERGED, SOLVERS, WORSE, LossWatch, Objective, Plan, Solution
from protolearn.solvers.batch import classification_error
from protolearn.solvers.euclidean_epochs import (
    BY_COLUMN,
    BY_ROW,
    pair_epoch_by_column,
    pair_epoch_by_row,
    rule_epoch_by_column,
    rule_epoch_by_row,
)
from protolearn.solvers.keeping import make_keeper
from protolearn.solvers.kernels import field_epoch, pair_epoch, rule_epoch
from protolearn.solvers.omega_epoch import omega_pair_epoch

# A call of the kernel costs 0.2 to 0.4 ms: long blocks hide it, and 8 MB of gathered rows do not hurt.
_BLOCK_BYTES = 1 << 23
_MOST_BLOCK_ROWS = 1 << 16
# Rows whose loss before learning is measured, to tell whether learning made it worse.
_LOOK_AT = 2000


def online(start: PrototypeSet, data: TrainingSet, objective: Objective, plan: Plan) -> Solution:
    """Stochastic gradient descent, or a rule, over `max_iter` epochs.

        m_i     <- m_i     - eta(t) c_i dD_i/dm_i
        theta_s <- project(theta_s - rho(t) sum of c_i dD_i/dtheta_s)              SPEC 0

    All gradients of a step are taken before anything moves. The loss of an epoch is the mean over its samples, each
    as it was met, without a penalty of the prototypes alone, which acts between blocks of samples.
    """
    presentations = data.presentations(plan.random if plan.shuffle else None)
    stream = _Stream(start, data, objective, plan, epoch_length=presentations.length)
    watch = LossWatch(plan.tol, plan.watch, make_keeper(plan, data, objective.metric))
    size = block_rows(data.n_features, data.dtype.itemsize, _BLOCK_BYTES, _MOST_BLOCK_ROWS)
    # A call of a kernel costs 0.2 ms, an epoch on a small set less: several epochs go into one call when nobody looks.
    fitting = max(1, min(size // presentations.length, plan.max_iter // 10))
    together = 1 if plan.watch or plan.tol is not None else fitting
    result = Solution(start)
    looked_at = presentations.sample(_LOOK_AT)
    best = (stream.loss_at_start(looked_at), start) if objective.loss.differentiable else (np.inf, start)
    loss_before = best[0]
    epoch = 0
    try:
        while epoch < plan.max_iter and not result.message:
            until_look = plan.max_iter if watch.judge is None else plan.check_every - epoch % plan.check_every
            count = min(together, plan.max_iter - epoch, until_look)
            losses = np.zeros(count)
            first = 0
            for rows, share in presentations.epochs(count, size):
                values = np.empty(len(rows))
                shown = stream.show(rows, share, values)
                if shown < len(rows):
                    diverged = epoch + (first + shown) // presentations.length + 1
                    result.message = DIVERGED.format(epoch=diverged, rate=stream.step_size_hint)
                    break
                # Some epochs in one block, or one epoch in some blocks.
                losses += (values if share is None else values * share).reshape(count, -1).sum(axis=1)
                first += len(rows)
            else:
                epoch += count
                ended = [watch.ends(loss, stream.packed.prototypes) for loss in losses / presentations.total]
                if watch.curve[-1] < best[0]:
                    best = (watch.curve[-1], stream.packed.prototypes())
                if ended[-1]:
                    break
    except KeyboardInterrupt:
        result.interrupted = True
    result.prototypes = watch.kept(stream.packed.prototypes())
    suspect = bool(watch.curve) and watch.curve[-1] > loss_before and not result.message
    if suspect and _undone(start, result.prototypes, data, objective):
        result.prototypes = watch.kept(best[1])
        result.message = WORSE.format(last=watch.curve[-1], first=loss_before, rate=stream.step_size_hint)
    result.loss_curve, result.n_iter = watch.curve, max(epoch, 1)
    result.n_steps, result.rates = stream.step, stream.rates
    return result


SOLVERS.add("online", online)


def at_once(
    start: PrototypeSet, data: TrainingSet, objective: Objective, plan: Plan, order: np.ndarray
) -> PrototypeSet | None:
    """The prototypes that `online` ends with, by one call of the kernel over the rows of all epochs.

    For many short fits that share `order`, such as those of a grid of settings: 100 epochs over 90 rows take a third of
    the time. None where `online` has more to do: learning diverged, or ended above the loss it began with.
    """
    presentations = data.presentations(plan.random)
    stream = _Stream(start, data, objective, plan, epoch_length=presentations.length)
    before = stream.loss_at_start(presentations.sample(_LOOK_AT))
    values = np.empty(len(order))
    if stream.show(order, None, values) < len(order) or not values[-presentations.length :].mean() <= before:
        return None
    return stream.packed.prototypes()


def _undone(start: PrototypeSet, end: PrototypeSet, data: TrainingSet, objective: Objective) -> bool:
    """Whether learning made a tenth more of the training set wrong than the start did.

    Without a regulariser MCE draws its prototypes ever further from the border, until one step moves the border past
    the data and every gradient vanishes: on waveform, tau = 2, in one fit of ten. A higher loss alone does not show it:
    that of a perceptron may begin at 0.
    """
    before, after = (classification_error(found, data, objective.metric) for found in (start, end))
    return after > before + 0.1


class _Stream:
    """The state between two calls of the kernel: prototypes, step count, rates of the prototypes."""

    def __init__(
        self, start: PrototypeSet, data: TrainingSet, objective: Objective, plan: Plan, epoch_length: int
    ) -> None:
        self.data, self.plan, self.objective = data, plan, objective
        dtype = data.dtype
        loss = objective.loss
        self.starts = class_starts(start.labels, data.n_classes)
        by_class = len(self.starts) > 0
        ahead = looks_ahead(loss, objective.metric, start)
        self.kernel = ahead_epoch if ahead else _kernel(loss, objective.metric, start, by_class)
        if self.kernel is pair_epoch:
            self.starts = searched_by_class(start.labels, data.n_classes)
        self.epoch = self.kernel.of(dtype)
        self.packed: Packed = self._pack(start)
        of_metric = (self.packed.fill, self.packed.step, self.packed.finish) if self.kernel in _FOR_ANY_METRIC else ()
        self.functions = tuple(function.argument(dtype) for function in of_metric)
        self.packed.work = _factors(plan, start, objective, self.packed.work)
        self.step = plan.first_step
        self.end = plan.n_steps or plan.max_iter * epoch_length
        self.step_size_hint = plan.position_rate / objective.loss.rate_unit(plan.scale)
        self.parameters = objective.parameters(start.labels)
        self.loss = loss.coefficients.argument(dtype)
        learns_metric = objective.metric.adaptive and plan.metric_rate > 0
        self.gradient = np.zeros(self.packed.theta.shape if learns_metric else (0, 0, 0), dtype=dtype)
        self.rates = np.ones(len(start)) if plan.rates is None else plan.rates.copy()
        self.cap = plan.position_rate if loss.individual_rates else 0.0
        self._constants: dict[float, np.ndarray] = {}
        if loss.individual_rates and plan.rates is None:
            self.rates[:] = plan.position_rate

    def _pack(self, prototypes: PrototypeSet) -> Packed:
        metric = self.objective.metric
        if self.kernel is ahead_epoch:
            return pack_rows(metric, prototypes)
        if isinstance(metric, Euclidean) and self.kernel in _EUCLIDEAN:
            return metric.pack(prototypes, by_column=self.kernel in BY_COLUMN)
        return metric.pack(prototypes)

    def loss_at_start(self, rows: np.ndarray) -> float:
        """Mean loss of the first prototypes over some rows."""
        values = np.full(len(rows), np.nan)
        whole, still, slope = (self._constant(value, len(rows)) for value in (1.0, 0.0, self.objective.slope))
        before = self.packed.positions.copy()
        self._present(rows, whole, still, still, slope, values)
        # Zero times a coefficient that is not finite would have moved a prototype.
        self.packed.positions[...] = before
        return float(values.mean())

    def _constant(self, value: float, count: int) -> np.ndarray:
        """So many times one number, from the same memory at each call.

        New memory comes from the system page by page: with all arrays of a call new, LVQ3 on 15,000 rows of 32 spent a
        tenth of its time on 5,400 pages.
        """
        if len(self._constants.get(value, ())) < count:
            self._constants[value] = np.full(count, value, dtype=np.float64)
        return self._constants[value][:count]

    def show(self, rows: np.ndarray, share: np.ndarray | None, values: np.ndarray) -> int:
        """Present some rows; returns how many of them before learning diverged, and then undoes them all."""
        plan, packed = self.plan, self.packed
        steps = self.step + np.arange(len(rows))
        # A schedule may give one number for all steps.
        factor = np.broadcast_to(np.asarray(plan.schedule(steps, self.end), dtype=np.float64), len(rows))
        slope = self._constant(self.objective.slope, len(rows))
        if plan.annealing != 1.0:
            # A coefficient holds the slope as a factor: a slope 403 times the first one (SNPC on letter) would make
            # steps 403 times as long. Accuracy there is 0.13 without the division and 0.94 with it.
            growth = annealed(1.0, plan.annealing, steps)
            factor, slope = factor / growth, slope * growth
        whole, still = self._constant(1.0, len(rows)), self._constant(0.0, len(rows))
        eta = whole if self.objective.loss.individual_rates else plan.position_rate * factor
        rho = plan.metric_rate * factor if plan.metric_rate > 0 else still
        before = packed.positions.copy(), packed.theta.copy()
        eta_or_none = eta if plan.position_rate > 0 else still
        shown = self._present(rows, whole if share is None else share, eta_or_none, rho, slope, values)
        self.step += len(rows)
        finite = all(np.isfinite(part).all() for part in packed.unpack(packed.positions, packed.theta))
        if shown == len(rows) and finite:
            if self.objective.regularization > 0:
                self._shrink(float(np.sum(eta if share is None else eta * share)))
            return shown
        packed.positions[...], packed.theta[...] = before
        return min(shown, len(rows) - 1)

    def _present(
        self,
        rows: np.ndarray,
        share: np.ndarray,
        eta: np.ndarray,
        rho: np.ndarray,
        slope: np.ndarray,
        values: np.ndarray,
    ) -> int:
        packed = self.packed
        if self.kernel in _EUCLIDEAN:
            return self._present_in_place(rows, share, eta, slope, values)
        # Rates of zero and no place for the metric's gradient: a look that changes nothing.
        gradient = self.gradient if rho.any() else np.zeros((0, 0, 0), dtype=self.data.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.epoch(
                self.data.rows(rows),
                self.data.y.take(rows),
                share,
                eta,
                rho,
                slope,
                packed.positions,
                packed.theta,
                packed.slot,
                packed.labels,
                self.starts,
                packed.work,
                gradient,
                self.objective.metric.total(self.data.n_features),
                self.plan.limit,
                *self.functions,
                self.loss,
                self.parameters,
                self.rates,
                self.cap,
                values,
            )

    def _present_in_place(
        self, rows: np.ndarray, share: np.ndarray, eta: np.ndarray, slope: np.ndarray, values: np.ndarray
    ) -> int:
        packed, data = self.packed, self.data
        # Rows are read where they are, if a kernel can: to gather them first takes a tenth of an epoch.
        there = type(data.X) is np.ndarray and data.X.dtype == data.dtype and data.X.flags.carray
        shown = (
            data.X if there else data.rows(rows),
            rows.astype(np.int64, copy=False) if there else np.arange(len(rows)),
            data.y if there else data.y[rows],
            share,
            eta,
            slope,
        )
        learned = (self.plan.limit, self.loss, self.parameters, self.rates)
        if self.kernel is ahead_epoch:
            return self.epoch(*shown, packed.positions, self.starts, *learned, values)
        W = packed.positions.T if self.kernel in BY_COLUMN else packed.positions
        return self.epoch(*shown, W, packed.labels, self.starts, *learned, self.cap, values)

    def _shrink(self, time: float) -> None:
        """Follow the penalty of the prototypes alone for the sum of the rates just used.

        For two prototypes their difference shrinks by exp(-2 lambda time), which a plain step of lambda time would
        overshoot when the rows are many.
        """
        strength = self.objective.regularization
        found = self.packed.prototypes()
        penalty = self.objective.loss.penalty(found.positions, found.labels)
        if penalty is not None:
            moved = found.positions - 0.5 * -np.expm1(-2.0 * strength * time) * penalty[1]
            self.packed.positions[...] = self._pack(found.moved(moved, found.theta)).positions


# Those that have the Euclidean distance built in, and those that call the functions of a metric.
_EUCLIDEAN = (ahead_epoch, *BY_ROW, *BY_COLUMN)
_FOR_ANY_METRIC = (pair_epoch, field_epoch, rule_epoch)


def _kernel(loss: Loss, metric: Metric, start: PrototypeSet, by_class: bool) -> Compiled:
    """The epoch of one kind of loss, made for the metric where there is one."""
    if isinstance(loss, FieldLoss):
        return field_epoch
    by_column = isinstance(metric, Euclidean) and across_prototypes(*start.positions.shape, few_move=True)
    if isinstance(loss, NearestLoss):
        euclidean = rule_epoch_by_column if by_column else rule_epoch_by_row
        return euclidean if isinstance(metric, Euclidean) else rule_epoch
    if by_class and isinstance(metric, Euclidean):
        return pair_epoch_by_column if by_column else pair_epoch_by_row
    return omega_pair_epoch if by_class and isinstance(metric, Omega) else pair_epoch


def _factors(plan: Plan, start: PrototypeSet, objective: Objective, work: np.ndarray) -> np.ndarray:
    """The factors of the rates where a compiled step looks for them; its own scratch space where there are none."""
    if np.isscalar(plan.position_factor) and np.isscalar(plan.metric_factor):
        return work
    if not objective.metric.takes_factors:
        raise ValueError("This metric has no steps with a factor for each feature; choose solver='batch_sum'.")
    parts = (
        np.broadcast_to(plan.position_factor, start.positions.shape),
        np.broadcast_to(plan.metric_factor, start.theta.shape),
    )
    return np.concatenate([part.ravel() for part in parts]).astype(start.positions.dtype)
