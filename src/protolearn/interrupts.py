"""Ctrl-C where Python alone does not do what a user expects: in processes started from here, and inside LLVM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def heard_in_any_case() -> Iterator[Callable[[], None]]:
    """Ctrl-C, and what raises it again: where it comes while Python clears away an object of LLVM's, it is lost.

    Where it comes in a callback of LLVM's, numba misses what that was to bring and raises another error: then too.
    """
    asked: list[int] = []

    def note_and_raise(number: int, frame: Any) -> None:
        asked.append(number)
        raise KeyboardInterrupt

    def end_if_asked() -> None:
        if asked:
            raise KeyboardInterrupt

    # A handler of the caller's own is left alone; other threads hear nothing, and may not set one.
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield end_if_asked
        return
    signal.signal(signal.SIGINT, note_and_raise)
    try:
        yield end_if_asked
    except Exception:
        end_if_asked()
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started meanwhile do not hear Ctrl-C, which a terminal sends to all: this one ends them.

    One that hears it prints a traceback wherever it is between two tasks, or in a callback of LLVM's.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
