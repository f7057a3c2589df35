"""BLAS inside compiled functions: the products that they are said to be."""

import numpy as np
import pytest
from numba import types

from protolearn import blas as module
from protolearn.blas import add_product_of_rows, blas, blas_type, multiply_by_rows
from protolearn.compiled import compiled, matrix

NUMBERS = [np.dtype(np.float32), np.dtype(np.float64)]


@compiled(lambda number: types.void(*(matrix(number),) * 4, blas_type("gemm")))
def two_products(A, B, by_rows, added, gemm):
    multiply_by_rows(gemm, A, np.ascontiguousarray(B.T), by_rows)
    add_product_of_rows(gemm, np.ascontiguousarray(A.T), B, added)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 5), (40, 65, 2), (1, 4, 9)])
def test_products_of_matrices(shape, dtype):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=shape[:2]).astype(dtype), rng.normal(size=shape[1:]).astype(dtype)
    found = np.full((2, shape[0], shape[2]), np.nan, dtype=dtype)
    found[1] = 1.0
    two_products.of(dtype)(A, B, *found, blas("gemm", dtype))
    np.testing.assert_allclose(found, [A @ B, 1.0 + A @ B], atol=1e-4 if dtype == np.float32 else 1e-12)


def test_integers_of_another_width_are_noticed(monkeypatch):
    class Wide:
        __pyx_capi__ = {"dgemm": '<capsule object "void (char *, char *, long *, long *)" at 0x1>'}

    monkeypatch.setattr(module, "cython_blas", Wide)
    for dtype in NUMBERS:
        assert blas.__wrapped__("gemm", dtype) is None
