"""`protolearn explain`: why a row is classified as it is."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from protolearn.cli import UsageError
from protolearn.cli.console import emphasised, notes, table
from protolearn.cli.inputs import add_reading, load_model, rows_for

if TYPE_CHECKING:
    from protolearn.explain import Explanation

_MOST_COLUMNS = 12
_MOST_CHANGES = 6
_BAR = 16


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "explain",
        help="why a row is classified as it is",
        description="The prototypes that decide about a row, what each column adds, what would have to change.",
    )
    command.add_argument("model", metavar="MODEL", help="what `fit` or protolearn.save wrote")
    command.add_argument("data", metavar="DATA", help="a table with the columns of the training set; - for stdin")
    command.add_argument(
        "--row", type=int, action="append", metavar="N", help="which row, the first is 1 (default 1; repeatable)"
    )
    command.add_argument("--json", action="store_true", help="everything as JSON, one object a row")
    add_reading(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the explanations."""
    model = load_model(options.model)
    with notes():
        rows = rows_for(model, options.data, options)
        wanted = options.row or [1]
        for number in wanted:
            if not 1 <= number <= len(rows):
                raise UsageError(f"{options.data} has rows 1 to {len(rows)}; there is no row {number}.")
        from protolearn.explain import explain

        indices = [number - 1 for number in wanted]
        explanations = explain(model, rows.iloc[indices] if hasattr(rows, "iloc") else rows[indices])
    if options.json:
        found = [{"row": number, **why.as_dict()} for number, why in zip(wanted, explanations, strict=True)]
        print(json.dumps(found[0] if len(found) == 1 else found, indent=1))
        return 0
    print("\n\n".join(described(number, why) for number, why in zip(wanted, explanations, strict=True)))
    return 0


def described(number: int, why: Explanation) -> str:
    """An explanation as text."""
    head = emphasised(f"Row {number}: {why.prediction}") + f", certainty {why.certainty:.2f} of 1"
    lines = [
        head,
        f"  nearest prototype  no. {why.prototype + 1} ({why.prediction}), squared distance {why.distance:.4g}",
        f"  nearest rival      no. {why.rival + 1} ({why.rival_label}), squared distance {why.rival_distance:.4g}",
        "",
    ]
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
    lines.append(table(rows, right=(False, True, True, True, True, False), strong=len(rows) - 1))
    return "\n".join([*lines, "", *_changes(why)])


def _changes(why: Explanation) -> list[str]:
    if not why.smallest_change and not why.single_changes:
        return ["No change of numbers or of one category alone leads to another decision."]
    lines = ["Another decision needs"]
    if why.smallest_change:
        shown = why.smallest_change[:_MOST_CHANGES]
        left = len(why.smallest_change) - len(shown)
        steps = [f"{change.column} {short(change.value)} -> {short(change.border)}" for change in shown]
        steps += [f"{left} smaller changes"] if left else []
        lines.append(f"  the least, together: {', '.join(steps)}; then {shown[0].leads_to}")
    for change in why.single_changes[:_MOST_CHANGES]:
        lines.append(f"  or alone: {change.column} {_condition(change.value, change.border)}; then {change.leads_to}")
    return lines


def _condition(value: Any, border: Any) -> str:
    if isinstance(border, str) or isinstance(value, str | None):
        return f"{short(value)} -> {short(border)}"
    return f"{'above' if border > value else 'below'} {short(border)}"


def short(value: Any) -> str:
    """A value in few characters."""
    if value is None:
        return "missing"
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
