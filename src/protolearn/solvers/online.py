"""One sample at a time, as the papers do it, in a compiled epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from protolearn.core.jit import Kernel
from protolearn.core.prototypes import PrototypeSet
from protolearn.core.schedules import annealed
from protolearn.core.searches import class_starts, room_for_distances, searched_by_class
from protolearn.data import TrainingSet, batch_rows
from protolearn.losses import AllPrototypesLoss, Loss, NearestLoss
from protolearn.metrics import Metric
from protolearn.metrics.base import Packed
from protolearn.metrics.euclidean import Euclidean, across_prototypes
from protolearn.metrics.omega import Omega
from protolearn.solvers.ahead import ahead_epoch, pays_ahead
from protolearn.solvers.base import DIVERGED, WORSE, Objective, Plan, Solution, confined
from protolearn.solvers.batch import classification_error
from protolearn.solvers.euclidean_epochs import euclidean_pair_epoch, euclidean_rule_epoch
from protolearn.solvers.kernels import all_prototypes_epoch, pair_epoch, rule_epoch
from protolearn.solvers.omega_epoch import omega_pair_epoch
from protolearn.solvers.stopping import EarlyStopping, best_iterate

# A call of the kernel costs 0.2 to 0.4 ms: long batches hide it, and 8 MB of gathered rows do not hurt.
_BATCH_BYTES = 1 << 23
_MOST_BATCH_ROWS = 1 << 16
# Rows whose loss before learning is measured, to tell whether learning made it worse.
LOOK_AT = 2000


def online(start: PrototypeSet, data: TrainingSet, objective: Objective, plan: Plan) -> Solution:
    """Stochastic gradient descent, or a rule, over `max_iter` epochs.

        m_i     <- m_i     - eta(t) c_i dD_i/dm_i
        theta_s <- project(theta_s - rho(t) sum of c_i dD_i/dtheta_s)

    All gradients of a step are taken before anything moves. The loss of an epoch is the mean over its samples, each as
    it was when the sample was presented, without the penalty by which `_shrink` moves prototypes between batches.
    """
    presentations = data.presentations(plan.random if plan.shuffle else None)
    stream = OnlineRun(start, data, objective, plan, epoch_length=presentations.length)
    stopping = EarlyStopping(plan.tol, plan.watch, best_iterate(plan, data, objective.metric))
    size = batch_rows(data.n_features, data.dtype.itemsize, _BATCH_BYTES, _MOST_BATCH_ROWS)
    # A call of a kernel costs 0.2 ms, an epoch on a small set less: several epochs go into one call when nobody looks.
    fitting = max(1, min(size // presentations.length, plan.max_iter // 10))
    together = 1 if plan.watch or plan.tol is not None else fitting
    result = Solution(start)
    looked_at = presentations.sample(LOOK_AT)
    best = (stream.loss_at_start(looked_at), start) if objective.loss.differentiable else (np.inf, start)
    loss_before = best[0]
    epoch = 0
    try:
        while epoch < plan.max_iter and not result.message:
            until_look = plan.max_iter if stopping.best is None else plan.check_every - epoch % plan.check_every
            count = min(together, plan.max_iter - epoch, until_look)
            losses = np.zeros(count)
            first = 0
            for rows, share in presentations.epochs(count, size):
                values = np.empty(len(rows))
                n_done = stream.run_rows(rows, share, values)
                if n_done < len(rows):
                    diverged = epoch + (first + n_done) // presentations.length + 1
                    result.message = DIVERGED.format(epoch=diverged, rate=stream.step_size_hint)
                    break
                # Some epochs in one batch, or one epoch in some batches.
                losses += (values if share is None else values * share).reshape(count, -1).sum(axis=1)
                first += len(rows)
            else:
                epoch += count
                ended = [stopping.should_stop(loss, stream.packed.prototypes) for loss in losses / presentations.total]
                if stopping.curve[-1] < best[0]:
                    best = (stopping.curve[-1], stream.packed.prototypes())
                if ended[-1]:
                    break
    except KeyboardInterrupt:
        result.interrupted = True
    result.prototypes = stopping.chosen(stream.packed.prototypes())
    suspect = bool(stopping.curve) and stopping.curve[-1] > loss_before and not result.message
    if suspect and _got_worse(start, result.prototypes, data, objective):
        result.prototypes = stopping.chosen(best[1])
        result.message = WORSE.format(last=stopping.curve[-1], first=loss_before, rate=stream.step_size_hint)
    result.loss_curve, result.n_iter = stopping.curve, max(epoch, 1)
    result.n_steps, result.rates = stream.step, stream.rates
    return result


def _got_worse(start: PrototypeSet, end: PrototypeSet, data: TrainingSet, objective: Objective) -> bool:
    """Whether learning made a tenth more of the training set wrong than the start did.

    Without a regulariser MCE draws its prototypes ever further from the border, until one step moves the border past
    the data and every gradient vanishes: on waveform, tau = 2, in one fit of ten. A higher loss alone does not show it:
    that of a perceptron may begin at 0.
    """
    before, after = (classification_error(found, data, objective.metric) for found in (start, end))
    return after > before + 0.1


class OnlineRun:
    """The state between two calls of the kernel: prototypes, step count, rates of the prototypes."""

    def __init__(
        self, start: PrototypeSet, data: TrainingSet, objective: Objective, plan: Plan, epoch_length: int
    ) -> None:
        self.data, self.plan, self.objective = data, plan, objective
        loss = objective.loss
        self.epoch = choose_epoch(loss, objective.metric, start, data.n_classes)
        self.packed = self.epoch.packed
        self.packed.constants = _factors(plan, start, objective, self.packed.constants)
        self.room = room_for_distances(len(start), data.dtype)
        self.step = plan.first_step
        # An epoch without a place for the box lets prototypes go anywhere.
        self.box = np.empty((2, 0), dtype=data.dtype)
        if plan.box is not None:
            m, d = start.positions.shape
            self.box = np.broadcast_to(plan.box, (2, m, d)).astype(data.dtype).reshape(2 * m, d)
        self.end = plan.n_steps or plan.max_iter * epoch_length
        self.step_size_hint = plan.position_rate / objective.loss.rate_unit(plan.scale)
        self.parameters = objective.parameters(start.labels)
        learns_metric = objective.metric.adaptive and plan.metric_rate > 0
        # An epoch without a place for the metric's gradient does not learn the metric.
        self.no_gradient = np.zeros((0, 0, 0), dtype=data.dtype)
        self.gradient = np.zeros(self.packed.theta.shape, dtype=data.dtype) if learns_metric else self.no_gradient
        self.rates = np.ones(len(start)) if plan.rates is None else plan.rates.copy()
        self.cap = plan.position_rate if loss.individual_rates else 0.0
        self._constants: dict[float, np.ndarray] = {}
        if loss.individual_rates and plan.rates is None:
            self.rates[:] = plan.position_rate

    def loss_at_start(self, rows: np.ndarray) -> float:
        """Mean loss of the first prototypes over some rows."""
        values = np.full(len(rows), np.nan)
        ones, zeros, slope = (self._constant(value, len(rows)) for value in (1.0, 0.0, self.objective.slope))
        before = self.packed.positions.copy()
        self._call_kernel(rows, ones, zeros, zeros, slope, values)
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

    def run_rows(self, rows: np.ndarray, share: np.ndarray | None, values: np.ndarray) -> int:
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
        ones, zeros = self._constant(1.0, len(rows)), self._constant(0.0, len(rows))
        eta = ones if self.objective.loss.individual_rates else plan.position_rate * factor
        rho = plan.metric_rate * factor if plan.metric_rate > 0 else zeros
        before = packed.positions.copy(), packed.theta.copy()
        eta_or_none = eta if plan.position_rate > 0 else zeros
        n_done = self._call_kernel(rows, ones if share is None else share, eta_or_none, rho, slope, values)
        self.step += len(rows)
        finite = all(np.isfinite(part).all() for part in packed.unpack(packed.positions, packed.theta))
        if n_done == len(rows) and finite:
            if self.objective.regularization > 0:
                self._shrink(float(np.sum(eta if share is None else eta * share)))
            return n_done
        packed.positions[...], packed.theta[...] = before
        return min(n_done, len(rows) - 1)

    def _call_kernel(
        self,
        rows: np.ndarray,
        share: np.ndarray,
        eta: np.ndarray,
        rho: np.ndarray,
        slope: np.ndarray,
        values: np.ndarray,
    ) -> int:
        packed, data = self.packed, self.data
        # Kernels read the rows where they are, if they can: to gather them first takes a tenth of an epoch.
        in_place = type(data.X) is np.ndarray and data.X.dtype == data.dtype and data.X.flags.carray
        with np.errstate(over="ignore", invalid="ignore"):
            return self.epoch.run(
                data.X if in_place else data.rows(rows),
                rows.astype(np.int64, copy=False) if in_place else np.arange(len(rows)),
                data.y if in_place else data.y[rows],
                share,
                eta,
                rho,
                slope,
                packed.positions,
                packed.theta,
                packed.slot,
                packed.labels,
                self.epoch.starts,
                packed.constants,
                *self.room,
                self.gradient if rho.any() else self.no_gradient,
                0.0 if self.objective.metric.scale_is_free else self.objective.metric.total(data.n_features),
                self.plan.limit,
                self.box,
                *self.epoch.functions,
                self.parameters,
                self.rates,
                self.cap,
                values,
            )

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
            shrunk = confined(found.moved(moved, found.theta), self.plan.box)
            self.packed.positions[...] = self.epoch.pack(shrunk).positions


@dataclass(frozen=True)
class Epoch:
    """One way to run an epoch.

    run : the loop, compiled or plain
    starts : where the prototypes of each class begin, or nothing
    functions : those of the metric where the loop has none built in, and the loss
    pack : makes the layout of the prototypes that the loop reads
    packed : the prototypes in that layout
    """

    run: Callable
    starts: np.ndarray
    functions: tuple[Callable, ...]
    pack: Callable[[PrototypeSet], Packed]
    packed: Packed


def choose_epoch(loss: Loss, metric: Metric, start: PrototypeSet, n_classes: int) -> Epoch:
    """The loop for a kind of loss under a metric: which kernel runs is decided here.

    A metric without compiled functions runs the general loops as plain Python.
    """
    starts = class_starts(start.labels, n_classes)
    special = special_epoch(loss, metric, start, len(starts) > 0)
    if special is not None:
        kernel, pack = special
    else:
        pack = metric.pack
        kernel = rule_epoch if isinstance(loss, NearestLoss) else pair_epoch
        kernel = all_prototypes_epoch if isinstance(loss, AllPrototypesLoss) else kernel
        starts = searched_by_class(start.labels, n_classes)
    packed = pack(start)
    compiled = isinstance(packed.distances_to, Kernel)
    of_metric = () if special is not None else (packed.distances_to, packed.move, packed.update)
    dtype = start.positions.dtype
    functions = tuple(_runnable(part, dtype, compiled) for part in (*of_metric, loss.coefficients))
    return Epoch(_runnable(kernel, dtype, compiled), starts, functions, pack, packed)


def special_epoch(
    loss: Loss, metric: Metric, start: PrototypeSet, by_class: bool
) -> tuple[Kernel, Callable[[PrototypeSet], Packed]] | None:
    """A kernel that has the metric built in, and the layout of the prototypes that it reads; None where there is none.

    by_class : whether the prototypes are sorted by class
    """
    rule = isinstance(loss, NearestLoss)
    if isinstance(loss, AllPrototypesLoss) or not (by_class or rule):
        return None
    if type(metric) is Omega and not rule:
        return omega_pair_epoch, metric.pack
    if type(metric) is not Euclidean:
        return None
    ahead = not rule and pays_ahead(*start.positions.shape)
    by_column = not ahead and across_prototypes(*start.positions.shape, few_move=True)
    kernel = euclidean_rule_epoch if rule else ahead_epoch if ahead else euclidean_pair_epoch
    return kernel, partial(metric.pack, by_column=by_column)


def _runnable(part: Kernel | Callable, dtype: np.dtype, compiled: bool) -> Callable:
    if not isinstance(part, Kernel):
        return part
    return part.of(dtype) if compiled else part.function


def _factors(plan: Plan, start: PrototypeSet, objective: Objective, constants: np.ndarray) -> np.ndarray:
    """The factors of the rates where a compiled step looks for them; its own scratch space where there are none."""
    if np.isscalar(plan.position_factor) and np.isscalar(plan.metric_factor):
        return constants
    if not objective.metric.takes_factors:
        raise ValueError("This metric has no steps with a factor for each feature; choose solver='batch_sum'.")
    parts = (
        np.broadcast_to(plan.position_factor, start.positions.shape),
        np.broadcast_to(plan.metric_factor, start.theta.shape),
    )
    return np.concatenate([part.ravel() for part in parts]).astype(start.positions.dtype)
