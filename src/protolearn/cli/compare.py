"""`protolearn compare`: every method on the same folds of a table."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protolearn.cli import JobError, UsageError
from protolearn.cli.console import Progress, table
from protolearn.cli.inputs import add_reading, check_classes, read, split_target, without_identifiers

if TYPE_CHECKING:
    from protolearn.compare.rows import Row


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "compare",
        help="every method on the same folds: accuracy, size, time, ranks, tests",
        description="Cross-validate methods on the same folds, each tuned inside the training part. Writes rows.csv "
        "(one row a fold, as it is done), summary.csv, pairs.csv and comparison.html.",
    )
    command.add_argument("train", metavar="TRAIN", help="CSV, TSV, Parquet, ARFF, libsvm or npz, also .gz; - for stdin")
    command.add_argument("--target", metavar="COLUMN", help="the column with the classes (libsvm and npz know theirs)")
    command.add_argument(
        "--methods",
        nargs="+",
        metavar="NAME",
        help="such as logm gmlvq 1-nn svm, or with commas (default: all of them)",
    )
    command.add_argument("--folds", type=int, default=10, metavar="N", help="of the cross-validation (default 10)")
    command.add_argument(
        "--out", type=Path, default=Path("comparison"), metavar="DIR", help="folder of the results (default comparison)"
    )
    command.add_argument("--resume", action="store_true", help="go on with the rows that are in the folder")
    command.add_argument("--jobs", type=int, default=2, metavar="N", help="processes of one thread each (default 2)")
    command.add_argument("--missing", choices=("impute", "refuse"), default="impute", help="missing values")
    command.add_argument("--scaling", choices=("minmax", "standard", "none"), default="minmax", help="of numbers")
    command.add_argument("--categories", choices=("onehot", "ordinal"), default="onehot", help="of texts")
    command.add_argument(
        "--drop", metavar="COLUMN", action="append", default=[], help="leave out a column (repeatable)"
    )
    command.add_argument(
        "--keep",
        metavar="COLUMN",
        action="append",
        default=[],
        help="learn from a column that looks like an identifier",
    )
    command.add_argument("--seed", type=int, default=0, help="of the folds and of the methods (default 0)")
    add_reading(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, print the table, write the files."""
    from protolearn.compare.comparison import COLUMNS, compare
    from protolearn.compare.methods import chosen_methods
    from protolearn.compare.rows import read_rows
    from protolearn.tables import Preparation

    try:
        # Commas between the names do no harm.
        methods = chosen_methods([name for text in options.methods or [] for name in text.split(",") if name])
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.folds < 2 or options.jobs < 1:
        raise UsageError("--folds must be at least 2 and --jobs at least 1.")
    if options.out.exists() and not options.out.is_dir():
        raise UsageError(f"{options.out} is a file; name a folder.")
    path = options.out / "rows.csv"
    if path.exists() and not options.resume:
        raise UsageError(f"{path} holds rows of a run before; add --resume to go on, or choose another --out.")
    remarks: list[Any] = []
    frame = read(options.train, options, tell=remarks.append)
    X, y = split_target(frame, options.target, options.train, options.drop)
    X, left_out = without_identifiers(X, options.keep, options.train)
    for sentence in [*(remark for remark in remarks if remark.column in X.columns), *left_out]:
        print(sentence, flush=True)
    check_classes(y, options.target or "target", options.train)
    shown = _Rows(len(methods) * options.folds)
    try:
        with shown.progress:
            rows = compare(
                X,
                y,
                methods=methods,
                folds=options.folds,
                rows=path,
                resume=options.resume,
                prepare=Preparation(options.categories, options.missing, options.scaling),
                name=_name(options.train),
                seed=options.seed,
                jobs=options.jobs,
                watch=shown.add,
            )
    except KeyboardInterrupt:
        done = read_rows(path, COLUMNS) if path.exists() else []
        if not done:
            raise JobError("interrupted before there was anything to keep.") from None
        _finish(done, options)
        print(f"protolearn: interrupted; {path} has what is done, and --resume goes on with it.", file=sys.stderr)
        return 1
    _finish(rows, options)
    return 0


class _Rows:
    """The progress, which begins with the rows that were there already."""

    def __init__(self, total: int) -> None:
        self.progress = Progress("comparing", total=total)
        self.done = 0

    def add(self, row: Row, done: int, total: int) -> None:
        """One more row."""
        self.progress.advance(done - self.done)
        self.done = done


def _name(train: str) -> str:
    return "standard input" if train == "-" else Path(train).name.split(".")[0]


def _command(rows: list[Row], lines: list[dict[str, Any]], options: argparse.Namespace) -> str | None:
    """The command that learns with the best method that `fit` has, in the settings that most folds chose."""
    from protolearn.compare.methods import fit_arguments

    for line in lines:
        chosen = Counter(row["chosen"] for row in rows if row["method"] == line["method"] and not row["error"])
        arguments = fit_arguments(line["method"], json.loads(chosen.most_common(1)[0][0])) if chosen else None
        if arguments is None:
            continue
        given = ["protolearn", "fit", shlex.quote(options.train)]
        given += ["--target", shlex.quote(options.target)] if options.target is not None else []
        given += [
            text
            for flag, columns in (("--drop", options.drop), ("--keep", options.keep))
            for column in columns
            for text in (flag, shlex.quote(column))
        ]
        if "--method" in arguments:
            usual = (("missing", "impute"), ("scaling", "minmax"), ("categories", "onehot"))
            set_ = [(name, getattr(options, name)) for name, value in usual if getattr(options, name) != value]
            arguments += [text for name, value in set_ for text in (f"--{name}", value)]
        return f"{line['method']} as a model: {' '.join(given + arguments)}"
    return None


def _finish(rows: list[Row], options: argparse.Namespace) -> None:
    from protolearn.compare.summary import COLUMNS, cells, first_place, summary
    from protolearn.report.comparison import write_summary

    lines = summary(rows)
    print(table([COLUMNS, *(cells(line) for line in lines)], right=[False, *[True] * (len(COLUMNS) - 1)], strong=1))
    print()
    for sentence in first_place(rows):
        print(sentence)
    learned = _command(rows, lines, options)
    if learned is not None:
        print(learned)
    for line in lines:
        if line["error"]:
            print(f"{line['method']} failed: {line['error']}")
    written = write_summary(options.out, rows, f"{len(lines)} methods on {_name(options.train)}")
    print("Written: " + ", ".join(map(str, [options.out / "rows.csv", *written])))
