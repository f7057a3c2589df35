"""Speed and memory beside references, as ratios of measurements taken in turn, one case a subject.

python -m benchmarks                          the cases
python -m benchmarks train --peers            one of them, beside libraries that need environments of their own
python -m benchmarks train --only GLVQ,svm    some parts of it; the others keep their older figures
python -m benchmarks accuracy --help          accuracy beside what people use instead, on tables chosen before looking
python -m benchmarks large --help             AutoPrototypes on large tables, beside k-NN by faiss
python -m benchmarks replacing --help         what `compress` makes of tuned models, on the same tables
python -m benchmarks guarantees --help        certificates under attack, counterfactuals in thousands
python -m benchmarks calibration --help       log loss before and after a temperature, for every classifier
python -m benchmarks coverage --help          conformal sets over random splits: coverage and size
python -m benchmarks bounds --help            prototypes inside bounds: accuracy, and how near to rows they are

What docs/speed.md shows is made with `--out benchmarks/results --docs docs`. The files there hold what the present code
does: after a change that alters its speed, measure again, and delete the rows of machines that are not at hand.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks.case import Case, Request
from benchmarks.environments import HOME, Environments
from benchmarks.measurements import RATIO_HEADER, by_machine, read
from benchmarks.page import write_pages

PEERS = {"sklvq", "sklearn-lvq", "prototorch", "pylmnn", "metric-learn"}
CASES = ("train", "predict", "start", "memory", "scale", "reduction", "metric")
# Cases that measure something else than speed have a command line of their own.
APART = {
    "accuracy": "benchmarks.accuracy.run",
    "bounds": "benchmarks.bounds",
    "calibration": "benchmarks.calibration",
    "coverage": "benchmarks.coverage",
    "guarantees": "benchmarks.guarantees",
    "large": "benchmarks.large",
    "replacing": "benchmarks.accuracy.replacing",
}


def case(name: str) -> Case:
    """A case by its name; each is one module."""
    return import_module(f"benchmarks.{name}").CASE


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("case", nargs="?", choices=CASES, help="without it, a list of them")
    found.add_argument("--peers", action="store_true", help="also libraries that need old versions, in environments")
    found.add_argument("--envs", type=Path, default=HOME, metavar="DIR", help=f"their folder (default: {HOME})")
    found.add_argument("--repeats", type=int, default=5, metavar="R", help="measurements of each figure (default: 5)")
    found.add_argument("--only", default="", metavar="PARTS", help="parts by name or by how their names begin: a,b,c")
    found.add_argument("--parts", action="store_true", help="list the parts of the case and stop")
    found.add_argument("--threads", type=int, default=1, metavar="N", help="of BLAS and OpenMP (default: 1)")
    found.add_argument("--all-cores", action="store_true", help="train: what works in batches on all cores too")
    found.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="a peer's fit that takes longer gets fewer epochs (60)"
    )
    found.add_argument("--out", type=Path, default=Path("benchmark-results"), metavar="DIR", help="CSV files")
    found.add_argument(
        "--docs",
        type=Path,
        metavar="DIR",
        help="folder of speed.md, for its table, its picture and the page of the case",
    )
    found.add_argument("--redraw", action="store_true", help="measure nothing: pages from the CSV file")
    found.add_argument("--quick", action="store_true", help="tiny sizes: a look at whether it runs")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run a case: its CSV file, its pages; 1 where a figure is not what it should be."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] and arguments[0] in APART:
        return import_module(APART[arguments[0]]).main(arguments[1:])
    options = parser().parse_args(arguments)
    if options.case is None:
        for name in CASES:
            one = case(name)
            print(f"{name:10} {one.line}; {one.duration}")
        return 0
    chosen = case(options.case)
    if options.parts:
        print("\n".join(chosen.parts))
        return 0
    only = [name for name in options.only.split(",") if name]
    try:
        chosen.chosen(only)
    except ValueError as error:
        parser().error(str(error))
    if options.redraw:
        rows = read(options.out / f"{chosen.name}.csv")
        if not rows:
            parser().error(f"{options.out / f'{chosen.name}.csv'} holds no rows to draw; run {chosen.name} first.")
    else:
        with tempfile.TemporaryDirectory() as folder:
            request = Request(
                repeats=options.repeats,
                quick=options.quick,
                threads=options.threads,
                all_cores=options.all_cores,
                seconds=options.seconds,
                peers=Environments(options.envs) if options.peers else None,
                folder=Path(folder),
            )
            rows = chosen.measure(request, only, options.out)
    last = next(iter(by_machine(rows).values()))
    ratios = chosen.ratios(last)
    print(" | ".join(RATIO_HEADER))
    for found in ratios:
        print(" | ".join(found.cells()))
    if options.docs is not None:
        with_peers = any(row.library in PEERS for row in rows)
        command = f"python -m benchmarks {chosen.name}" + (" --peers" if with_peers else "")
        write_pages(options.docs, chosen, rows, command, [case(name) for name in CASES], options.out)
    return 1 if any(found.met is False for found in ratios) else 0


if __name__ == "__main__":
    sys.exit(main())
