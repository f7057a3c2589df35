"""Lengths and columns of rows are computed once, and never those of other rows."""

import numpy as np
import pytest

from protolearn import GLVQ
from protolearn.data import TrainingSet, kept_rows
from protolearn.data.kept_rows import KeptRows, row_products


@pytest.fixture
def counted(monkeypatch):
    """How many rows were measured."""
    seen = []

    def counting(one, other):
        seen.append(len(one))
        return row_products(one, other)

    monkeypatch.setattr(kept_rows, "row_products", counting)
    return seen


@pytest.mark.parametrize("n_features", [3, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inner_products_of_rows(n_features, dtype):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 20, n_features)).astype(dtype)
    found = row_products(A, B)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, (A * B).sum(axis=1), rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-5)


def test_a_block_is_measured_once(counted):
    X = np.random.default_rng(0).normal(size=(30, 4))
    kept = KeptRows(X)
    for _ in range(3):
        for rows in (slice(0, 20), slice(20, 30)):
            np.testing.assert_allclose(kept.lengths(X[rows]), (X[rows] ** 2).sum(axis=1))
    assert counted == [20, 10]


def test_a_part_of_a_part_belongs_to_the_matrix(counted):
    X = np.ones((30, 4))[5:25]
    kept = KeptRows(X)
    kept.lengths(X[:10]), kept.lengths(X[:10])
    assert counted == [10]


def test_other_memory_is_measured_anew(counted):
    X = np.ones((30, 4))
    kept = KeptRows(X)
    for factor in (1.0, 2.0):
        copied = factor * X
        np.testing.assert_array_equal(kept.lengths(copied), 4.0 * factor**2)
    assert counted == [30, 30]


def test_what_is_kept_does_not_grow_with_the_rows(counted, monkeypatch):
    monkeypatch.setattr(kept_rows, "_MOST_LENGTHS", 100 * 8)
    X = np.ones((300, 2))
    kept = KeptRows(X)
    for _ in range(2):
        for first in range(0, 300, 50):
            kept.lengths(X[first : first + 50])
    assert counted == [50] * 6 + [50] * 4


def test_columns_stand_together_while_there_is_room(monkeypatch):
    monkeypatch.setattr(kept_rows, "_MOST_COLUMNS", 20 * 4 * 8)
    X = np.random.default_rng(0).normal(size=(30, 4))
    kept = KeptRows(X)
    for rows, is_copy in ((slice(0, 20), True), (slice(20, 30), False), (slice(0, 20), True)):
        found = kept.columns(X[rows])
        np.testing.assert_array_equal(found, X[rows].T)
        assert found.flags.c_contiguous == is_copy
    other = X[:20] + 1.0
    np.testing.assert_array_equal(kept.columns(other), other.T)


def test_sparse_rows_have_no_place():
    from scipy.sparse import csr_array

    assert TrainingSet(csr_array(np.eye(3)), np.arange(3), None, 3).kept_rows is None


@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_a_fit_is_the_same_without_them(far, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 60)) + y[:, None] + far
    model = GLVQ(3, solver="lbfgs", max_iter=8, random_state=0)
    kept = model.fit(X, y).prototypes_
    monkeypatch.setattr(TrainingSet, "kept_rows", None)
    np.testing.assert_allclose(model.fit(X, y).prototypes_, kept, atol=1e-9)
