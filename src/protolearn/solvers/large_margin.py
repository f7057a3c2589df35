"""Minimise pull plus push over triples: by projection on the positive semi-definite cone, or through the factor Omega.

    projection : Lambda <- project(Lambda - step G), G = sum c (a - b)(a - b)'                  LaMaLVQ (16), (17)
    factor :     Omega by L-BFGS on the same cost, Lambda = Omega'Omega; Omega may have fewer rows than features

G sums over active triples only; the printed (17) omits that. The first way is convex, the second needs no
eigen-decomposition and fewer steps.

No step has a unit: the features are whitened first (the cone and the cost do not change with the coordinates), and
Lambda starts at the best multiple of what was given. Each step is searched so that the cost never rises.
The cost has a kink wherever a triple becomes active, and descent along the gradient gets stuck there. So the hinge is
rounded off over a tenth of the margin, then a hundredth, down to ten times `tol`; the cost that counts is the one with
kinks.

Between two exact searches for invaders only the candidates of the last one are looked at. Steps after which the exact
search does not find a lower cost are undone: and repeated with more candidates if those were what was missing.

Steps of large problems are tried in float32, which halves their time; every cost of the curve, and the gradient after
each exact search, is a float64 sum. Where such a sum does not confirm the steps, or they seem to have arrived, float64
goes on from there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from protolearn.core.registry import Registry
from protolearn.core.threads import n_threads, one_blas_thread
from protolearn.solvers.triples import Candidates, Sums, TripleProblem, squared_distances

METRIC_SOLVERS = Registry("solver")
# How much further than the perimeter the search looks, so that few invaders of the next steps are missed; and the most.
_REACH, _FURTHEST_REACH = 0.05, 16.0
# The hinge is rounded off over this share of the margin at first; a tenth of it each time until it is sharp.
_ROUNDEST, _SHARPEST = 0.1, 1e-6
# Sufficient decrease, curvature, and how often a step is shortened or lengthened: Lewis and Overton (2013).
_DECREASE, _CURVATURE, _TRIALS = 1e-4, 0.9, 25
# The first step is as long as this share of the start.
_FIRST_STEP = 0.01
_MEMORY = 12
# The least cosine of the angle between a step and the change of the gradient that is remembered.
_LEAST_CURVATURE = 1e-12
# The best multiple is found from all centres where that is quick, else from some.
_SCALE_PAIRS, _SCALE_CENTRES, _SCALE_STEPS = 1 << 19, 48, 40
# Directions with less variance than this share of the largest are whitened no further: they hold rounding only.
_VARIANCE_FLOOR = 1e-5
# Steps are tried in float32 where a map takes so many multiply-adds; not where smaller differences than this share of
# the cost matter, nor with margins of another order.
_FLOAT32_WORK, _FLOAT32_TOL, _FLOAT32_MARGINS = 1e7, 1e-5, (1e-12, 1e12)


@dataclass
class LargeMarginSolution:
    """Where the solver arrived.

    problem : with the targets of the end
    cost_curve : the exact cost at the start and after each exact search
    n_iter : steps
    n_active : active triples at the end
    converged : False where the limit of steps came first
    """

    omega: np.ndarray
    problem: TripleProblem
    cost_curve: list[float] = field(default_factory=list)
    n_iter: int = 0
    n_active: int = 0
    converged: bool = False


def solve_large_margin(
    problem: TripleProblem,
    omega: np.ndarray,
    *,
    solver: str = "factor",
    max_iter: int = 500,
    tol: float = 1e-4,
    invader_interval: int = 10,
    refresh_targets: bool = False,
    watch: Callable[[int, float], None] | None = None,
) -> LargeMarginSolution:
    """The metric that minimises the cost of the problem, from `omega` on.

    tol : converged when the cost falls by less than this share between two exact searches, or the gradient promises no
        more, with the sharpest hinge
    refresh_targets : find the targets anew at each exact search. With the k nearest the cost can only fall, so the sum
        of all this still never rises.
    watch : called after each exact search with the number of steps and the cost

    The work is shared among as many threads as BLAS would use, and BLAS stays on one: its threads wait for each other
    at every product, which on a machine that does other things too takes five times as long.
    """
    problem = replace(problem, threads=n_threads())
    with one_blas_thread():
        return _solve(problem, omega, solver, max_iter, tol, invader_interval, refresh_targets, watch)


def _solve(
    problem: TripleProblem,
    omega: np.ndarray,
    solver: str,
    max_iter: int,
    tol: float,
    invader_interval: int,
    refresh_targets: bool,
    watch: Callable[[int, float], None] | None,
) -> LargeMarginSolution:
    if problem.targets.size == 0:
        problem = problem.with_targets(omega)
    frame, back = whitening(problem.points)
    problem, outside = problem.under(frame), problem
    omega = omega @ back
    steps = METRIC_SOLVERS[solver](problem, omega * best_scale(problem, omega))
    steps.rough = (
        problem.points.size * len(omega) >= _FLOAT32_WORK
        and tol >= _FLOAT32_TOL
        and _FLOAT32_MARGINS[0] <= problem.margin <= _FLOAT32_MARGINS[1]
    )
    sharpest = max(10.0 * tol, _SHARPEST)
    roundness, interval, reach = max(_ROUNDEST, sharpest), min(2, invader_interval), _REACH
    candidates = Candidates(problem, steps.omega, reach)
    here = steps.look(candidates, roundness * problem.margin)
    result = LargeMarginSolution(omega, outside, [here.cost], 0, here.n_active)
    while result.n_iter < max_iter and not result.converged and result.cost_curve[-1] > 0:
        smooth = roundness * problem.margin
        before, old_problem, aim = steps.state(), problem, here.smooth_cost
        moved = 0
        while moved < min(interval, max_iter - result.n_iter) and steps.advance(candidates, smooth):
            moved += 1
        result.n_iter += moved
        if refresh_targets:
            problem = steps.problem = problem.with_targets(steps.omega)
        candidates = Candidates(problem, steps.omega, reach)
        found = here = steps.look(candidates, smooth)
        last = result.cost_curve[-1]
        fallen = last - found.cost
        unconfirmed = moved > 0 and not fallen >= 0
        if unconfirmed:
            steps.restore(before)
            problem = steps.problem = old_problem
            missed = not found.smooth_cost < aim
            if missed and reach < _FURTHEST_REACH:
                interval, reach = max(interval // 2, 1), 2 * reach
            candidates = Candidates(problem, steps.omega, reach)
            here = steps.look(candidates, smooth)
            if missed and reach < _FURTHEST_REACH:
                continue
        else:
            result.cost_curve.append(found.cost)
            result.n_active = found.n_active
            interval = min(2 * interval, invader_interval)
            if watch is not None:
                watch(result.n_iter, found.cost)
        ended = moved == 0 or fallen <= tol * last or steps.promise() <= tol
        if steps.rough and (ended or unconfirmed):
            steps.rough = False
        elif ended:
            result.converged = roundness <= sharpest
            if roundness > sharpest:
                roundness = max(roundness / 10.0, sharpest)
                here = steps.look(candidates, roundness * problem.margin)
    result.omega = steps.omega @ frame.T
    if refresh_targets:
        result.problem = outside.with_targets(result.omega)
    return result


def whitening(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates x F in which the points have unit variance, and the inverse of F; F is symmetric.

    A constant feature keeps its scale: no step touches it.
    """
    spread = points.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    values, vectors = np.linalg.eigh(np.cov((points / spread).T, bias=True).reshape(len(spread), -1))
    root = np.sqrt(np.maximum(values, _VARIANCE_FLOOR * max(values[-1], 0.0)))
    root = np.where(root > 0, root, 1.0)
    frame = (vectors / root) @ vectors.T / spread[:, None]
    return frame, (vectors * root) @ vectors.T * spread


class _Steps:
    """Steps of one way to minimise. `value` and `gradient` are those of the smoothed cost at the current point.

    rough : try steps in float32
    """

    value: float
    gradient: np.ndarray

    def __init_subclass__(cls, name: str) -> None:
        METRIC_SOLVERS.add(name, cls)

    def __init__(self, problem: TripleProblem) -> None:
        self.problem = problem
        self.rough = False

    @cached_property
    def _in_float32(self) -> TripleProblem:
        return self.problem.in_float32()

    def measure(self, candidates: Candidates, factor: np.ndarray, smooth: float) -> tuple[Sums, np.ndarray]:
        """Sums and gradient at a factor of Lambda: exact, or as good as float32 is."""
        problem = self._in_float32 if self.rough else self.problem
        return self._measure(candidates, problem, problem.mapped(factor), smooth)

    def look(self, candidates: Candidates, smooth: float) -> Sums:
        """Measure where the steps are, under new candidates."""
        sums, self.gradient = self._measure(candidates, self.problem, candidates.mapped, smooth)
        self.value = sums.smooth_cost
        return sums

    def _measure(
        self, candidates: Candidates, problem: TripleProblem, mapped: tuple[np.ndarray, np.ndarray], smooth: float
    ) -> tuple[Sums, np.ndarray]:
        raise NotImplementedError("abstract: sums and gradient of one way to minimise")

    @staticmethod
    def gradient_of(sums: Sums, problem: TripleProblem) -> np.ndarray:
        """sum c (u - u')(x - x')' by two matrix products."""
        gradient = problem.outer_sum(sums.at_points, problem.points)
        if sums.at_centres is not sums.at_points:
            gradient += problem.outer_sum(sums.at_centres, problem.centres)
        return gradient.astype(np.float64, copy=False)


class _Memory:
    """The last steps s and changes y of the gradient: the two loops of L-BFGS (Nocedal 1980).

    SciPy's L-BFGS searches for smooth functions only and forgets its steps between two calls. The cost here has kinks,
    and its candidates change between two exact searches.
    """

    def __init__(self, size: int) -> None:
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget all steps."""
        self._pairs.clear()

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Remember a step along which the gradient rose; the oldest gives way."""
        curvature = float(step @ change)
        if curvature > _LEAST_CURVATURE * np.sqrt(float(step @ step) * float(change @ change)):
            self._pairs.append((step, change, curvature))

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Minus the inverse Hessian times the gradient."""
        found, shares = -gradient, []
        for step, change, curvature in reversed(self._pairs):
            shares.append(float(step @ found) / curvature)
            found -= shares[-1] * change
        if self._pairs:
            _, change, curvature = self._pairs[-1]
            found *= curvature / float(change @ change)
        for (step, change, curvature), share in zip(self._pairs, reversed(shares), strict=True):
            found += (share - float(change @ found) / curvature) * step
        return found


class FactorSteps(_Steps, name="factor"):
    """L-BFGS on Omega (Nocedal 1980), its line search made for kinks (Lewis and Overton 2013).

    d cost / d Omega = 2 sum c (Omega v) v', v = a - b
    """

    def __init__(self, problem: TripleProblem, omega: np.ndarray) -> None:
        super().__init__(problem)
        self.point = omega
        self.memory = _Memory(_MEMORY)

    @property
    def omega(self) -> np.ndarray:
        """Where the steps are."""
        return self.point

    def state(self) -> np.ndarray:
        """What `restore` needs."""
        return self.point

    def restore(self, state: np.ndarray) -> None:
        """Back to a state, without memory of the steps since."""
        self.point = state
        self.memory.clear()

    def _measure(
        self, candidates: Candidates, problem: TripleProblem, mapped: tuple[np.ndarray, np.ndarray], smooth: float
    ) -> tuple[Sums, np.ndarray]:
        A, B = mapped
        sums = candidates.sums(A, B, A, B, smooth)
        return sums, 2.0 * self.gradient_of(sums, problem)

    def promise(self) -> float:
        """The share of the cost by which a step a hundredth as long as Omega would fall along the gradient."""
        size = _FIRST_STEP * np.linalg.norm(self.point) * np.linalg.norm(self.gradient)
        return float(size / self.value) if self.value > 0 else 0.0

    def advance(self, candidates: Candidates, smooth: float) -> bool:
        """One step; False where none lowers the cost."""
        direction = self.memory.direction(self.gradient.ravel()).reshape(self.gradient.shape)
        descent = float(np.vdot(direction, self.gradient))
        if not descent < 0:
            direction, descent = -self.gradient, -float(np.vdot(self.gradient, self.gradient))
            self.memory.clear()
            if not descent < 0:
                return False
        step = 1.0
        if not len(self.memory):
            step = float(_FIRST_STEP * (np.linalg.norm(self.point) or 1.0) / np.linalg.norm(direction))
        low, high = 0.0, np.inf
        best = None
        for _ in range(_TRIALS):
            trial = self.point + step * direction
            sums, gradient = self.measure(candidates, trial, smooth)
            if sums.smooth_cost <= self.value + _DECREASE * step * descent:
                best = trial, sums.smooth_cost, gradient
                low = step
                if np.vdot(gradient, direction) >= _CURVATURE * descent:
                    break
            else:
                high = step
            step = 2.0 * low if np.isinf(high) else (low + high) / 2.0
        if best is None:
            if not len(self.memory):
                return False
            self.memory.clear()
            return self.advance(candidates, smooth)
        trial, value, gradient = best
        self.memory.add(low * direction.ravel(), (gradient - self.gradient).ravel())
        self.point, self.value, self.gradient = trial, value, gradient
        return True


class ProjectionSteps(_Steps, name="projection"):
    """Projected gradient on Lambda, its step by Barzilai and Borwein (1988), halved until the cost falls enough."""

    def __init__(self, problem: TripleProblem, omega: np.ndarray) -> None:
        super().__init__(problem)
        self.matrix, self.factor = project(omega.T @ omega)
        self.step = 0.0

    @property
    def omega(self) -> np.ndarray:
        """A factor of Lambda, one row for each eigenvalue above zero."""
        return self.factor

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """What `restore` needs."""
        return self.matrix, self.factor

    def restore(self, state: tuple[np.ndarray, np.ndarray]) -> None:
        """Back to a state, without memory of the steps since."""
        self.matrix, self.factor = state
        self.step = 0.0

    def _measure(
        self, candidates: Candidates, problem: TripleProblem, mapped: tuple[np.ndarray, np.ndarray], smooth: float
    ) -> tuple[Sums, np.ndarray]:
        A, B = mapped
        sums = candidates.sums(A, B, problem.centres, problem.points, smooth)
        gradient = self.gradient_of(sums, problem)
        return sums, (gradient + gradient.T) / 2.0

    def promise(self) -> float:
        """The share of the cost by which a projected step a hundredth as long as Lambda would fall."""
        steepness = np.linalg.norm(self.gradient)
        if not (self.value > 0 and steepness > 0):
            return 0.0
        step = _FIRST_STEP * np.linalg.norm(self.matrix) / steepness
        return -np.vdot(project(self.matrix - step * self.gradient)[0] - self.matrix, self.gradient) / self.value

    def advance(self, candidates: Candidates, smooth: float) -> bool:
        """One step; False where none lowers the cost."""
        steepness = np.linalg.norm(self.gradient)
        if not steepness > 0:
            return False
        step = self.step or float(_FIRST_STEP * (np.linalg.norm(self.matrix) or 1.0) / steepness)
        for _ in range(_TRIALS):
            trial, factor = project(self.matrix - step * self.gradient)
            sums, gradient = self.measure(candidates, factor, smooth)
            if sums.smooth_cost <= self.value - _DECREASE / step * np.sum((trial - self.matrix) ** 2):
                break
            step /= 2.0
        else:
            return False
        moved, bent = trial - self.matrix, gradient - self.gradient
        curvature = np.vdot(moved, bent)
        self.step = float(np.vdot(moved, moved) / curvature) if curvature > 0 else 2.0 * step
        self.matrix, self.factor, self.value, self.gradient = trial, factor, sums.smooth_cost, gradient
        return bool(moved.any())


def project(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest positive semi-definite matrix, and a factor of it: negative eigenvalues become 0."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    keep = values > max(values[-1], 0.0) * np.finfo(np.float64).eps
    factor = (vectors[:, keep] * np.sqrt(values[keep])).T
    return factor.T @ factor, factor


def best_scale(problem: TripleProblem, omega: np.ndarray) -> float:
    """The factor of Omega that makes the cost least along that ray, from all centres or an even sample.

        d cost / ds = pull sum D_ij + push sum (D_ij - D_il) over margin + s (D_ij - D_il) > 0,   Lambda = s Omega'Omega

    rises with s, so its root is found by bisection. 1 where the cost is least at s = 0, or nobody has targets.
    """
    A, B = problem.mapped(omega)
    has_target = np.flatnonzero(problem.targets[:, 0] >= 0)
    n = len(has_target)
    n_chosen = n if n * len(B) <= _SCALE_PAIRS else min(_SCALE_CENTRES, n)
    spaced = np.linspace(0, max(n - 1, 0), n_chosen).astype(np.int64)
    pull, gaps = 0.0, [np.empty(0)]
    chosen = has_target[spaced]
    for i, D in zip(chosen, np.maximum(squared_distances(A[chosen], B), 0.0), strict=True):
        own = D[problem.targets[i][problem.targets[i] >= 0]]
        pull += problem.pull * own.sum()
        gaps.append((own[:, None] - D[problem.point_labels != problem.centre_labels[i]]).ravel())
    gap = np.concatenate(gaps)
    rising = pull + problem.push * gap[gap > 0].sum()
    gap = -gap[gap < 0]
    # Also where the sums are no numbers.
    if not rising < problem.push * gap.sum():
        return 1.0
    low, high = np.log(problem.margin / gap.max()), np.log(problem.margin / gap.min())
    for _ in range(_SCALE_STEPS):
        middle = (low + high) / 2.0
        if rising < problem.push * gap[gap < problem.margin / np.exp(middle)].sum():
            low = middle
        else:
            high = middle
    return float(np.exp(high / 2.0))
