"""BLAS inside compiled functions: one gets its functions as arguments and calls them without the interpreter's lock.

scipy publishes their addresses for compiled code. BLAS takes the address of everything, so one type stands for each
number of arguments. An array must outlive the call that gets its address: what is made for a call is an argument of the
small function that makes it.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import get_cython_function_address
from scipy.linalg import cython_blas

from protolearn.compiled import inline
from protolearn.function_arguments import FunctionOf

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
# What each takes: letters, sizes and numbers (x), of which matrices are followed by their leading dimensions.
_CALLED_WITH = {
    "gemm": "char *, char *, int *, int *, int *, x, x, int *, x, int *, x, x, int *",
}
_LETTERS = np.frombuffer(b"NT", dtype=np.uint8)


def blas_type(name: str) -> Any:
    """Numba's type of the function as an argument."""
    return FunctionOf(types.void(*(types.uintp,) * len(_CALLED_WITH[name].split(","))))


class BlasFunction:
    """A function of scipy's BLAS, for compiled functions and, without a compiler, for Python."""

    def __init__(self, name: str, full_name: str) -> None:
        self._numba_type_ = blas_type(name)
        self.address, self.address_for_numba = get_cython_function_address("scipy.linalg.cython_blas", full_name), 0
        arguments = (ctypes.c_void_p,) * len(self._numba_type_.signature.args)
        self._call = ctypes.CFUNCTYPE(None, *arguments)(self.address)

    def __call__(self, *addresses: int) -> None:
        """The function itself."""
        self._call(*addresses)


@cache
def blas(name: str, dtype: np.dtype) -> BlasFunction | None:
    """The function for a number type; None where scipy's BLAS has integers other than C's `int`."""
    full_name = _PREFIX[dtype] + name
    number = f"__pyx_t_5scipy_6linalg_11cython_blas_{full_name[0]} *"
    expected = f'"void ({_CALLED_WITH[name].replace("x", number)})"'
    if expected not in repr(cython_blas.__pyx_capi__.get(full_name)):
        return None
    return BlasFunction(name, full_name)


@inline
def multiply_by_rows(gemm, A, B, C):
    """C <- A B', all in C's order."""
    # In BLAS's order all are transposed: C' <- B A'.
    sizes = _sizes(B.shape[0], A.shape[0], A.shape[1], B.shape[1], A.shape[1])
    _call_gemm(gemm, 1, 0, B.ctypes.data, A.ctypes.data, C.ctypes.data, sizes, _one_and(0.0, C))


@inline
def add_product_of_rows(gemm, A, B, C):
    """C += A'B, all in C's order: the sum over the rows of both."""
    sizes = _sizes(B.shape[1], A.shape[1], A.shape[0], B.shape[1], A.shape[1])
    _call_gemm(gemm, 0, 1, B.ctypes.data, A.ctypes.data, C.ctypes.data, sizes, _one_and(1.0, C))


@inline
def _sizes(columns, rows, summed, row_of_first, row_of_second):
    """Sizes of the product, what is summed over, and the lengths of rows; one by one, which compiles in less time."""
    sizes = np.empty(5, np.int32)
    sizes[0], sizes[1], sizes[2], sizes[3], sizes[4] = columns, rows, summed, row_of_first, row_of_second
    return sizes


@inline
def _one_and(factor, C):
    """Factors of the product and of what was there before."""
    factors = np.empty(2, C.dtype)
    factors[0], factors[1] = 1.0, factor
    return factors


@inline
def _call_gemm(gemm, of_first, of_second, B, A, C, sizes, factors):
    """B, A, C : addresses of arrays that the caller holds."""
    columns, rows, summed = sizes.ctypes.data, sizes[1:].ctypes.data, sizes[2:].ctypes.data
    gemm(
        _LETTERS[of_first:].ctypes.data, _LETTERS[of_second:].ctypes.data, columns, rows, summed, factors.ctypes.data,
        B, sizes[3:].ctypes.data, A, sizes[4:].ctypes.data, factors[1:].ctypes.data, C, columns,
    )  # fmt: skip
