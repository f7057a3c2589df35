"""Ctrl-C in processes started from here."""

import signal
import threading

from protolearn.compare.processes import deaf_children


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
