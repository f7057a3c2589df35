"""Threads of BLAS, which end with the outermost context, whatever happens inside; and threads of our own."""

import multiprocessing
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from protolearn.core.threads import in_threads, n_threads, one_blas_thread


def blas():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_nested_limits_end_with_the_outermost():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            with one_blas_thread():
                np.ones((4, 4)) @ np.ones((4, 4))
            assert blas() == {1}
        assert blas() == {2}


def test_an_error_inside_lifts_the_limit():
    with threadpool_limits(2, user_api="blas"):
        try:
            with one_blas_thread():
                raise ValueError
        except ValueError:
            pass
        assert blas() == {2}


def test_the_threads_that_blas_leaves_are_ours():
    with threadpool_limits(2, user_api="blas"), one_blas_thread(), one_blas_thread():
        assert n_threads() == 2
        # Not once more in each of them.
        found = in_threads(lambda _: (time.sleep(0.01), threading.get_ident(), n_threads())[1:], range(8), 2)
        assert {count for thread, count in found if thread != threading.get_ident()} == {1}
    with threadpool_limits(1, user_api="blas"), one_blas_thread():
        assert n_threads() == 1


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_come_in_the_order_of_the_items(threads):
    def slower_first(item):
        time.sleep(0.002 * (5 - item))
        return item**2

    assert in_threads(slower_first, iter(range(5)), threads) == [0, 1, 4, 9, 16]
    assert in_threads(slower_first, [], threads) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["here", "there"])
def test_an_error_in_any_thread_ends_them_all_and_is_raised(error, where):
    begun = []

    def fails(item):
        begun.append(item)
        here = threading.current_thread() is threading.main_thread()
        if here == (where == "here"):
            raise error
        time.sleep(0.02)
        return item

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(error):
            in_threads(fails, range(100), 2)
        assert blas() == {2}
    assert len(begun) < 100


def _squares(_):
    return in_threads(lambda item: item**2, range(4), 2)


def test_a_fork_has_threads_of_its_own():
    assert _squares(None) == [0, 1, 4, 9]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map_async(_squares, [None]).get(timeout=30) == [[0, 1, 4, 9]]
