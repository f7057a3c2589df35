"""`protolearn compile`: everything that numba compiles, now instead of at first use."""

from __future__ import annotations

import argparse
import sys

from protolearn.cli import JobError, UsageError
from protolearn.cli.console import Progress


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "compile",
        help="compile every function now, so that no first use waits for it",
        description="Compile every function for float32 and float64 into numba's cache on disk, for images of "
        "containers, installers and first use on a device. What is in the cache already is left as it is.",
    )
    command.add_argument("--jobs", type=int, metavar="J", help="processes (default: the cores available)")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compile what is missing and say where it is."""
    if options.jobs is not None and options.jobs < 1:
        raise UsageError("--jobs must be at least 1.")
    from protolearn.compiling import CannotCompile, compile_everything
    from protolearn.threads import n_threads

    shown = _Share()
    # Objects of LLVM's that Ctrl-C left half made complain when they are cleared away, which may be at the very end.
    complain, sys.unraisablehook = sys.unraisablehook, lambda complaint: None
    try:
        with shown.progress:
            found = compile_everything(n_threads() if options.jobs is None else options.jobs, watch=shown.reach)
    except CannotCompile as error:
        raise JobError(str(error)) from None
    except KeyboardInterrupt:
        raise JobError("interrupted; what is compiled stays, and the same command goes on with the rest.") from None
    sys.unraisablehook = complain
    if found.n_compiled:
        print(f"{found.n_compiled} functions compiled for float32 and float64 in {found.seconds:.1f} s: {found.folder}")
    else:
        print(f"Every function was compiled already, for float32 and float64: {found.folder}")
    return 0


class _Share:
    """The progress, from shares of the whole."""

    def __init__(self) -> None:
        self.progress = Progress("compiling", total=1.0)
        self.done = 0.0

    def reach(self, share: float) -> None:
        """So much is done by now."""
        self.progress.advance(share - self.done)
        self.done = share
