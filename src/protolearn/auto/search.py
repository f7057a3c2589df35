"""Which rows the race runs on: all of a small table; of a large one a part, and then all with a held-out part."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from protolearn.auto.candidates import GROWING, Candidate
from protolearn.auto.race import COUNTS, LARGE_COUNTS, MOST_WORK, Entry, Fold, Problem, Race

# A number of a model on a device or on the wire.
BYTES = 4
# Above so many rows the race runs on a part of them, and a few candidates grow on all.
LARGE, RACE_ROWS = 10_000, 5_000
# Work of a fit on this part: what takes longer grows on all rows alone, where it is worth more.
PART_WORK = 1.5e9
HELD_OUT, MOST_HELD_OUT = 0.1, 20_000
# Candidates of the race that grow on all rows.
ON_ALL = 2


class Search:
    """The races over a table; `run` gives what they found, also where Ctrl-C or the budget ends them early."""

    def __init__(
        self,
        problem: Problem,
        candidates: Sequence[Candidate],
        *,
        cv: int,
        n_jobs: int | None,
        tell: Callable[[Entry], None],
    ) -> None:
        self.problem, self.candidates, self.cv, self.n_jobs, self.tell = problem, candidates, cv, n_jobs, tell
        self.large = len(problem.y) > LARGE

    def run(self) -> list[Entry]:
        """Candidates judged by the same rows, those on all rows of a large table where there are any."""
        random = np.random.RandomState(self.problem.seed)
        rows = stratified_part(self.problem.y, RACE_ROWS, random) if self.large else np.arange(len(self.problem.y))
        race = self._race(self._folds(rows), PART_WORK if self.large else MOST_WORK)
        whole = None
        try:
            race.run(self.candidates, COUNTS)
            if self.large and not self.problem.budget.over:
                n_held = min(int(HELD_OUT * len(self.problem.y)), MOST_HELD_OUT)
                held = stratified_part(self.problem.y, n_held, random)
                whole = self._race([Fold(np.setdiff1d(np.arange(len(self.problem.y)), held), held)])
                self._grow_on_all(whole, judged(race))
        except KeyboardInterrupt:
            self.problem.budget.ended = "Ctrl-C"
            if not race.entries:
                raise
        found = (judged(whole) if whole is not None else []) or judged(race)
        least = BYTES * race.least_numbers(self.candidates)
        if not found and least > BYTES * self.problem.budget.numbers:
            raise ValueError(
                f"No candidate can learn this table within max_bytes; raise max_bytes to at least {least}."
            )
        if not found:
            raise ValueError("No candidate can learn this table; give every class at least two rows.")
        return found

    def _race(self, folds: Sequence[Fold], most_work: float = MOST_WORK) -> Race:
        return Race(self.problem, folds, n_jobs=self.n_jobs, tell=self.tell, most_work=most_work)

    def _folds(self, rows: np.ndarray) -> list[Fold]:
        codes = self.problem.y[rows]
        largest = int(np.bincount(codes).max())
        if largest < 2:
            raise ValueError(
                "Every class has one row only, so that none is left to judge by; give the classes more rows."
            )
        splitter = StratifiedKFold(max(min(self.cv, largest), 2), shuffle=True, random_state=self.problem.seed)
        with warnings.catch_warnings():
            # A class with fewer rows than folds is missing from some of them.
            warnings.simplefilter("ignore")
            folds = [with_all_classes(codes, train, test) for train, test in splitter.split(rows, codes)]
        return [Fold(rows[train], rows[test]) for train, test in folds]

    @staticmethod
    def _grow_on_all(whole: Race, entries: list[Entry]) -> None:
        """Try larger numbers of prototypes on all rows, for the candidates made for them and for those that lead."""
        whole.grow(GROWING, LARGE_COUNTS)
        best: dict[str, Entry] = {}
        for entry in sorted(entries, key=lambda one: one.loss):
            best.setdefault(entry.candidate.name, entry)
        for entry in list(best.values())[:ON_ALL]:
            whole.grow([entry.candidate], [entry.count, *(count for count in LARGE_COUNTS if count > entry.count)])


def with_all_classes(codes: np.ndarray, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A fold in which every class has a row to learn from: the only row of a class judges nothing."""
    lacking = ~np.isin(codes[test], codes[train])
    return np.sort(np.concatenate([train, test[lacking]])), test[~lacking]


def judged(race: Race) -> list[Entry]:
    """What a race found: candidates that saw all folds, or, where none did, those that saw the first."""
    entries = list(race.entries.values())
    return [entry for entry in entries if entry.complete] or entries


def stratified_part(codes: np.ndarray, n_rows: int, random: np.random.RandomState) -> np.ndarray:
    """About so many rows, sorted, of each class by its share and at least two where it has them."""
    if n_rows >= len(codes):
        return np.arange(len(codes))
    parts = []
    for code in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == code)
        take = min(len(rows), max(round(n_rows * len(rows) / len(codes)), 2))
        parts.append(random.choice(rows, take, replace=False))
    return np.sort(np.concatenate(parts))


def row_of(entry: Entry, problem: Problem) -> dict[str, Any]:
    """What a user reads of a candidate that was judged."""
    return {
        "candidate": entry.candidate.name,
        "preparation": entry.candidate.preparation,
        "prototypes": entry.count,
        "loss": entry.loss,
        "spread": entry.spread,
        "accuracy": float((entry.log_proba.argmax(axis=1) == problem.y[entry.rows]).mean()),
        "numbers": entry.numbers,
        "bytes": BYTES * entry.numbers,
        "seconds": entry.seconds,
        "folds": len(entry.folds),
    }


class Reporter:
    """Tells the user of each candidate that was judged, and ends the race where the user's callback says so."""

    def __init__(self, verbose: int, callback: Callable[[dict[str, Any]], Any] | None, problem: Problem) -> None:
        self.verbose, self.callback, self.problem = verbose, callback, problem
        self.best: dict[int, float] = {}

    def __call__(self, entry: Entry) -> None:
        """Print a line where the user wants lines, and ask the callback."""
        if self.problem.budget.ended:
            return
        row = row_of(entry, self.problem)
        # The loss on one fold says nothing beside the loss on all.
        best = self.best.get(len(entry.folds), np.inf)
        if self.verbose:
            figures = f"accuracy {row['accuracy']:.3f}, loss {entry.loss:.4f}, {entry.numbers} numbers"
            folds = "" if entry.complete else ", on the first fold"
            told = f"{row['candidate']}, {entry.count} a class{folds}: {figures}, {entry.seconds:.1f} s"
            print(told + (" (best so far)" if entry.loss < best else ""), flush=True)
        self.best[len(entry.folds)] = min(best, entry.loss)
        if self.callback is not None and self.callback(row):
            self.problem.budget.ended = "callback"
