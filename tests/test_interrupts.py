"""Ctrl-C in processes started from here, and inside LLVM."""

import signal
import threading
from contextlib import suppress

import pytest

from protolearn.interrupts import deaf_children, heard_in_any_case


def test_ctrl_c_that_is_lost_is_raised_again():
    """As it is where it comes while Python clears an object away."""
    with heard_in_any_case() as end_if_asked:
        end_if_asked()
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            end_if_asked()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_that_follows_from_a_lost_ctrl_c_is_that_ctrl_c():
    """As it is where it comes in a callback of LLVM's, after which numba misses what was compiled."""

    def fail(*, asked):
        with heard_in_any_case():
            with suppress(KeyboardInterrupt):
                if asked:
                    signal.raise_signal(signal.SIGINT)
            raise RuntimeError("no compiled object yet")

    with pytest.raises(KeyboardInterrupt):
        fail(asked=True)
    with pytest.raises(RuntimeError):
        fail(asked=False)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_callers_own_is_left_alone():
    def own(number, frame):
        return None

    before = signal.signal(signal.SIGINT, own)
    try:
        with heard_in_any_case():
            assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_stays_with_the_process_that_started_the_others():
    before = signal.getsignal(signal.SIGINT)
    with deaf_children():
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) == before
    seen = []

    def elsewhere():
        with deaf_children():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]
