"""`protolearn compress`: a model that somebody has, of whatever kind, replaced by a few prototypes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from protolearn.cli import JobError, UsageError
from protolearn.cli.console import Progress, emphasised, note, notes, wrapped
from protolearn.cli.inputs import add_reading, check_file, check_folder, load_model, plain_rows, read, split_target

PICKLES = (".joblib", ".pkl", ".pickle")


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "compress",
        help="replace a model that you have by a few prototypes",
        description="Replace a fitted classifier, such as a k-NN or a forest of scikit-learn, by the smallest "
        "prototype model that loses at most so many points of accuracy on held-out rows, or by the best one within so "
        "many bytes. Loading a pickle or a joblib file runs the code that it holds: give only files that you trust.",
    )
    command.add_argument(
        "model", metavar="MODEL", help="joblib or pickle file of a fitted classifier, or what `fit` wrote"
    )
    command.add_argument(
        "train", metavar="TRAIN", nargs="?", help="table with rows as the model takes them; a k-NN holds its own"
    )
    command.add_argument(
        "--target", metavar="COLUMN", help="the column with the true classes; without it the model labels the rows"
    )
    command.add_argument("--max-bytes", type=_limit(int), metavar="N", help="what the small model may store, at most")
    command.add_argument(
        "--max-loss",
        type=_limit(float),
        metavar="POINTS",
        help="points of accuracy it may lose (default 1 where neither limit is given)",
    )
    command.add_argument(
        "--out", metavar="FILE", default="model.json", help="where the small model goes (default model.json)"
    )
    command.add_argument("--seed", type=int, default=0, help="of everything random (default 0)")
    add_reading(command)
    command.set_defaults(run=run)


def _limit(kind: type) -> Any:
    def read_limit(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = -1
        if not 0 <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"give a number of at least 0, not {text!r}")
        return value

    return read_limit


def run(options: argparse.Namespace) -> int:
    """Compress, print both models side by side, save the small one."""
    from protolearn.auto.compress import compress
    from protolearn.export.model_file import save

    check_folder(options.out)
    if options.max_loss is not None and options.max_loss >= 100:
        raise UsageError("--max-loss is in points of accuracy; give less than 100.")
    with notes():
        model = _given(options.model)
        X, y = (None, None) if options.train is None else _rows(model, options)
        with Progress("trying candidates"):
            small = compress(
                model,
                X,
                y,
                max_bytes=options.max_bytes,
                max_loss=None if options.max_loss is None else options.max_loss / 100,
                random_state=options.seed,
                verbose=0,
            )
        save(small, options.out)
    found = (small[-1] if hasattr(small, "steps") else small).compression_
    print("\n".join(str(found).splitlines()[:-1]))
    print(f"The small model: {options.out} ({Path(options.out).stat().st_size / 1024:.0f} KB)\n")
    print(emphasised(wrapped(found.verdict)))
    return 0 if found.within else 1


def _given(path: str) -> Any:
    """The fitted classifier in a file."""
    check_file(path)
    if Path(path).suffix.lower() not in PICKLES:
        return load_model(path)
    import joblib

    note(f"loading {path} runs the code that it holds; give only files that you trust.")
    try:
        model = joblib.load(path)
    except Exception as error:
        # A pickle can raise anything: it is a program.
        raise JobError(f"{path} cannot be loaded ({type(error).__name__}: {error}); save the model again.") from None
    if not callable(getattr(model, "predict", None)):
        raise UsageError(f"{path} holds a {type(model).__name__}, which has no predict; give a fitted classifier.")
    return model


def _rows(model: Any, options: argparse.Namespace) -> tuple[Any, Any]:
    """The rows as the model takes them, and their true labels where the table has them."""
    frame = read(options.train, options)
    y = None
    if options.target is not None:
        frame, y = split_target(frame, options.target, options.train, [])
        y = _as_classes(y, model, options)
    return plain_rows(model, frame, options.train, texts=True), y


def _as_classes(y: Any, model: Any, options: argparse.Namespace) -> Any:
    """Labels of a table as the model spells its classes."""
    import numpy as np

    classes = getattr(model, "classes_", None)
    if classes is None:
        return y
    spelled = {str(label): label for label in np.asarray(classes).tolist()}
    unknown = sorted({str(label) for label in y.tolist()} - set(spelled))
    if unknown:
        raise UsageError(
            f"column {options.target} of {options.train} holds {unknown[0]}, and the model answers "
            f"{', '.join(list(spelled)[:6])}; name the column with the classes that it learned."
        )
    return np.array([spelled[str(label)] for label in y.tolist()])
