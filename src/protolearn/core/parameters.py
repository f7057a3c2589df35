"""Checks of what users pass: one sentence that names the cause and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np


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
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < at_least:
        wanted = f"a whole number of at least {at_least}" + (" or None" if optional else "")
        raise ValueError(f"{name} must be {wanted}; got {value!r}.")
