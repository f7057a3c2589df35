"""`protolearn predict`: classes for the rows of a table, as CSV."""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import sys
from typing import Any

from protolearn.cli import UsageError
from protolearn.cli.console import note, notes
from protolearn.cli.inputs import (
    add_reading,
    check_folder,
    first_step,
    frame_for,
    load_model,
    plain_rows,
    rows_for,
    split_target,
)


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "predict", help="classes for the rows of a table", description="Classes for the rows of a table, as CSV."
    )
    command.add_argument("model", metavar="MODEL", help="what `fit` or protolearn.save wrote")
    command.add_argument("data", metavar="DATA", help="a table with the columns of the training set; - for stdin")
    command.add_argument("--proba", action="store_true", help="also the probability of each class")
    command.add_argument(
        "--reject",
        type=_threshold,
        metavar="THRESHOLD",
        help="mark rows whose largest probability is below it, 0 to 1",
    )
    command.add_argument(
        "--sets",
        type=_coverage,
        metavar="COVERAGE",
        help="also the set of classes that holds the right one in this share of the rows, 0.9 for example; "
        "needs --calibrate",
    )
    command.add_argument(
        "--calibrate", metavar="FILE", help="a table that the model did not learn from, with its classes"
    )
    command.add_argument("--target", metavar="COLUMN", help="the column of --calibrate that holds the classes")
    command.add_argument("--out", metavar="FILE", help="write to a file instead of standard output")
    add_reading(command)
    command.set_defaults(run=run)


def _threshold(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"give a number from 0 to 1, not {text!r}")
    return value


def _coverage(text: str) -> float:
    value = _threshold(text)
    if value in (0.0, 1.0):
        raise argparse.ArgumentTypeError(f"give a number between 0 and 1, such as 0.9, not {text!r}")
    return value


def run(options: argparse.Namespace) -> int:
    """Print or write the predictions."""
    if options.out is not None:
        check_folder(options.out)
    if options.sets is not None and options.calibrate is None:
        raise UsageError("--sets needs --calibrate FILE: a table with classes that the model did not learn from.")
    model = load_model(options.model)
    if not hasattr(model, "predict"):
        raise UsageError(f"{options.model} holds a {type(model).__name__}, which does not classify.")
    with notes():
        rows = rows_for(model, options.data, options)
        columns, rejected = _columns(model, rows, options)
    _note_unknown(model, rows)
    if rejected is not None:
        note(f"{rejected} of {len(columns['row'])} rows get their class with a probability below {options.reject:g}.")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    if options.out is None:
        sys.stdout.write(text.getvalue())
    else:
        from protolearn.export.model_file import write_bytes

        write_bytes(options.out, text.getvalue().encode())
    return 0


def _columns(model, rows, options: argparse.Namespace) -> tuple[dict[str, list], int | None]:
    labels = model.predict(rows)
    predictions = [no_formula(label) for label in labels.tolist()]
    columns: dict[str, list] = {"row": list(range(1, len(labels) + 1)), "prediction": predictions}
    probabilities: Any = model.predict_proba(rows) if options.proba or options.reject is not None else None
    rejected = None
    if options.reject is not None:
        largest = probabilities.max(axis=1)
        uncertain = largest < options.reject
        columns["probability"] = [f"{value:.6f}" for value in largest]
        columns["rejected"] = ["yes" if one else "no" for one in uncertain]
        rejected = int(uncertain.sum())
    if options.sets is not None:
        sets = _sets(model, options).predict_set(rows)
        names = [str(no_formula(label)) for label in model.classes_.tolist()]
        columns["set"] = [" | ".join(itertools.compress(names, one)) for one in sets]
    if options.proba:
        for label, values in zip(model.classes_.tolist(), probabilities.T, strict=True):
            columns[f"p_{label}"] = [f"{value:.6f}" for value in values]
    return columns, rejected


def _sets(model: Any, options: argparse.Namespace) -> Any:
    """The model with thresholds from the table of --calibrate."""
    from protolearn.explain import ConformalClassifier

    features, y = split_target(frame_for(model, options.calibrate, options), options.target, options.calibrate, drop=[])
    rows = plain_rows(model, features, options.calibrate)
    return ConformalClassifier(model, 1.0 - options.sets).calibrate(rows, y)


def no_formula(label: Any) -> Any:
    """A label that no spreadsheet takes for a formula: a text that begins like one gets an apostrophe before it."""
    if not isinstance(label, str) or not label.startswith(("=", "+", "-", "@", "\t", "\r")):
        return label
    try:
        float(label)
    except ValueError:
        return f"'{label}"
    return label


def _note_unknown(model, rows) -> None:
    first = first_step(model)
    if hasattr(first, "unknown_levels"):
        for column, levels in first.unknown_levels(rows).items():
            listed = ", ".join(levels[:5]) + (", ..." if len(levels) > 5 else "")
            note(f"column {column} holds what the training set did not: {listed}.")
