"""`protolearn fit`: a table in, a model file out, beside 1-NN on everything and an SVM."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import protolearn
from protolearn.cli import JobError, UsageError
from protolearn.cli.console import Progress, emphasised, note, notes, table
from protolearn.cli.inputs import add_reading, check_classes, check_folder, read, split_target
from protolearn.cli.methods import METHODS


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "fit",
        help="learn prototypes from a table and save the model",
        description="Learn prototypes from a table, compare them with 1-NN on everything and an SVM, save the model.",
    )
    command.add_argument("train", metavar="TRAIN", help="CSV, TSV, Parquet, ARFF, libsvm or npz, also .gz; - for stdin")
    command.add_argument("--target", metavar="COLUMN", help="the column with the classes (libsvm and npz know theirs)")
    command.add_argument(
        "--method", choices=METHODS, default="logm", metavar="NAME", help="default logm; see `methods`"
    )
    command.add_argument(
        "--prototypes",
        metavar="N",
        type=_prototypes,
        help="for each class: a number, a share of the rows such as 5%%, or auto (default): as few as do the job",
    )
    test = command.add_mutually_exclusive_group()
    test.add_argument("--test", metavar="FILE", help="table to test on")
    test.add_argument("--test-size", type=_share, default=0.2, metavar="SHARE", help="rows held out (default 0.2)")
    command.add_argument(
        "--out", metavar="FILE", default="model.json", help="where the model goes (default model.json)"
    )
    command.add_argument("--report", metavar="FILE", help="also write an HTML report")
    command.add_argument("--missing", choices=("impute", "refuse"), default="impute", help="missing values")
    command.add_argument("--scaling", choices=("minmax", "standard", "none"), default="minmax", help="of numbers")
    command.add_argument("--categories", choices=("onehot", "ordinal"), default="onehot", help="of texts")
    command.add_argument(
        "--drop", metavar="COLUMN", action="append", default=[], help="leave out a column (repeatable)"
    )
    command.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="settings",
        help="a parameter of the method, such as metric=relevance (repeatable)",
    )
    command.add_argument("--seed", type=int, default=0, help="of everything random (default 0)")
    add_reading(command)
    command.set_defaults(run=run)


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
    classifier = _classifier(options)
    job = _Job(options, classifier)
    with notes():
        interrupted = job.fit()
        _save(job.model, options.out)
        if interrupted:
            print(f"Interrupted: what was learned until then is in {options.out}.")
            return 1
        try:
            rows = job.compare()
        except KeyboardInterrupt:
            print(f"Interrupted: the model is complete, in {options.out}; only the comparison is missing.")
            return 1
    print(_described(job, rows))
    print(f"The model: {options.out} ({Path(options.out).stat().st_size / 1024:.0f} KB)")
    if options.report is not None:
        _write_report(job, rows, options.report)
        print(f"The report: {options.report}")
    return 0


def _classifier(options: argparse.Namespace) -> Any:
    kind = getattr(protolearn, METHODS[options.method])
    classifier = kind()
    known = classifier.get_params(deep=False)
    given: dict[str, Any] = {"random_state": options.seed} if "random_state" in known else {}
    for setting in options.settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in known:
            raise UsageError(f"{kind.__name__} has no parameter {name!r}; it has {', '.join(known)}.")
        try:
            given[name] = json.loads(text)
        except ValueError:
            given[name] = text
    if options.prototypes is not None and "n_prototypes" not in known:
        raise UsageError(f"{kind.__name__} finds the number of prototypes itself; leave out --prototypes.")
    if "n_prototypes" in known and "n_prototypes" not in given:
        if options.prototypes is None:
            options.prototypes = "auto"
        if options.prototypes != "auto":
            given["n_prototypes"] = options.prototypes
    return classifier.set_params(**given)


class _Job:
    """The data and what is learned from it."""

    def __init__(self, options: argparse.Namespace, classifier: Any) -> None:
        from protolearn.tables import Preparation

        self.options, self.classifier = options, classifier
        self.preparation = Preparation(options.categories, options.missing, options.scaling)
        self.tradeoff: list[Any] = []
        frame = read(options.train, options)
        X, y = split_target(frame, options.target, options.train, options.drop)
        check_classes(y, options.target or "target", options.train)
        # What is wrong with a column is said once, with the row of the file, not of a part of it.
        self.preparation.fit(X)
        if options.test is None:
            self.X, self.X_test, self.y, self.y_test = self._split(X, y)
        else:
            self.X, self.y = X, y
            self.X_test, self.y_test = self._given_test(frame)

    def _split(self, X: Any, y: Any) -> tuple[Any, Any, Any, Any]:
        import numpy as np
        from sklearn.model_selection import train_test_split

        classes, counts = np.unique(y, return_counts=True)
        if counts.min() < 2:
            rare = classes[counts.argmin()]
            raise UsageError(f"class {rare} has one row only, none to test on; remove it, or give a file with --test.")
        n_test = max(round(len(y) * self.options.test_size), len(classes))
        if len(y) - n_test < len(classes):
            raise UsageError(f"{len(y)} rows are too few to hold some out; give a file with --test.")
        train, test = train_test_split(np.arange(len(y)), test_size=n_test, stratify=y, random_state=self.options.seed)
        return X[train], X[test], y[train], y[test]

    def _given_test(self, train: Any) -> tuple[Any, Any]:
        import numpy as np

        options = self.options
        texts = [name for name, dtype in train.schema.items() if str(dtype) in ("String", "Categorical", "Enum")]
        frame = read(options.test, options, texts=texts, columns=train.columns)
        X, y = split_target(frame, options.target, options.test, [])
        if y.dtype.kind != self.y.dtype.kind:
            y = np.array([str(label) for label in y])
            known = {str(label) for label in self.y}
        else:
            known = set(self.y.tolist())
        unknown = sorted({str(label) for label in y.tolist() if label not in known})
        if unknown:
            raise UsageError(f"{options.test} holds class {unknown[0]}, which {options.train} does not.")
        return X, y if y.dtype.kind == self.y.dtype.kind else y.astype(self.y.dtype)

    def fit(self) -> bool:
        """Learn; True where it was interrupted and the model is what was there by then."""
        from sklearn.pipeline import Pipeline

        interrupted = False
        if self.options.prototypes == "auto":
            interrupted = self._walk()
        Z = self.preparation.fit_transform(self.X)
        try:
            self._learn(Z)
        except KeyboardInterrupt:
            if not hasattr(self.classifier, "prototypes_"):
                raise JobError("interrupted before there was anything to save.") from None
            interrupted = True
        self.model = Pipeline([("prepare", self.preparation), ("classify", self.classifier)])
        return interrupted

    def _walk(self) -> bool:
        """Choose the number of prototypes; True where the walk was interrupted."""
        from protolearn.auto.tradeoff import COUNTS, folds_of, smallest_within_one_error, walk_tradeoff

        interrupted = False
        folds = folds_of(self.X, self.y, self.preparation, seed=self.options.seed)
        try:
            with Progress("how many prototypes", total=len(COUNTS) * len(folds)) as progress:
                for point in walk_tradeoff(self.classifier, folds, watch=progress.advance):
                    self.tradeoff.append(point)
        except KeyboardInterrupt:
            interrupted = True
            if not self.tradeoff:
                raise JobError("interrupted before there was anything to save.") from None
            note("interrupted: learning with the best number of prototypes until then, and saving.")
        chosen = smallest_within_one_error(self.tradeoff)
        self.classifier.set_params(n_prototypes=chosen.per_class)
        return interrupted

    def _learn(self, Z: Any) -> None:
        classifier = self.classifier
        total = getattr(classifier, "max_iter", None)
        with Progress(f"learning {type(classifier).__name__}", total=total) as progress:
            watched = "callback" in classifier.get_params(deep=False)
            if watched:
                classifier.set_params(callback=lambda *_: progress.advance())
            try:
                classifier.fit(Z, self.y)
            finally:
                if watched:
                    classifier.set_params(callback=None)

    def compare(self) -> list[dict[str, Any]]:
        """The table."""
        from protolearn.cli import baselines

        Z, Z_test = self.preparation.transform(self.X), self.preparation.transform(self.X_test)
        with Progress("1-NN and SVM"):
            rows = [baselines.nearest_neighbour(Z, self.y, Z_test, self.y_test)]
            machine = baselines.support_vectors(Z, self.y, Z_test, self.y_test)
        if machine is None:
            note("no SVM for so many rows: it would take too long.")
        else:
            rows.append(machine)
        return [*rows, baselines.prototypes(self.classifier, Z_test, self.y_test)]


def _save(model: Any, path: str) -> None:
    from protolearn.export.model_file import save

    save(model, path)


def _described(job: _Job, rows: list[dict[str, Any]]) -> str:
    head = ("", "accuracy", "numbers", "kilobytes", "us each")
    body = [
        (
            row["method"],
            f"{row['accuracy']:.3f}",
            str(row["numbers"]),
            f"{row['kilobytes']:.1f}",
            f"{row['microseconds']:.2f}",
        )
        for row in rows
    ]
    lines = [
        f"{len(job.y)} rows to learn from, {len(job.y_test)} to test on, {job.X.width} columns, "
        f"{len(job.classifier.classes_)} classes"
    ]
    if job.tradeoff:
        walked = [
            (
                f"{point.per_class} a class",
                f"{point.accuracy:.3f} +- {point.spread:.3f}",
                "taken" if point.per_class == job.classifier.n_prototypes else "",
            )
            for point in job.tradeoff
        ]
        taken = 1 + next(i for i, row in enumerate(walked) if row[2])
        lines += ["", table([("prototypes", "cross-validated", ""), *walked], right=(False, True, False), strong=taken)]
    lines += ["", table([head, *body], right=(False, True, True, True, True), strong=len(body)), ""]
    everything, few = rows[0], rows[-1]
    smaller, faster = everything["numbers"] / few["numbers"], everything["microseconds"] / few["microseconds"]
    lines.append(emphasised(f"{_times(smaller, 'smaller', 'larger')}, {_times(faster, 'faster', 'slower')} than 1-NN."))
    return "\n".join(lines)


def _times(ratio: float, more: str, less: str) -> str:
    return f"{ratio:.0f} x {more}" if ratio >= 1.95 else f"{max(ratio, 1 / ratio):.1f} x {more if ratio >= 1 else less}"


def _write_report(job: _Job, rows: list[dict[str, Any]], path: str) -> None:
    try:
        from protolearn.report.report import write_report
    except ImportError as error:
        raise JobError(f'the report needs more: pip install "protolearn[plot]" ({error}).') from None
    write_report(
        path,
        job.model,
        job.X,
        job.y,
        job.X_test,
        job.y_test,
        table=rows,
        tradeoff=[asdict(point) for point in job.tradeoff] or None,
    )
