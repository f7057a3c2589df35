"""Compiled functions as arguments of compiled functions."""

import numpy as np
import pytest
from numba import types

from protolearn.compiled import Compiled, compiled, vector
from protolearn.function_arguments import FunctionOf


def of_numbers(number):
    return number(vector(number), number)


@compiled(lambda number: number(FunctionOf(of_numbers(number)), FunctionOf(of_numbers(number)), vector(number), number))
def sum_of_both(one, other, numbers, more):
    return one(numbers, more) + other(numbers, more)


@compiled(of_numbers)
def first_plus(numbers, more):
    return numbers[0] + more


@compiled(of_numbers)
def square(numbers, more):
    return more * more


def too_large(numbers, more):
    if more > 2:
        raise ValueError("more than two")
    return more


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_they_are_called(dtype):
    numbers = np.array([1.0, 5.0], dtype=dtype)
    both = first_plus.argument(dtype), square.argument(dtype)
    assert sum_of_both.of(dtype)(*both, numbers, 3.0) == 1 + 3 + 9
    assert sum_of_both.of(dtype)(*both[::-1], numbers, 2.0) == 1 + 2 + 4
    assert both[1](numbers, dtype(3)) == 9


def test_what_they_raise_is_passed_on():
    """Of a function of ours, and of a user's, which is not cached."""
    numbers = np.ones(2)
    for cache in (True, False):
        raising = Compiled(too_large, of_numbers, cache=cache).argument(np.float64)
        assert sum_of_both.of(np.float64)(raising, raising, numbers, 2.0) == 4
        with pytest.raises(ValueError, match="more than two"):
            sum_of_both.of(np.float64)(raising, raising, numbers, 3.0)


def test_what_is_no_such_function_is_an_error():
    one = first_plus.argument(np.float64)
    for other in (None, 3, first_plus.argument(np.float32)):
        with pytest.raises(TypeError):
            sum_of_both.of(np.float64)(one, other, np.ones(2), 1.0)


def test_an_argument_without_addresses_is_an_error():
    class Empty:
        _numba_type_ = FunctionOf(of_numbers(types.float64))

    one = first_plus.argument(np.float64)
    with pytest.raises(AttributeError, match="address"):
        sum_of_both.of(np.float64)(one, Empty(), np.ones(2), 1.0)
