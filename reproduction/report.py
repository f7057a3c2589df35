"""Sections of docs/fidelity.md, each replaced by the command that makes it."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class Beside:
    """A cell with a measured figure and the published one; None where there is none."""

    measured: float | None
    published: float | None
    digits: int = 2

    def __str__(self) -> str:
        if self.measured is None or self.published is None:
            return self.short()
        return f"{self.measured:.{self.digits}f} ({self.published:.{self.digits}f}, {self.difference})"

    @property
    def difference(self) -> str:
        """Measured minus published."""
        if self.measured is None or self.published is None:
            return ""
        return f"{self.measured - self.published:+.{self.digits}f}"

    def tall(self) -> str:
        """For a page: the measured figure above the other two."""
        return str(self).replace(" ", "\n", 1)

    def short(self) -> str:
        """For a terminal: the measured figure and the difference."""
        return "" if self.measured is None else f"{self.measured:.{self.digits}f} {self.difference}".rstrip()


@dataclass(frozen=True)
class Sheet:
    """A table with a caption; the first column names the rows."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | Beside, ...], ...]


@dataclass(frozen=True)
class Drawing:
    """A figure: `draw(ax)` draws it, `said` says in words what it shows; `name` is that of its file.

    height : in inches, of a figure 6 inches wide
    """

    name: str
    draw: Callable[[Any], Any]
    said: str
    height: float = 3.0


def beside(
    caption: str,
    datasets: Iterable[str],
    methods: Sequence[str],
    measured: Mapping[str, Mapping[str, float]],
    published: Mapping[str, Mapping[str, float]],
    *,
    first: str = "data set",
    digits: int = 2,
) -> Sheet:
    """Measured figures, in brackets the published ones and the differences; below, the means of complete columns.

    A figure that one side does not have is left out of its cell; a mean is over the rows where both sides have one.
    """
    names = list(datasets)
    rows: list[tuple[str | Beside, ...]] = [
        (name, *(Beside(measured.get(name, {}).get(m), published.get(name, {}).get(m), digits) for m in methods))
        for name in names
    ]
    means = [_mean([row[j + 1] for row in rows], digits) for j in range(len(methods))]
    if len(rows) > 1 and any(means):
        rows.append((f"mean of {len(names)}", *means))
    return Sheet(caption, (first, *methods), tuple(rows))


def _mean(cells: Sequence[Any], digits: int) -> str | Beside:
    pairs = [(c.measured, c.published) for c in cells if c.measured is not None and c.published is not None]
    if not pairs:
        return ""
    measured, published = np.mean(pairs, axis=0)
    return Beside(float(measured), float(published), digits)


Block = str | Sheet | Drawing
"""A paragraph, a table or a figure: what a section is made of, whatever it is printed on."""


def page_body(blocks: Iterable[Block], name: str) -> str:
    """Blocks as HTML; `name` is that of the section."""
    from protolearn.report import page
    from protolearn.report.drawing import draw

    parts = []
    for block in blocks:
        if isinstance(block, Sheet):
            rows = [[cell.tall() if isinstance(cell, Beside) else cell for cell in row] for row in block.rows]
            parts.append(page.table(block.header, rows, caption=block.caption))
        elif isinstance(block, Drawing):
            picture = draw(f"{name}-{block.name}", block.draw, block.said, height=block.height)
            parts.append(page.figure(picture, block.said))
        else:
            parts.append(page.paragraph(block.replace("**", "")))
    return "\n".join(parts)


def markdown(blocks: Iterable[Block], figures: Path) -> str:
    """Blocks as Markdown; figures are drawn into `figures`, a folder beside the file."""
    parts = []
    for block in blocks:
        if isinstance(block, Sheet):
            parts += [f"{block.caption}:", table(block.header, block.rows)]
        elif isinstance(block, Drawing):
            parts.append(f"![{block.said}]({figures.name}/{_drawn(block, figures).name})")
        else:
            parts.append(block)
    return "\n\n".join(parts)


def _drawn(drawing: Drawing, folder: Path) -> Path:
    from protolearn.report.fitted import new_axes

    folder.mkdir(parents=True, exist_ok=True)
    ax = new_axes(None, (6.0, drawing.height))
    # A drawing of several panels takes the place of the axes it is given.
    figure = ax.figure
    drawing.draw(ax)
    path = folder / f"{drawing.name}.png"
    figure.savefig(path, dpi=120, bbox_inches="tight")
    return path
