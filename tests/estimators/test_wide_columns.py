"""One column much wider than the others: |x|^2 - 2 x'm + |m|^2 loses the others' digits, and classes must not."""

import numpy as np
import pytest
from sklearn.base import clone

from protolearn import (
    GLVQ,
    GMLVQ,
    LMNN,
    LOGM,
    LVQ1,
    ChenCondensing,
    HartCondensing,
    LaMaLVQ,
    NearestPrototype,
    WilsonEditing,
)


def table(wide, dtype, n=600):
    """Three columns that tell the classes, and one of five levels that are `wide` apart and tell nothing."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(n, 3)), wide * rng.integers(0, 5, n)]).astype(dtype)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


def by_the_loop(model, X):
    """The class of the nearest prototype by differences in long double, and whether float64 can tell it."""
    squares = (X[:, None].astype(np.longdouble) - model.prototypes_.astype(np.longdouble)) ** 2
    D = squares.sum(axis=2)
    nearest = model.prototype_labels_[D.argmin(axis=1)]
    rival = np.where(model.prototype_labels_ == nearest[:, None], np.inf, D).min(axis=1)
    return nearest, rival > D.min(axis=1) * (1 + 2 * X.shape[1] * np.finfo(np.float64).eps)


@pytest.mark.parametrize(
    ("dtype", "wide"), [(np.float32, 1e2), (np.float32, 1e4), (np.float32, 1e6), (np.float64, 1e9)]
)
@pytest.mark.parametrize(
    "model",
    [
        HartCondensing(),
        ChenCondensing(20),
        NearestPrototype(20, random_state=0),
        LVQ1(20, max_iter=5, random_state=0),
        GLVQ(20, solver="lbfgs", max_iter=5, random_state=0),
    ],
)
def test_each_row_gets_the_class_of_the_nearest_prototype(model, dtype, wide):
    X, y = table(wide, dtype)
    model = clone(model).fit(X, y)
    expected, is_clear = by_the_loop(model, X)
    assert is_clear.mean() > 0.5
    X, expected = X[is_clear], expected[is_clear]
    np.testing.assert_array_equal(model.predict(X), expected)
    classify = model.row_classifier()
    assert [classify(row) for row in X] == expected.tolist()
    assert (model.predict_proba(X).argmax(axis=1) == expected).all()
    # So many rows are searched by linear forms.
    times = 1_000_001 // (len(X) * len(model.prototypes_)) + 1
    np.testing.assert_array_equal(model.predict(np.tile(X, (times, 1))), np.tile(expected, times))


@pytest.mark.parametrize("wide", [1e3, 1e5])
@pytest.mark.parametrize(
    "model",
    [
        NearestPrototype(20, random_state=0),
        LVQ1(20, max_iter=10, random_state=0),
        LOGM(20, metric="local_relevance", max_iter=10, random_state=0),
        GLVQ(20, solver="lbfgs", max_iter=10, random_state=0),
        GMLVQ(20, solver="lbfgs", max_iter=10, random_state=0),
        GMLVQ(5, max_iter=10, random_state=0),
        LaMaLVQ(2, rounds=2, random_state=0),
        HartCondensing(),
        ChenCondensing(20),
    ],
)
def test_float32_learns_what_float64_learns(model, wide):
    X, y = table(wide, np.float32)
    narrow, broad = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    assert narrow.prototypes_.dtype == np.float32
    np.testing.assert_allclose(narrow.prototypes_, broad.prototypes_, rtol=1e-6, atol=1e-6)


def test_the_same_rows_are_kept_and_the_same_map_is_learned():
    X, y = table(1e4, np.float32)
    for model in (WilsonEditing(3), WilsonEditing("auto", random_state=0)):
        kept = [clone(model).fit(rows, y).sample_indices_ for rows in (X, X.astype(np.float64))]
        np.testing.assert_array_equal(*kept)
    maps = [LMNN(max_iter=5, tol=1.0).fit(rows, y).components_ for rows in (X, X.astype(np.float64))]
    np.testing.assert_allclose(*maps, rtol=1e-5, atol=1e-6)
