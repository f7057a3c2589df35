"""The rows of which a model is least certain, each explained on a card of the report."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.data.containers import rows_of
from protolearn.explain.explanation import Change, Contribution, Explanation, certainty, explain
from protolearn.report.page import name, paragraph, text
from protolearn.report.source import Source

_ROWS = 10
_COLUMNS = 4
# Of more columns a change of many together is no answer, and long to find.
_MOST_CHANGED = 30


def uncertain_rows(model: Any, X: Any, y: Any, source: Source) -> str:
    """The HTML of the cards.

    Parameters
    ----------
    model : fitted classifier with prototypes, or a pipeline ending in one
    X, y : raw rows and their labels
    source : names the rows
    """
    rows = np.argsort(certainty(model, X), kind="stable")[:_ROWS]
    found = explain(model, rows_of(X, rows))
    labels = np.asarray(y)[rows].tolist()
    cards = "".join(
        _card(source.test_row(int(row)), why, label) for row, why, label in zip(rows, found, labels, strict=True)
    )
    about = (
        f"The {len(rows)} test rows nearest to a border between two classes, each with the {_COLUMNS} columns that say "
        f"most. Green bars speak for the class given, red bars for its "
        f"rival; beside them stands the share of what all columns say. {source.about_rows}"
    )
    return paragraph(about) + f'<div class="cards">{cards}</div>'


def _card(row: str, why: Explanation, true: Any) -> str:
    right = why.prediction == true
    verdict = '<span class="right">right</span>' if right else f'<span class="wrong">wrong: it is {text(true)}</span>'
    shown = why.contributions[:_COLUMNS]
    largest = max((abs(part.contribution) for part in shown), default=0.0) or 1.0
    total = sum(abs(part.contribution) for part in why.contributions) or 1.0
    bars = "".join(_bar(part, part.contribution / largest, part.contribution / total) for part in shown)
    return (
        f'<article class="card"><h3>{text(row[:1].upper() + row[1:])}: {text(why.prediction)} ({verdict})</h3>'
        f"<p>It is like prototype {why.prototype + 1} ({text(why.prediction)}), and nearly as like prototype "
        f"{why.rival + 1} ({text(why.rival_label)}).</p>{bars}{_change(why)}</article>"
    )


def _bar(part: Contribution, length: float, share: float) -> str:
    left, width = (50.0, 50 * length) if length >= 0 else (50 + 50 * length, -50 * length)
    colour = "var(--good)" if length >= 0 else "var(--bad)"
    told = f"{part.column} =\u00a0{_value(part.value)}"
    return (
        f'<div class="bar"><span>{name(told)}</span>'
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect x="{left:.1f}" y="1" width="{max(width, 0.5):.1f}" height="8" style="fill:{colour}"/>'
        '<rect x="49.8" y="0" width="0.4" height="10" fill="currentColor"/></svg>'
        f'<span class="number">{100 * share:+.0f}\u00a0%</span></div>'
    )


def _change(why: Explanation) -> str:
    if not why.single_changes:
        together = ""
        if len(why.contributions) <= _MOST_CHANGED:
            together = ", ".join(change.column for change in why.smallest_change[:3])
        if not together:
            return "<p>No change of one column alone leads to another class.</p>"
        return f"<p>No column alone leads to another class; {text(together)} together do.</p>"
    return f"<p>{_sentence(why.single_changes[0])}</p>"


def _sentence(change: Change) -> str:
    if isinstance(change.border, str):
        return f"It would be {text(change.leads_to)} with {text(change.column)} = {text(change.border)}."
    if change.value is None:
        return f"It would be {text(change.leads_to)} with {text(change.column)} = {_value(change.border)}."
    if isinstance(change.border, int):
        # The first whole number that changes the decision.
        side = "or more" if change.border > change.value else "or less"
        return (
            f"It would be {text(change.leads_to)} with {text(change.column)} {change.border} {side} "
            f"(now {change.value:.6g})."
        )
    # As many digits as it takes to tell the border from the value.
    digits = next((n for n in range(4, 17) if f"{change.border:.{n}g}" != f"{change.value:.{n}g}"), 17)
    side = "above" if change.border > change.value else "below"
    return (
        f"It would be {text(change.leads_to)} with {text(change.column)} {side} {change.border:.{digits}g} "
        f"(now {change.value:.{digits}g})."
    )


def _value(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
