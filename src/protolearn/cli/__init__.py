"""The command `protolearn`: one command, one file, which imports what it needs when it runs."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

import protolearn

COMMANDS = ("fit", "predict", "explain", "compare", "compress", "export", "methods", "demo", "compile", "completion")


class UsageError(Exception):
    """Wrong use, found after the arguments were read: exit code 2."""


class JobError(Exception):
    """A job that failed for a reason the user can do something about: exit code 1."""


def parser() -> argparse.ArgumentParser:
    """All commands and their arguments."""
    found = argparse.ArgumentParser(
        prog="protolearn", description="A few learned prototypes instead of the whole training set."
    )
    found.add_argument("--version", action="version", version=f"protolearn {protolearn.__version__}")
    commands = found.add_subparsers(dest="command", required=True, metavar="command")
    for name in COMMANDS:
        import_module(f"protolearn.cli.{name}").add(commands)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns its exit code: 0, 1 for a failed job, 2 for wrong use."""
    options = parser().parse_args(arguments)
    options.given = sys.argv[1:] if arguments is None else arguments
    return carry_out(options)


def carry_out(options: argparse.Namespace) -> int:
    """Run the command of parsed arguments; errors that a user can mend end in one sentence and an exit code."""
    try:
        return options.run(options)
    except KeyboardInterrupt:
        return _failed("interrupted.", 1)
    except UsageError as error:
        return _failed(str(error), 2)
    except JobError as error:
        return _failed(str(error), 1)
    except BrokenPipeError:
        # The reader of our output, such as `head`, has seen enough; Python must not complain when it closes stdout.
        sys.stdout = None
        return 0
    except (OSError, ValueError) as error:
        # Libraries and our own parts say in a ValueError what is wrong with the data or a setting.
        return _failed(" ".join(str(error).split()), 1)
    except MemoryError:
        return _failed("out of memory; take part of the rows.", 1)


def _failed(message: str, code: int) -> int:
    print(f"protolearn: {message}", file=sys.stderr)
    return code
