"""Vectors of LLVM's instructions: what the plain functions beside them say."""

import numpy as np
import pytest
from numba import types

from protolearn.compiled import compiled, vector
from protolearn.lanes import LANES, next_at_most, put_distances_to_columns
from protolearn.metrics.euclidean import distances_to_columns

NUMBERS = [np.dtype(np.float32), np.dtype(np.float64)]


@compiled(lambda number: types.void(vector(number), types.Array(number, 2, "F"), vector(number)))
def distances(x, W, D):
    put_distances_to_columns(x, W, D)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("n", [LANES, 4 * LANES, 7 * LANES])
@pytest.mark.parametrize("n_features", [2, 3, 16, 33])
def test_distances_to_columns_and_nothing_behind_them(n_features, n, dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n_features).astype(dtype)
    W = np.asfortranarray(rng.normal(size=(n, n_features)).astype(dtype))
    expected = np.append(((x.astype(np.float64) - W) ** 2).sum(axis=1), [7.0, 7.0])
    for function in (distances.of(dtype), distances.function, distances_to_columns):
        found = np.full(n + 2, 7.0, dtype=dtype)
        function(x, W, found)
        np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_what_is_not_finite_stays_so(dtype):
    W = np.zeros((2 * LANES, 3), dtype=dtype, order="F")
    W[3, 1], W[5, 2] = np.nan, np.inf
    found = np.zeros(2 * LANES, dtype=dtype)
    distances.of(dtype)(np.ones(3, dtype=dtype), W, found)
    assert np.isnan(found[3])
    assert found[5] == np.inf
    assert (np.delete(found, [3, 5]) == 3).all()


@compiled(lambda number: types.int64(vector(number), types.int64, types.int64, types.float64))
def search(D, begin, end, limit):
    return next_at_most(D, begin, end, D.dtype.type(limit))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_the_next_value_that_is_not_above_a_limit(dtype):
    rng = np.random.default_rng(0)
    # Whole numbers, so that some are as large as the limit.
    D = rng.integers(0, 30, 3 * LANES).astype(dtype)
    D[[5, 20]] = np.nan
    D[[6, 21]] = np.inf
    for begin in range(3 * LANES):
        for end in (begin, begin + 1, min(begin + LANES, 3 * LANES), 3 * LANES):
            expected = next((i for i in range(begin, end) if D[i] <= 2), end)
            assert search.of(dtype)(D, begin, end, 2.0) == expected
            assert search.function(D, begin, end, 2.0) == expected
