"""Pieces of work by several threads. threadpoolctl comes with scikit-learn, which needs it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from threading import local
from typing import Any

from threadpoolctl import ThreadpoolController

# Below this many multiply-adds a second thread costs more than it brings: sums over batches of 9 million take 1.5 times
# as long on two threads, of 24 million 0.72 and of 93 million 0.58 times; 1.0 to 1.2 beside a busy process.
_WORTH_A_THREAD = 2e7


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@lru_cache(maxsize=1)
def _blas() -> list[Any]:
    return _controller().select(user_api="blas").lib_controllers


class _OneBlasThread(local):
    """Limits BLAS to one thread for as long as the context lasts.

    To set the limit and to lift it takes 60 microseconds. A context inside another one, in the same thread of Python,
    does neither.

    allowed : threads that BLAS would have used, which are free for threads of our own meanwhile
    """

    inside = 0
    allowed = 1
    limit: Any = None

    def __enter__(self) -> None:
        if self.inside == 0:
            self.allowed = n_threads()
            self.limit = _controller().limit(limits=1, user_api="blas")
            self.limit.__enter__()
        self.inside += 1

    def __exit__(self, *error: object) -> None:
        self.inside -= 1
        if self.inside == 0:
            self.limit.__exit__(None, None, None)


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS uses one thread; around the whole of what goes on in threads of our own.

    A thread of BLAS without work keeps its core for some 20 ms, and one of our threads then waits for the core.
    """
    return _ONE_BLAS_THREAD


def blas_threads(multiply_adds: float) -> AbstractContextManager:
    """A context in which BLAS uses one thread for small work, and as many as it likes for large."""
    if worth_threads(multiply_adds):
        return nullcontext()
    return one_blas_thread()


def n_threads() -> int:
    """As many as BLAS would use: its environment variables and joblib's workers limit both."""
    if _ONE_BLAS_THREAD.inside:
        return _ONE_BLAS_THREAD.allowed
    return max([1, *(library.num_threads for library in _blas())])


def worth_threads(multiply_adds: float) -> bool:
    """Whether so much work is worth sharing, if there is anyone to share it with."""
    return multiply_adds >= _WORTH_A_THREAD


def threads_for(multiply_adds: float) -> int:
    """How many threads share so much work."""
    return n_threads() if worth_threads(multiply_adds) else 1


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    """Threads that are kept: to start one takes 0.1 ms."""
    return ThreadPoolExecutor(max_workers=max(os.cpu_count() or 1, 1), thread_name_prefix="protolearn")


_FORKED: list[bool] = []


def _after_fork() -> None:
    """The threads of a process do not live on in its fork."""
    _pool.cache_clear()
    _FORKED.append(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def one_thread() -> AbstractContextManager:
    """A context in which OpenMP and BLAS use one thread each."""
    return _controller().limit(limits=1)


def no_threads_in_forks() -> AbstractContextManager:
    """A context in which a forked process uses one thread, and any other process as many as it likes.

    GNU's OpenMP keeps its threads between loops. A forked process inherits the record of these threads but not the
    threads, and waits for them for ever in its first loop on several threads. A loop on one thread never asks for them.
    """
    return one_thread() if _FORKED else nullcontext()


def in_threads(function: Callable[[Any], Any], items: Iterable[Any], threads: int) -> list[Any]:
    """What `function` returns for each item, in order; for functions that spend their time in BLAS or compiled loops.

    The calling thread works too. BLAS itself stays on one thread meanwhile: two threads that each ask for two are
    slower than one. An error or Ctrl-C ends it after the items that have begun.
    """
    if threads == 1:
        return [function(item) for item in items]
    items = list(items)
    found: list[Any] = [None] * len(items)
    # One iterator for all: each takes the next item.
    places = iter(range(len(items)))

    def work() -> None:
        try:
            for place in places:
                found[place] = function(items[place])
        finally:
            for _ in places:
                pass

    with one_blas_thread():
        helping = [_pool().submit(work) for _ in range(min(threads, len(items)) - 1)]
        try:
            work()
        finally:
            # Work that has not begun, because others use the machine, is called off.
            errors = [None if one.cancel() else one.exception() for one in helping]
    for error in errors:
        if error is not None:
            raise error
    return found
