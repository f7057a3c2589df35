"""`protolearn demo`: the main job on data that comes with scikit-learn."""

from __future__ import annotations

import argparse
from pathlib import Path

from protolearn.cli import UsageError


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser("demo", help="50 prototypes beside k-NN, on scikit-learn's digits")
    command.add_argument("--picture", type=Path, default=Path("protolearn_demo.png"), help="where the picture goes")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table and save the picture."""
    from protolearn.cli import digits

    if not options.picture.parent.is_dir():
        raise UsageError(f"there is no folder {options.picture.parent}; make it first.")
    digits.run(options.picture)
    return 0
