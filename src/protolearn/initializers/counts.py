"""How many prototypes each class gets."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np


def prototype_counts(n_prototypes: Any, class_counts: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Prototypes of each class, from `n_prototypes` as the user gave it.

    int : that many for each class
    dict : class -> number; names every class
    float in (0, 1) : that share of the training set, divided by the class sizes (largest remainders), at least one each

    A class without samples (in a block of a stream) gets none; one with fewer samples than asked for gets as many as it
    has, with a warning.
    """
    present = class_counts > 0
    if isinstance(n_prototypes, bool | np.bool_):
        raise ValueError(_WANTED.format(n_prototypes))
    if isinstance(n_prototypes, Mapping):
        wanted = _from_mapping(n_prototypes, classes)
    elif isinstance(n_prototypes, Integral):
        if n_prototypes < 1:
            raise ValueError(_WANTED.format(n_prototypes))
        wanted = np.full(len(classes), min(int(n_prototypes), _MANY))
    elif isinstance(n_prototypes, Real) and 0 < float(n_prototypes) < 1:
        wanted = divide_by_share(round(n_prototypes * class_counts.sum()), class_counts)
    else:
        raise ValueError(_WANTED.format(repr(n_prototypes)))
    wanted = np.where(present, wanted, 0)
    short = np.flatnonzero(wanted > class_counts)
    if len(short):
        named = [
            f"Class {classes[code]!s} has {class_counts[code]} samples, fewer than the {wanted[code]} prototypes asked "
            f"for: it gets {class_counts[code]}."
            for code in short[:_MOST_NAMED]
        ]
        more = [f"So it is with {len(short) - _MOST_NAMED} classes more."] if len(short) > _MOST_NAMED else []
        warnings.warn(
            " ".join([*named, *more, "Choose a smaller n_prototypes, or give a dict with a number a class."]),
            UserWarning,
            stacklevel=2,
        )
    return np.minimum(wanted, class_counts)


# More than any training set has.
_MANY = 2**62
_MOST_NAMED = 5
_WANTED = (
    "n_prototypes must be a whole number of at least 1 (for each class), a dict from class to number, a share "
    "between 0 and 1 of the training set, or, where init is a name, 'auto'; got {}."
)


def _from_mapping(numbers: Mapping, classes: np.ndarray) -> np.ndarray:
    known = {label.item() if hasattr(label, "item") else label: code for code, label in enumerate(classes)}
    missing = [label for label in known if label not in numbers]
    if missing:
        raise ValueError(
            f"n_prototypes names no number for class {missing[0]!s}; give every class of y one: "
            f"{', '.join(str(label) for label in known)}."
        )
    unknown = [label for label in numbers if label not in known]
    if unknown:
        raise ValueError(f"n_prototypes names class {unknown[0]!s}, which y does not have; remove it.")
    for label, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, Integral) or number < 1:
            raise ValueError(f"n_prototypes of class {label!s} must be a whole number of at least 1; got {number!r}.")
    return np.array([min(int(numbers[label]), _MANY) for label in known])


def divide_by_share(total: int, class_counts: np.ndarray) -> np.ndarray:
    """A total divided by class share with the largest remainders rounded up, at least one for a class with samples."""
    exact = total * class_counts / class_counts.sum()
    counts = np.floor(exact).astype(np.int64)
    largest_remainders = np.argsort(-(exact - counts), kind="stable")[: total - counts.sum()]
    counts[largest_remainders] += 1
    return np.maximum(counts, class_counts > 0)
