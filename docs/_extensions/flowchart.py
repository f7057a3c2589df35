"""The flow chart of "Choosing a method": questions with a way down, answers that link to the page of a class."""

from __future__ import annotations

from typing import Any

# A question, and where "yes" leads: a class and why.
ROWS = (
    ("Should held-out rows choose everything?", (("AutoPrototypes", "held-out rows choose"),)),
    ("Must the stored rows be your own?", (("HartCondensing", "a subset that answers alike"),)),
    (
        "Do columns act together (pixels, spectra)?",
        (("GMLVQ", "one learned matrix"), ("LGMLVQ", "one for each class")),
    ),
    ("Are many columns noise?", (("GRLVQ", "a weight for each column"), ("LPD", "for each prototype"))),
    ("Are many labels wrong?", (("MCE", "an error counts once"), ("WilsonEditing", "drops such rows"))),
    ("Do you compare with Kohonen's rules?", (("LVQ1", "and LVQ2, LVQ3, OLVQ1"),)),
)
LAST = ("LOGM", "the method to begin with")
WIDTH, STEP, BOX, ANSWER, LEFT = 880, 92, 320, 210, 10


def page(name: str) -> str:
    """The page of a class."""
    return f"../reference/generated/protolearn.{name}.html"


def box(x: float, y: float, width: float, lines: tuple[str, ...], link: str | None) -> str:
    """A box with centred lines; with a link its first line leads to the page of a class."""
    shade = "var(--pst-color-surface)" if link is None else "var(--pst-color-background)"
    edge = "var(--pst-color-border)" if link is None else "var(--pst-color-primary)"
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="52" rx="6" fill="{shade}" stroke="{edge}"/>']
    for number, line in enumerate(lines):
        down = y + (32 if len(lines) == 1 else 23 + 18 * number)
        style = ' font-weight="bold"' if link and not number else ""
        words = f'<text x="{x + width / 2}" y="{down}" text-anchor="middle" fill="currentColor"{style}>{line}</text>'
        parts.append(f'<a href="{link}">{words}</a>' if link and not number else words)
    return "".join(parts)


def arrow(x1: float, y1: float, x2: float, y2: float, label: str, x: float, y: float) -> str:
    """A line with a head, and its label."""
    line = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="currentColor" marker-end="url(#head)"/>'
    return line + f'<text x="{x}" y="{y}" fill="currentColor" font-size="12" text-anchor="middle">{label}</text>'


def chart() -> str:
    """The whole picture as SVG."""
    height = STEP * len(ROWS) + 62
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-size="14" '
        'aria-label="Flow chart from questions about the data to a class">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>',
    ]
    for i, (question, answers) in enumerate(ROWS):
        y = 5 + STEP * i
        parts.append(box(LEFT, y, BOX, (question,), None))
        right = LEFT + BOX + 110
        parts.append(arrow(LEFT + BOX, y + 26, right - 2, y + 26, "yes", LEFT + BOX + 54, y + 20))
        parts.append(arrow(LEFT + BOX / 2, y + 52, LEFT + BOX / 2, y + STEP - 2, "no", LEFT + BOX / 2 + 14, y + 76))
        for k, (name, why) in enumerate(answers):
            parts.append(box(right + k * (ANSWER + 8), y, ANSWER, (name, why), page(name)))
    y = 5 + STEP * len(ROWS)
    parts.append(box(LEFT, y, BOX, LAST, page(LAST[0])))
    return "\n".join([*parts, "</svg>"])


def in_words() -> str:
    """The same as a list, for narrow screens."""
    items = [
        f"<li>{question}<br>yes: " + ", ".join(f'<a href="{page(name)}">{name}</a> ({why})' for name, why in answers)
        for question, answers in ROWS
    ]
    return f'<ol>{"".join(items)}<li>Else <a href="{page(LAST[0])}">{LAST[0]}</a>, {LAST[1]}</li></ol>'


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx, which brings docutils."""
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class FlowChart(Directive):
        """`{choosing}` puts the chart where it stands."""

        def run(self) -> list[nodes.Node]:
            """The chart as HTML."""
            return [nodes.raw("", f'<div class="flowchart">{chart()}{in_words()}</div>', format="html")]

    app.add_directive("choosing", FlowChart)
    return {"parallel_read_safe": True}
