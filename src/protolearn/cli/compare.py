"""`protolearn compare`: every method on the same folds of a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protolearn.cli import JobError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from protolearn.experiments.comparison import Row


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "compare",
        help="every method on the same folds: accuracy, size, time, ranks, tests",
        description="Cross-validate methods on the same folds, each tuned inside the training part. Writes rows.csv "
        "(one row a fold, as it is done), summary.csv, pairs.csv and comparison.html.",
    )
    command.add_argument("train", metavar="TRAIN", help="table: CSV, TSV, Parquet, ARFF, libsvm or npz; - is stdin")
    command.add_argument("--target", metavar="COLUMN", help='column of the labels; default "target"', default="target")
    command.add_argument("--methods", nargs="+", metavar="METHOD", help="names, such as logm gmlvq 1-nn; default all")
    command.add_argument("--folds", type=int, default=10, help="default 10")
    command.add_argument("--out", type=Path, metavar="DIR", default=Path("comparison"), help="folder of the results")
    command.add_argument("--resume", action="store_true", help="go on with the rows in the folder")
    command.add_argument("--jobs", type=int, default=2, help="processes, one thread each; default 2")
    command.add_argument("--seed", type=int, default=0, help="of the folds and of the methods; default 0")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, print the table, write the files."""
    from protolearn.experiments.comparison import compare
    from protolearn.experiments.comparison_methods import chosen_methods
    from protolearn.tables import Preparation, TableError

    try:
        methods = chosen_methods(options.methods)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.folds < 2 or options.jobs < 1:
        raise UsageError("--folds must be at least 2 and --jobs at least 1.")
    rows_file = options.out / "rows.csv"
    if rows_file.exists() and not options.resume:
        raise UsageError(f"{rows_file} holds rows of a run before; add --resume to go on, or choose another --out.")
    rows: list[Row] = []
    try:
        X, y = _table(options.train, options.target)
        with _Progress(len(methods) * options.folds) as progress:
            rows = compare(
                X,
                y,
                methods=methods,
                folds=options.folds,
                rows=rows_file,
                resume=options.resume,
                prepare=Preparation(),
                name=Path(options.train).name.split(".")[0] or "stdin",
                seed=options.seed,
                jobs=options.jobs,
                watch=progress.row,
            )
    except (TableError, ValueError) as error:
        raise JobError(str(error)) from None
    except KeyboardInterrupt:
        return _interrupted(rows_file, options)
    _finish(rows, options)
    return 0


def _table(path: str, target: str) -> tuple[Any, np.ndarray]:
    """The columns and the labels; rows without a label are left out, and said so."""
    from protolearn.tables import TableError, read_table

    frame = read_table(path)
    if target not in frame.columns:
        listed = ", ".join(frame.columns[:20])
        raise TableError(f"{path} has no column {target!r}; choose --target from {listed}.")
    labelled = frame.drop_nulls(target)
    if labelled.height < frame.height:
        print(f"protolearn: {frame.height - labelled.height} rows without a label are left out.", file=sys.stderr)
    if labelled.width < 2 or not labelled.height:
        raise TableError(f"{path} has no columns beside {target!r}, or no rows with a label; check the file.")
    return labelled.drop(target), labelled[target].to_numpy()


def _interrupted(rows_file: Path, options: argparse.Namespace) -> int:
    from protolearn.experiments.comparison import read_rows

    done = read_rows(rows_file) if rows_file.exists() else []
    if done:
        _finish(done, options)
    print("protolearn: interrupted; what is done is kept, and --resume goes on with it.", file=sys.stderr)
    return 1


def _finish(rows: list[Row], options: argparse.Namespace) -> None:
    from protolearn.experiments.comparison_summary import CAUTION, SIGNIFICANT, pairs, summary, write_summary

    lines = summary(rows)
    _print_table(lines)
    tests = pairs(rows)
    if tests:
        best = lines[0]["method"]
        worse = [second for (first, second), test in tests.items() if first == best and test.p_value < SIGNIFICANT]
        found = ", ".join(worse) if worse else "none of the others"
        print(f"{best} ranks first; the signed ranks test puts it above {found} (p < {SIGNIFICANT}).")
        print(CAUTION)
    for line in lines:
        if line["error"]:
            print(f"{line['method']} failed: {line['error']}")
    name = "standard input" if options.train == "-" else Path(options.train).name
    written = write_summary(options.out, rows, f"{len(lines)} methods on {name}")
    print("Written: " + ", ".join(map(str, [options.out / "rows.csv", *written])))


def _print_table(lines: list[dict[str, Any]]) -> None:
    from protolearn.experiments.comparison_summary import COLUMNS, cells

    try:
        from rich.box import SIMPLE
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        raise JobError('The table needs rich; install it: pip install "protolearn[cli]"') from None
    shown = Table(box=SIMPLE, pad_edge=False)
    for number, column in enumerate(COLUMNS):
        shown.add_column(column, justify="right" if number else "left", no_wrap=True)
    for line in lines:
        shown.add_row(*cells(line))
    Console(width=None if sys.stdout.isatty() else 100, markup=False, highlight=False).print(shown)


class _Progress:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, total: int) -> None:
        self.bar: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("comparing", total=total)

    def __enter__(self) -> _Progress:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def row(self, row: Row, done: int, total: int) -> None:
        """One more row."""
        if self.bar is not None:
            self.bar.update(self.task, completed=done, description=f"{row['method']}, fold {row['fold'] + 1}")
