"""BLAS inside compiled functions: the products that they are said to be."""

import numpy as np
import pytest
from numba import types

from protolearn import blas as module
from protolearn.blas import (
    add_product_of_rows,
    add_squares,
    blas,
    blas_type,
    multiply,
    multiply_by_rows,
    times_lower_triangle,
)
from protolearn.compiled import compiled, matrix

NUMBERS = [np.dtype(np.float32), np.dtype(np.float64)]


@compiled(lambda number: types.void(matrix(number), matrix(number), blas_type("trmm")))
def times_triangle(L, X, trmm):
    times_lower_triangle(trmm, L, X)


@compiled(lambda number: types.void(matrix(number), types.float64, matrix(number), blas_type("syrk")))
def add(A, factor, C, syrk):
    add_squares(syrk, A, factor, C)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 65), (0, 4)])
def test_the_product_with_a_lower_triangle(shape, dtype):
    rng = np.random.default_rng(0)
    X, L = (rng.normal(size=size).astype(dtype) for size in (shape, (shape[1], shape[1])))
    found = X.copy()
    L[np.triu_indices(shape[1], 1)] = np.nan
    times_triangle.of(dtype)(L, found, blas("trmm", dtype))
    np.testing.assert_allclose(found, X @ np.tril(L), atol=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 65), (0, 4)])
def test_squares_are_added_to_the_lower_triangle(shape, dtype):
    A = np.random.default_rng(0).normal(size=shape).astype(dtype)
    C = np.ones((shape[1], shape[1]), dtype=dtype)
    add.of(dtype)(A, -2.0, C, blas("syrk", dtype))
    np.testing.assert_allclose(np.tril(C), np.tril(1.0 - 2.0 * A.T @ A), atol=1e-4 if dtype == np.float32 else 1e-12)
    assert (C[np.triu_indices(shape[1], 1)] == 1.0).all()


@compiled(lambda number: types.void(*(matrix(number),) * 5, blas_type("gemm")))
def three_products(A, B, plain, by_rows, added, gemm):
    multiply(gemm, A, B, plain)
    multiply_by_rows(gemm, A, np.ascontiguousarray(B.T), by_rows)
    add_product_of_rows(gemm, np.ascontiguousarray(A.T), B, added)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 5), (40, 65, 2), (1, 4, 9)])
def test_products_of_matrices(shape, dtype):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=shape[:2]).astype(dtype), rng.normal(size=shape[1:]).astype(dtype)
    found = np.full((3, shape[0], shape[2]), np.nan, dtype=dtype)
    found[2] = 1.0
    three_products.of(dtype)(A, B, *found, blas("gemm", dtype))
    np.testing.assert_allclose(found, [A @ B, A @ B, 1.0 + A @ B], atol=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("name", ["trmm", "syrk", "gemm"])
def test_integers_of_another_width_are_noticed(name, monkeypatch):
    class Wide:
        __pyx_capi__ = {"d" + name: '<capsule object "void (char *, char *, long *, long *)" at 0x1>'}

    monkeypatch.setattr(module, "cython_blas", Wide)
    for dtype in NUMBERS:
        assert blas.__wrapped__(name, dtype) is None
