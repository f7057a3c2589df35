"""Checks of what users pass: one sentence that names the cause and the remedy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from numbers import Integral, Real
from typing import Any, Concatenate, ParamSpec

import numpy as np
from sklearn.utils import check_random_state

Given = ParamSpec("Given")

# More steps than that nobody waits for, and their product with a number of rows fits a machine's integer.
_LARGEST_COUNT = 2**31 - 1


def stores_parameters(init: Callable[Concatenate[Any, Given], None]) -> Callable[Concatenate[Any, Given], None]:
    """Decorate the `__init__` of an estimator: each argument becomes the attribute of its name.

    scikit-learn reads the parameters from the signature and wants each of them stored as given, and nothing else done;
    so the signature is all there is to write. A subclass may have an `__init__` of its own, decorated or not, and call
    this one by `super().__init__`.

    A keyword that the class does not have raises a TypeError that names the remedy: the class's own words in
    `_absent`, a dict from keyword to remedy, or the nearest keyword that it has.

    >>> class Circle:
    ...     @stores_parameters
    ...     def __init__(self, radius=1.0, *, colour="red") -> None: ...
    >>> vars(Circle(2.0))
    {'radius': 2.0, 'colour': 'red'}
    >>> Circle(color="blue")
    Traceback (most recent call last):
    TypeError: Circle has no parameter 'color'; did you mean 'colour'? It has radius, colour.
    """
    signature = inspect.signature(init)
    names = list(signature.parameters)[1:]

    @wraps(init)
    def store(self: Any, /, *args: Given.args, **keywords: Given.kwargs) -> None:
        for unknown in keywords.keys() - set(names):
            raise TypeError(_no_such_parameter(type(self), unknown, names))
        init(self, *args, **keywords)
        given = signature.bind(self, *args, **keywords)
        given.apply_defaults()
        for name in names:
            setattr(self, name, given.arguments[name])

    return store


def _no_such_parameter(estimator: type, unknown: str, names: list[str]) -> str:
    cause = f"{estimator.__name__} has no parameter {unknown!r}"
    remedy = getattr(estimator, "_absent", {}).get(unknown)
    if remedy is not None:
        return f"{cause}: {remedy}"
    near = get_close_matches(unknown, names, 1)
    return f"{cause}{f'; did you mean {near[0]!r}?' if near else '.'} It has {', '.join(names)}."


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise unless `value` is among `choices`."""
    choices = list(choices)
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}.")


def check_number(
    name: str,
    value: Any,
    *,
    above: float = -np.inf,
    at_least: float = -np.inf,
    below: float = np.inf,
    at_most: float = np.inf,
    optional: bool = False,
) -> None:
    """Raise unless `value` is a finite number within the bounds (or None, where that is an option)."""
    if value is None and optional:
        return
    limits = [
        f"{sign} {limit:g}"
        for sign, limit in ((">", above), (">=", at_least), ("<", below), ("<=", at_most))
        if np.isfinite(limit)
    ]
    wanted = "a number" + (" " + " and ".join(limits) if limits else "") + (" or None" if optional else "")
    number = np.nan if isinstance(value, bool | np.bool_) or not isinstance(value, Real) else float(value)
    if not (np.isfinite(number) and above < number < below and at_least <= number <= at_most):
        raise ValueError(f"{name} must be {wanted}; got {value!r}.")


def check_count(name: str, value: Any, *, at_least: int = 1, optional: bool = False) -> None:
    """Raise unless `value` is a whole number of at least `at_least` (or None, where that is an option)."""
    if value is None and optional:
        return
    is_count = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not is_count or not at_least <= value <= _LARGEST_COUNT:
        at_most = f" and at most {_LARGEST_COUNT}" if is_count and value > at_least else ""
        wanted = f"a whole number of at least {at_least}{at_most}" + (" or None" if optional else "")
        raise ValueError(f"{name} must be {wanted}; got {value!r}.")


def as_numbers(value: Any) -> np.ndarray | None:
    """An array of float64; None where the value is none."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def check_random(random_state: Any) -> np.random.RandomState:
    """The random numbers of a seed, of a RandomState, or of NumPy's own."""
    try:
        return check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state must be a whole number from 0 to {2**32 - 1}, a RandomState or None; got {random_state!r}."
        ) from None
