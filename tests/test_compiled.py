"""Helpers: part of the compiled functions that call them, and plain functions for Python."""

import pickle

import numpy as np
import pytest
from numba import types

from protolearn.compiled import Helper, compiled, inline, vector, vectorised
from protolearn.tiles import up_to


@inline
def is_allowed(x):
    """Calls another one."""
    if x < 0:
        raise ValueError("No number below zero.")
    return up_to(3, 2) == 4


@vectorised
def total(x):
    """The sum."""
    found = 0.0
    for number in x:
        found += number
    return found


@compiled(lambda number: types.float64(vector(number)))
def total_where_allowed(x):
    """Calls both."""
    return total(x) if is_allowed(x[0]) else np.nan


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_functions_and_python_call_the_same_helpers(dtype):
    x = np.arange(1, 100, dtype=dtype)
    assert total(x) == total_where_allowed.of(dtype)(x) == total_where_allowed(x) == 4950


def test_python_runs_a_helper_without_compiling_it():
    helper = inline(lambda n: n + 1)
    assert helper(1) == 2
    assert "_by_name" not in vars(helper)


def test_errors_of_helpers_reach_the_caller():
    with pytest.raises(ValueError, match="No number below zero"):
        total_where_allowed.of(np.float64)(np.array([-1.0]))


def test_helpers_keep_their_names_and_can_travel():
    assert isinstance(up_to, Helper)
    assert up_to.__name__ == "up_to"
    assert "multiple" in up_to.__doc__
    assert pickle.loads(pickle.dumps(up_to)) is up_to
