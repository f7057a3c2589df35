"""`protolearn compile`: everything that numba compiles, now instead of at first use."""

from __future__ import annotations

import argparse
import pkgutil
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module

from protolearn.cli import JobError
from protolearn.cli.console import Progress

# Estimators whose loops have no signature of their own.
_WITH_LAZY_LOOPS = ("LVQ1", "LMNN", "LaMaLVQ")


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "compile",
        help="compile every function now, so that no first use waits for it",
        description="Compile every function for float32 and float64 into numba's cache on disk, for images of "
        "containers, installers and first use on a device. What is in the cache already is left as it is.",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compile what is missing and say how long it took."""
    tasks = every_task()
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            with Progress("compiling", total=len(tasks)) as progress:
                for task in tasks:
                    task()
                    progress.advance(1)
    except RuntimeWarning as warning:
        raise JobError(str(warning)) from None
    except KeyboardInterrupt:
        raise JobError("interrupted; what is compiled stays, and the same command goes on with the rest.") from None
    print(f"{len(tasks)} functions compiled for float32 or float64 in {time.perf_counter() - begin:.1f} s.")
    return 0


def every_task() -> list[Callable[[], object]]:
    """One call for each kernel and number type, and one for each estimator whose loops have no signature of their own.

    A call loads what is in the cache, and compiles the rest.
    """
    import protolearn
    from protolearn.core.jit import Kernel

    for module in pkgutil.walk_packages(protolearn.__path__, "protolearn."):
        # The optional parts import what may not be installed, and compile nothing.
        if module.name.split(".")[1] in {"losses", "metrics", "solvers", "reduction", "data", "estimators"}:
            import_module(module.name)
    numbers = ("float32", "float64")
    kernels = [partial(kernel.of, number) for kernel in Kernel.known for number in numbers]
    return [*kernels, *(partial(_fit_small, name, number) for name in _WITH_LAZY_LOOPS for number in numbers)]


def _fit_small(name: str, number: str) -> None:
    import numpy as np

    import protolearn

    X = np.random.default_rng(0).normal(size=(40, 3)).astype(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(protolearn, name)().fit(X, np.arange(40) % 2)
