"""Compiled functions as arguments of compiled functions, without the interpreter's help.

Of numba's own type for them each call looks up the address again, by functions in Python: 5 microseconds a function,
80 where the function is no `WrapperAddressProtocol`. Here the addresses are numbers of an object, read in half a one.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, models, register_model, unbox


class FunctionOf(types.FunctionType):
    """Numba's type of a function as an argument, where that is an `Argument`."""


class Argument:
    """A compiled function with its address for numba's callers, by which errors are passed on; C has none."""

    address = 0

    def __init__(self, function: Any, signature: Any) -> None:
        self._function = function
        self._numba_type_ = FunctionOf(signature)
        found = function.get_compile_result(signature)
        self.address_for_numba = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)

    def __call__(self, *arguments: Any) -> Any:
        """The function itself."""
        return self._function(*arguments)


@register_model(FunctionOf)
class _Addresses(models.StructModel):
    """As of numba's type, which its calls read."""

    def __init__(self, manager: Any, function_type: Any) -> None:
        names = "c_addr", "py_addr", "jit_addr"
        super().__init__(manager, function_type, [(name, types.voidptr) for name in names])


@unbox(FunctionOf)
def _addresses_of(function_type: Any, argument: Any, c: Any) -> NativeValue:
    found = cgutils.create_struct_proxy(function_type)(c.context, c.builder)
    found.py_addr = c.builder.ptrtoint(argument, c.context.get_value_type(types.voidptr))
    found.c_addr = _address(argument, "address", c)
    found.jit_addr = _address(argument, "address_for_numba", c)
    return NativeValue(found._getvalue(), is_error=c.pyapi.c_api_error())


def _address(argument: Any, name: str, c: Any) -> Any:
    """An attribute that is a number; null, with an error set, where there is none."""
    place = cgutils.alloca_once_value(c.builder, cgutils.get_null_value(c.context.get_value_type(types.voidptr)))
    number = c.pyapi.object_getattr_string(argument, name)
    with c.builder.if_then(cgutils.is_not_null(c.builder, number)):
        c.builder.store(c.pyapi.long_as_voidptr(number), place)
        c.pyapi.decref(number)
    return c.builder.load(place)
