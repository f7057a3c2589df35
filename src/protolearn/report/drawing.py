"""A plot as an SVG that stands inside a page and takes its colour of text, so that it is legible in light and dark."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

from protolearn.report.page import text

# Stands for the page's colour of text while matplotlib draws, and is then replaced by it.
_INK = "#010203"
_STYLE: dict[Any, Any] = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor"), _INK),
    **dict.fromkeys(("xtick.color", "ytick.color", "xtick.labelcolor", "ytick.labelcolor", "grid.color"), _INK),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor", "legend.facecolor"), "none"),
    "font.family": "sans-serif",
    "font.size": 10.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "protolearn",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(name: str, plot: Callable[[Any], Any], alternative: str, *, width: float = 5.2, height: float = 3.6) -> str:
    """Draw on new axes and return the SVG.

    Parameters
    ----------
    name : put before all identifiers of the SVG, which several pictures on a page would share
    plot : takes an axes and draws on it
    alternative : what the picture shows, for those who do not see it
    width, height : in inches; 5.2 makes texts of 10 points legible on a phone
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # A name in letters that the font lacks: the reader's browser has them.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        drawing = Figure(figsize=(width, height), layout="constrained")
        plot(drawing.add_subplot())
        file = io.StringIO()
        drawing.savefig(
            file, format="svg", dpi=200, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return _inline(file.getvalue(), name, alternative)


def _inline(svg: str, name: str, alternative: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace(_INK, "currentColor")
    svg = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'(xlink:href="|url\()#', rf"\1#{name}-", svg)
    head, rest = svg.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    title = text(alternative)
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f'<svg {space} {box.group()} role="img" aria-label="{title}"><title>{title}</title>{rest}'
