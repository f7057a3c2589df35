"""Distances of many rows under symmetric matrices, of which one triangle is enough.

D_i = x'S x - 2 (S m_i)'x + m_i'S m_i,    S the matrix of prototype i
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import types

from protolearn.blas import blas, blas_type, multiply, multiply_by_rows, times_lower_triangle
from protolearn.compiled import compiled, constant_matrix, inline, matrix, stack, vector, vectorised
from protolearn.data.kept_rows import row_products

# With many matrices of at most so many features one product for all forms takes less time than one for each.
_MANY_FEATURES = 96
# Rows that are measured at a time: so many, or as many as have so many numbers, which stay in the cache.
_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME = 512, 1 << 17
# Of those whose products of features are made.
_ROWS_OF_PRODUCTS = 256


@dataclass(frozen=True)
class MatrixDistances:
    """What gives D of any rows.

    matrices : S, one a slot; what stands above the diagonals is not read
    linear, constants : S m_i and m_i'S m_i
    """

    matrices: np.ndarray
    linear: np.ndarray
    constants: np.ndarray
    slot: np.ndarray

    @cached_property
    def triangles(self) -> np.ndarray:
        """L with x'Sx = 2 x'Lx for each S: its lower triangle with half its diagonal, above which is anything."""
        halves = self.matrices.copy()
        halves.reshape(len(halves), -1)[:, :: halves.shape[1] + 1] *= 0.5
        return halves

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What `distances_of_some` is called with after the rows; `argument_types` has its types.

        By triangles, half the operations of S x. Or, where matrices are many and features few, by one product for all:
        D_i is linear in the products x_j x_k of the features and in the features.
        """
        n_matrices, d, _ = self.matrices.shape
        dtype = self.matrices.dtype
        linear = -2.0 * self.linear
        triangles, coefficients = self.matrices[:0], np.empty((0, 0), dtype=dtype)
        if n_matrices > 1 and d <= min(_MANY_FEATURES, 2 * n_matrices + 8):
            # A matrix a prototype: all in one product.
            together = n_matrices == len(self.slot) and bool((self.slot == np.arange(n_matrices)).all())
            coefficients = np.empty((n_matrices, d * (d + 1) // 2 + (d if together else 0)), dtype=dtype)
            fill_coefficients.of(dtype)(self.matrices, linear, coefficients)
            linear = linear[:0] if together else linear
        else:
            triangles = self.triangles
        return triangles, coefficients, linear, self.constants, self.slot, blas("gemm", dtype), blas("trmm", dtype)

    def of(self, X: np.ndarray) -> np.ndarray:
        """D of some rows, one prototype a row, rounding below zero clipped."""
        dtype = np.result_type(X, self.matrices)
        if dtype != self.matrices.dtype:
            return self._astype(dtype).of(X)
        if not in_compiled_loops(dtype):
            forms = 2.0 * np.stack([row_products(X, X @ L) for L in np.tril(self.triangles)])
            return np.maximum(forms[self.slot] - 2.0 * (self.linear @ X.T) + self.constants[:, None], 0.0)
        D = np.empty((len(self.slot), len(X)), dtype=dtype)
        fill_distances.of(dtype)(np.ascontiguousarray(X, dtype=dtype), *self.arguments, D)
        return D

    def _astype(self, dtype: np.dtype) -> MatrixDistances:
        matrices, linear, constants = (part.astype(dtype) for part in (self.matrices, self.linear, self.constants))
        return MatrixDistances(matrices, linear, constants, self.slot)


def in_compiled_loops(dtype: np.dtype) -> bool:
    """Whether BLAS can be called from them."""
    return all(blas(name, dtype) is not None for name in ("gemm", "trmm", "syrk"))


def argument_types(number: Any) -> tuple[Any, ...]:
    """Those of `MatrixDistances.arguments`."""
    return (
        stack(number),  # lower triangles, or none
        matrix(number),  # coefficients of products of features, one matrix a row, or of these and the features; or none
        matrix(number),  # coefficients of the features, one prototype a row, or none
        vector(number),  # constants
        vector(types.int64),  # slot
        blas_type("gemm"),
        blas_type("trmm"),
    )


@compiled(
    lambda number: types.void(
        constant_matrix(number),  # X
        *argument_types(number),
        matrix(number),  # D, one prototype a row
    )
)
def fill_distances(X, triangles, coefficients, linear, constants, slot, gemm, trmm, D):
    """D of all rows."""
    most = measured_at_a_time(X, triangles)
    memory = room_for_rows(X, most, triangles, coefficients, constants)
    for begin in range(0, X.shape[0], most):
        end = min(begin + most, X.shape[0])
        found = distances_of_some(X[begin:end], triangles, coefficients, linear, constants, slot, gemm, trmm, memory)
        for i in range(D.shape[0]):
            D[i, begin:end] = found[i]


@inline
def measured_at_a_time(X, triangles):
    """How many rows are measured at a time."""
    most = _ROWS_OF_PRODUCTS if triangles.shape[0] == 0 else min(_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME // X.shape[1])
    return max(min(most, X.shape[0]), 1)


@inline
def room_for_rows(X, most, triangles, coefficients, constants):
    """Room for what `distances_of_some` makes of as many rows: the distances, the forms, the rows or their products."""
    d = X.shape[1]
    of_rows = d if triangles.shape[0] > 0 else d * (d + 1) // 2 + d
    return np.empty((constants.shape[0] + triangles.shape[0] + coefficients.shape[0] + of_rows) * most, X.dtype)


@inline
def distances_of_some(X, triangles, coefficients, linear, constants, slot, gemm, trmm, memory):
    """D of a few rows, one prototype a row, in the memory; what else is made of them lies there too."""
    n, d = X.shape
    n_prototypes, n_forms = constants.shape[0], triangles.shape[0] + coefficients.shape[0]
    D = memory[: n_prototypes * n].reshape((n_prototypes, n))
    forms = memory[n_prototypes * n : (n_prototypes + n_forms) * n].reshape((n_forms, n))
    rest = memory[(n_prototypes + n_forms) * n :]
    if triangles.shape[0] > 0:
        multiply_by_rows(gemm, linear, X, D)
        work = rest[: n * d].reshape((n, d))
        copy_rows(X, work)
        for s in range(n_forms):
            times_lower_triangle(trmm, triangles[s], work)
            forms_and_rows(X, work, forms[s])
    else:
        n_features = d * (d + 1) // 2 + d
        features = rest[: n_features * n].reshape((n_features, n))
        fill_features(X, features)
        multiply(gemm, coefficients, features[: coefficients.shape[1]], forms)
        if linear.shape[0] == 0:
            for i in range(n_prototypes):
                put_sum(forms[i], constants[i], D[i])
            return D
        multiply(gemm, linear, features[n_features - d :], D)
    for i in range(n_prototypes):
        add_sum(forms[slot[i]], constants[i], D[i])
    return D


@compiled(lambda number: types.void(stack(number), matrix(number), matrix(number)))
def fill_coefficients(matrices, linear, out):
    """Of the products x_j x_k for k <= j, one matrix a row, and where there is room for them of the features."""
    d = matrices.shape[1]
    for s in range(matrices.shape[0]):
        at = 0
        for j in range(d):
            # x_j x_k and x_k x_j share a coefficient.
            for k in range(j):
                out[s, at + k] = 2 * matrices[s, j, k]
            out[s, at + j] = matrices[s, j, j]
            at += j + 1
        for j in range(out.shape[1] - at):
            out[s, at + j] = linear[s, j]


@vectorised
def fill_features(X, out):
    """The products x_j x_k for k <= j of the rows, one product a row, and below them the features."""
    n, d = X.shape
    at = out.shape[0] - d
    for j in range(d):
        feature = out[at + j]
        for r in range(n):
            feature[r] = X[r, j]
    row = 0
    for j in range(d):
        for k in range(j + 1):
            one, other, product = out[at + j], out[at + k], out[row]
            for r in range(n):
                product[r] = one[r] * other[r]
            row += 1


@vectorised
def put_sum(forms, constant, out):
    """max(form + constant, 0); NaN stays NaN."""
    zero = out.dtype.type(0)
    for n in range(out.shape[0]):
        d = forms[n] + constant
        out[n] = zero if d < zero else d


@vectorised
def add_sum(forms, constant, out):
    """max(out + constant + form, 0), in place; NaN stays NaN."""
    zero = out.dtype.type(0)
    for n in range(out.shape[0]):
        d = (out[n] + constant) + forms[n]
        out[n] = zero if d < zero else d


@vectorised
def copy_rows(X, out):
    """All of them."""
    for r in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[r, j] = X[r, j]


@vectorised
def forms_and_rows(X, work, out):
    """Twice the inner products of the rows of `work` with those of X, which take their place."""
    # A loop that adds up and writes is not vectorised where both arrays lie close together, and rounds otherwise there.
    for r in range(X.shape[0]):
        form = X.dtype.type(0)
        for j in range(X.shape[1]):
            form += X[r, j] * work[r, j]
        out[r] = 2 * form
        for j in range(X.shape[1]):
            work[r, j] = X[r, j]
