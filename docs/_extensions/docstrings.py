"""Docstrings as pages: formulas stand as they are written, and each method names its paper."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from protolearn.cli.methods import PAPERS

SECTION = re.compile(r"-{3,}$")
LISTED = re.compile(r"^(?:[^<\n]*<)?(?:\.\./)?([\w-]+)>?$", re.MULTILINE)
ENTRY = re.compile(r"([a-zA-Z_][\w, ]*) : (.+)$")


def literal_formulas(lines: list[str]) -> list[str]:
    """Turn each indented block of the text before the first section into a literal block."""
    end = next((i - 1 for i, line in enumerate(lines) if SECTION.match(line)), len(lines))
    found: list[str] = []
    inside = False
    for i, line in enumerate(lines[:end]):
        indented = line.startswith("    ") and bool(line.strip())
        begins = indented and not inside and i > 0 and not lines[i - 1].strip()
        before = next((text for text in reversed(lines[:i]) if text.strip()), "")
        if begins and not before.lstrip().startswith(("-", "*", "..")) and not before.endswith("::"):
            found += ["::", ""]
        inside = indented or (inside and not line.strip())
        # The number of an equation stands far to the right in the source; on a page it would be out of sight.
        found.append(re.sub(r"([=<].*\S) {4,}(?=\S)", r"\1    ", line) if indented else escaped(line))
    return found + [escaped(line) for line in lines[end:]]


def definitions(lines: list[str]) -> list[str]:
    """Turn paragraphs of lines "name : what it is" into definition lists, as the sections of numpydoc have them."""
    found: list[str] = []
    for i, line in enumerate(lines):
        entry = ENTRY.match(line)
        before = lines[i - 1] if i else ""
        after_entry = not before.strip() or before.startswith("    ") or ENTRY.match(before)
        if entry and after_entry and not any(SECTION.match(other) for other in lines[: i + 1]):
            found += ["", f"``{entry[1]}``", "    " + entry[2]]
        else:
            found.append(line)
    return found


def label(reference: str) -> str:
    """The label of a paper on the page of papers: "Hart 1968" is at "hart-1968"."""
    return re.sub(r"[^a-z0-9]+", "-", reference.lower()).strip("-")


def escaped(line: str) -> str:
    """A line of text in which |x| is a length and no substitution of reStructuredText."""
    if "`" in line or ">>>" in line:
        return line
    return re.sub(r"\|(?=\S)([^|]*\S)\|", r"\\|\1\\|", line)


def gallery_order(file: str) -> tuple[int, str]:
    """The place of an example in its part of the gallery: the first picture first."""
    return int("moons" not in file), file


# Pages that stand at the root of the repository, where GitHub looks for them, and their places on the site.
AT_THE_ROOT = {
    "CONTRIBUTING.md": "develop/contributing.md",
    "CHANGELOG.md": "develop/changes.md",
    "reproduction/README.md": "develop/reproduction.md",
}


def unlisted() -> list[str]:
    """Pages beside conf.py that no index lists, so that a new page is on the site at once."""
    here = Path(__file__).parents[1]
    indexes = [here / "index.md", *here.glob("*/*.md")]
    listed = {found for path in indexes for found in re.findall(LISTED, path.read_text(encoding="utf-8"))}
    return sorted({path.stem for path in here.glob("*.md")} - listed - {"index", "papers"})


def linked(app: Any, name: str, source: list[str]) -> None:
    """Called for each page: links to pages at the root lead to their places; the guide lists what no index lists."""
    # doctest needs the empty line at the end of a block; a page does not.
    source[0] = re.sub(r"(?ms)^(```py\w+\n(?:(?!^```).)*?\S)\n\n```$", r"\1\n```", source[0])
    up = "../" * (name.count("/") + 1)
    for page, place in AT_THE_ROOT.items():
        source[0] = source[0].replace(f"]({up}{page}", f"]({up[3:]}{place}")
    if name == "guide/index" and unlisted():
        source[0] += "\n".join(
            ["", "```{toctree}", ":caption: More", "", *(f"../{page}" for page in unlisted()), "```", ""]
        )


def improve(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Called by autodoc for each docstring, before numpydoc."""
    if not name.startswith("protolearn"):
        return
    lines[:] = definitions(literal_formulas(lines))
    reference = PAPERS.get(name.rpartition(".")[2], "") if what == "class" else ""
    if reference:
        end = next((i - 1 for i, line in enumerate(lines) if SECTION.match(line)), len(lines))
        lines[end:end] = ["", f"Paper: :ref:`{reference} <{label(reference)}>`.", ""]


def ours(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn documents on its own site."""
    function = inspect.unwrap(obj) if callable(obj) else getattr(obj, "fget", obj)
    module = getattr(function, "__module__", None) or ""
    if what == "class" and callable(obj) and not module.startswith("protolearn"):
        return True
    return None


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", improve, priority=100)
    app.connect("autodoc-skip-member", ours)
    app.connect("source-read", linked)
    return {"parallel_read_safe": True}
