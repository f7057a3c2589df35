"""`protolearn explain`: why a row is classified as it is."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from protolearn.cli import UsageError
from protolearn.cli.console import emphasised, notes, table
from protolearn.cli.inputs import add_reading, load_model, rows_for

if TYPE_CHECKING:
    from protolearn.explain import Counterfactual


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
        from protolearn.explain.as_text import described

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
    texts = [
        described(why, emphasised(f"Row {number}: {why.prediction}"), table)
        for number, why in zip(wanted, explanations, strict=True)
    ]
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
