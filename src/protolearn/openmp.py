"""Threads of scikit-learn's compiled loops (OpenMP): when to do without them.

GNU's OpenMP keeps its threads between loops. A forked process inherits the record of these threads but not the threads,
and waits for them for ever in its first loop on several threads. A loop on one thread never asks for them.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache

from threadpoolctl import ThreadpoolController

_FORKED: list[bool] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _FORKED.append(True))


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager:
    """A context in which OpenMP and BLAS use one thread each."""
    return _controller().limit(limits=1)


def no_threads_in_forks() -> AbstractContextManager:
    """A context in which a forked process uses one thread, and any other process as many as it likes."""
    return one_thread() if _FORKED else nullcontext()
