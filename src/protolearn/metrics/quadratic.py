"""Quadratic forms x'Sx of many rows, with symmetric matrices of which one triangle is enough."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types

from protolearn.blas import blas, blas_type, times_lower_triangle
from protolearn.compiled import VECTORISED, compiled, constant_matrix, matrix, stack, vectorised
from protolearn.data.kept_rows import row_products

# With many matrices of at most so many features one product for all forms takes less time than one for each.
_MANY_FEATURES = 96
# Rows whose products of features are made at a time, and numbers of rows that are multiplied by one triangle at a time.
_ROWS_AT_A_TIME = 256
_NUMBERS_AT_A_TIME = 1 << 17

Forms = Callable[[np.ndarray], np.ndarray]


def quadratic_forms(matrices: np.ndarray) -> Forms:
    """The function of a block that gives x'Sx of its rows for each of several symmetric S, one matrix a row.

    Of each S what stands above its diagonal is not read.
    """
    n_matrices, d, _ = matrices.shape
    if n_matrices > 1 and d <= min(_MANY_FEATURES, 2 * n_matrices + 8):
        return _by_products_of_features(matrices)
    return _by_triangles(matrices)


def _by_products_of_features(matrices: np.ndarray) -> Forms:
    """x'Sx is linear in the products x_i x_j of the features: one product of matrices gives all forms.

    For a few rows at a time, whose products of features stay in the cache.
    """
    # Each product once: x_i x_j and x_j x_i share a coefficient.
    rows, columns = np.tril_indices(matrices.shape[1])
    coefficients = matrices[:, rows, columns] * np.where(rows == columns, 1, 2).astype(matrices.dtype)

    def of_rows(X: np.ndarray) -> np.ndarray:
        found = np.empty((len(matrices), len(X)), dtype=np.result_type(X, coefficients))
        memory = np.empty(len(rows) * min(len(X), _ROWS_AT_A_TIME), dtype=X.dtype)
        for begin in range(0, len(X), _ROWS_AT_A_TIME):
            part = np.ascontiguousarray(X[begin : begin + _ROWS_AT_A_TIME].T)
            products = memory[: len(rows) * part.shape[1]].reshape(len(rows), -1)
            products_of_features.of(X.dtype)(part, products)
            np.matmul(coefficients, products, out=found[:, begin : begin + _ROWS_AT_A_TIME])
        return found

    return of_rows


@compiled(lambda number: types.void(constant_matrix(number), matrix(number)), fastmath=VECTORISED)
def products_of_features(X, out):
    """x_i x_j for i >= j, one product a row; X has one feature a row."""
    at = 0
    for i in range(X.shape[0]):
        for j in range(i + 1):
            one, other, product = X[i], X[j], out[at]
            for n in range(X.shape[1]):
                product[n] = one[n] * other[n]
            at += 1


def half_triangles(matrices: np.ndarray) -> np.ndarray:
    """L with x'Sx = 2 x'Lx for each symmetric S: its lower triangle with half its diagonal, above which is anything."""
    halves = matrices.copy()
    halves.reshape(len(halves), -1)[:, :: matrices.shape[1] + 1] *= 0.5
    return halves


def _by_triangles(matrices: np.ndarray) -> Forms:
    """x'Sx = 2 x'Lx with L the lower triangle of S and half its diagonal: half the operations of S x."""
    halves = half_triangles(matrices)
    d = halves.shape[1]

    def of_rows(X: np.ndarray) -> np.ndarray:
        dtype = np.result_type(X, halves)
        X = np.ascontiguousarray(X, dtype=dtype)
        triangles = halves.astype(dtype, copy=False)
        trmm = blas("trmm", dtype)
        if trmm is None:
            return 2.0 * np.stack([row_products(X, X @ np.tril(L)) for L in triangles])
        found = np.empty((len(triangles), len(X)), dtype=dtype)
        work = np.empty((max(min(_NUMBERS_AT_A_TIME // d, len(X)), 1), d), dtype=dtype)
        forms_by_triangles.of(dtype)(X, triangles, trmm, work, found)
        return found

    return of_rows


@compiled(
    lambda number: types.void(
        constant_matrix(number),  # X
        stack(number),  # lower triangles
        blas_type("trmm"),
        matrix(number),  # work, as many rows as are multiplied at a time
        matrix(number),  # out, one matrix a row
    ),
    fastmath=VECTORISED,
)
def forms_by_triangles(X, triangles, trmm, work, out):
    """2 x'Lx for each lower triangle L; some rows at a time, which stay in the cache for all of them."""
    for begin in range(0, X.shape[0], work.shape[0]):
        count = min(work.shape[0], X.shape[0] - begin)
        for r in range(count):
            for j in range(X.shape[1]):
                work[r, j] = X[begin + r, j]
        for s in range(triangles.shape[0]):
            times_lower_triangle(trmm, triangles[s], work[:count])
            forms_and_rows(X, begin, work[:count], out[s])


@vectorised
def forms_and_rows(X, begin, work, out):
    """Twice the inner products of the rows of `work` with those of X from `begin` on, which take their place."""
    # A loop that adds up and writes is not vectorised where both arrays lie close together, and rounds otherwise there.
    for r in range(work.shape[0]):
        form = X.dtype.type(0)
        for j in range(X.shape[1]):
            form += X[begin + r, j] * work[r, j]
        out[begin + r] = 2 * form
        for j in range(X.shape[1]):
            work[r, j] = X[begin + r, j]
