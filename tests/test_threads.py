"""The limit of BLAS's threads: it ends with the outermost context, whatever happens inside."""

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from protolearn.threads import one_blas_thread


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
