"""Batch and mini-batch descent on the same gradient: `gradient`, `lbfgs`, `adam`.

All three work on positions divided by the root of the mean distance to the nearest start, so that they and the metric
parameters, whose mean weight is about 1, are of one size, whatever the units of the data. All three can hold the
prototypes and the metric near their start by a ridge:

    mean loss + lambda / 2N (|W - W0|^2 / v + sum over the slots of d |T - T0|^2 / |T0|^2)

with N the weight of the samples, d the number of features and v their mean variance. One feature then counts as much in
a position as in the metric, whatever the units of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import Bounds, minimize

from protolearn.core.prototypes import PrototypeSet
from protolearn.core.threads import one_blas_thread
from protolearn.data import Samples
from protolearn.solvers.base import DIVERGED, SOLVERS, Objective, Plan, Solution, Solver
from protolearn.solvers.batch import Gradient, total_gradient, whole_gradient
from protolearn.solvers.stopping import EarlyStopping, best_iterate

_DEFAULT_TOL = 1e-6
# Steps that L-BFGS remembers; of many variables fewer, which lead to the same loss in less time.
_CORRECTIONS, _FEW_CORRECTIONS, _MANY_VARIABLES = 10, 5, 20_000
# Sufficient decrease, and how often a step is halved before the point counts as a minimum.
_ARMIJO, _HALVINGS, _SHORTEST = 1e-4, 40, 1e-200
# Adam moves each number by about its rate a step; the rate is measured in the unit of the positions.
_ADAM_RATE, _ADAM_MOMENTS, _ADAM_FLOOR = 0.02, (0.9, 0.999), 1e-8


class _Variables:
    """One flat float64 vector for the positions and metric parameters that are learned."""

    def __init__(self, start: PrototypeSet, objective: Objective, plan: Plan) -> None:
        self.start, self.metric = start, objective.metric
        self.unit = np.sqrt(plan.scale)
        self.learns_positions = plan.position_rate > 0
        self.learns_metric = self.metric.adaptive and plan.metric_rate > 0
        self.n_positions = start.positions.size if self.learns_positions else 0
        self.origin = self.vector(start)
        self.box = self._box(plan)
        self.stiffness = plan.ridge * self._ridge_units(plan.variance) if plan.ridge else None

    def _box(self, plan: Plan) -> np.ndarray | None:
        """The least and the largest value of each number that is learned; None where all may be anything."""
        lowest = self.metric.lower_bound() if self.learns_metric else None
        of_positions = plan.box if self.learns_positions else None
        if lowest is None and of_positions is None:
            return None
        box = np.repeat([[-np.inf], [np.inf]], len(self.origin), axis=1)
        if of_positions is not None:
            each = np.broadcast_to(of_positions, (2, *self.start.positions.shape))
            box[:, : self.n_positions] = each.reshape(2, -1) / self.unit
        if lowest is not None:
            box[0, self.n_positions :] = lowest
        return box

    def _ridge_units(self, variance: float) -> np.ndarray:
        """The factor of each squared move in the ridge."""
        d = self.start.positions.shape[1]
        units = np.full(len(self.origin), self.unit**2 / variance)
        if self.learns_metric:
            theta = self.start.theta
            squares = np.einsum("ij,ij->i", *[theta.reshape(len(theta), -1).astype(np.float64)] * 2)
            units[self.n_positions :] = np.repeat(d / np.where(squares > 0, squares, d), theta[0].size)
        return units

    def vector(self, prototypes: PrototypeSet) -> np.ndarray:
        parts = [prototypes.positions.ravel().astype(np.float64) / self.unit] if self.learns_positions else []
        parts += [prototypes.theta.ravel().astype(np.float64)] if self.learns_metric else []
        return np.concatenate(parts or [np.empty(0)])

    def prototypes(self, vector: np.ndarray) -> PrototypeSet:
        positions, theta = self.start.positions, self.start.theta
        dtype = positions.dtype
        if self.learns_positions:
            positions = np.empty(positions.shape, dtype=dtype)
            np.multiply(vector[: self.n_positions], self.unit, out=positions.reshape(-1), casting="same_kind")
        if self.learns_metric:
            theta = self.metric.project(vector[self.n_positions :].reshape(theta.shape)).astype(dtype, copy=False)
        return self.start.moved(positions, theta)

    def gradient(self, vector: np.ndarray, at: PrototypeSet, gradient: Gradient) -> np.ndarray:
        """By the vector: through the unit of the positions, and through the normalisation of the metric."""
        found = np.empty(len(vector))
        if self.learns_positions:
            np.multiply(gradient.positions.ravel(), self.unit, out=found[: self.n_positions])
        if self.learns_metric:
            raw = vector[self.n_positions :].reshape(at.theta.shape)
            found[self.n_positions :] = self.metric.gradient_before_projection(raw, at.theta, gradient.theta).ravel()
        return found

    def value_and_gradient(self, vector: np.ndarray, data: Samples, objective: Objective) -> tuple[float, np.ndarray]:
        """Mean loss and its gradient by the vector."""
        prototypes = self.prototypes(vector)
        found = whole_gradient(prototypes, data, objective)
        gradient = self.gradient(vector, prototypes, found)
        gradient /= data.total_weight
        value = found.value / data.total_weight
        if self.stiffness is not None:
            ridge = self.ridge_gradient(vector, data)
            value += 0.5 * float(ridge @ (vector - self.origin))
            gradient += ridge
        return value, gradient

    def ridge_gradient(self, vector: np.ndarray, data: Samples) -> np.ndarray:
        """The gradient of the ridge, a part of that of the mean loss."""
        return self.stiffness * (vector - self.origin) / data.total_weight

    def clip(self, vector: np.ndarray) -> np.ndarray:
        """A vector inside the box whose metric part is valid, hence equal to what `prototypes` makes of it."""
        vector = vector if self.box is None else np.clip(vector, *self.box)
        return self.vector(self.prototypes(vector)) if self.learns_metric else vector


def gradient(start: PrototypeSet, data: Samples, objective: Objective, plan: Plan) -> Solution:
    """Batch gradient descent: one step an epoch along the mean gradient, its length found by search.

    The first step is the plan's position rate; later ones follow Barzilai and Borwein (1988). A step is halved until
    the loss falls by the Armijo rule, so the loss never rises.
    """
    return _iterate(start, data, objective, plan, _search_steps)


def adam(start: PrototypeSet, data: Samples, objective: Objective, plan: Plan) -> Solution:
    """Adam (Kingma and Ba 2015) on mini-batches of `batch_size` rows, its rate following the schedule."""
    return _iterate(start, data, objective, plan, _adam_epochs)


def lbfgs(start: PrototypeSet, data: Samples, objective: Objective, plan: Plan) -> Solution:
    """scipy's L-BFGS-B, `max_iter` iterations; the normalisation of the metric by the chain rule."""
    variables = _Variables(start, objective, plan)
    stopping = EarlyStopping(None, plan.watch, best_iterate(plan, data, objective.metric))
    result = Solution(start)
    latest = variables.vector(start)
    last = np.inf

    def value_and_gradient(vector: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal last
        last, gradient = variables.value_and_gradient(vector, data, objective)
        return last, gradient

    def after_iteration(intermediate_result) -> None:
        nonlocal latest
        latest = intermediate_result.x.copy()
        if stopping.should_stop(intermediate_result.fun, lambda: variables.prototypes(latest)):
            raise StopIteration

    tol = (_DEFAULT_TOL if plan.tol is None else plan.tol) * 1e-2
    try:
        # Once for all iterations: each sum over batches asks for it again, and then it costs nothing.
        with one_blas_thread():
            if len(latest):
                minimize(
                    value_and_gradient,
                    latest,
                    jac=True,
                    method="L-BFGS-B",
                    bounds=None if variables.box is None else Bounds(*variables.box),
                    callback=after_iteration,
                    options={
                        "maxiter": plan.max_iter,
                        "ftol": tol,
                        "gtol": tol,
                        "maxfun": 15 * plan.max_iter,
                        "maxcor": _FEW_CORRECTIONS if len(latest) >= _MANY_VARIABLES else _CORRECTIONS,
                    },
                )
            else:
                # SciPy before 1.12 refuses to minimise by no variable, where no rate is above zero.
                value_and_gradient(latest)
        if not stopping.curve:
            stopping.curve.append(float(last))
    except KeyboardInterrupt:
        result.interrupted = True
    _finish(result, variables, latest, stopping)
    return result


def _iterate(start: PrototypeSet, data: Samples, objective: Objective, plan: Plan, steps: Callable) -> Solution:
    variables = _Variables(start, objective, plan)
    tol = _DEFAULT_TOL if plan.tol is None else plan.tol
    stopping = EarlyStopping(tol, plan.watch, best_iterate(plan, data, objective.metric))
    result = Solution(start)
    vector = variables.vector(start)
    try:
        for value, candidate in steps(variables, vector, data, objective, plan):
            if not (np.isfinite(value) and np.isfinite(candidate).all()):
                result.message = DIVERGED.format(
                    epoch=len(stopping.curve) + 1, rate=plan.position_rate / objective.loss.rate_unit(plan.scale)
                )
                break
            vector = candidate
            if stopping.should_stop(value, partial(variables.prototypes, vector)):
                break
    except KeyboardInterrupt:
        result.interrupted = True
    _finish(result, variables, vector, stopping)
    return result


def _finish(result: Solution, variables: _Variables, vector: np.ndarray, stopping: EarlyStopping) -> None:
    result.loss_curve = stopping.curve
    result.n_iter = max(len(stopping.curve), 1)
    if np.isfinite(vector).all():
        result.prototypes = variables.prototypes(vector)
    result.prototypes = stopping.chosen(result.prototypes)


def _search_steps(variables: _Variables, vector: np.ndarray, data: Samples, objective: Objective, plan: Plan):
    value, gradient = variables.value_and_gradient(vector, data, objective)
    if not np.isfinite(value):
        yield value, vector
        return
    # Above zero, also after all halvings.
    step = max(max(plan.position_rate, plan.metric_rate) / plan.scale, _SHORTEST)
    for _ in range(plan.max_iter):
        for _ in range(_HALVINGS):
            candidate = variables.clip(vector - step * gradient)
            new_value, new_gradient = variables.value_and_gradient(candidate, data, objective)
            if new_value <= value - _ARMIJO / step * np.sum((candidate - vector) ** 2):
                break
            step /= 2
        else:
            yield value, vector
            return
        moved, bent = candidate - vector, new_gradient - gradient
        curvature = moved @ bent
        step = (moved @ moved) / curvature if curvature > 0 else 2 * step
        vector, value, gradient = candidate, new_value, new_gradient
        yield value, vector


def _adam_epochs(variables: _Variables, vector: np.ndarray, data: Samples, objective: Objective, plan: Plan):
    tau = (plan.position_rate or plan.metric_rate) / objective.loss.rate_unit(plan.scale)
    n_steps = plan.n_steps or plan.max_iter * data.n_batches(plan.batch_size)
    first, second = np.zeros_like(vector), np.zeros_like(vector)
    keep_first, keep_second = _ADAM_MOMENTS
    step = 0
    for _ in range(plan.max_iter):
        total = 0.0
        for batch in data.batches(plan.batch_size, plan.random if plan.shuffle else None):
            prototypes = variables.prototypes(vector)
            found = total_gradient(prototypes, batch, objective)
            if found is None:
                continue
            total += found.value
            gradient = variables.gradient(vector, prototypes, found) / (found.weight or 1.0)
            if variables.stiffness is not None:
                gradient += variables.ridge_gradient(vector, data)
            rate = _ADAM_RATE * tau * float(plan.schedule(plan.first_step + step, n_steps))
            step += 1
            first = keep_first * first + (1 - keep_first) * gradient
            second = keep_second * second + (1 - keep_second) * gradient**2
            corrected = first / (1 - keep_first**step)
            spread = np.sqrt(second / (1 - keep_second**step))
            vector = variables.clip(vector - rate * corrected / (spread + _ADAM_FLOOR * (spread.max(initial=0) or 1.0)))
        yield total / data.total_weight, vector


SOLVERS.add("gradient", Solver(gradient, "gradient descent on the whole training set, with line search", ridge=True))
SOLVERS.add(
    "lbfgs",
    Solver(lbfgs, "SciPy's L-BFGS-B on the whole training set, often the lowest loss", by_block=False, ridge=True),
)
SOLVERS.add("adam", Solver(adam, "Adam on mini-batches of `batch_size` rows", ridge=True))
