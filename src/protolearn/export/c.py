"""Export to C99: one header, no allocation, no library."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from protolearn.export.c_source import header
from protolearn.export.c_text import identifier
from protolearn.export.model_file import write_bytes
from protolearn.parameters import check_choice
from protolearn.plain import FixedPointModel, PlainModel, fixed_point_model, plain_model
from protolearn.plain.size import Size, model_size

DTYPES = ("float32", "int8", "int16")


@dataclass(frozen=True)
class CExport:
    """What was written.

    prefix : what the names in the header begin with
    dtype : the numbers of the tables
    size : bytes in flash and RAM
    model : the arrays; a FixedPointModel predicts in Python what the header predicts, number for number
    """

    prefix: str
    dtype: str
    size: Size
    model: PlainModel | FixedPointModel


def export_c(model: Any, path: str | os.PathLike, *, dtype: str = "float32", X: Any = None) -> CExport:
    """Write a fitted classifier as a C99 header without dependencies.

    The header has `<name>_predict(row)`, which returns the index of the class in `<name>_class_names`, and
    `<name>_distances(row, distances)`; <name> is that of the file. With int8 and int16 both take integers, which
    `<name>_quantize(row, integers)` makes.

    Parameters
    ----------
    model : fitted classifier, or a Pipeline of scalers, selectors, PCA or LMNN that ends in one; its steps are folded
        into the prototypes
    path : the header to write; what was there stays until the new one is complete
    dtype : {"float32", "int8", "int16"}
    X : array of shape (n_rows, n_features), rows to learn the scales of int8 and int16 from, the training set for
        example

    Returns
    -------
    written : CExport, with the bytes in flash and RAM

    Raises
    ------
    ValueError
        Where the model cannot be written, such as one with a metric of your own; no file is written then.
    """
    check_choice("dtype", dtype, DTYPES)
    plain = plain_model(model)
    written = plain if dtype == "float32" else fixed_point_model(plain, X, dtype)
    prefix = identifier(path)
    write_bytes(path, header(written, prefix).encode("ascii"))
    return CExport(prefix, dtype, model_size(written), written)
