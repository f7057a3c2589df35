"""The race between candidates: who is worth more folds, and who more prototypes, by held-out rows.

One prototype a class for all candidates on the first fold; the best of them on all folds; the best of these grow for as
long as the loss falls. On a large table the race runs on a part of the rows, and then a few grow on all of them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import effective_n_jobs, parallel_config
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from protolearn.auto.candidates import Candidate, preparation_steps, prepared_numbers
from protolearn.core.threads import one_blas_thread
from protolearn.data.containers import rows_of
from protolearn.estimators.nearest import NearestPrototype
from protolearn.losses.temperature import LEAST_LOG, best_temperature, log_loss_of, tempered

COUNTS = (1, 3, 8, 20)
LARGE_COUNTS = (20, 50, 100, 200, 400, 800, 1600)
# Candidates that go on to all folds, and those that grow.
FIRST, GROW = 9, 4
# Numbers of a set times rows that it learns from: minutes on one core. A soft loss moves every prototype by every row.
MOST_WORK, _SOFT_WORK = 1e11, 24.0


@dataclass
class Fold:
    """Rows to learn from and rows to judge by, as numbers of the table."""

    train: np.ndarray
    test: np.ndarray


@dataclass
class Entry:
    """A candidate with a number of prototypes a class, and what is known of it.

    folds : that it was judged by
    log_proba : of the rows that it was judged by, at its temperature
    rows : which rows these are, one fold after the other
    loss, spread : mean log loss of these rows and its standard error
    numbers : that the set stores, with its preparation
    fitted : the pipeline of the first fold
    complete : whether these folds were all
    """

    candidate: Candidate
    count: int
    folds: Sequence[Fold]
    log_proba: np.ndarray
    rows: np.ndarray
    temperature: float
    loss: float
    spread: float
    numbers: int
    seconds: float
    fitted: Pipeline
    complete: bool = True


@dataclass
class Budget:
    """What ends a race early.

    deadline : of time.monotonic(), or None
    numbers : that one set may store
    """

    deadline: float | None
    numbers: float
    ended: str = ""

    @property
    def over(self) -> bool:
        """Whether no further fit may begin."""
        if not self.ended and self.deadline is not None and time.monotonic() >= self.deadline:
            self.ended = "time_limit"
        return bool(self.ended)

    def stops(self, *_: Any) -> bool:
        """The callback that ends a fit."""
        return self.over


Judge = Callable[[np.ndarray, np.ndarray], float]


@dataclass
class Problem:
    """The table of a race.

    X : a table; y : class codes; weight : of each row or None
    class_weight : as the classifiers take it, by code
    judged_weight : of each row in what the choice minimises, or None
    judge : (log probabilities, rows) -> what the choice minimises; None takes the log loss
    nearest : whether a set decides by the nearest prototype alone
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    n_classes: int
    class_weight: dict[int, float] | None = None
    judged_weight: np.ndarray | None = None
    judge: Judge | None = None
    nearest: bool = False
    seed: int = 0
    budget: Budget = field(default_factory=lambda: Budget(None, np.inf))

    def loss(self, log_proba: np.ndarray, rows: np.ndarray) -> float:
        """What the choice minimises, of some rows."""
        if self.judge is not None:
            return self.judge(log_proba, rows)
        weight = None if self.judged_weight is None else self.judged_weight[rows]
        return log_loss_of(log_proba, self.y[rows], weight)


class Race:
    """Fits of candidates on folds, remembered."""

    def __init__(
        self,
        problem: Problem,
        folds: Sequence[Fold],
        *,
        n_jobs: int | None,
        tell: Callable[[Entry], None],
        most_work: float = MOST_WORK,
    ) -> None:
        self.problem, self.folds, self.n_jobs, self.tell = problem, folds, n_jobs, tell
        self.most_work = most_work
        self.entries: dict[tuple[str, int], Entry] = {}
        self._prepared: dict[tuple[str, int], tuple[Pipeline, np.ndarray, np.ndarray]] = {}
        self._starts: dict[tuple[str, int, int], tuple[np.ndarray, np.ndarray, float]] = {}
        self._fits: dict[tuple[str, int, int], tuple[np.ndarray, Pipeline, int, float] | None] = {}

    def run(self, candidates: Iterable[Candidate], counts: Sequence[int] = COUNTS) -> None:
        """The whole race; what is known so far stays where it ends early."""
        candidates = list(candidates)
        with one_blas_thread():
            self._fit_all([(candidate, counts[0], 0) for candidate in candidates], n_folds=1)
            leading = sorted(self.entries.values(), key=lambda entry: entry.loss)[:FIRST]
            going_on = [entry.candidate for entry in leading]
            self._fit_all([(c, counts[0], f) for f in range(1, len(self.folds)) for c in going_on])
            found = [self.entries[candidate.name, counts[0]] for candidate in going_on]
            ranked = sorted((entry for entry in found if entry.complete), key=lambda entry: entry.loss)
            self.grow([entry.candidate for entry in ranked[:GROW]], counts[1:])

    def grow(self, candidates: Sequence[Candidate], counts: Sequence[int]) -> None:
        """More prototypes for each candidate while its loss falls."""
        going = list(candidates)
        for count in counts:
            going = [one for one in going if self._fits_in(one, count)]
            before = {one.name: self._least_loss(one) for one in going}
            self._fit_all([(one, count, f) for one in going for f in range(len(self.folds))])
            going = [one for one in going if self._least_loss(one) < before[one.name]]
            if not going or self.problem.budget.over:
                return

    def _least_loss(self, candidate: Candidate) -> float:
        return min((entry.loss for (name, _), entry in self.entries.items() if name == candidate.name), default=np.inf)

    def _fits_in(self, candidate: Candidate, count: int) -> bool:
        n_rows = len(self.folds[0].train)
        if count > 1 and 2 * count * self.problem.n_classes > n_rows:
            return False
        learned, numbers = self._numbers(candidate, count)
        work = (_SOFT_WORK if candidate.soft else 1.0) * learned * n_rows
        most_work = self.most_work if count > 1 else MOST_WORK
        return numbers <= self.problem.budget.numbers and work <= most_work

    def _numbers(self, candidate: Candidate, count: int) -> tuple[int, int]:
        """Numbers that a candidate learns, and that its set stores."""
        steps, Z, _ = self._prepare(candidate.preparation, 0)
        learned = candidate.numbers(count * self.problem.n_classes, Z.shape[1])
        return learned, learned + prepared_numbers(steps) + 1

    def least_numbers(self, candidates: Iterable[Candidate]) -> int:
        """Numbers that the smallest set stores."""
        return min(self._numbers(candidate, 1)[1] for candidate in candidates)

    def _fit_all(self, jobs: Sequence[tuple[Candidate, int, int]], n_folds: int | None = None) -> None:
        """Fit what is not known yet, in threads that share what they prepare; judge each candidate by its last fold.

        n_folds : that judge a candidate; None for all
        """
        new = [job for job in jobs if (job[0].name, *job[1:]) not in self._fits]
        for candidate, count, fold in new:
            # Preparations and starts first: several candidates share them.
            if not (self._fits and self.problem.budget.over):
                self._start(candidate.preparation, count, fold)
        with parallel_config("threading"):
            threads = effective_n_jobs(self.n_jobs)
        # Threads that ignore warnings put the filters of others back; here they get those of the caller again.
        with warnings.catch_warnings(), ThreadPoolExecutor(threads) as pool:
            done = (pool.map if threads > 1 else map)(lambda job: self._fit(*job), new)
            try:
                # This thread judges and tells, in the order of the candidates.
                for (candidate, count, fold), _ in zip(new, done, strict=True):
                    if fold == (n_folds or len(self.folds)) - 1:
                        self._judge(candidate, count, fold + 1)
            except BaseException:
                # Fits that have begun end with their next iteration.
                self.problem.budget.ended = "Ctrl-C"
                pool.shutdown(cancel_futures=True)
                raise

    def _prepare(self, name: str, fold: int) -> tuple[Pipeline, np.ndarray, np.ndarray]:
        if (name, fold) not in self._prepared:
            rows = self.folds[fold]
            steps = Pipeline(preparation_steps(name))
            train = steps.fit_transform(rows_of(self.problem.X, rows.train))
            self._prepared[name, fold] = steps, train, steps.transform(rows_of(self.problem.X, rows.test))
        return self._prepared[name, fold]

    def _start(self, name: str, count: int, fold: int) -> tuple[np.ndarray, np.ndarray, float]:
        if (name, count, fold) not in self._starts:
            _, Z, _ = self._prepare(name, fold)
            codes = self.problem.y[self.folds[fold].train]
            self._starts[name, count, fold] = start_of(Z, codes, count, self.problem.seed)
        return self._starts[name, count, fold]

    def _fit(self, candidate: Candidate, count: int, fold: int) -> None:
        """Fit one; None where the budget is over or the candidate cannot learn this table."""
        key = candidate.name, count, fold
        # The first of all is fitted however little time there is.
        if (self._fits and self.problem.budget.over) or not self._fits_in(candidate, count):
            return
        begin = time.monotonic()
        steps, Z, Z_test = self._prepare(candidate.preparation, fold)
        train = self.folds[fold].train
        positions, codes, cov = self._start(candidate.preparation, count, fold)
        try:
            classifier = fit_set(candidate, Z, train, count, (positions, codes, cov), self.problem)
            soft = candidate.soft and not self.problem.nearest
            log_proba = set_log_proba(classifier, Z_test, np.arange(self.problem.n_classes), soft)
        except (ValueError, FloatingPointError, np.linalg.LinAlgError, NotFittedError):
            self._fits[key] = None
            return
        pipeline = Pipeline([*steps.steps, ("classifier", classifier)])
        numbers = numbers_of(pipeline)
        self._fits[key] = log_proba, pipeline, numbers, time.monotonic() - begin

    def _judge(self, candidate: Candidate, count: int, n_folds: int) -> None:
        """Note and tell what a candidate is worth by its first folds, where it could learn them all."""
        fits = (self._fits.get((candidate.name, count, fold)) for fold in range(n_folds))
        found = [fit for fit in fits if fit is not None]
        if len(found) < n_folds:
            return
        folds = self.folds[:n_folds]
        rows = np.concatenate([fold.test for fold in folds])
        log_proba = np.concatenate([one[0] for one in found])
        weight = self.problem.judged_weight
        weight = None if weight is None else weight[rows]
        temperature = best_temperature(log_proba, self.problem.y[rows], weight)
        log_proba = tempered(log_proba, temperature)
        losses = -np.maximum(log_proba[np.arange(len(rows)), self.problem.y[rows]], LEAST_LOG)
        loss = self.problem.loss(log_proba, rows)
        spread = float(losses.std() / np.sqrt(max(len(rows), 1)))
        numbers, seconds = max(one[2] for one in found), sum(one[3] for one in found)
        entry = Entry(
            candidate,
            count,
            folds,
            log_proba,
            rows,
            temperature,
            loss,
            spread,
            numbers,
            seconds,
            found[0][1],
            complete=n_folds == len(self.folds),
        )
        self.entries[candidate.name, count] = entry
        self.tell(entry)


def start_of(Z: np.ndarray, codes: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The centres of k-means in each class, their class codes, and the mean squared distance to the nearest."""
    model = NearestPrototype(count, random_state=seed)
    with warnings.catch_warnings():
        # A class with fewer rows than prototypes gets as many as it has.
        warnings.simplefilter("ignore")
        model.fit(Z, codes)
    some = Z if len(Z) <= 20_000 else Z[:: len(Z) // 20_000]
    cov = float(model.transform(some).min(axis=1).mean())
    if not cov > 0:
        cov = float(Z.var(axis=0).sum()) or 1.0
    return model.prototypes_, model.prototype_labels_, cov


def fit_set(
    candidate: Candidate,
    Z: np.ndarray,
    rows: np.ndarray,
    count: int,
    start: tuple[np.ndarray, np.ndarray, float],
    problem: Problem,
) -> Any:
    """A fitted classifier of prepared rows."""
    positions, labels, cov = start
    classifier = candidate.make(cov, Z.shape[1])
    classifier.set_params(
        n_prototypes=count, init=(positions, labels), class_weight=problem.class_weight, random_state=problem.seed
    )
    classifier.set_params(callback=problem.budget.stops)
    weight = None if problem.weight is None else problem.weight[rows]
    with warnings.catch_warnings():
        # A candidate that ends before it converged is judged by its rows all the same.
        warnings.simplefilter("ignore")
        classifier.fit(Z, problem.y[rows], sample_weight=weight)
    classifier.set_params(callback=None, init="kmeans")
    return classifier


def set_log_proba(classifier: Any, Z: np.ndarray, classes: np.ndarray, soft: bool) -> np.ndarray:
    """Log probabilities of all classes, with the least possible one for those that the set lacks.

    soft : ln sum exp(-slope D) over the prototypes of each class, where the nearest of them alone would decide
    """
    if soft:
        codes = np.searchsorted(classifier.classes_, classifier.prototype_labels_)
        order = classifier._class_order()
        _, slope = classifier._link_and_slope()
        found = class_log_sums(-slope * classifier.transform(Z)[:, order], codes[order])
        found -= found.max(axis=1, keepdims=True)
        found -= np.log(np.exp(found).sum(axis=1, keepdims=True))
    else:
        with np.errstate(divide="ignore"):
            found = np.log(classifier.predict_proba(Z))
    result = np.full((len(Z), len(classes)), 4 * LEAST_LOG)
    result[:, np.searchsorted(classes, classifier.classes_)] = np.maximum(found, 4 * LEAST_LOG)
    return result


def class_log_sums(exponents: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """ln sum exp of the prototypes of each class, of prototypes in the order of their classes: LOGM (10)."""
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    largest = np.maximum.reduceat(exponents, first, axis=-1)
    return largest + np.log(np.add.reduceat(np.exp(exponents - largest[..., codes]), first, axis=-1))


def numbers_of(pipeline: Pipeline) -> int:
    """Numbers that a fitted set stores: prototypes, metric, preparation and temperature."""
    return classifier_numbers(pipeline[-1]) + prepared_numbers(pipeline[:-1])


def classifier_numbers(classifier: Any) -> int:
    """The same without the preparation."""
    metric = [getattr(classifier, name, None) for name in ("relevances_", "omega_")]
    learned = sum(np.size(part) for part in metric if part is not None)
    return classifier.prototypes_.size + (learned or 1) + 1


def refitted(candidate: Candidate, count: int, problem: Problem) -> Pipeline:
    """A candidate fitted on all rows of the problem."""
    steps = Pipeline(preparation_steps(candidate.preparation))
    Z = steps.fit_transform(problem.X)
    start = start_of(Z, problem.y, count, problem.seed)
    classifier = fit_set(candidate, Z, np.arange(len(problem.y)), count, start, problem)
    return Pipeline([*steps.steps, ("classifier", classifier)])
