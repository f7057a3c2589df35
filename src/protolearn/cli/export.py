"""`protolearn export`: a model as C, JavaScript, Python, ONNX or JSON."""

from __future__ import annotations

import argparse
from typing import Any

from protolearn.cli import JobError, UsageError
from protolearn.cli.console import notes
from protolearn.cli.inputs import add_reading, check_folder, load_model, rows_for

TARGETS = ("c", "js", "python", "onnx", "json")
NUMBERS = ("float32", "int8", "int16")


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "export",
        help="a model as C, JavaScript, Python, ONNX or JSON",
        description="Write a model for the place where it will run, with the same answers.",
    )
    command.add_argument("model", metavar="MODEL", help="what `fit` or protolearn.save wrote")
    command.add_argument(
        "--to",
        choices=TARGETS,
        required=True,
        help="c: a C99 header; js: an ES module; python: a module that needs NumPy only; onnx: an ONNX model; "
        "json: a model file of this version",
    )
    command.add_argument("--out", metavar="FILE", required=True, help="the file to write")
    command.add_argument("--dtype", choices=NUMBERS, default="float32", help="numbers of the C header")
    command.add_argument("--data", metavar="DATA", help="a table to learn the scales of int8 and int16 from")
    command.add_argument(
        "--example", metavar="FILE", help="a C program to write beside the header: it classifies a row"
    )
    add_reading(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the file and say how large it is."""
    check_folder(options.out)
    if options.to != "c" and (options.dtype != "float32" or options.data or options.example):
        raise UsageError("--dtype, --data and --example are for --to c.")
    if options.example:
        check_folder(options.example)
    if (options.dtype != "float32") != (options.data is not None):
        raise UsageError("--dtype int8 and int16 learn their scales from a table, and float32 has none: give --data.")
    model = load_model(options.model)
    with notes():
        _WRITERS[options.to](model, options)
    return 0


def _write_c(model: Any, options: argparse.Namespace) -> None:
    from protolearn.export.c import export_c

    rows = None if options.data is None else rows_for(model, options.data, options)
    found = export_c(model, options.out, dtype=options.dtype, X=rows, example=options.example)
    kept = "" if found.kept is None else f"; {100 * found.kept:.1f}% of the rows keep their class"
    print(f"{options.out}: {found.size.flash} bytes of flash, {found.size.ram} of RAM{kept}")
    print(f"call {found.prefix}_predict, an index of {found.prefix}_class_names")
    if options.example:
        print(f"{options.example}: a program that classifies the row in its arguments")


def _write_js(model: Any, options: argparse.Namespace) -> None:
    from protolearn.export.js import export_js

    export_js(model, options.out)
    print(f"{options.out}: import {{ predict, probabilities, {_distances(model)}classes, featureNames }}")


def _write_python(model: Any, options: argparse.Namespace) -> None:
    from protolearn.export.python import export_python

    export_python(model, options.out)
    print(f"{options.out}: predict, probabilities, {_distances(model)}classes, feature_names; needs NumPy only")


def _distances(model: Any) -> str:
    """What a module of one prototype set has, and one of several lacks."""
    return "distances, " if getattr(model, "nearest_decides_", True) else ""


def _write_onnx(model: Any, options: argparse.Namespace) -> None:
    from protolearn.export.model_file import write_bytes
    from protolearn.export.onnx import OPSET, to_onnx

    try:
        content = to_onnx(model).SerializeToString()
    except ImportError as error:
        raise JobError(str(error)) from None
    write_bytes(options.out, content)
    print(f"{options.out}: {len(content)} bytes, opset {OPSET}, input X, outputs label and probabilities")


def _write_json(model: Any, options: argparse.Namespace) -> None:
    from protolearn.export.model_file import FORMAT, VERSION, save

    save(model, options.out)
    print(f"{options.out}: {FORMAT}, version {VERSION}")


_WRITERS = {"c": _write_c, "js": _write_js, "python": _write_python, "onnx": _write_onnx, "json": _write_json}
