"""Products with a triangular matrix, while other threads of Python go on.

scipy's own wrapper of trmm keeps the interpreter's lock, so that two threads which share a batch wait for each other.
The function behind it, which scipy publishes for compiled code, is called here without the lock.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
from numba.extending import get_cython_function_address
from scipy.linalg import cython_blas
from scipy.linalg.blas import get_blas_funcs

_NAMES = {np.dtype(np.float32): "strmm", np.dtype(np.float64): "dtrmm"}
# Four letters, two sizes, alpha, and two matrices with their leading dimensions.
_CALLED_WITH = "char *, char *, char *, char *, int *, int *, ?, ?, int *, ?, int *"


def triangular_product(X: np.ndarray, A: np.ndarray) -> np.ndarray:
    """X L with L the lower triangle of A; what is above it is not read. Both in one number type, A in C's order."""
    out = np.array(X, order="C")
    if out.size:
        _times_triangle(out.dtype)(A, out)
    return out


@cache
def _times_triangle(dtype: np.dtype) -> Callable[[np.ndarray, np.ndarray], None]:
    """The function that puts X L in the place of X."""
    name = _NAMES[dtype]
    if not _takes_plain_integers(name):
        (trmm,) = get_blas_funcs(("trmm",), dtype=dtype)

        def with_lock(A: np.ndarray, X: np.ndarray) -> None:
            X[...] = trmm(1.0, A.T, X.T).T

        return with_lock
    call = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 11)(
        get_cython_function_address("scipy.linalg.cython_blas", name)
    )
    one = np.ones(1, dtype=dtype)
    # In BLAS's order both are transposed: X' <- U X', U = L' from the left, the upper triangle, as it stands.
    letters = [ctypes.create_string_buffer(letter) for letter in (b"L", b"U", b"N", b"N")]

    def without_lock(A: np.ndarray, X: np.ndarray) -> None:
        rows, columns = (ctypes.byref(ctypes.c_int(size)) for size in X.shape)
        call(*letters, columns, rows, one.ctypes.data, A.ctypes.data, columns, X.ctypes.data, columns)

    return without_lock


def _takes_plain_integers(name: str) -> bool:
    """Whether scipy's BLAS has integers of C's `int`: it may be built with wider ones."""
    number = f"__pyx_t_5scipy_6linalg_11cython_blas_{name[0]} *"
    return f'"void ({_CALLED_WITH.replace("?", number)})"' in repr(cython_blas.__pyx_capi__.get(name))
