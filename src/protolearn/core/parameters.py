"""Checks of what users pass: one sentence that names the cause and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

# More steps than that nobody waits for, and their product with a number of rows fits a machine's integer.
_LARGEST_COUNT = 2**31 - 1


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
