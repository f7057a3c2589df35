"""Export to C99: one header, no allocation, no library."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from protolearn.core.parameters import check_choice
from protolearn.export.c_source import example as example_source
from protolearn.export.c_source import header
from protolearn.export.c_text import identifier
from protolearn.export.fixed_point import FixedPointModel, fixed_point_model
from protolearn.export.folding import input_rows, written_model
from protolearn.export.model_file import write_bytes
from protolearn.export.plain import PlainModel, PlainSets
from protolearn.export.size import Size, model_size

DTYPES = ("float32", "int8", "int16")
# Prototypes of different classes may lie closer together than one step of 8 bits.
_WORTH_A_WARNING = 0.98


@dataclass(frozen=True)
class CExport:
    """What was written.

    prefix : what the names in the header begin with
    dtype : the numbers of the tables
    size : bytes in flash and RAM
    kept : share of the rows of X that keep their class in fixed point, None without X
    model : the arrays; a FixedPointModel predicts in Python what the header predicts, number for number
    """

    prefix: str
    dtype: str
    size: Size
    kept: float | None
    model: PlainModel | PlainSets | FixedPointModel


def export_c(
    model: Any,
    path: str | os.PathLike,
    *,
    dtype: str = "float32",
    X: Any = None,
    example: str | os.PathLike | None = None,
) -> CExport:
    """Write a fitted classifier as a C99 header without dependencies.

    The header has `<name>_predict(row)`, which returns the index of the class in `<name>_class_names`; <name> is the
    name of the file. With int8 and int16 a row is of integers, which `<name>_quantize(row, integers)` makes. Where the
    nearest prototype decides there are `<name>_distances(row, distances)`, `<name>_certainty(row)` and
    `<name>_decide(row, threshold)`, and under one metric for all prototypes in float32 `<name>_radius(row)`; where
    several sets decide, `<name>_probabilities(row, probabilities)`. Where a Preparation turns texts or missing values
    into numbers, the row holds those numbers, as the comment in the header names them: 1 for the level of a text and 0
    for its others.

    Parameters
    ----------
    model : fitted classifier, or a Pipeline of scalers, selectors, PCA or LMNN that ends in one; its steps are folded
        into the prototypes; or the `exported` of `protolearn.auto.shrink`, with the numbers it has
    path : the header to write; what was there stays until the new one is complete
    dtype : {"float32", "int8", "int16"}
    X : rows as the model takes them, to learn the scales of int8 and int16 from: the training set, for example
    example : a C program to write beside the header, which classifies the row in its arguments

    Returns
    -------
    export : CExport, with the bytes in flash and RAM

    Raises
    ------
    ValueError
        Where the model cannot be written, such as one with a metric of your own; no file is written then.
    """
    check_choice("dtype", dtype, DTYPES)
    if isinstance(model, FixedPointModel):
        written: PlainModel | PlainSets | FixedPointModel = model
        dtype = model.dtype
    else:
        written = written_model(model)
        X = None if X is None else input_rows(model, X)
        if dtype != "float32":
            written = fixed_point_model(_for_integers(written, dtype), X, dtype)
    kept = None
    if isinstance(written, FixedPointModel) and X is not None:
        kept = float(np.mean(written.predict_codes(X) == written.plain.predict_codes(X)))
        if kept < _WORTH_A_WARNING:
            warnings.warn(
                f"{dtype} changes the class of {100 * (1 - kept):.1f}% of the rows of X; "
                + ("take int16." if dtype == "int8" else "take float32."),
                UserWarning,
                stacklevel=2,
            )
    prefix = identifier(path)
    write_bytes(path, header(written, prefix).encode("ascii"))
    if example is not None:
        write_bytes(example, example_source(written, prefix, Path(path).name).encode())
    return CExport(prefix, dtype, model_size(written), kept, written)


def _for_integers(written: PlainModel | PlainSets, dtype: str) -> PlainModel:
    """A model that has a fixed point: one set on columns as they are."""
    what = None
    if isinstance(written, PlainSets):
        what = f"takes the mean of the probabilities of {len(written.sets)} prototype set(s)"
    elif written.encoding is not None:
        what = "takes columns as bins or normal scores"
    if what is None:
        return written  # type: ignore[return-value]
    raise ValueError(
        f"{dtype} is for one prototype set on columns as they are, and this model {what}; take float32, or fit with "
        "members=1 (protolearn fit --one)."
    )
