"""Files and columns that commands are given."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from protolearn.cli import UsageError

FORMATS = ("csv", "tsv", "parquet", "arff", "libsvm", "npz")


def add_reading(command: argparse.ArgumentParser) -> None:
    """Options of every command that reads a table."""
    command.add_argument("--format", choices=FORMATS, help="what the tables are; else by name and content")
    command.add_argument("--no-header", action="store_true", help="CSV and TSV begin with data, not with names")


def read(path: str, options: argparse.Namespace, **settings: Any) -> Any:
    """The table in a file, or in standard input."""
    from protolearn.tables import read_table

    check_file(path)
    return read_table(path, format=options.format, header=not options.no_header, **settings)


def check_file(path: str) -> None:
    """Raise where there is no such file."""
    if path == "-":
        return
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder; give a file.")
    if not Path(path).exists():
        raise UsageError(f"there is no file {path}.")


def check_folder(path: str | Path) -> None:
    """Raise where a file cannot be written because its folder is not there."""
    if not Path(path).parent.is_dir():
        raise UsageError(f"there is no folder {Path(path).parent}; make it first.")
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder; name a file.")


def load_model(path: str) -> Any:
    """The model in a file."""
    from protolearn.export.model_file import load

    check_file(path)
    return load(path)


def frame_for(model: Any, path: str, options: argparse.Namespace) -> Any:
    """A table whose texts and numbers are read as those of the training set were."""
    from protolearn.tables import Preparation

    first = first_step(model)
    names = [str(name) for name in getattr(first, "feature_names_in_", [])]
    texts, spelled = [], None
    if isinstance(first, Preparation):
        texts = [name for name, number in zip(first.column_names(), first.is_number_, strict=True) if not number]
        spelled = first.spelled
    return read(path, options, texts=texts, columns=names, spelled=spelled)


def rows_for(model: Any, path: str, options: argparse.Namespace) -> Any:
    """The rows of a table as a saved model takes them."""
    return plain_rows(model, frame_for(model, path, options), path)


def plain_rows(model: Any, frame: Any, path: str, *, texts: bool = False) -> Any:
    """The columns of a table that a model takes, in the form in which it takes them.

    Parameters
    ----------
    model : fitted
    frame : table in the file `path`
    texts : whether a model that knows the names of its columns may take texts, in a frame of pandas
    """
    from protolearn.tables import Preparation

    first = first_step(model)
    names = [str(name) for name in getattr(first, "feature_names_in_", getattr(model, "feature_names_in_", []))]
    if isinstance(first, Preparation) and names:
        return frame
    # A model that was made in Python, without a Preparation.
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        raise UsageError(f"{path} lacks column {lacking[0]} of the training set.")
    chosen = frame.select(names) if names else frame
    odd = [name for name in chosen.columns if not (chosen[name].dtype.is_numeric() or chosen[name].dtype.is_float())]
    if odd and not (texts and names and _has_pandas()):
        raise UsageError(f"column {odd[0]} of {path} holds texts, and the model takes numbers only.")
    wanted = getattr(model, "n_features_in_", chosen.width)
    if wanted != chosen.width:
        raise UsageError(f"{path} has {chosen.width} columns beside the target, and the model takes {wanted}.")
    if names and _has_pandas():
        return chosen.to_pandas()
    return chosen.to_numpy().astype(float)


def first_step(model: Any) -> Any:
    """What a model does first with raw rows: mostly a Preparation."""
    from protolearn.auto.automatic import AutoPrototypes

    if isinstance(model, AutoPrototypes):
        model = model.best_estimator_
    return model.steps[0][1] if hasattr(model, "steps") else model


def _has_pandas() -> bool:
    from importlib.util import find_spec

    return find_spec("pandas") is not None and find_spec("pyarrow") is not None


def split_target(frame: Any, target: str | None, name: str, drop: list[str]) -> tuple[Any, Any]:
    """The columns to learn from, and the labels."""
    import numpy as np

    from protolearn.tables.reading import TARGET

    if target is None:
        if TARGET not in frame.columns:
            raise UsageError(
                f"say which column of {name} holds the classes: --target COLUMN ({_listed(frame.columns)})."
            )
        target = TARGET
    for column in (target, *drop):
        if column not in frame.columns:
            raise UsageError(f"{name} has no column {column}; it has {_listed(frame.columns)}.")
    column = frame[target]
    missing = column.null_count() + (int(column.is_nan().sum()) if column.dtype.is_float() else 0)
    if missing:
        raise UsageError(f"column {target} of {name} has no class in {missing} rows; fill them in or remove them.")
    y = column.to_numpy()
    if y.dtype.kind == "f":
        if not np.array_equal(y, np.rint(y)):
            raise UsageError(f"column {target} of {name} holds measurements ({y[0]:g}, ...), not classes.")
        y = y.astype(np.int64)
    elif y.dtype.kind not in "iub":
        y = np.array([str(label) for label in y])
    features = frame.drop(target, *drop)
    if not features.width:
        raise UsageError(f"{name} has no column but {target}; there is nothing to learn from.")
    return features, y


def row_names(frame: Any, column: str | None, name: str) -> list[Any]:
    """The identifiers of the rows of a table: those in a column, else numbers from 1 on, as `explain --row` counts."""
    if column is None:
        return list(range(1, frame.height + 1))
    if column not in frame.columns:
        raise UsageError(f"{name} has no column {column} to name its rows by; it has {_listed(frame.columns)}.")
    return frame[column].to_list()


def renamed_classes(y: Any, names: list[str], target: str, name: str) -> Any:
    """Labels under the names that `--labels CLASS=NAME` gives them."""
    import numpy as np

    if not names:
        return y
    given = dict(pair.partition("=")[::2] for pair in names)
    known = {str(label) for label in np.unique(y)}
    for label, new in given.items():
        if label not in known or not new:
            raise UsageError(
                f"--labels takes CLASS=NAME with a class of column {target} of {name}, which has "
                f"{_listed(sorted(known))}; not {label}{'=' if not new else ''}."
            )
    if len({given.get(label, label) for label in known}) < len(known):
        raise UsageError("--labels gives two classes one name; give each class its own.")
    return np.array([given.get(str(label), str(label)) for label in y])


def without_identifiers(features: Any, keep: list[str], name: str) -> tuple[Any, list[str]]:
    """The columns that hold something and do not number or name the rows; a sentence about each of the others.

    Also a sentence about each column that may do so and is kept.
    """
    from protolearn.tables.kinds import identifiers, possible_identifiers

    for column in keep:
        if column not in features.columns:
            raise UsageError(f"{name} has no column {column} to keep; it has {_listed(features.columns)}.")
    found = {column: why for column, why in identifiers(features).items() if column not in keep}
    empty = [one.name for one in features if one.null_count() == features.height and one.name not in keep]
    if len(empty) == features.width:
        raise UsageError(f"{name} has nothing to learn from: every column beside the target is empty.")
    if len(found) + len(empty) == features.width:
        raise UsageError(
            f"{name} has nothing to learn from but what looks like an identifier: {_listed(list(found))}; learn from "
            "it all the same by --keep."
        )
    told = [
        f"{column} is left out as an identifier: {why} (--keep {column} learns from it)."
        for column, why in found.items()
    ]
    told += [f"{column} is left out: it is empty in every row." for column in empty]
    features = features.drop([*found, *empty])
    told += [
        f"{column} may be an identifier: {why} (--drop {column} leaves it out)."
        for column, why in possible_identifiers(features).items()
        if column not in keep
    ]
    return features, told


def check_classes(y: Any, target: str, name: str) -> None:
    """Raise where labels cannot be the classes of a classifier."""
    import numpy as np

    classes = np.unique(y)
    if len(classes) < 2:
        raise UsageError(f"column {target} of {name} holds one class only, {classes[0]}; a classifier needs two.")
    if 2 * len(classes) > len(y):
        raise UsageError(
            f"column {target} of {name} has {len(classes)} different values in {len(y)} rows; these are no classes."
        )


def _listed(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
