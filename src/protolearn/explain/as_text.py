"""An explanation as text: the decision, who decides, what each column adds, what would have to change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isinf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protolearn.explain.explanation import Explanation

_MOST_COLUMNS = 12
_MOST_CHANGES = 6
_BAR = 16


def described(why: Explanation, head: str | None = None, table: Callable[..., str] | None = None) -> str:
    """An explanation as text.

    head : what its first line begins with; None for the class
    table : lays out rows of texts, as `aligned` does
    """
    head = (str(why.prediction) if head is None else head) + _sure(why)
    lines = [
        head,
        f"  nearest prototype  no. {why.prototype + 1} ({why.prediction}), squared distance {why.distance:.4g}"
        + _case(why.own_name, why.own_case),
        f"  nearest rival      no. {why.rival + 1} ({why.rival_label}), squared distance {why.rival_distance:.4g}"
        + _case(why.rival_name, why.rival_case),
    ]
    for one in why.outside:
        between = f"{short(one.low)} to {short(one.high)}"
        lines.append(f"  outside the training set: {one.column} is {short(one.value)}, and was {between}")
    lines.append("")
    shown = why.contributions[:_MOST_COLUMNS]
    largest = max(abs(part.contribution) for part in shown) or 1.0
    rows = [("column", "row", str(why.prediction), str(why.rival_label), "adds", "")]
    for part in shown:
        length = round(_BAR * abs(part.contribution) / largest)
        bar = ("+" if part.contribution > 0 else "-") * length
        values = (short(part.value), short(part.own), short(part.rival))
        rows.append((part.column, *values, f"{part.contribution:+.3f}", bar))
    if len(why.contributions) > _MOST_COLUMNS:
        rest = sum(part.contribution for part in why.contributions[_MOST_COLUMNS:])
        rows.append((f"{len(why.contributions) - _MOST_COLUMNS} more", "", "", "", f"{rest:+.3f}", ""))
    total = why.rival_distance - why.distance
    rows.append(("together", "", "", "", f"{total:+.3f}", "so much further is the rival"))
    lines.append((table or aligned)(rows, right=(False, True, True, True, True, False), strong=len(rows) - 1))
    return "\n".join([*lines, "", *_changes(why)])


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[bool], strong: int | None = None) -> str:
    """Rows of texts as columns, the first row as the head."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(right))]
    lines = [
        "  ".join(text.rjust(n) if flush else text.ljust(n) for text, n, flush in zip(row, widths, right, strict=True))
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def _sure(why: Explanation) -> str:
    if why.frequency is None:
        return f", certainty {why.certainty:.2f} of 1"
    right, of = why.frequency
    return f"; among rows like this, {right} of {of} are right"


def _case(name: str | None, row: int | None) -> str:
    if name is None and row is not None:
        name = f"row {row + 1}"
    return "" if name is None else f", most like {name} of the training set"


def _changes(why: Explanation) -> list[str]:
    lines = []
    if why.radius is not None and why.radius > 0:
        share = "however the numbers change" if isinf(why.radius) else _within(why.radius)
        lines.append(f"Certain: the decision stays {share}.")
    if not why.smallest_change and not why.single_changes:
        if why.is_least:
            return [*lines, "No change within the training set's ranges leads to another decision."]
        return [*lines, "No change was found within the training set's ranges that leads to another decision."]
    lines.append("Another decision needs")
    if why.smallest_change:
        shown = why.smallest_change[:_MOST_CHANGES]
        left = len(why.smallest_change) - len(shown)
        steps = [f"{change.column} {short(change.value)} -> {exact(change.border)}" for change in shown]
        steps += [f"{left} smaller changes"] if left else []
        least = "the least, together" if why.is_least else "as little as was found, together"
        lines.append(f"  {least}: {', '.join(steps)}; then {shown[0].leads_to}")
    for change in why.single_changes[:_MOST_CHANGES]:
        lines.append(f"  or alone: {change.column} {_condition(change.value, change.border)}; then {change.leads_to}")
    if not why.single_changes and len(why.smallest_change) > 1:
        lines.append("  no single column alone would change it")
    return lines


def _within(radius: float) -> str:
    return f"while no number changes by more than {100 * radius:.2g} % of its range in the training set"


def _condition(value: Any, border: Any) -> str:
    if isinstance(border, str | int) or isinstance(value, str | None):
        return f"{short(value)} -> {short(border)}"
    return f"{'above' if border > value else 'below'} {short(border)}"


def exact(value: Any) -> str:
    """A value as it must be typed."""
    return f"{value:.10g}" if isinstance(value, int | float) and not isinstance(value, bool) else short(value)


def short(value: Any) -> str:
    """A value in few characters."""
    if value is None:
        return "missing"
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
