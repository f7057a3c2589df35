"""`protolearn explain`: why a row is classified as it is."""

from __future__ import annotations

import argparse
import json
from math import isinf
from typing import TYPE_CHECKING, Any

from protolearn.cli import UsageError
from protolearn.cli.console import emphasised, notes, table
from protolearn.cli.inputs import add_reading, load_model, rows_for

if TYPE_CHECKING:
    from protolearn.explain import Counterfactual, Explanation

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
    wanted = command.add_argument_group("the nearest row that gets another class, within these limits")
    wanted.add_argument("--to", metavar="CLASS", help="the class wanted; by default the nearest other one")
    for name, what in (
        ("--fixed", "that do not change"),
        ("--only-up", "that may only grow"),
        ("--only-down", "that may only fall"),
    ):
        wanted.add_argument(name, default="", metavar="COLUMNS", help=f"columns {what}: a,b,c")
    wanted.add_argument("--fewest", action="store_true", help="change as few columns as possible")
    wanted.add_argument("--answers", type=int, metavar="N", help="so many different rows (default 1)")
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
        explanations = explain(model, _some(rows, indices))
        answers = [_answers(model, _some(rows, [k]), options) for k in indices]
    if options.json:
        found = [
            {"row": number, **why.as_dict(), "counterfactuals": [one.as_dict() for one in some]}
            for number, why, some in zip(wanted, explanations, answers, strict=True)
        ]
        print(json.dumps(found[0] if len(found) == 1 else found, indent=1))
        return 0
    texts = [described(number, why) for number, why in zip(wanted, explanations, strict=True)]
    texts = ["\n".join([text, *map(_answered, some)]) for text, some in zip(texts, answers, strict=True)]
    print("\n\n".join(texts))
    return 0


def _some(rows: Any, indices: list[int]) -> Any:
    return rows.iloc[indices] if hasattr(rows, "iloc") else rows[indices]


def _answers(model: Any, row: Any, options: argparse.Namespace) -> list[Counterfactual]:
    """What the limits of the command line ask for; nothing where it has none."""
    names = {key: _names(getattr(options, key)) for key in ("fixed", "only_up", "only_down")}
    if not (options.to or options.fewest or options.answers or any(names.values())):
        return []
    from protolearn.explain import counterfactual

    known = [label for label in model.classes_ if str(label) == options.to]
    to = None if options.to is None else (known or [options.to])[0]
    return counterfactual(model, row, to=to, fewest=options.fewest, count=options.answers or 1, **names)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _answered(found: Counterfactual) -> str:
    return str(found) if not found else f"Within these limits: {found}"


def described(number: int, why: Explanation) -> str:
    """An explanation as text."""
    head = emphasised(f"Row {number}: {why.prediction}") + f", certainty {why.certainty:.2f} of 1"
    lines = [
        head,
        f"  nearest prototype  no. {why.prototype + 1} ({why.prediction}), squared distance {why.distance:.4g}"
        + _case(why.own_case),
        f"  nearest rival      no. {why.rival + 1} ({why.rival_label}), squared distance {why.rival_distance:.4g}"
        + _case(why.rival_case),
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
    lines.append(table(rows, right=(False, True, True, True, True, False), strong=len(rows) - 1))
    return "\n".join([*lines, "", *_changes(why)])


def _case(row: int | None) -> str:
    return "" if row is None else f", most like row {row + 1} of the training set"


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
