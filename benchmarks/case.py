"""What a case is, what it is asked for, and what becomes of its rows: a CSV file, a plot, a section of the docs."""

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
from benchmarks.measurements import RATIO_HEADER, Measurement, Ratio, by_machine, read, replaced, write

HEADING = "# Speed\n\nEach section is made by the command that it names; ratios are of measurements taken in turn.\n"


@dataclass
class Request:
    """What the command line asked for.

    repeats : how often everything is measured
    quick : sizes that take seconds, to see that it runs
    threads : of BLAS and OpenMP, where the case does not choose them
    seconds : a fit of a peer that would take longer is given fewer epochs, and its time is scaled
    peers : environments of the peers; None leaves them out
    folder : where data for other processes is put
    """

    repeats: int = 5
    quick: bool = False
    threads: int = 1
    seconds: float = 60.0
    peers: Environments | None = None
    folder: Path = Path()

    def tell(self, text: str) -> None:
        """One line of what goes on."""
        print(text, file=sys.stderr, flush=True)


Part = Callable[[Request], list[Measurement]]


@dataclass(frozen=True)
class Case:
    """One subject.

    line : what it measures
    duration : roughly, on two cores
    parts : functions by name, each measures something that can stand alone
    ratios : from all rows to the ratios that count
    tables : from all rows to further tables, each a title with a header and rows
    draw : all rows onto a picture of that path
    on_request : parts that run only where `--only` names them
    text : first paragraph of the section
    packages : further packages whose versions belong in the section
    """

    name: str
    line: str
    duration: str
    parts: dict[str, Part]
    ratios: Callable[[Sequence[Measurement]], list[Ratio]]
    tables: Callable[[Sequence[Measurement]], list[tuple[str, Sequence[str], list[tuple]]]]
    draw: Callable[[Sequence[Measurement], Path], None]
    text: str
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

    def section(self, rows: Sequence[Measurement], command: str, figure: str) -> str:
        """The section of docs/speed.md: the ratios of every machine, all else of the one that was measured last."""
        from reproduction.report import table

        pieces = [f"## {self.name.capitalize()}", " ".join(self.text.split())]
        machines = by_machine(rows)
        for name, found in machines.items():
            ratios = self.ratios(found)
            if ratios:
                pieces.append(f"On {name}:" if len(machines) > 1 else "")
                pieces.append(table(RATIO_HEADER, [one.cells() for one in ratios]))
        last, found = next(iter(machines.items()))
        pieces.append(f"![{self.line}]({figure})")
        for title, header, body in self.tables(found):
            if body:
                pieces += [f"{title}:" if title else "", table(header, body)]
        pieces.append(made_by(command, last, self.packages))
        return "\n\n".join(piece for piece in pieces if piece)


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


def made_by(command: str, where: str, packages: Sequence[str] = ()) -> str:
    """The command, the machine, the versions."""
    known = {name: installed(name) for name in ("protolearn", "numpy", "scipy", "scikit-learn", "numba", *packages)}
    versions = ", ".join(f"{name} {found}" for name, found in known.items() if found)
    return f"Made by `{command}` on {where} with Python {platform.python_version()}, {versions}."


def write_page(docs: Path, case: Case, section: str) -> None:
    """Put the section into docs/speed.md."""
    from reproduction.report import write_section

    page = docs / "speed.md"
    if not page.exists():
        docs.mkdir(parents=True, exist_ok=True)
        page.write_text(HEADING, encoding="utf-8")
    write_section(page, case.name, section)


def one_row(**columns: Any) -> Measurement:
    """A measurement with empty texts where nothing is said."""
    return Measurement(**{"part": "", "data": "", "task": "", "library": "protolearn", "setting": "", **columns})
