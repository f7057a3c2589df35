"""`python -m reproduction`: the tables of a paper, published beside measured."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from protolearn.cli import UsageError, carry_out
from protolearn.cli.console import Progress, emphasised, note, table
from reproduction import PAPERS

if TYPE_CHECKING:
    from reproduction.report import Block, Sheet
    from reproduction.reproduce import Experiment, Paper, Rows, Table, Unit


def parser() -> argparse.ArgumentParser:
    """The arguments of the command."""
    command = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Run the experiments of a paper by its own protocol and print its tables, published beside "
        "measured. Writes the rows (one a fold, as it is done) and a page. The data sets are read from the folder that "
        "PROTOLEARN_DATA names; see reproduction/README.md.",
    )
    command.add_argument("paper", choices=tuple(PAPERS), help="which paper")
    command.add_argument("--table", nargs="+", metavar="N", default=[], help="some of its tables (default: all)")
    command.add_argument("--datasets", nargs="+", metavar="NAME", help="some of the data sets")
    command.add_argument("--methods", nargs="+", metavar="NAME", help="some of the methods")
    command.add_argument("--repeats", type=int, metavar="R", help="cross-validations or runs")
    command.add_argument("--quick", action="store_true", help="a small version in under five minutes on two cores")
    command.add_argument("--jobs", type=int, default=2, metavar="J", help="processes of one thread each (default 2)")
    command.add_argument("--out", type=Path, metavar="DIR", help="folder of rows and page (default reproduce-PAPER)")
    command.add_argument("--resume", action="store_true", help="go on with the rows that are in the folder")
    command.add_argument("--show", action="store_true", help="run nothing: the tables of the rows that are there")
    command.add_argument("--docs", type=Path, metavar="FILE", help="also replace the section in this Markdown file")
    command.add_argument("--figures", type=Path, metavar="FILE", help="also write the figures of all folds to this CSV")
    command.add_argument("--seed", type=int, default=0, help="of the folds and of the methods (default 0)")
    command.set_defaults(run=run)
    return command


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code: 0, 1 for a failed job, 2 for wrong use."""
    return carry_out(parser().parse_args(arguments))


def run(options: argparse.Namespace) -> int:
    """Run, print the tables, write the page."""
    from reproduction.reproduce import paper, read, row_file
    from reproduction.reproduce import run as run_experiment

    chosen = paper(options.paper)
    if options.jobs < 1 or (options.repeats is not None and options.repeats < 1):
        raise UsageError("--jobs and --repeats must be at least 1.")
    folder = options.out or Path(f"reproduce-{chosen.name}{'-quick' if options.quick else ''}")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder.")
    jobs = _jobs(chosen, options)
    if options.show:
        _finish(chosen, read(folder, chosen, quick=options.quick), folder, options)
        return 0
    for experiment, _, _ in jobs:
        path = row_file(folder, chosen, experiment)
        if path.exists() and not options.resume:
            raise UsageError(f"{path} holds rows of a run before; add --resume to go on, or choose another --out.")
    shown = _TimeLeft(jobs, options)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with shown.progress:
            for experiment, datasets, methods in jobs:
                run_experiment(
                    experiment,
                    row_file(folder, chosen, experiment),
                    datasets=datasets,
                    methods=methods,
                    repeats=options.repeats,
                    seed=options.seed,
                    jobs=options.jobs,
                    resume=options.resume,
                    watch=partial(shown.add, experiment.costs),
                )
    except KeyboardInterrupt:
        _finish(chosen, read(folder, chosen, quick=options.quick), folder, options)
        print(f"protolearn: interrupted; {folder} has what is done, and --resume goes on with it.", file=sys.stderr)
        return 1
    _finish(chosen, read(folder, chosen, quick=options.quick), folder, options)
    return 0


Job = tuple["Experiment", list[str], list[str]]


def _jobs(paper: Paper, options: argparse.Namespace) -> list[Job]:
    """Which experiments, with which of their data sets and methods."""
    try:
        needed = paper.chosen(options.table)
    except ValueError as error:
        raise UsageError(str(error)) from None
    _check("method", options.methods, [method for _, methods in needed for method in methods])
    _check("data set", options.datasets, [name for experiment, _ in needed for name in experiment.datasets])
    jobs = []
    for experiment, methods in needed:
        asked = experiment.small() if options.quick else experiment
        sets = experiment.datasets if options.datasets else asked.datasets
        datasets = [name for name in sets if not options.datasets or name in options.datasets]
        wanted = [name for name in methods if not options.methods or name in options.methods]
        if datasets and wanted:
            jobs.append((asked, datasets, wanted))
    if needed and not jobs:
        raise UsageError("no experiment has both one of these data sets and one of these methods; leave one out.")
    return jobs


def _check(what: str, asked: Sequence[str] | None, known: Iterable[str]) -> None:
    choices = list(dict.fromkeys(known))
    unknown = [name for name in asked or () if name not in choices]
    if unknown:
        raise UsageError(f"unknown {what} {unknown[0]!r}; choose from {', '.join(choices)}.")


class _TimeLeft:
    """The progress, in units of what rows cost, and how long the rest will take at the pace of this run."""

    def __init__(self, jobs: list[Job], options: argparse.Namespace) -> None:
        self.left = sum(
            experiment.costs.get(unit.dataset, 1.0)
            for experiment, sets, methods in jobs
            for unit in experiment.units(sets, methods, options.repeats or experiment.repeats, options.seed)
        )
        self.done = 0.0
        self.begin: float | None = None
        self.progress = Progress("reproducing", total=self.left)
        self.current = ""

    def add(self, costs: Mapping[str, float], unit: Unit, seconds: float) -> None:
        """One more row; those that were there already took no time."""
        cost = costs.get(unit.dataset, 1.0)
        self.left -= cost
        if seconds:
            self.begin = time.monotonic() - seconds if self.begin is None else self.begin
            self.done += cost
        if unit.dataset != self.current:
            self.current = unit.dataset
            if seconds and not sys.stderr.isatty():
                note(f"{unit.dataset}{self._left()}")
        self.progress.advance(cost, self._left())

    def _left(self) -> str:
        if self.begin is None or not self.done:
            return ""
        seconds = (time.monotonic() - self.begin) / self.done * self.left
        return f", {seconds / 60:.0f} min left" if seconds > 90 else f", {seconds:.0f} s left"


def _finish(paper: Paper, rows: Rows, folder: Path, options: argparse.Namespace) -> None:
    """Print the tables; write the page, and the section where one is asked for."""
    from reproduction.publishing import write_figures, write_page, write_section_of

    tables = [paper.table(number) for number in options.table] or list(paper.tables)
    shown = [(found, found.show(rows)) for found in tables]
    for found, blocks in shown:
        print(emphasised(found.heading))
        _print(blocks or ["No data set is complete yet."])
    for failure in rows.failures():
        print(failure)

    def command(tables: Sequence[Table]) -> str:
        whole = not options.table and len(tables) == len(paper.tables)
        numbers = [] if whole else [found.number for found in tables]
        return shlex.join(["python", "-m", "reproduction", *_arguments(options, numbers)])

    page = write_page(folder, paper, rows, shown, command(tables))
    print(f"Written: {page}")
    if options.figures:
        write_figures(options.figures, rows)
        print(f"Written: {options.figures}")
    if options.docs:
        written = write_section_of(options.docs, paper, rows, shown, command)
        print(f"Written: {', '.join(written)} in {options.docs}")


def _print(blocks: Sequence[Block]) -> None:
    from reproduction.report import Beside, Sheet

    for block in blocks:
        if isinstance(block, Sheet):
            print(
                f"{block.caption} (measured, difference to the published figure)"
                if _has_pairs(block)
                else block.caption
            )
            cells = [[cell.short() if isinstance(cell, Beside) else str(cell) for cell in row] for row in block.rows]
            print(table([block.header, *cells], right=[False, *[True] * (len(block.header) - 1)]))
        elif isinstance(block, str):
            print(block.replace("**", "").replace("`", ""))
        print()


def _has_pairs(sheet: Sheet) -> bool:
    from reproduction.report import Beside

    return any(isinstance(cell, Beside) for row in sheet.rows for cell in row)


def _arguments(options: argparse.Namespace, numbers: Sequence[str]) -> list[str]:
    """The command again for some tables, without what does not change its figures."""
    found = [options.paper]
    for name, values in (("--table", numbers), ("--datasets", options.datasets), ("--methods", options.methods)):
        found += [name, *values] if values else []
    found += ["--quick"] if options.quick else []
    found += ["--repeats", str(options.repeats)] if options.repeats else []
    return [*found, "--seed", str(options.seed)]
