"""LaMaLVQ: prototypes by LVQ, the metric by large margins, in turns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit

from protolearn.core.parameters import check_choice, check_count, check_number, check_random, stores_parameters
from protolearn.core.prototypes import PrototypeSet
from protolearn.core.schedules import constant
from protolearn.data import TrainingSet
from protolearn.data.ranges import check_finite, finite_or_refused
from protolearn.estimators.documentation import documented
from protolearn.estimators.learning import mean_nearest_distance
from protolearn.estimators.start import PrototypeBase
from protolearn.losses import LOSSES
from protolearn.metrics import METRICS, Metric
from protolearn.metrics.omega import Omega
from protolearn.solvers import SOLVERS, Objective, Plan
from protolearn.solvers.lama import UPDATES, matrix_step, perimeters, square
from protolearn.solvers.large_margin import METRIC_SOLVERS, solve_large_margin
from protolearn.solvers.progress import ProgressLine
from protolearn.solvers.triples import Candidates, TripleProblem

# Consecutive solves end when Lambda changes by less than this share.
_SAME_METRIC = 1e-3
# A prototype this many times the spread of the data away from its mean is held there.
_FURTHEST = 1e6


@dataclass
class History:
    """One entry a round: what the thesis plots.

    error_before, error : training error before and after the metric solve
    cost_before, cost : (13) or (14) before and after it, each with the targets of its metric
    norm : mean distance of the prototypes from the origin
    n_invaders : pairs of prototype and invader, (5)
    metric : Lambda, one for each slot
    accepted : whether the solve's metric was kept
    """

    error_before: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    cost_before: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    norm: list[float] = field(default_factory=list)
    n_invaders: list[int] = field(default_factory=list)
    metric: list[np.ndarray] = field(default_factory=list)
    accepted: list[bool] = field(default_factory=list)


@documented
class LaMaLVQ(PrototypeBase):
    """Large margin LVQ: prototypes positioned by LVQ, the metric by the large margin solver of LMNN, in turns.

        cost = sum_ij D(w_i, x_j) + sum_ijl [margin + D(w_i, x_j) - D(w_i, x_l)]_+         (13), (14), (16)

    over prototypes w_i, their k nearest targets x_j of the same class and all x_l of other classes. Kelders (2013). The
    two parts have a cost each; nothing that both lower exists. Where we differ from the thesis: the margin and the
    weights are those of its tables, not of (13); several prototypes of a class start a hundredth of the spread
    apart; the batch rule is stopped a million spreads away from the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import LaMaLVQ
    >>> X, y = load_iris(return_X_y=True)
    >>> LaMaLVQ(rounds=5, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _attribute_texts = """    omega_ : array of shape (n_features, n_features), or one for each class or prototype
        The learned map.
    margin_ : float
        The margin as a squared distance.
    history_ : object
        Lists with one entry a round: error, cost, n_invaders, metric and others, as the thesis plots them.
    loss_curve_ : list
        The cost after the metric solve of each round.
    n_iter_ : int
        Rounds run.
"""

    _parameter_texts = {
        "version": """{"pattern", "prototype"}
        What the metric is learned from. "pattern": targets and invaders of a prototype are the samples around it,
        LaMaLVQ (13); "prototype": they are the other prototypes, LaMaLVQ (14), which needs two or more a class.""",
        "mode": """{"single", "consecutive", None}
        How often the metric is solved in a round. "single": once; "consecutive": again with the new targets until the
        metric stays, `max_consecutive` times at most; None: not at all, the thesis's pure LVQ.""",
        "scope": """{"global", "class", "prototype"}
        Which prototypes share a learned map (Omega): all, those of a class, or each has its own.""",
        "update": """{"glvq", "lama", "gradient"}
        How prototypes move. "glvq": at each sample, LaMaLVQ (10) and (11); "lama": once an epoch by the batch rule,
        LaMaLVQ (15); "gradient": once an epoch along the gradient of LaMaLVQ (13).""",
        "matrix_update": """{None, "batch"}
        "batch" also takes one gradient step of the metric in each epoch (Table 8).""",
        "n_neighbors": """int
        How many nearest samples of its class each prototype pulls near (k), all where there are fewer.""",
        "margin": """float
        How much further away than a target a sample of another class must be: this share of the diagonal of the
        training set (p of LaMaLVQ (12)), for standardised data as printed.""",
        "rounds": "int\n        How often LVQ and the metric solve alternate; 1 with many epochs is enhanced LVQ.",
        "epochs": "int\n        Passes of LVQ in a round.",
        "learning_rate": """float
        How far a step moves the prototypes (eta of LaMaLVQ (10), (11), (15)), the same in all epochs; for standardised
        data as printed, else in units of the mean variance.""",
        "max_consecutive": "int\n        Solves at most in a round of the consecutive mode.",
        "solver": """{"factor", "projection"}
        How the metric is solved. "factor": L-BFGS on Omega; "projection": projected gradient on Omega'Omega.""",
        "max_iter": "int\n        Steps at most of one metric solve.",
        "tol": "float\n        Convergence of a metric solve, as in LMNN.",
        "invader_interval": "int\n        Steps of a metric solve between two exact searches for invaders.",
        "batch_step": """{"damped", "sum"}
        "damped": a mean, in which pushes never outweigh half of the pulls; "sum": LaMaLVQ (15) as printed, under which
        prototypes may leave the data.""",
        "refresh_targets": """bool
        Find the targets anew at each search inside a solve, instead of keeping those of its start.""",
        "accept": """{"validation", "always"}
        "validation" goes on from a solve for one more LVQ step, and goes back to before it where held-out samples then
        have more errors; "always" keeps every solve, as in the thesis.""",
        "validation_fraction": 'float\n        Share of the samples that accept="validation" holds out of learning.',
    }

    @stores_parameters
    def __init__(
        self,
        n_prototypes: Any = 1,
        *,
        version: str = "pattern",
        mode: str | None = "single",
        scope: str = "global",
        update: str = "glvq",
        matrix_update: str | None = None,
        n_neighbors: int = 5,
        margin: float = 0.01,
        rounds: int = 30,
        epochs: int = 20,
        learning_rate: float = 0.01,
        init: Any = "class_mean",
        max_consecutive: int = 10,
        solver: str = "factor",
        max_iter: int = 200,
        tol: float = 1e-3,
        invader_interval: int = 10,
        batch_step: str = "damped",
        refresh_targets: bool = False,
        accept: str = "validation",
        validation_fraction: float = 0.2,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None: ...

    def _check_parameters(self) -> None:
        check_choice("version", self.version, ("pattern", "prototype"))
        check_choice("mode", self.mode, ("single", "consecutive", None))
        check_choice("update", self.update, ("glvq", *UPDATES))
        check_choice("matrix_update", self.matrix_update, (None, "batch"))
        check_choice("batch_step", self.batch_step, ("sum", "damped"))
        check_choice("accept", self.accept, ("always", "validation"))
        check_choice("solver", self.solver, METRIC_SOLVERS)
        for name in ("n_neighbors", "rounds", "epochs", "max_consecutive", "max_iter", "invader_interval"):
            check_count(name, getattr(self, name))
        check_number("margin", self.margin, above=0, below=1)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("tol", self.tol, at_least=0)
        check_number("validation_fraction", self.validation_fraction, above=0, below=1)

    def _make_metric(self) -> Metric:
        metric = Omega(scope=self.scope)
        metric.check()
        return metric

    def fit(self, X: Any, y: Any) -> LaMaLVQ:
        """Learn prototypes and metric.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        self._check_parameters()
        metric = self._make_metric()
        data = self._training_set(X, y, None)
        random = check_random(self.random_state)
        dtype = data.X.dtype
        data = TrainingSet(data.rows(slice(None)).astype(np.float64), data.y, None, data.n_classes)
        data, held_out = self._hold_out(data, random)
        start = self._start(data, metric, random)
        self._warn_of_scales(metric, start, learns=True, stacklevel=3)
        run = _Run(self, data, held_out, metric, start, random)
        line = ProgressLine(type(self).__name__, self.rounds) if self.verbose else None
        with finite_or_refused(type(self).__name__):
            for number in range(1, self.rounds + 1):
                run.position()
                run.solve()
                if line is not None:
                    line.epoch(number, run.history.cost[-1])
            check_finite(run.prototypes.positions.astype(dtype), run.prototypes.theta)
        if line is not None:
            line.end()
        if run.message:
            warnings.warn(run.message, ConvergenceWarning, stacklevel=2)
        found = run.prototypes
        self.prototypes_ = found.positions.astype(dtype)
        self.prototype_labels_ = self.classes_[found.labels]
        self._theta = found.theta
        self.omega_ = found.theta[0] if self.scope == "global" else found.theta
        self.margin_ = run.margin
        self.history_ = run.history
        self.loss_curve_ = list(run.history.cost)
        self.n_iter_ = self.rounds
        return self

    def _hold_out(self, data: TrainingSet, random: np.random.RandomState) -> tuple[TrainingSet, TrainingSet]:
        """The samples to learn from and those that judge a metric: the same ones where no class can spare any."""
        n_held = int(np.ceil(self.validation_fraction * data.n_samples))
        too_few = data.class_counts[data.class_counts > 0].min() < 2 or n_held < data.n_classes
        if self.accept != "validation" or too_few or data.n_samples - n_held < data.n_classes:
            return data, data
        split = StratifiedShuffleSplit(1, test_size=n_held, random_state=random.randint(2**31 - 1))
        kept, held = next(split.split(data.X, data.y))
        learned, judging = (TrainingSet(data.X[rows], data.y[rows], None, data.n_classes) for rows in (kept, held))
        return learned, judging


_SlotProblem = tuple[int, np.ndarray, TripleProblem]


class _Run:
    """The state of a fit: prototypes with their metrics, and the history."""

    def __init__(
        self,
        settings: LaMaLVQ,
        data: TrainingSet,
        held_out: TrainingSet,
        metric: Metric,
        start: PrototypeSet,
        random: np.random.RandomState,
    ) -> None:
        self.settings, self.data, self.held_out, self.metric, self.random = settings, data, held_out, metric, random
        if settings.version == "prototype" and np.bincount(start.labels)[np.unique(start.labels)].min() < 2:
            raise ValueError(
                'version="prototype" needs two prototypes a class or more to have targets; raise n_prototypes.'
            )
        self.prototypes = start.moved(start.positions, np.repeat(np.eye(data.n_features)[None], len(start.theta), 0))
        self.scale, _ = mean_nearest_distance(start, data, METRICS["euclidean"])
        self.unit = float(np.trace(data.covariance)) / data.n_features or 1.0
        diagonal = float(np.linalg.norm(data.X.max(axis=0) - data.X.min(axis=0))) or 1.0
        # (12) is a length, and what it is compared with a squared length: times 1, the unit on standardised data.
        self.margin = settings.margin * diagonal * np.sqrt(self.unit)
        self.history = History()
        self.message = ""
        self.known: tuple[PrototypeSet, str, list[_SlotProblem]] | None = None

    def problems(self, version: str) -> list[_SlotProblem]:
        """Slot, its prototypes, and their large margin problem with targets under the slot's metric.

        Those asked for last are kept until the prototypes move; no others are held meanwhile, for each has a copy of
        the samples.
        """
        if self.known is None or self.known[0] is not self.prototypes or self.known[1] != version:
            self.known = None
            slots = np.unique(self.prototypes.slot)
            self.known = self.prototypes, version, [self._problem(int(slot), version) for slot in slots]
        return self.known[2]

    def _problem(self, slot: int, version: str) -> _SlotProblem:
        P, k = self.prototypes, self.settings.n_neighbors
        numbers = {"margin": self.margin, "pull": 1.0, "push": 1.0}
        members = np.flatnonzero(P.slot == slot)
        if version == "pattern":
            centres = P.positions[members], P.labels[members], self.data.X, self.data.y, k
            problem = TripleProblem.around_centres(*centres, **numbers)
        else:
            centres = P.positions[members], P.labels[members], P.positions, P.labels, k
            problem = TripleProblem.around_centres(*centres, own=members, **numbers)
        return slot, members, problem.with_targets(P.theta[slot])

    def position(self) -> None:
        """LVQ for `epochs` passes."""
        settings = self.settings
        if settings.update == "glvq" and settings.matrix_update is None:
            self._online(settings.epochs)
            return
        for _ in range(settings.epochs):
            if settings.update == "glvq":
                self._online(1)
            else:
                self._batch()
            if settings.matrix_update == "batch":
                theta = self.prototypes.theta.copy()
                for slot, _, problem in self.problems("pattern"):
                    theta[slot] = matrix_step(problem, theta[slot], settings.learning_rate)
                self.prototypes = self.prototypes.moved(self.prototypes.positions, theta)

    def _online(self, epochs: int) -> None:
        # (10) and (11) are half the gradient that the engine follows.
        rate = 0.5 * self.settings.learning_rate * self.unit
        plan = Plan(epochs, rate, 0.0, constant, self.random, scale=self.scale)
        objective = Objective(LOSSES["glvq"](), self.metric, slope=1.0)
        solution = SOLVERS["online"](self.prototypes, self.data, objective, plan)
        self.message = solution.message or self.message
        self.prototypes = solution.prototypes

    def _batch(self) -> None:
        P, settings = self.prototypes, self.settings
        positions = P.positions.copy()
        moves = UPDATES[settings.update]
        for slot, members, problem in self.problems("pattern"):
            step = moves(problem, P.theta[slot], damped=settings.batch_step == "damped")
            positions[members] += settings.learning_rate * step
        away = np.sqrt(np.sum((positions - self.data.mean) ** 2, axis=1) / (self.unit * self.data.n_features))
        gone = ~(away < _FURTHEST)
        if gone.any():
            positions[gone] = P.positions[gone]
            self.message = (
                f"{gone.sum()} prototypes were pushed a million spreads away from the data and are held there; choose "
                'batch_step="damped", fewer n_neighbors or a smaller learning_rate.'
            )
        self.prototypes = P.moved(positions, P.theta)

    def solve(self) -> None:
        """The metric solve of a round, and the entry in the history."""
        settings, history = self.settings, self.history
        history.error_before.append(self.error(self.data, self.prototypes))
        history.cost_before.append(self.cost())
        before = self.prototypes
        accepted = True
        if settings.mode is not None:
            for _ in range(settings.max_consecutive if settings.mode == "consecutive" else 1):
                last = self.prototypes.theta
                self._solve_once()
                if np.linalg.norm(_lambda(self.prototypes.theta) - _lambda(last)) <= _SAME_METRIC * np.linalg.norm(
                    _lambda(last)
                ):
                    break
            if settings.accept == "validation":
                # Right after a solve the error rises even where it soon falls below: judge when LVQ has followed.
                self.position()
                accepted = self.error(self.held_out, self.prototypes) <= self.error(self.held_out, before)
                if not accepted:
                    self.prototypes = before
        P = self.prototypes
        history.error.append(self.error(self.data, P))
        history.cost.append(self.cost())
        history.norm.append(float(np.linalg.norm(P.positions, axis=1).mean()))
        invaders = [perimeters(problem, P.theta[slot]).n_invaders for slot, _, problem in self.problems("pattern")]
        history.n_invaders.append(sum(invaders))
        history.metric.append(_lambda(P.theta))
        history.accepted.append(accepted)

    def _solve_once(self) -> None:
        settings = self.settings
        theta = self.prototypes.theta.copy()
        for slot, _, problem in self.problems(settings.version):
            found = solve_large_margin(
                problem,
                theta[slot],
                solver=settings.solver,
                max_iter=settings.max_iter,
                tol=settings.tol,
                invader_interval=settings.invader_interval,
                refresh_targets=settings.refresh_targets,
            )
            if np.isfinite(found.omega).all() and found.omega.any():
                theta[slot] = square(found.omega, self.data.n_features)
        self.prototypes = self.prototypes.moved(self.prototypes.positions, theta)

    def cost(self) -> float:
        """(13) or (14) with the targets of the present metric."""
        total = 0.0
        for slot, _, problem in self.problems(self.settings.version):
            omega = self.prototypes.theta[slot]
            A, B = problem.mapped(omega)
            total += Candidates(problem, omega, 0.0).sums(A, B, A[:, :0], B[:, :0]).cost
        return total

    def error(self, data: TrainingSet, prototypes: PrototypeSet) -> float:
        """Share of samples whose nearest prototype is of another class."""
        wrong = 0
        for X, y, _ in data.batches_in_order(len(prototypes)):
            wrong += int(np.sum(prototypes.labels[self.metric.distances(X, prototypes).argmin(axis=1)] != y))
        return wrong / data.n_samples


def _lambda(theta: np.ndarray) -> np.ndarray:
    return np.swapaxes(theta, 1, 2) @ theta
