"""Self-contained HTML pages: one file, no network, light and dark, legible on a phone, everything escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

_CSS = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --paper: #ffffff; --panel: #f4f6f9; --line: #d5dbe3;
  --accent: #0b63b5; --good: #12703f; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a3afbf; --paper: #14181e; --panel: #1d232c;
  --line: #38424f; --accent: #7cb8f5; --good: #6fcf97; --bad: #ff8a80; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: break-word; }
main, header, footer { max-width: 70rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; }
section { min-width: 0; }
@media (min-width: 62rem) {
  .pair table.wrap td { white-space: nowrap; }
  .pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); column-gap: 2.5rem; align-items: start; }
}
.parts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); column-gap: 2rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .5rem; padding-top: .8rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0 0 .3rem; }
p { margin: .4rem 0; max-width: 46rem; }
.soft { color: var(--soft); font-size: .92rem; }
.lead { font-size: 1.1rem; }
nav ul { list-style: none; padding: 0; margin: 1rem 0 0; display: flex; flex-wrap: wrap; gap: .35rem; }
nav a { display: block; padding: .15rem .6rem; border: 1px solid var(--line); border-radius: 1rem; font-size: .88rem;
  text-decoration: none; }
a { color: var(--accent); }
a:focus-visible, button:focus-visible, input:focus-visible, select:focus-visible, .scroll:focus-visible,
summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.scroll { overflow-x: auto; margin: .6rem 0; max-width: 100%; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); font-size: .88rem; padding-bottom: .3rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
td.number { white-space: pre; }
table.wrap td.number { white-space: normal; }
.card table, #try-why table { width: 100%; }
.card th[scope=row], #try-why th[scope=row] { font-weight: 400; }
.bars { max-width: 40rem; }
.card th, .card td { padding: .15rem .35rem; }
th[scope=row] { font-weight: 600; }
.number { text-align: right; }
@media (max-width: 40rem) { th, td { padding: .25rem .2rem; } table { font-size: .8rem; }
  table.wrap { width: 100%; } }
tr.own { background: var(--panel); }
figure { margin: .8rem 0; }
figure svg { display: block; width: 100%; height: auto; max-width: 38rem; }
figure.wide svg { max-width: 56rem; min-width: 34rem; }
figure.small svg { max-width: 30rem; }
figcaption { color: var(--soft); font-size: .88rem; max-width: 46rem; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem;
  overflow-x: auto; font-size: .88rem; line-height: 1.45; white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-family: ui-monospace, "SF Mono", Consolas, "DejaVu Sans Mono", monospace; }
.cards { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 27rem), 1fr)); }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem; background: var(--panel);
  min-width: 0; break-inside: avoid; }
.card p { margin: .25rem 0; font-size: .92rem; }
.right { color: var(--good); } .wrong { color: var(--bad); }
.bar { display: grid; grid-template-columns: minmax(0, 3fr) minmax(4rem, 2fr) 3.2rem; gap: .5rem; align-items: center;
  font-size: .85rem; padding: .1rem 0; }
.bar span:first-child { overflow-wrap: anywhere; } .bar .number { white-space: nowrap; }
.bar svg { width: 100%; height: .7rem; display: block; }
form { display: grid; gap: .6rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 9.5rem), 1fr));
  align-items: end; margin: .6rem 0; }
form label { display: block; font-size: .85rem; min-width: 0; }
form input, form select, button { width: 100%; font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--line); border-radius: .35rem; padding: .35rem .5rem; min-height: 2.4rem; }
button { cursor: pointer; background: var(--panel); }
form label.odd { color: var(--bad); font-weight: 600; }
output { display: block; font-size: 1.05rem; min-height: 1.6rem; }
footer { margin: 3rem auto 2rem; color: var(--soft); font-size: .85rem; }
@media print { nav, .screen { display: none; } body { font-size: 10.5pt; } h2 { break-after: avoid; }
  figure, .card, table { break-inside: avoid; } .scroll { overflow: visible; }
  figure.wide svg { min-width: 0; } :root { --ink: #000; --paper: #fff; --panel: #fff; --soft: #333; --line: #999; } }
"""


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; `name` is the address within the page.

    whole : over the whole width; else the sections that follow each other stand side by side where there is room
    """

    name: str
    title: str
    body: str
    whole: bool = True


def text(value: Any) -> str:
    """Anything as HTML text; control characters, which HTML does not allow, as the replacement character."""
    shown = "".join(letter if letter.isprintable() or letter in "\n\t\u00a0" else "\ufffd" for letter in str(value))
    return escape(shown, quote=True)


def name(value: Any) -> str:
    """The name of a column as HTML, which may break after its underscores, not within a word or a number."""
    return re.sub(r"(?<=\w)([_/=]|(?<=[^\W\d])\.)(?=\w)", r"\1<wbr>", text(value))


def paragraph(sentence: str, kind: str = "") -> str:
    """A paragraph of plain text; `...` is code."""
    return f"<p{_class(kind)}>{_with_code(sentence)}</p>"


def pair(first: str, second: str) -> str:
    """Two pieces of HTML, side by side where there is room."""
    return f'<div class="pair"><div>{first}</div><div>{second}</div></div>'


def code(lines: str) -> str:
    """A block of code."""
    return f'<pre tabindex="0"><code>{text(lines)}</code></pre>'


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str,
    own: int | None = None,
    columns: int = 1,
    wrap: bool = False,
) -> str:
    """A table that scrolls inside itself; the first `columns` columns are texts, the others numbers.

    own : number of the row that stands out
    wrap : whether cells may break between words, so that the whole table fits a phone
    """
    kinds = ["number" if place >= columns else "" for place in range(len(header))]
    head = "".join(f'<th scope="col"{_class(kind)}>{text(h)}</th>' for kind, h in zip(kinds, header, strict=True))
    lines = []
    for number, row in enumerate(rows):
        first, *rest = row
        cells = [f'<th scope="row">{name(first)}</th>']
        cells += [f"<td{_class(kind)}>{text(cell)}</td>" for kind, cell in zip(kinds[1:], rest, strict=True)]
        lines.append(f"<tr{_class('own' if number == own else '')}>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">'
        f"<table{_class('wrap' if wrap else '')}><caption>{_with_code(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def figure(picture: str, caption: str, kind: str = "") -> str:
    """A picture (SVG) with its caption; wide ones scroll inside."""
    if kind == "wide":
        picture = f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">{picture}</div>'
    return f"<figure{_class(kind)}>{picture}<figcaption>{_with_code(caption)}</figcaption></figure>"


def page(title: str, lead: str, sections: Sequence[Section], *, footer: str, script: str = "") -> str:
    """The whole file.

    lead : HTML under the title
    script : JavaScript module; no other script may run on the page, whatever a label says
    """
    links = "".join(f'<li><a href="#{section.name}">{text(section.title)}</a></li>' for section in sections)
    parts: list[str] = []
    for whole, together in groupby(sections, key=lambda section: section.whole):
        shown = "\n".join(
            f'<section id="{section.name}" aria-labelledby="{section.name}-title">'
            f'<h2 id="{section.name}-title">{text(section.title)}</h2>\n{section.body}</section>'
            for section in together
        )
        parts.append(shown if whole else f'<div class="parts">{shown}</div>')
    body = "\n".join(parts)
    allowed = "'none'"
    if script:
        allowed = "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}; base-uri 'none'; "
        "form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{text(title)}</title>
<link rel="icon" href="data:,">
<style>{_CSS}</style>
</head>
<body>
<header>
<h1>{text(title)}</h1>
{lead}
<nav aria-label="Sections"><ul>{links}</ul></nav>
</header>
<main>
{body}
</main>
<footer>{text(footer)}</footer>
{f'<script type="module">{script}</script>' if script else ""}
</body>
</html>
"""


def _with_code(sentence: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", text(sentence))


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
