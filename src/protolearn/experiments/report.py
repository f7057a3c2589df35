"""Sections of docs/fidelity.md, each replaced by the command that makes it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import scipy
import sklearn


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def provenance(command: str) -> str:
    """The command that makes a section, and where it was last run."""
    return (
        f"Made by `{command}` with Python {platform.python_version()}, numpy {np.__version__}, scipy "
        f"{scipy.__version__}, scikit-learn {sklearn.__version__}, on {os.cpu_count()} cores ({platform.machine()})."
    )


def write_section(path: Path, name: str, text: str) -> None:
    """Put `text` between the marks of section `name`, or at the end of the file; written whole or not at all."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    block = f"{begin}\n{text.strip()}\n{end}\n"
    old = path.read_text(encoding="utf-8") if path.exists() else "# Fidelity: our figures beside the published ones\n"
    if begin in old and end in old:
        head, _, rest = old.partition(begin)
        tail = rest.partition(end)[2].lstrip("\n")
        new = head + block + ("\n" + tail if tail else "")
    else:
        new = old.rstrip("\n") + "\n\n" + block
    temporary = path.with_suffix(".tmp")
    temporary.write_text(new, encoding="utf-8")
    temporary.replace(path)
