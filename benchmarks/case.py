"""What a case is, what it is asked for, and what becomes of its rows: a CSV file, tables, lines of docs/speed.md."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.environments import Environments
from benchmarks.measurements import Measurement, Ratio, by_machine, number, read, replaced, write


@dataclass
class Request:
    """What the command line asked for.

    repeats : how often everything is measured
    quick : sizes that take seconds, to see that it runs
    threads : of BLAS and OpenMP, where the case does not choose them
    all_cores : whether what works in batches is also measured on all cores
    seconds : a fit of a peer that would take longer is given fewer epochs, and its time is scaled
    peers : environments of the peers; None leaves them out
    folder : where data for other processes is put
    """

    repeats: int = 5
    quick: bool = False
    threads: int = 1
    all_cores: bool = False
    seconds: float = 60.0
    peers: Environments | None = None
    folder: Path = Path()

    def tell(self, text: str) -> None:
        """One line of what goes on."""
        print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Line:
    """What one task on one data set gains over the fastest other library.

    ours, theirs : how fast, counted in `unit`
    setting, other_setting : in which way, where there are several
    other : the library
    times : how many times as fast ours is
    """

    task: str
    data: str
    unit: str
    ours: float
    theirs: float
    other: str
    times: Ratio
    setting: str = ""
    other_setting: str = ""

    def cells(self) -> tuple[str, ...]:
        """The row of the page that has all measurements."""
        ours, theirs = (f"{number(value)} {self.unit}" for value in (self.ours, self.theirs))
        here = ", ".join(filter(None, (ours, self.setting)))
        there = ", ".join(filter(None, (theirs, self.other, self.other_setting)))
        return self.task, self.data, here, there, number(self.times.median), self.times.accuracy


LINE_HEADER = ("task", "data", "protolearn", "against", "times as fast", "test accuracy")

Part = Callable[[Request], list[Measurement]]


def no_lines(rows: Sequence[Measurement]) -> list[Line]:
    """Of a case that has no other library."""
    return []


@dataclass(frozen=True)
class Case:
    """One subject.

    line : what it measures
    duration : roughly, on two cores
    parts : functions by name, each measures something that can stand alone
    ratios : from all rows to the ratios that count, with what they should be
    tables : from all rows to the tables of its page, each a title with a header and rows
    lines : from all rows to what stands in docs/speed.md
    on_request : parts that run only where `--only` names them
    text : first paragraph of the page
    packages : further packages whose versions belong on the page
    """

    name: str
    line: str
    duration: str
    parts: dict[str, Part]
    ratios: Callable[[Sequence[Measurement]], list[Ratio]]
    tables: Callable[[Sequence[Measurement]], list[tuple[str, Sequence[str], list[tuple]]]]
    text: str
    lines: Callable[[Sequence[Measurement]], list[Line]] = no_lines
    on_request: tuple[str, ...] = ()
    packages: tuple[str, ...] = field(default=())

    def chosen(self, only: Sequence[str]) -> list[str]:
        """Names of the parts to run: all but those on request, or those that have or begin with a given name."""
        if not only:
            return [name for name in self.parts if name not in self.on_request]
        found = []
        for begin in only:
            named = [begin] if begin in self.parts else [name for name in self.parts if name.startswith(begin)]
            if not named:
                raise ValueError(f"{self.name} has no part {begin}; choose from {', '.join(self.parts)}.")
            found += named
        return [name for name in self.parts if name in found]

    def measure(self, request: Request, only: Sequence[str], out: Path) -> list[Measurement]:
        """Run the parts, and put their rows into the CSV file in place of older ones of the same parts and machine."""
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{self.name}.csv"
        rows = read(path)
        for name in self.chosen(only):
            request.tell(f"{self.name}: {name}")
            # After each part: a run that is cut short leaves what it has measured.
            rows = replaced(rows, self.parts[name](request), [name], machine())
            write(path, rows)
        order = {name: place for place, name in enumerate(self.parts)}
        # What was measured here comes last, however little of the whole it is.
        rows.sort(key=lambda row: (row.machine == machine(), order.get(row.part, len(order))))
        write(path, rows)
        return rows

    def page(self, rows: Sequence[Measurement], command: str) -> str:
        """The page with all tables, those of the machine that was measured last first."""
        from reproduction.report import table

        pieces = [f"# {self.name.capitalize()}: all measurements", " ".join(self.text.split())]
        for name, found in by_machine(rows).items():
            pieces.append(f"## {name}")
            lines = self.lines(found)
            if lines:
                pieces.append(table(LINE_HEADER, [line.cells() for line in lines]))
            for title, header, body in self.tables(found):
                if body:
                    pieces += [f"{title}:" if title else "", table(header, body)]
        pieces.append(made_by(command, self.packages))
        return "\n\n".join(piece for piece in pieces if piece) + "\n"


def installed(package: str) -> str:
    """The version of a package of this environment; nothing where it is missing."""
    if not package:
        return ""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def processor() -> str:
    """The name of the processor where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def machine() -> str:
    """The machine at hand in words."""
    return f"{os.cpu_count()} cores ({processor()}, {platform.machine()})"


def made_by(command: str, packages: Sequence[str] = ()) -> str:
    """The command and the versions."""
    known = {name: installed(name) for name in ("protolearn", "numpy", "scipy", "scikit-learn", "numba", *packages)}
    versions = ", ".join(f"{name} {found}" for name, found in known.items() if found)
    return f"Made by `{command}` with Python {platform.python_version()}, {versions}."


def one_row(**columns: Any) -> Measurement:
    """A measurement with empty texts where nothing is said."""
    return Measurement(**{"part": "", "data": "", "task": "", "library": "protolearn", "setting": "", **columns})
