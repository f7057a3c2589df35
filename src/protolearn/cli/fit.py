"""`protolearn fit`: a table in, a model file out, beside what people use instead."""

from __future__ import annotations

import argparse
import difflib
import shlex
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protolearn.cli import JobError, UsageError
from protolearn.cli.console import Progress, emphasised, note, notes, table, wrapped
from protolearn.cli.inputs import add_reading, check_folder
from protolearn.cli.methods import AUTOMATIC, METHODS
from protolearn.cli.training import Automatic, Data, Named, remember_spelling

if TYPE_CHECKING:
    import numpy as np

    from protolearn.cli.verdict import Line


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "fit",
        help="learn prototypes from a table and save the model",
        description="Learn prototypes from a table, save the model, and compare it with k-NN, logistic regression, an "
        "RBF SVM and gradient boosting on rows held out. Without --method everything is chosen by held-out rows.",
    )
    command.add_argument("train", metavar="TRAIN", help="CSV, TSV, Parquet, ARFF, libsvm or npz, also .gz; - for stdin")
    command.add_argument("--target", metavar="COLUMN", help="the column with the classes (libsvm and npz know theirs)")
    automatic = command.add_argument_group("the automatic choice")
    automatic.add_argument(
        "--one", action="store_true", help="one set of prototypes in the units of the columns, to be read and explained"
    )
    automatic.add_argument("--max-bytes", type=_positive(int), metavar="N", help="what the model may store at most")
    automatic.add_argument(
        "--time-limit", type=_positive(float), metavar="SECONDS", help="take the best candidate of so many seconds"
    )
    named = command.add_argument_group("one method instead")
    named.add_argument("--method", choices=_Names(METHODS), metavar="NAME", help="such as logm; see `methods`")
    named.add_argument(
        "--prototypes",
        metavar="N",
        type=_prototypes,
        help="for each class: a number, a share of the rows such as 5%%, or auto (default): as few as do the job",
    )
    named.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="settings",
        help="a parameter of the method, such as metric=relevance (repeatable)",
    )
    named.add_argument("--scaling", choices=("minmax", "standard", "none"), help="of numbers (default minmax)")
    named.add_argument("--categories", choices=("onehot", "ordinal"), help="of texts (default onehot)")
    command.add_argument(
        "--class-weight",
        choices=("balanced",),
        help="each class counts the same, however many rows it has: in learning, in every choice and in the verdict",
    )
    test = command.add_mutually_exclusive_group()
    test.add_argument("--test", metavar="FILE", help="table to test on")
    test.add_argument("--test-size", type=_share, default=0.2, metavar="SHARE", help="rows held out (default 0.2)")
    command.add_argument(
        "--out", metavar="FILE", default="model.json", help="where the model goes (default model.json)"
    )
    command.add_argument("--report", metavar="FILE", help="also write an HTML report")
    command.add_argument(
        "--id", metavar="COLUMN", help="the column that names the rows, for the report; not learned from"
    )
    command.add_argument(
        "--finding",
        metavar="CLASS",
        help="the class that sensitivity and specificity are about, for the report (default: of two classes the one "
        "that is clearly rarer)",
    )
    command.add_argument(
        "--labels",
        metavar="CLASS=NAME",
        nargs="+",
        default=[],
        help="what the classes are called, such as 1=absent 2=present",
    )
    command.add_argument("--missing", choices=("impute", "refuse"), default="impute", help="missing values")
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
    command.add_argument("--seed", type=int, default=0, help="of everything random (default 0)")
    add_reading(command)
    command.set_defaults(run=run)


class _Names(tuple):
    """Choices that completion offers; of an unknown one `check_method` says more than argparse would."""

    def __contains__(self, name: object) -> bool:
        return True


def check_method(name: str | None) -> str | None:
    """The name of a method as `METHODS` has it, None for the automatic choice; an error names the nearest one."""
    if name is None or name.lower() == AUTOMATIC:
        return None
    if name.lower() not in METHODS:
        near = difflib.get_close_matches(name.lower(), METHODS, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"there is no method {name!r}; {meant}`protolearn methods` lists all.")
    return name.lower()


def _positive(kind: type) -> Any:
    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"give a number above 0, not {text!r}")
        return value

    return read


def _prototypes(text: str) -> int | float | str:
    if text == "auto":
        return text
    try:
        number = float(text.removesuffix("%")) / 100 if text.endswith("%") else int(text)
    except ValueError:
        number = 0
    if number <= 0 or (isinstance(number, float) and number >= 1):
        raise argparse.ArgumentTypeError(f"give a number such as 3, a share such as 5%, or auto, not {text!r}")
    return number


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"give a share between 0 and 1, not {text!r}")
    return share


def run(options: argparse.Namespace) -> int:
    """Fit, save, compare, report."""
    check_folder(options.out)
    if options.report is not None:
        check_folder(options.report)
    options.method = check_method(options.method)
    learner = Automatic(options) if options.method is None else Named(options)
    data = Data(options, learner.preparation)
    finding = _finding(options.finding, data.y)
    print(wrapped(data.described()), *map(wrapped, data.told), sep="\n", flush=True)
    begin = time.monotonic()
    with notes():
        interrupted = learner.learn(data)
        remember_spelling(learner.model, data.spelled)
        _save(learner.model, options.out)
    seconds = time.monotonic() - begin
    with notes():
        if interrupted:
            print(f"Interrupted: what was learned until then is in {options.out}.")
            return 1
        size = Path(options.out).stat().st_size / 1024
        print(f"The model, learned in {seconds:.0f} s: {options.out} ({size:.0f} KB)")
        try:
            comparison = _Comparison(data, learner, seconds)
        except KeyboardInterrupt:
            print(f"Interrupted: the model is complete, in {options.out}; only the comparison is missing.")
            return 1
        print(comparison.table())
        for sentence in comparison.on_classes():
            print(wrapped(sentence))
        if options.report is not None:
            _write_report(data, learner, comparison, options.report, finding)
            print(f"The report: {options.report}")
    print("\n" + emphasised(wrapped(comparison.verdict)))
    return 0


class _Comparison:
    """The model and the references on the same test rows."""

    def __init__(self, data: Data, learner: Automatic | Named, seconds: float) -> None:
        from protolearn.auto.timing import microseconds_a_row
        from protolearn.cli import references, verdict

        self.balanced = data.options.class_weight is not None
        preparation, seed = data.preparation, data.options.seed
        # The one of the learner may have learned from a part of the rows only.
        Z = preparation.fit(data.X).transform(data.X)
        self.lines: list[Line] = []
        self.y = data.y_test
        rows = data.X_test
        names = ", ".join(one.name for one in references.REFERENCES[1:])
        print(wrapped(f"To compare with it, others learn now: {names}.") + "\n", flush=True)
        with Progress("references", total=len(references.REFERENCES) + 1) as progress:
            found = references.learned(Z, data.y, seconds=seconds, balanced=self.balanced, seed=seed)
            learned = []
            for one in found:
                learned.append(one)
                progress.advance(1, left=f"{one.name} has learned")
            models = [references.with_preparation(preparation, one.model) for one in learned]
            part = references.rows_to_test(models[1], data.X_test, data.y_test, seconds=seconds, seed=seed)
            self.tested = f", on {len(part)} of {len(data.y_test)} test rows" if len(part) < len(data.y_test) else ""
            rows, self.y = data.X_test[part], data.y_test[part]
            for one, model in zip(learned, models, strict=True):
                self.lines.append(verdict.Line(one.name, model, one.numbers, one.n_bytes, model.predict(rows)))
            own = learner.model
            self.lines.append(verdict.Line(learner.name, own, learner.numbers, 4 * learner.numbers, own.predict(rows)))
            self.microseconds = microseconds_a_row([line.model for line in self.lines], rows)
        self.verdict = " ".join(
            verdict.verdict(self.y, self.lines, self.microseconds, learner.remedy(), balanced=self.balanced)
        )

    def rows(self) -> list[dict[str, Any]]:
        """The table as data."""
        from protolearn.cli import verdict

        return [
            {
                "method": line.method,
                "accuracy": verdict.score(self.y, line.predicted, balanced=False),
                "balanced": verdict.score(self.y, line.predicted, balanced=True),
                "numbers": line.numbers,
                "kilobytes": line.n_bytes / 1024,
                "microseconds": microseconds,
            }
            for line, microseconds in zip(self.lines, self.microseconds, strict=True)
        ]

    def table(self) -> str:
        """The table as text, in fewer columns on a narrow terminal."""
        from protolearn.cli.verdict import uneven

        columns: dict[str, list[str]] = {self.tested.removeprefix(", "): [], "accuracy": [], "balanced": []}
        columns |= {"numbers": [], "kilobytes": [], "us a row": []}
        for row in self.rows():
            cells = (
                row["method"],
                f"{row['accuracy']:.3f}",
                f"{row['balanced']:.3f}",
                "-" if row["numbers"] is None else str(row["numbers"]),
                f"{row['kilobytes']:.1f}",
                f"{row['microseconds']:.2f}",
            )
            for column, cell in zip(columns.values(), cells, strict=True):
                column.append(cell)
        if not (uneven(self.y) or self.balanced):
            del columns["balanced"]
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 1000
        for name in ("numbers", "us a row", "kilobytes"):
            if sum(2 + max(map(len, [head, *cells])) for head, cells in columns.items()) - 2 > width:
                del columns[name]
        body = list(zip(*columns.values(), strict=True))
        return table([tuple(columns), *body], right=(False, *[True] * (len(columns) - 1)), strong=len(body))

    def on_classes(self) -> list[str]:
        """What to know of uneven classes."""
        from protolearn.cli.verdict import neglects, recall_sentence, uneven

        own: np.ndarray = self.lines[-1].predicted
        if not (uneven(self.y) or self.balanced):
            return []
        if not self.balanced and neglects(self.y, own):
            note("the classes are uneven, and a rare one is often missed; --class-weight balanced counts them alike.")
        return [recall_sentence(self.y, own)]


def _save(model: Any, path: str) -> None:
    from protolearn.export.model_file import save

    save(model, path)


def _finding(name: str | None, y: np.ndarray) -> Any:
    """The class of that name, None where none is named."""
    if name is None:
        return None
    found = [label for label in dict.fromkeys(y.tolist()) if str(label) == name]
    if not found:
        raise UsageError(f"--finding {name}: no row to learn from is of that class.")
    return found[0]


def _write_report(data: Data, learner: Automatic | Named, comparison: _Comparison, path: str, finding: Any) -> None:
    try:
        from protolearn.report.report import write_report
    except ImportError as error:
        raise JobError(f'the report needs more: pip install "protolearn[plot]" ({error}).') from None
    write_report(
        path,
        learner.model,
        data.X,
        data.y,
        data.X_test,
        data.y_test,
        table=comparison.rows(),
        verdict=comparison.verdict,
        tradeoff=[asdict(point) for point in learner.tradeoff] or None,
        source=_source(data),
        finding=finding,
    )


def _source(data: Data) -> Any:
    """Where the rows of the report come from."""
    from protolearn.report.source import Source

    options = data.options
    files = [Path(file).name for file in (options.train, options.test) if file is not None]
    below = "" if options.no_header else ", below the names of the columns"
    counted = (
        f"Row 1 is the first row of data in {' and in '.join(files)}{below}; `protolearn explain --row` counts alike."
    )
    return Source(
        data=Path(options.train).name.split(".")[0] if options.train != "-" else "",
        date=time.strftime("%-d %B %Y"),
        command=shlex.join(["protolearn", *options.given]),
        model_file=options.out,
        train_rows=data.rows,
        test_rows=data.test_rows,
        row_name="row" if options.id is None else options.id,
        about_rows=counted if options.id is None else f"Rows are named by column {options.id}.",
    )
