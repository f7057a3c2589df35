"""Functions that numba compiles on first use, for one number type at a time, into its disk cache."""

from __future__ import annotations

import gc
import importlib
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any

import numpy as np
from numba import njit, typeof, types
from numba.core.errors import NumbaError

from protolearn.function_arguments import Argument

# Enough to vectorise a sum of squares (46 GFLOP/s against 3.5 without), and a NaN still stays a NaN.
VECTORISED = frozenset({"reassoc", "contract"})

Signature = Any
Choose = Callable[[Any], Signature]

# Nothing in C calls them; those that only compiled functions call by name need no code for Python to call them either.
_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
_WITHIN: dict[str, Any] = {**_OPTIONS, "cache": True, "no_cpython_wrapper": True}

_NUMBER_TYPES = {np.dtype(np.float32): types.float32, np.dtype(np.float64): types.float64}


def vector(number: Any) -> Any:
    """Numba's type of a contiguous vector."""
    return types.Array(number, 1, "C")


def matrix(number: Any) -> Any:
    """Numba's type of a C-contiguous matrix."""
    return types.Array(number, 2, "C")


def constant_matrix(number: Any) -> Any:
    """Numba's type of a C-contiguous matrix that is not written to, so that it may be read-only."""
    return types.Array(number, 2, "C", readonly=True)


def stack(number: Any) -> Any:
    """Numba's type of a C-contiguous stack of matrices."""
    return types.Array(number, 3, "C")


def constant_stack(number: Any) -> Any:
    """Numba's type of a C-contiguous stack of matrices that is not written to."""
    return types.Array(number, 3, "C", readonly=True)


def aligned_empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Room that begins on a cache line: a vector that crosses two lines takes two loads."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + 64, dtype=np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size].view(dtype).reshape(shape)


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros that begin on a cache line."""
    found = aligned_empty(shape, dtype)
    found[...] = 0
    return found


@contextmanager
def _no_collections() -> Iterator[None]:
    """Without garbage collection, which finds little in a compiler's trees and takes a seventh of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Helper:
    """A function that compiled functions call by name; Python runs it as it is.

    Numba compiles it as a part of those that call it. With code for Python to call it too, and for C, all compiling
    takes a sixth longer.
    """

    def __init__(self, function: Callable, *, fastmath: Any = False, name: str | None = None) -> None:
        self.function = getattr(function, "py_func", function)
        self.fastmath = set(fastmath) if fastmath else False
        self.__doc__ = self.function.__doc__
        self.__name__ = name or self.function.__name__
        self.__qualname__ = name or self.function.__qualname__
        self.__module__ = self.function.__module__

    @cached_property
    def _by_name(self) -> Callable:
        return njit(**_WITHIN, fastmath=self.fastmath)(self.function)

    @property
    def _numba_type_(self) -> Any:
        """What numba sees where a compiled function calls this one by name."""
        return typeof(self._by_name)

    def __call__(self, *arguments: Any) -> Any:
        """The plain function."""
        return self.function(*arguments)

    def __reduce__(self) -> tuple:
        return _found, (self.__module__, self.__qualname__)


class Compiled(Helper):
    """A plain function and the signature to compile it for, once a number type is known.

    Kernels receive losses and metrics as arguments. Numba's disk cache accepts that only where each such function
    has one explicit signature, so the signature is fixed here and compiled when `of` first asks for it: importing the
    package compiles nothing. Compiled functions call each other by name.
    """

    def __init__(
        self,
        function: Callable,
        signature: Choose,
        *,
        fastmath: Any = False,
        cache: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(function, fastmath=fastmath, name=name)
        self.signature, self.cache = signature, cache
        self._for_number = lru_cache(maxsize=None)(self._compile)
        self._argument_for_number = lru_cache(maxsize=None)(self._as_argument)

    def _compile(self, dtype: np.dtype) -> Callable:
        number = _NUMBER_TYPES[dtype]
        try:
            with _no_collections():
                return njit(self.signature(number), cache=self.cache, fastmath=self.fastmath, **_OPTIONS)(self.function)
        except NumbaError as error:
            reason = str(error).strip().splitlines()[0]
            raise ValueError(
                f"{self.__name__} does not compile with the signature {self.signature(number)}: {reason} "
                "Write it with numbers and NumPy only."
            ) from error

    def of(self, dtype: Any) -> Callable:
        """The function compiled for float32 or float64."""
        return self._for_number(np.dtype(dtype))

    def argument(self, dtype: Any) -> Callable:
        """The function compiled for float32 or float64, as an argument of other compiled functions."""
        return self._argument_for_number(np.dtype(dtype))

    def _as_argument(self, dtype: np.dtype) -> Callable:
        function = self._for_number(dtype)
        # Without a compiler it is the plain one.
        plain = not hasattr(function, "get_compile_result")
        return function if plain else Argument(function, self.signature(_NUMBER_TYPES[dtype]))

    def __reduce__(self) -> tuple:
        if _found(self.__module__, self.__qualname__) is self:
            return super().__reduce__()
        return _rebuilt, (self.function, self.signature, self.fastmath, self.cache)


def _found(module: str, path: str) -> Any:
    """The object at a dotted path of a module; None where it is not there."""
    try:
        return attrgetter(path)(importlib.import_module(module))
    except (AttributeError, ImportError):
        return None


_REBUILT: dict[Any, Compiled] = {}
_MOST_REBUILT = 100


def _rebuilt(function: Callable, signature: Choose, fastmath: Any, cache: bool) -> Compiled:
    """A user's function that came from another process, compiled once however often it comes."""
    # What it may depend on: its code, and the values it closes over or finds among its globals.
    names = [name for name in function.__code__.co_names if name in function.__globals__]
    values = [function.__globals__[name] for name in names]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    key = (function.__code__, function.__defaults__, repr(values), signature, bool(fastmath), cache)
    if len(_REBUILT) > _MOST_REBUILT:
        _REBUILT.clear()
    if key not in _REBUILT:
        _REBUILT[key] = Compiled(function, signature, fastmath=fastmath, cache=cache)
    return _REBUILT[key]


def compiled(signature: Choose, *, fastmath: Any = False, name: str | None = None) -> Callable[[Callable], Compiled]:
    """Decorate a function that numba compiles for `signature(number)` when it is first needed.

    name : where a function that has several signatures is found in its module with this one
    """

    def wrap(function: Callable) -> Compiled:
        return Compiled(function, signature, fastmath=fastmath, name=name)

    return wrap


def inline(function: Callable) -> Helper:
    """Decorate a small helper that compiled functions call by name."""
    return Helper(function)


def vectorised(function: Callable) -> Helper:
    """Decorate a small loop over numbers that compiled functions call by name."""
    return Helper(function, fastmath=VECTORISED)
