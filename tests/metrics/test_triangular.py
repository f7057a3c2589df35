"""X times a triangle, by either way to BLAS."""

import numpy as np
import pytest

from protolearn.metrics import triangular
from protolearn.metrics.triangular import triangular_product


@pytest.fixture(params=["without the lock", "with it"])
def way(request, monkeypatch):
    triangular._times_triangle.cache_clear()
    if request.param == "with it":
        monkeypatch.setattr(triangular, "_takes_plain_integers", lambda name: False)
    yield
    triangular._times_triangle.cache_clear()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 65), (0, 4)])
def test_it_is_the_product_with_the_lower_triangle(way, shape, dtype):
    rng = np.random.default_rng(0)
    X, A = (rng.normal(size=size).astype(dtype) for size in (shape, (shape[1], shape[1])))
    before = X.copy()
    found = triangular_product(X, A)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, X @ np.tril(A), rtol=1e-4, atol=1e-4 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(X, before)


def test_rows_may_be_anywhere_and_above_the_triangle_anything(way):
    rng = np.random.default_rng(0)
    whole, A = rng.normal(size=(10, 12)), rng.normal(size=(4, 4))
    A[np.triu_indices(4, 1)] = np.nan
    whole.setflags(write=False)
    for X in (whole[::2, 1:9:2], np.asfortranarray(whole[:, :4])):
        np.testing.assert_allclose(triangular_product(X, A), X @ np.tril(A), atol=1e-12)


@pytest.mark.parametrize("name", ["strmm", "dtrmm"])
def test_integers_of_another_width_are_noticed(name, monkeypatch):
    class Wide:
        __pyx_capi__ = {name: '<capsule object "void (char *, char *, char *, char *, long *, long *)" at 0x1>'}

    monkeypatch.setattr(triangular, "cython_blas", Wide)
    assert not triangular._takes_plain_integers(name)
    assert not triangular._takes_plain_integers("ztrmm")
