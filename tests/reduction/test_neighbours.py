"""The nearest others, against every distance in float64."""

import numpy as np
import pytest
from scipy import sparse

from protolearn.reduction.neighbours import nearest_others


def by_every_distance(X, k):
    X = np.asarray(X, dtype=np.float64)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    return np.array([np.lexsort((np.arange(len(X)), row))[:k] for row in D])


CASES = {
    "tree": (400, 3, 3, "normal", np.float64),
    "tree with ties": (400, 3, 3, "whole", np.float64),
    "tree, all others": (30, 2, 29, "whole", np.float64),
    "blocks": (500, 40, 3, "normal", np.float64),
    "blocks in float32": (500, 40, 5, "normal", np.float32),
    "blocks with ties": (500, 20, 5, "whole", np.float32),
    "blocks, all others": (30, 20, 29, "normal", np.float64),
    "far from the origin": (500, 30, 3, "far", np.float64),
    "an outlier": (500, 30, 3, "outlier", np.float32),
    "all equal": (60, 20, 3, "equal", np.float64),
}


@pytest.mark.parametrize("case", CASES)
def test_nearest_others_are_exact_and_ties_go_to_the_lower_index(case):
    n, d, k, kind, dtype = CASES[case]
    rng = np.random.default_rng(0)
    X = {
        "normal": lambda: rng.normal(size=(n, d)),
        "whole": lambda: rng.integers(0, 4, size=(n, d)),
        "far": lambda: 1e6 + rng.normal(size=(n, d)),
        "outlier": lambda: np.vstack([rng.normal(size=(n - 1, d)), np.full((1, d), 1e6)]),
        "equal": lambda: np.ones((n, d)),
    }[kind]().astype(dtype)
    np.testing.assert_array_equal(nearest_others(X, k), by_every_distance(X, k))


def test_several_blocks_give_the_same_as_one(monkeypatch):
    X = np.random.default_rng(1).normal(size=(300, 20))
    whole = nearest_others(X, 4)
    monkeypatch.setattr("protolearn.reduction.neighbours._BLOCK", 64)
    np.testing.assert_array_equal(nearest_others(X, 4), whole)


def test_sparse_equals_dense():
    X = np.random.default_rng(2).normal(size=(200, 20))
    X[X < 0] = 0
    np.testing.assert_array_equal(nearest_others(sparse.csr_array(X), 3), nearest_others(X, 3))


def test_rounding_of_float32_hides_no_neighbour():
    # Distances that differ by less than float32 resolves at this distance from the mean.
    rng = np.random.default_rng(3)
    X = (np.repeat(rng.normal(size=(40, 32)), 25, axis=0) * 100 + 1e-3 * rng.normal(size=(1000, 32))).astype(np.float32)
    np.testing.assert_array_equal(nearest_others(X, 3), by_every_distance(X, 3))


def test_more_neighbours_than_others_is_refused():
    with pytest.raises(ValueError, match="ask for 1 to 4"):
        nearest_others(np.eye(5), 5)
