"""The command `protolearn`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import protolearn


def _demo(options: argparse.Namespace) -> int:
    from protolearn import demo

    if not options.picture.parent.is_dir():
        print(f"protolearn: there is no folder {options.picture.parent}; make it first.", file=sys.stderr)
        return 2
    demo.run(options.picture)
    return 0


def _methods(options: argparse.Namespace) -> int:
    for name in sorted(protolearn.__all__, key=str.lower):
        print(f"{name:20} {(getattr(protolearn, name).__doc__ or '').splitlines()[0]}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="protolearn", description=protolearn.__doc__)
    parser.add_argument("--version", action="version", version=f"protolearn {protolearn.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    demo = commands.add_parser("demo", help="a few prototypes against 1-NN on everything, on scikit-learn's digits")
    demo.add_argument("--picture", type=Path, default=Path("protolearn_demo.png"), help="where the picture goes")
    demo.set_defaults(run=_demo)
    methods = commands.add_parser("methods", help="the methods, one line each")
    methods.set_defaults(run=_methods)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns its exit code: 0, 1 for a failed job, 2 for wrong use."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print("protolearn: interrupted.", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"protolearn: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
