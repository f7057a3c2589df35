"""Second moments of samples, and quadratic forms with symmetric matrices: of both BLAS computes one triangle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types
from scipy.linalg.blas import get_blas_funcs

from protolearn.compiled import VECTORISED, compiled, constant_matrix, matrix, vector
from protolearn.data.row_lengths import row_products


def quadratic_form(S: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function of a block that gives x'Sx of its rows, S symmetric.

    It is 2 x'Ux with U the upper triangle of S and half its diagonal: half the operations of S x.
    """
    # In C's order the lower triangle, in BLAS's own the upper one; what is beyond is not read.
    half = S.copy()
    half.ravel()[:: len(S) + 1] *= 0.5
    (trmm,) = get_blas_funcs(("trmm",), (half,))

    def of_rows(X: np.ndarray) -> np.ndarray:
        if X.dtype != S.dtype:
            return row_products(X, X @ S)
        forms = row_products(X, trmm(1.0, half.T, X.T).T)
        forms *= 2.0
        return forms

    return of_rows


def add_scatter(X: np.ndarray, rows: np.ndarray, weights: np.ndarray, total: np.ndarray) -> None:
    """Add weight x x' for some rows to the total.

    Positive and negative weights apart, each as A'A with A = sqrt(|weight|) x: BLAS then computes one triangle of the
    symmetric result, half the operations of (weight x)' x.
    """
    A = np.empty((len(rows), X.shape[1]), dtype=X.dtype)
    positive, negative = scale_rows.of(X.dtype)(X, rows, weights, A)
    if positive:
        total += A[:positive].T @ A[:positive]
    if negative < len(A):
        total -= A[negative:].T @ A[negative:]


@compiled(
    lambda number: types.UniTuple(types.int64, 2)(
        constant_matrix(number),  # X
        vector(types.int64),  # rows
        vector(number),  # weights
        matrix(number),  # out
    ),
    fastmath=VECTORISED,
)
def scale_rows(X, rows, weights, out):
    """sqrt(|weight|) x, rows of positive weight from the front on, of negative from the back; where both end."""
    front, back = 0, out.shape[0]
    for n in range(rows.shape[0]):
        if weights[n] == 0:
            continue
        if weights[n] < 0:
            back -= 1
            at = back
        else:
            at = front
            front += 1
        factor = np.sqrt(abs(weights[n]))
        x, scaled = X[rows[n]], out[at]
        for j in range(x.shape[0]):
            scaled[j] = factor * x[j]
    return front, back
