"""Rows made by several processes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import Parallel


def in_processes(tasks: Iterable[Any], n_tasks: int, jobs: int) -> Generator[Any, None, None]:
    """What each task of `joblib.delayed` returns, in order; to close it ends the tasks that run.

    No backend is named: joblib's processes, or what `joblib.parallel_config` says around the call (a Dask cluster).
    """
    parallel = Parallel(min(jobs, n_tasks) or 1, return_as="generator", batch_size=1, pre_dispatch="2*n_jobs")
    with deaf_children():
        results = parallel(tasks)
    try:
        yield from results
    finally:
        results.close()


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started meanwhile do not hear Ctrl-C, which a terminal sends to all: this one ends them.

    One that hears it prints a traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
