"""Comparing classifiers over folds or data sets: average ranks and the signed ranks test of Jin, Liu and Hou (2010)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata


def average_ranks(scores: Any) -> np.ndarray:
    """Mean rank of each method, 1 the best; equal scores share the mean of their ranks.

    Parameters
    ----------
    scores : array-like of shape (n_outcomes, n_methods)
        Higher is better; an outcome is a fold or a data set.

    Returns
    -------
    ranks : ndarray of shape (n_methods,)
    """
    scores = _checked(scores)
    return rankdata(-scores, method="average", axis=1).mean(axis=0)


@dataclass(frozen=True)
class SignedRanks:
    """Outcome of the test for one pair.

    wins, ties, losses : outcomes in which the second method is better, equal, worse
    z : z0 of (37)
    p_value : P(|z| > z0), the probability of such a difference where there is none
    better : 1 where the second method has the larger sum of ranks, -1 the first, 0 neither
    """

    wins: int
    ties: int
    losses: int
    z: float
    p_value: float
    better: int


def signed_ranks(first: Any, second: Any) -> SignedRanks:
    """Wilcoxon's signed ranks test of two methods over the same outcomes.

        z0 = |min(R+, R-) - N (N + 1) / 4| / sqrt(N (N + 1) (2 N + 1) / 24),  p = P(|z| > z0)       LOGM (37)

    R+ is the sum of the ranks of |difference| where the second method is better, R- of those where the first is; equal
    differences share the mean of their ranks, zeros are dropped, N counts the others. As printed, the variance is not
    corrected for equal differences and the sum not for being discrete. Without any difference p is 1.

    Parameters
    ----------
    first, second : array-like of shape (n_outcomes,)
        Higher is better.

    Returns
    -------
    outcome : SignedRanks
    """
    difference = np.subtract(*_checked(np.column_stack([second, first])).T)
    wins, losses = int(np.sum(difference > 0)), int(np.sum(difference < 0))
    n = wins + losses
    ties = len(difference) - n
    if n == 0:
        return SignedRanks(0, ties, 0, 0.0, 1.0, 0)
    difference = difference[difference != 0]
    ranks = rankdata(np.abs(difference))
    plus, minus = float(ranks[difference > 0].sum()), float(ranks[difference < 0].sum())
    z = abs(min(plus, minus) - n * (n + 1) / 4) / math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return SignedRanks(wins, ties, losses, z, math.erfc(z / math.sqrt(2)), int(np.sign(plus - minus)))


def all_pairs(scores: Mapping[str, Sequence[float]]) -> dict[tuple[str, str], SignedRanks]:
    """The test for each pair (first, second) of methods, in the order of `scores`."""
    return {
        (first, second): signed_ranks(scores[first], scores[second])
        for first, second in itertools.combinations(scores, 2)
    }


def _checked(scores: Any) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or not scores.size or not np.isfinite(scores).all():
        raise ValueError("The scores must be finite numbers, one row an outcome and one column a method; check them.")
    # Accuracies that differ by rounding only are equal, and their ranks shared.
    return np.round(scores, 12)
