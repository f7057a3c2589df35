"""How many threads a piece of work is worth. threadpoolctl comes with scikit-learn, which needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from threading import local
from typing import Any

from threadpoolctl import ThreadpoolController

# Below this many multiply-adds a second thread costs more than it brings: 540 x 64 rows against 50 prototypes take
# 0.3 ms on one thread, and 24 ms on two when another process holds one of the two cores.
_WORTH_A_THREAD = 2e8


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@lru_cache(maxsize=1)
def _blas() -> list[Any]:
    return _controller().select(user_api="blas").lib_controllers


class _OneBlasThread(local):
    """BLAS on one thread; within itself, in the same thread of Python, it costs nothing.

    To set a limit and to lift it takes 60 microseconds. Which thread may set it is threadpoolctl's affair.
    """

    inside = 0
    limit: Any = None

    def __enter__(self) -> None:
        if self.inside == 0:
            self.limit = _controller().limit(limits=1, user_api="blas")
            self.limit.__enter__()
        self.inside += 1

    def __exit__(self, *error: object) -> None:
        self.inside -= 1
        if self.inside == 0:
            self.limit.__exit__(None, None, None)


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS uses one thread."""
    return _ONE_BLAS_THREAD


def blas_threads(multiply_adds: float) -> AbstractContextManager:
    """A context in which BLAS uses one thread for small work, and as many as it likes for large."""
    if multiply_adds >= _WORTH_A_THREAD:
        return nullcontext()
    return one_blas_thread()


def n_threads() -> int:
    """As many as BLAS would use: its environment variables and joblib's workers limit both."""
    return max([1, *(library.num_threads for library in _blas())])


def threads_for(multiply_adds: float) -> int:
    """How many threads share so much work."""
    return n_threads() if multiply_adds >= _WORTH_A_THREAD else 1


def in_threads(function: Callable[[Any], Any], items: Iterable[Any], threads: int) -> list[Any]:
    """What `function` returns for each item, in order; for functions that spend their time in BLAS or compiled loops.

    BLAS itself stays on one thread meanwhile: two threads that each ask for two are slower than one.
    """
    if threads == 1:
        return [function(item) for item in items]
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))
