"""Which numbers squared distances can be computed of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

# Learning multiplies squared distances with each other: fourth powers of float64 overflow beyond 1e77.
LARGEST = 1e70
SMALLEST = 1e-70
# Differences of float32 below have few digits left: prototypes are kept in the number type of X.
SMALLEST_IN_FLOAT32 = 1e-35


def column_extremes(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest value of each column of a dense or sparse matrix, in float64."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(low):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return low.astype(np.float64), high.astype(np.float64)


def size_and_spread(X: Any) -> tuple[float, float]:
    """The largest absolute value, and the widest range of a column; infinite where the range is no number."""
    if not X.shape[0]:
        return 0.0, 0.0
    low, high = column_extremes(X)
    with np.errstate(over="ignore"):
        return float(max(-low.min(), high.max())), float((high - low).max())


def check_range(name: str, size: float, spread: float, dtype: Any = np.float64) -> None:
    """Raise where squares of numbers of this size overflow, or squares of their differences vanish.

    name : "X", or the name of weights, of which `spread` is the largest
    """
    features = name == "X"
    what = "features" if features else "weights"
    smallest = SMALLEST_IN_FLOAT32 if dtype == np.float32 else SMALLEST
    if size > LARGEST:
        raise ValueError(
            f"{name} holds numbers of up to {size:.0e} in size, and products of squared distances overflow beyond "
            f"{LARGEST:.0e}; divide the {what} by {size:.0e} first."
        )
    if 0.0 < spread < smallest:
        small = f"The values of every column of {name} lie within {spread:.0e} of each other"
        raise ValueError(
            f"{small if features else f'{name} holds no number above {spread:.0e}'}, and products of squared distances "
            f"vanish below {smallest:.0e}; multiply the {what} by {1.0 / max(spread, 1e-300):.0e} first."
        )


def check_finite(*learned: np.ndarray) -> None:
    """Raise where something learned is not finite."""
    if not all(np.isfinite(values).all() for values in learned):
        raise FloatingPointError


@contextmanager
def finite_or_refused(name: str) -> Iterator[None]:
    """Learning that either keeps to finite numbers or is refused."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            yield
    except (FloatingPointError, np.linalg.LinAlgError):
        raise ValueError(
            f"{name} came to numbers that are not finite, because the features differ too much in size, or a rate or a "
            "margin does from them; scale the features first, for example by StandardScaler."
        ) from None
