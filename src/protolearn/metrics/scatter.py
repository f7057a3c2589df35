"""Second moments of samples, and quadratic forms with symmetric matrices: of both BLAS computes one triangle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types

from protolearn.compiled import VECTORISED, compiled, constant_matrix, matrix, vector
from protolearn.data.row_lengths import row_products
from protolearn.metrics.pulls import PairPull, Pull, weights_by_slot
from protolearn.metrics.triangular import triangular_product
from protolearn.prototypes import PrototypeSet

# With many matrices of at most so many features, to call BLAS for each costs more than its use of the symmetry saves.
_MANY_FEATURES = 96
_ROWS_AT_A_TIME = 256


def quadratic_form(S: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function of a block that gives x'Sx of its rows, S symmetric.

    It is 2 x'Ux with U the upper triangle of S and half its diagonal: half the operations of S x.
    """
    half = S.copy()
    half.ravel()[:: len(S) + 1] *= 0.5

    def of_rows(X: np.ndarray) -> np.ndarray:
        if X.dtype != S.dtype:
            return row_products(X, X @ S)
        forms = row_products(X, triangular_product(X, half))
        forms *= 2.0
        return forms

    return of_rows


def quadratic_forms(matrices: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function of a block that gives x'Sx of its rows for each of several symmetric S, one matrix a row.

    x'Sx is linear in the products x_i x_j of the features. For many matrices of not too many features one product of
    matrices gives all forms, of a few rows at a time, whose products of features stay in the cache.
    """
    n_matrices, d, _ = matrices.shape
    if n_matrices == 1 or d > min(_MANY_FEATURES, 2 * n_matrices + 8):
        forms = [quadratic_form(S) for S in matrices]
        return lambda X: np.stack([form(X) for form in forms]) if len(forms) > 1 else forms[0](X)[None]
    # Each product once: x_i x_j and x_j x_i share a coefficient.
    rows, columns = np.tril_indices(d)
    coefficients = matrices[:, rows, columns] * np.where(rows == columns, 1, 2).astype(matrices.dtype)

    def of_rows(X: np.ndarray) -> np.ndarray:
        found = np.empty((n_matrices, len(X)), dtype=np.result_type(X, coefficients))
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


def scatter_by_slot(X: np.ndarray, pull: Pull, prototypes: PrototypeSet) -> np.ndarray:
    """The sum of coefficient x x' over the rows and over the prototypes of each slot."""
    n_slots, d = len(prototypes.theta), X.shape[1]
    scatter = np.zeros((n_slots, d, d), dtype=np.result_type(X, prototypes.positions))
    if n_slots == 1 or d > _MANY_FEATURES or not isinstance(pull, PairPull):
        for slot, rows, weights in weights_by_slot(pull, prototypes):
            add_scatter(X, rows, weights, scatter[slot])
        return scatter
    # Small matrices: one product for each, of rows that stand together, costs less than to use the symmetry.
    counts = np.bincount(prototypes.slot[pull.indices.ravel()], minlength=n_slots)
    ends = np.cumsum(counts)
    rows, scaled = np.empty((2, 2 * len(X), d), dtype=X.dtype)
    rows_by_slot.of(X.dtype)(X, pull.indices, pull.values, prototypes.slot, ends - counts, rows, scaled)
    for slot in np.flatnonzero(counts).tolist():
        one = slice(ends[slot] - counts[slot], ends[slot])
        np.matmul(rows[one].T, scaled[one], out=scatter[slot])
    return scatter


@compiled(
    lambda number: types.void(
        constant_matrix(number),  # X
        matrix(types.int32),  # indices
        matrix(number),  # values
        vector(types.int64),  # slot
        vector(types.int64),  # begins
        matrix(number),  # rows
        matrix(number),  # scaled
    ),
    fastmath=VECTORISED,
)
def rows_by_slot(X, indices, values, slot, begins, rows, scaled):
    """Both entries of each row, x and value x, those of a slot together; its first goes to begins[slot]."""
    for n in range(X.shape[0]):
        x = X[n]
        for side in range(2):
            s = slot[indices[n, side]]
            row, multiple = rows[begins[s]], scaled[begins[s]]
            begins[s] += 1
            for j in range(x.shape[0]):
                row[j] = x[j]
                multiple[j] = values[n, side] * x[j]


def scatter_of_differences(scatter: np.ndarray, mixed: np.ndarray, W: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """Sums of c v v', v = x - m: c x x' over the samples, less x m' + m x' - m m' over the prototypes of the slot.

    mixed : for each prototype the sum of c (x - m / 2)
    """
    found = scatter.astype(W.dtype)
    if len(found) == 1:
        crossed = mixed.T @ W
        found -= crossed
        found -= crossed.T
    else:
        subtract_crossed.of(W.dtype)(mixed, W, slot, found)
    return found


@compiled(
    lambda number: types.void(
        matrix(number),  # mixed
        constant_matrix(number),  # W
        vector(types.int64),  # slot
        types.Array(number, 3, "C"),  # out
    ),
    fastmath=VECTORISED,
)
def subtract_crossed(mixed, W, slot, out):
    """out[slot of m] -= x m' + m x' for each prototype m and its row x of `mixed`."""
    d = W.shape[1]
    for r in range(d):
        for i in range(W.shape[0]):
            m, x, row = W[i], mixed[i], out[slot[i], r]
            for j in range(d):
                row[j] -= x[r] * m[j] + m[r] * x[j]


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
