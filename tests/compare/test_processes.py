"""Rows made by several processes."""

import signal
from contextlib import closing

from joblib import delayed

from protolearn.compare.processes import in_processes


def hears_ctrl_c():
    return signal.getsignal(signal.SIGINT) != signal.SIG_IGN


def test_results_come_in_order():
    assert list(in_processes((delayed(pow)(2, n) for n in range(6)), 6, 2)) == [2**n for n in range(6)]


def test_nothing_to_do():
    assert list(in_processes(iter(()), 0, 2)) == []


def test_ctrl_c_of_a_terminal_is_for_this_process_alone():
    """A worker that heard it would print a traceback; this one ends it. One job runs here, and hears it."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown()
    before = signal.getsignal(signal.SIGINT)
    with closing(in_processes((delayed(hears_ctrl_c)() for _ in range(4)), 4, 2)) as results:
        assert list(results) == [False] * 4
    assert signal.getsignal(signal.SIGINT) == before
    assert list(in_processes([delayed(hears_ctrl_c)()], 1, 2)) == [True]
