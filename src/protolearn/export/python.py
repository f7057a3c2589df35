"""Export to Python: one module that needs NumPy only."""

from __future__ import annotations

import base64
import os
from importlib.resources import files
from typing import Any

import numpy as np

from protolearn.export.folding import written_model
from protolearn.export.js import label_value, title
from protolearn.export.model_file import write_bytes
from protolearn.export.plain import LEAST_SET_LOG, PlainModel, PlainSets

_ENDING = """

_MODEL = {model}
{names} = {members}
classes, feature_names = _MODEL.classes, _MODEL.feature_names
"""
_NAMES = ["predict", "probabilities", "distances"]


def export_python(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted classifier as a Python module that needs NumPy only, not even protolearn.

    The module has `predict(row)`, `probabilities(row)`, `classes` and `feature_names`, and of one prototype set
    `distances(row)`. A row is a sequence of values in the order of `feature_names`, or a mapping with these names.
    Behind a Preparation they are the columns of the table, texts and missing values as they are. The module is there
    milliseconds after NumPy; to import scikit-learn, which `load` needs, takes about a second.

    Parameters
    ----------
    model : fitted classifier or Pipeline, as for `export_c`
    path : the module to write, usually `.py`

    Raises
    ------
    ValueError
        Where the model cannot be written; no file is written then.
    """
    write_bytes(path, python_source(model).encode("utf-8"))


def python_source(model: Any) -> str:
    """The text of the module that `export_python` writes."""
    written = written_model(model)
    code = files("protolearn.export").joinpath("rows.py").read_text(encoding="utf-8")
    _, head, rest = code.partition("from __future__ import annotations\n")
    if isinstance(written, PlainSets):
        sets = "".join(f"{_row_model(one)},\n" for one in written.sets)
        counts = [list(map(float, numbers)) for numbers in (written.shares, written.temperatures)]
        text = f"RowSets(\n[{sets}],\n{counts[0]},\n{counts[1]},\n{LEAST_SET_LOG!r},\n)"
        names = _NAMES[:2]
    else:
        text, names = _row_model(written), _NAMES
    members = ", ".join(f"_MODEL.{name}" for name in names)
    ending = _ENDING.format(model=text, names=", ".join(names), members=members)
    return f'"""{title(written)}"""\n\n{head}\nimport base64{rest}{ending}'


def _row_model(plain: PlainModel) -> str:
    lines = "\n".join(f"    {name}={_literal(value)}," for name, value in _arguments(plain).items())
    return f"RowModel(\n{lines}\n)"


def _arguments(plain: PlainModel) -> dict[str, Any]:
    raw = plain.raw_columns
    names = plain.feature_names if raw is None else [column.name for column in raw]
    return {
        "classes": [label_value(label) for label in plain.classes],
        "feature_names": list(names),
        "labels": plain.labels,
        "slot": plain.slot,
        "positions": plain.positions,
        "weights": plain.weights,
        "maps": plain.maps,
        "origin": plain.origin,
        "bias": plain.bias,
        "columns": plain.columns,
        "link": plain.link,
        "slope": plain.slope,
        "raw_columns": None if raw is None else [tuple(vars(column).values()) for column in raw],
        "encoding": None if plain.encoding is None else tuple(vars(plain.encoding).values()),
    }


def _literal(value: Any) -> str:
    """Python's text for a value; an array as its bytes, exact and short."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    if not isinstance(value, np.ndarray):
        return repr(value)
    kind = "<f8" if value.dtype.kind == "f" else "<i8"
    text = base64.b64encode(np.ascontiguousarray(value).astype(kind).tobytes()).decode("ascii")
    return f'np.frombuffer(base64.b64decode("{text}"), "{kind}").reshape({value.shape})'
