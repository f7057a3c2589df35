"""Functions that numba compiles when something learns. Importing the package imports no numba.

A kernel is a plain Python function with the signature to compile it for, once the number type of the data is known. A
helper is a plain function that kernels call by name. Both run as Python where no compiler is wanted.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

# Enough to vectorise a sum of squares (46 GFLOP/s against 3.5 without), and a NaN still stays a NaN.
VECTORISED = frozenset({"reassoc", "contract"})

Choose = Callable[[Any], Any]


class _LazyTypes:
    """`numba.types`, imported when a signature is made."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("numba").types, name)


types = _LazyTypes()


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


def integer_of(number: Any) -> Any:
    """Numba's type of an integer of as many bits."""
    return types.int32 if number == types.float32 else types.int64


def function_of(signature: Any) -> Any:
    """Numba's type of a compiled function that is handed to a kernel as an argument."""
    return types.FunctionType(signature)


# Helpers that numba has not been told of yet, with their fastmath flags.
_NEW_HELPERS: list[tuple[Callable, Any]] = []


def helper(function: Callable) -> Callable:
    """Decorate a plain function that kernels call by name."""
    _NEW_HELPERS.append((function, False))
    return function


def vectorised(function: Callable) -> Callable:
    """Decorate a plain loop over numbers that kernels call by name; its sums may be reordered."""
    _NEW_HELPERS.append((function, set(VECTORISED)))
    return function


def _numba() -> Any:
    """The numba package, told of all helpers."""
    numba = importlib.import_module("numba")
    extending = importlib.import_module("numba.extending")
    while _NEW_HELPERS:
        function, fastmath = _NEW_HELPERS.pop()
        extending.register_jitable(fastmath=fastmath)(function)
    return numba


class Kernel:
    """A plain function and the signature to compile it for, for one number type at a time.

    Kernels receive losses and metrics as arguments. Numba's disk cache accepts that only where each such function has
    one explicit signature, so the signature is fixed here. The compiler runs when `of` first asks for a number type.

    name : where a function that has several signatures is found in its module with this one
    """

    known: list[Kernel] = []

    def __init__(
        self,
        function: Callable,
        signature: Choose,
        *,
        fastmath: Any = False,
        cache: bool = True,
        name: str | None = None,
    ) -> None:
        self.function = getattr(function, "py_func", function)
        self.signature, self.cache = signature, cache
        self.fastmath = set(fastmath) if fastmath else False
        self.__doc__ = self.function.__doc__
        self.__name__ = name or self.function.__name__
        self.__qualname__ = name or self.function.__qualname__
        self.__module__ = self.function.__module__
        self._for_number = lru_cache(maxsize=None)(self._compile)
        if cache:
            self.known.append(self)

    def of(self, dtype: Any) -> Callable:
        """The function compiled for a number type."""
        return self._for_number(np.dtype(dtype))

    def _compile(self, dtype: np.dtype) -> Callable:
        numba = _numba()
        signature = self.signature(getattr(types, dtype.name))
        try:
            return _compiled(self.function, signature, self.cache, nogil=True, fastmath=self.fastmath)
        except numba.errors.NumbaError as error:
            reason = str(error).strip().splitlines()[0]
            raise ValueError(
                f"{self.__name__} does not compile with the signature {signature}: {reason} "
                "Write it with numbers and NumPy only."
            ) from error

    def __call__(self, *arguments: Any) -> Any:
        """The plain function."""
        return self.function(*arguments)

    def __reduce__(self) -> tuple:
        if _found(self.__module__, self.__qualname__) is self:
            return _found, (self.__module__, self.__qualname__)
        return _rebuilt, (self.function, self.signature, self.fastmath, self.cache)


def kernel(signature: Choose, *, fastmath: Any = False, name: str | None = None) -> Callable[[Callable], Kernel]:
    """Decorate a function that numba compiles for `signature(number)` when it is first needed."""

    def wrap(function: Callable) -> Kernel:
        return Kernel(function, signature, fastmath=fastmath, name=name)

    return wrap


class LazyLoop:
    """A plain function that numba compiles for the types of its arguments when it is first called."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._for_kinds: dict[tuple, Callable] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Compile for new types of arguments, then run."""
        numba = _numba()
        if numba.config.DISABLE_JIT:
            return self.function(*arguments)
        # Not by numba.typeof, which takes 10 microseconds an array: more than half of a fit of LaMaLVQ on 178 rows.
        kinds = tuple(map(_kind, arguments))
        if kinds not in self._for_kinds:
            signature = tuple(map(numba.typeof, arguments))
            self._for_kinds[kinds] = _compiled(self.function, signature, True, nogil=True, fastmath=set(VECTORISED))
        return self._for_kinds[kinds](*arguments)


def _kind(argument: Any) -> Any:
    """What tells the type that numba gives an argument."""
    if type(argument) is np.ndarray:
        flags = argument.flags
        contiguous = flags.c_contiguous, flags.f_contiguous
        return argument.dtype, argument.ndim, contiguous, flags.writeable, flags.aligned
    return type(argument) if isinstance(argument, int | float) else _numba().typeof(argument)


def lazy_loop(function: Callable) -> LazyLoop:
    """Decorate a loop that is compiled for the types of its arguments at its first call."""
    return LazyLoop(function)


def _compiled(function: Callable, signature: Any, cache: bool, **options: Any) -> Callable:
    """The function compiled, from the disk cache where it is there; anew where its entry cannot be read."""
    numba = _numba()
    if not cache or numba.config.DISABLE_JIT:
        return numba.njit(signature, **options)(function)
    for attempt in range(2):
        try:
            found = numba.njit(signature, cache=True, **options)(function)
            # The entry of another number type under this name would have another signature.
            if getattr(signature, "args", signature) in found.signatures:
                return found
        except numba.errors.NumbaError:
            raise
        except Exception:  # what a torn entry raises depends on where it is torn
            if attempt:
                break
        _forget_cached(function)
    _warn_of_no_cache()
    return numba.njit(signature, **options)(function)


def _forget_cached(function: Callable) -> None:
    """Delete the entries of a function from the disk cache, where there is one."""
    try:
        folder = Path(_numba().njit(cache=True)(function).stats.cache_path)
        for entry in folder.glob(f"*.{function.__qualname__.replace('<', '').replace('>', '')}-*.nb?"):
            entry.unlink()
    except (RuntimeError, OSError):
        return


@lru_cache(maxsize=1)
def _warn_of_no_cache() -> None:
    """Once in a process."""
    warnings.warn(
        "Compiled functions cannot be kept on disk, so each process compiles them anew: no folder for them can be "
        "written to. Set NUMBA_CACHE_DIR to one that can.",
        RuntimeWarning,
        stacklevel=2,
    )


def _found(module: str, path: str) -> Any:
    """The object at a dotted path of a module; None where it is not there."""
    try:
        return attrgetter(path)(importlib.import_module(module))
    except (AttributeError, ImportError):
        return None


_REBUILT: dict[Any, Kernel] = {}
_MOST_REBUILT = 100


def _rebuilt(function: Callable, signature: Choose, fastmath: Any, cache: bool) -> Kernel:
    """A user's function that came from another process, compiled once however often it comes."""
    # What it may depend on: its code, and the values it closes over or finds among its globals.
    names = [name for name in function.__code__.co_names if name in function.__globals__]
    values = [function.__globals__[name] for name in names]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    key = (function.__code__, function.__defaults__, repr(values), signature, bool(fastmath), cache)
    if len(_REBUILT) > _MOST_REBUILT:
        _REBUILT.clear()
    if key not in _REBUILT:
        _REBUILT[key] = Kernel(function, signature, fastmath=fastmath, cache=cache)
    return _REBUILT[key]
