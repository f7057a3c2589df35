"""`protolearn methods`: the methods, one line each."""

from __future__ import annotations

import argparse

import protolearn


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser("methods", help="the methods, one line each")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    for name in sorted(protolearn.__all__, key=str.lower):
        print(f"{name:20} {(getattr(protolearn, name).__doc__ or '').splitlines()[0]}")
    return 0
