"""The papers' tables: what is run for each, row by row, and what is shown of the rows.

How a paper plugs in. Its module holds one value `PAPER`, and `PAPERS` in `reproduction` names the module:

    def measure(unit: Unit) -> Outcome:            # one row: one method on one fold; a function of the module, because
        data = load(unit.dataset)                  # other processes import it
        train, test = unit.protocol.split(data, unit.fold, unit.seed)
        ...
        return Outcome(accuracy, {"chosen": ...})  # the figure that the tables show, and whatever else they need

    def show_table_1(rows: Rows) -> list[Block]:   # sheets, sentences and drawings made from the rows alone
        return [beside("Error %", names, methods, rows.means("sets"), PUBLISHED), "A sentence."]

    PAPER = Paper("lpd", "LPD ...", "Paredes and Vidal (2006)", about, (Experiment("sets", ...),), (Table("1", ...),))

An experiment is a protocol with its data sets and methods; its rows are in one CSV file, keyed by data set, method,
repeat and fold. A table is a view: two tables may show the same rows (LOGM's 5, 7 and 8), and one may need several
experiments (Table 5: 22 sets by cross-validation, 8 by their split). Figures that are curves go into `Outcome.more` as
lists. What is random takes its seed from `unit.seed` and `unit.fold`, so that a row does not depend on what else is
run: that makes a resumed run equal to one that never stopped.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed
from threadpoolctl import threadpool_limits

from protolearn.compare.processes import in_processes
from protolearn.compare.rows import Columns, Row, RowFile, read_rows
from reproduction import PAPERS
from reproduction.protocols import Protocol
from reproduction.report import Block

COLUMNS: Columns = {
    "dataset": str,
    "method": str,
    "repeat": int,
    "fold": int,
    "value": float,
    "seconds": float,
    "more": json.loads,
}


@dataclass(frozen=True)
class Unit:
    """One row to make. `seed` is that of the repeat: the command's seed plus the number of the repeat."""

    protocol: Protocol
    dataset: str
    method: str
    repeat: int
    fold: int
    seed: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What no two rows of an experiment share."""
        return self.dataset, self.method, self.repeat, self.fold


def shared_by_methods(prepare: Callable[[Unit], Any]) -> Callable[[Unit], Any]:
    """`prepare` with a memory of its last result: units of one fold come one after the other and share its parts."""
    latest: dict[tuple, Any] = {}

    @wraps(prepare)
    def remembered(unit: Unit) -> Any:
        key = repr(unit.protocol), unit.dataset, unit.repeat, unit.fold, unit.seed
        if key not in latest:
            latest.clear()
            latest[key] = prepare(unit)
        return latest[key]

    return remembered


@dataclass(frozen=True)
class Outcome:
    """The figure of a row, and what else is kept of it: numbers, texts and lists that JSON can hold."""

    value: float
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Quick:
    """The small version of an experiment: under five minutes on two cores together with the others of its table."""

    protocol: Protocol
    datasets: tuple[str, ...]
    repeats: int = 1


@dataclass(frozen=True)
class Experiment:
    """A protocol with its data sets and methods.

    name : of the file of its rows
    repeats : what the command does unless told; `protocol.repeats` is what the paper did
    datasets : in the order in which they are run; put short ones first
    methods : in the order of the tables
    measure : makes one row
    skip : (data set, method) pairs that the experiment does not have
    costs : data set -> how long a row takes beside the others, for the time left
    """

    name: str
    protocol: Protocol
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    measure: Callable[[Unit], Outcome]
    quick: Quick
    repeats: int = 1
    skip: frozenset[tuple[str, str]] = frozenset()
    costs: Mapping[str, float] = field(default_factory=dict)

    def small(self) -> Experiment:
        """The experiment with the protocol and the data sets of a quick run."""
        return replace(self, protocol=self.quick.protocol, datasets=self.quick.datasets, repeats=self.quick.repeats)

    def units(self, datasets: Iterable[str], methods: Iterable[str], repeats: int, seed: int) -> list[Unit]:
        """All rows, data set by data set, fold by fold: methods of one fold follow one another and share its work."""
        methods = list(methods)
        return [
            Unit(self.protocol, dataset, method, repeat, fold, seed + repeat)
            for dataset in datasets
            for repeat in range(repeats)
            for fold in range(self.protocol.rows_a_repeat)
            for method in methods
            if (dataset, method) not in self.skip
        ]


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper.

    number : as the command line takes it; a word for what the paper does not number
    needs : experiment -> the methods whose rows the table shows; nothing for what is computed at once
    show : makes it from the rows
    section : of the Markdown file, its own; without one the table stands in the section of its paper
    """

    number: str
    title: str
    needs: Mapping[str, tuple[str, ...]]
    show: Callable[[Rows], list[Block]]
    section: str = ""

    @property
    def heading(self) -> str:
        """Its number, if it has one, and its title."""
        return f"Table {self.number}: {self.title}" if self.number.isdigit() else self.title


@dataclass(frozen=True)
class Paper:
    """A paper: what is run, what is shown.

    name : on the command line, and of its section in docs/fidelity.md
    title : of that section and of the page
    about : says of the rows how they were made, in a sentence or two
    """

    name: str
    title: str
    reference: str
    about: Callable[[Rows], str]
    experiments: tuple[Experiment, ...]
    tables: tuple[Table, ...]

    @property
    def short(self) -> str:
        """The name of the method, with which the title begins."""
        return self.title.split()[0].rstrip(":,")

    def table(self, number: str) -> Table:
        """The table of that number."""
        for table in self.tables:
            if table.number == number:
                return table
        raise ValueError(
            f"{self.reference} has no table {number!r} here; choose from "
            f"{', '.join(table.number for table in self.tables)}."
        )

    def chosen(self, numbers: Sequence[str]) -> list[tuple[Experiment, tuple[str, ...]]]:
        """Which experiments and which of their methods some tables need; all without a number."""
        tables = [self.table(number) for number in numbers] or list(self.tables)
        found = []
        for experiment in self.experiments:
            wanted = {method for table in tables for method in table.needs.get(experiment.name, ())}
            methods = tuple(method for method in experiment.methods if method in wanted)
            if methods:
                found.append((experiment, methods))
        return found


def paper(name: str) -> Paper:
    """A paper by its name."""
    return import_module(PAPERS[name]).PAPER


@dataclass(frozen=True)
class Rows:
    """The rows of all experiments of a paper, as the tables read them."""

    of: Mapping[str, Sequence[Row]]
    quick: bool = False

    def values(self, experiment: str) -> dict[str, dict[str, np.ndarray]]:
        """Data set -> method -> the figures of its rows, in the order of repeat and fold; failed rows are left out."""
        rows = sorted(self.of.get(experiment, ()), key=lambda row: (row["repeat"], row["fold"]))
        found: dict[str, dict[str, list[float]]] = {}
        for row in rows:
            if not math.isnan(row["value"]):
                found.setdefault(row["dataset"], {}).setdefault(row["method"], []).append(row["value"])
        return {name: {m: np.array(v) for m, v in methods.items()} for name, methods in found.items()}

    def means(self, experiment: str) -> dict[str, dict[str, float]]:
        """Data set -> method -> mean."""
        return {
            name: {method: float(found.mean()) for method, found in methods.items()}
            for name, methods in self.values(experiment).items()
        }

    def complete(self, experiment: str, methods: Iterable[str]) -> list[str]:
        """Data sets for which each of these methods has a row for every fold of the first repeat."""
        rows = [row for row in self.of.get(experiment, ()) if row["repeat"] == 0]
        folds = 1 + max((row["fold"] for row in rows), default=-1)
        counts = Counter((row["dataset"], row["method"]) for row in rows if not math.isnan(row["value"]))
        names = dict.fromkeys(row["dataset"] for row in rows)
        methods = list(methods)
        return [name for name in names if all(counts[name, method] == folds for method in methods)]

    def failures(self) -> list[str]:
        """A sentence for each data set and method of which a row has no figure."""
        found = {
            (row["dataset"], row["method"]): row["more"].get("error", "")
            for rows in self.of.values()
            for row in rows
            if math.isnan(row["value"])
        }
        return [f"{method} on {dataset} failed: {why}" for (dataset, method), why in found.items()]

    def counts(self, experiment: str) -> tuple[int, int]:
        """Folds of a repeat, and the number of repeats, of the rows that are there."""
        rows = self.of.get(experiment, ())
        return 1 + max((r["fold"] for r in rows), default=-1), 1 + max((r["repeat"] for r in rows), default=-1)


def row_file(folder: Path, paper: Paper, experiment: Experiment) -> Path:
    """Where the rows of an experiment are."""
    return folder / f"{paper.name}-{experiment.name}.csv"


def read(folder: Path, paper: Paper, *, quick: bool = False) -> Rows:
    """What is there of a paper's rows."""
    found = {}
    for experiment in paper.experiments:
        path = row_file(folder, paper, experiment)
        if path.exists():
            found[experiment.name] = read_rows(path, COLUMNS)
    return Rows(found, quick)


def run(
    experiment: Experiment,
    path: Path,
    *,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    repeats: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    resume: bool = False,
    watch: Callable[[Unit, float], None] | None = None,
) -> list[Row]:
    """Make the rows that are not in the file yet; each is in the file as soon as it and those before it are done.

    Parameters
    ----------
    experiment : what to run; `experiment.small()` for a quick run
    path : the CSV file; beside it a JSON file says with which protocol and seed the rows were made
    datasets, methods : some of the experiment's; None takes all
    repeats : None takes the experiment's own number
    seed : of the folds and of the methods
    jobs : processes, one thread each
    resume : go on with a file that is there
    watch : called with each row that is done, also with those that were there, and the seconds it took

    Returns
    -------
    rows : list of dict
        All rows asked for. KeyboardInterrupt is passed on; what is done is in the file.
    """
    wanted = experiment.units(
        datasets or experiment.datasets, methods or experiment.methods, repeats or experiment.repeats, seed
    )
    store = RowFile(path, COLUMNS, _made_from(experiment, seed), resume)
    found = {(row["dataset"], row["method"], row["repeat"], row["fold"]): row for row in store.rows()}
    if watch is not None:
        for unit in wanted:
            if unit.key in found:
                watch(unit, 0.0)
    missing = [unit for unit in wanted if unit.key not in found]
    tasks = (delayed(one_row)(experiment.measure, unit) for unit in missing)
    with closing(in_processes(tasks, len(missing), jobs)) as results:
        for unit, row in zip(missing, results, strict=True):
            found[unit.key] = row
            store.append({**row, "more": json.dumps(row["more"])})
            if watch is not None:
                watch(unit, row["seconds"])
    return [found[unit.key] for unit in wanted]


def one_row(measure: Callable[[Unit], Outcome], unit: Unit) -> Row:
    """Measure, on one thread. A method that cannot do it has no figure, and the reason."""
    begin = time.perf_counter()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = measure(unit)
    except (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
        outcome = Outcome(math.nan, {"error": " ".join(f"{type(error).__name__}: {error}".split())})
    seconds = round(time.perf_counter() - begin, 3)
    keys = dict(zip(("dataset", "method", "repeat", "fold"), unit.key, strict=True))
    return {**keys, "value": float(outcome.value), "seconds": seconds, "more": dict(outcome.more)}


def _made_from(experiment: Experiment, seed: int) -> dict[str, Any]:
    """What makes rows comparable. The number of repeats does not belong to it: more may be added."""
    protocol = experiment.protocol.changed(repeats=1)
    return {
        "experiment": experiment.name,
        "seed": seed,
        "protocol": hashlib.sha256(repr(protocol).encode()).hexdigest(),
    }
