"""Rows made by several processes."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from joblib import Parallel

from protolearn.interrupts import deaf_children


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
