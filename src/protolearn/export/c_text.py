"""Names, comments, texts and numbers as C99 writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

# Below this a float32 has fewer digits than its 24 bits, and some processors take it for 0 anyway.
_SMALLEST = float(np.finfo(np.float32).tiny)
_LINE = 110

# What a function of the header returns for a row without a class.
NO_CLASS = "$_N_CLASSES, no class, where an input that counts is NaN, infinite or too large to square"


def identifier(path: Any) -> str:
    """A prefix for the names in a header, from the name of its file."""
    name = re.sub(r"[^a-z0-9]+", "_", Path(path).stem.lower()).strip("_")
    return name if name and name[0].isalpha() else f"model_{name}".rstrip("_")


def constant(text: str) -> str:
    """A part of the name of a constant, from the name of an input."""
    return re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")


def comment(text: str) -> str:
    """A text that cannot end a comment: printable ASCII without backslashes, and no mark of its end."""
    plain = "".join(c if " " <= c <= "~" and c not in "\\?@$" else "." for c in text)
    return plain.replace("*/", "* /").replace("/*", "/ *")


def string(text: str) -> str:
    """A string literal of the text in UTF-8: what C, or the marks of our own templates, could misread in octal."""
    safe = set(range(32, 127)) - {ord(c) for c in '"\\?@$'}
    return '"' + "".join(chr(b) if b in safe else f"\\{b:03o}" for b in text.encode("utf-8")) + '"'


def float32(value: float) -> str:
    """A float literal, shortest that reads back the same."""
    with np.errstate(over="ignore"):
        number = np.float32(0.0 if abs(value) < _SMALLEST else value)
    if not np.isfinite(number):
        raise ValueError(f"The number {value:g} of the model does not fit float32; scale the features first.")
    text = str(number)
    return (text if "." in text or "e" in text else f"{text}.0") + "f"


def number(value: Any, kind: str) -> str:
    """A literal of a C type."""
    return float32(float(value)) if kind == "float" else str(int(value))


def table(name: str, kind: str, values: np.ndarray, space: str) -> str:
    """A constant array in program memory, rows in braces."""
    sizes = "".join(f"[{n}]" for n in values.shape)
    return f"static const {kind} {name}{sizes} {space} = {_braces(values, kind, 1)};\n"


def _braces(values: np.ndarray, kind: str, depth: int) -> str:
    if values.ndim > 1:
        indent = " " * depth
        return "{\n" + ",\n".join(indent + _braces(part, kind, depth + 1) for part in values) + "}"
    return "{" + wrapped((number(value, kind) for value in values), depth + 1) + "}"


def wrapped(words: Iterable[str], indent: int) -> str:
    """Words with commas between them, in lines."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) + 2 > _LINE:
            lines.append(line + ",")
            line = word
        else:
            line = f"{line}, {word}" if line else word
    return ("\n" + " " * indent).join([*lines, line])
