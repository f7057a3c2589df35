"""Comparing classifiers over folds or data sets: average ranks and Wilcoxon's signed ranks test."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    smaller_sum : min(R+, R-), the smaller of the two sums of ranks
    p_value : probability of such a sum or a smaller one on either side, where there is no difference
    adjusted : the same after Holm's correction for all pairs that were tested
    better : 1 where the second method has the larger sum of ranks, -1 the first, 0 neither
    """

    wins: int
    ties: int
    losses: int
    smaller_sum: float
    p_value: float
    adjusted: float
    better: int


def signed_ranks(first: Any, second: Any) -> SignedRanks:
    """Wilcoxon's signed ranks test of two methods over the same outcomes, exact for any number of them.

    R+ is the sum of the ranks of |difference| where the second method is better, R- of those where the first is; equal
    differences share the mean of their ranks, zeros are dropped. Where there is no difference each sign is + or - with
    probability 1/2, so that p = 2 P(R+ <= min(R+, R-)) over all 2^N signs: N outcomes that all point one way have
    2 / 2^N, and five of them are no evidence at 0.05. Wilcoxon (1945).

    Parameters
    ----------
    first, second : array-like of shape (n_outcomes,)
        Higher is better.

    Returns
    -------
    outcome : SignedRanks, with `adjusted` equal to `p_value`: one pair needs no correction
    """
    difference = np.subtract(*_checked(np.column_stack([second, first])).T)
    ties = int(np.sum(difference == 0))
    difference = difference[difference != 0]
    wins = int(np.sum(difference > 0))
    ranks = rankdata(np.abs(difference))
    plus, minus = float(ranks[difference > 0].sum()), float(ranks[difference < 0].sum())
    smaller = min(plus, minus)
    # Ranks are halves of whole numbers. One more rank r: half of the distribution of R+ stays, half moves by r.
    distribution = np.ones(1)
    for doubled in np.rint(2 * ranks).astype(int):
        distribution = np.convolve(distribution, np.bincount([0, doubled]) / 2)
    p_value = min(1.0, 2 * float(distribution[: round(2 * smaller) + 1].sum()))
    return SignedRanks(wins, ties, len(difference) - wins, smaller, p_value, p_value, int(np.sign(plus - minus)))


def all_pairs(scores: Mapping[str, Sequence[float]]) -> dict[tuple[str, str], SignedRanks]:
    """The test for each pair (first, second) of methods, in the order of `scores`, corrected for their number.

    Holm (1979): of m p-values in rising order, the i-th times m - i + 1, and no less than the one before it.
    """
    tests = {
        (first, second): signed_ranks(scores[first], scores[second])
        for first, second in itertools.combinations(scores, 2)
    }
    before = 0.0
    adjusted = {}
    for i, (pair, test) in enumerate(sorted(tests.items(), key=lambda item: item[1].p_value)):
        before = min(1.0, max(before, (len(tests) - i) * test.p_value))
        adjusted[pair] = before
    return {pair: replace(test, adjusted=adjusted[pair]) for pair, test in tests.items()}


def _checked(scores: Any) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or not scores.size or not np.isfinite(scores).all():
        raise ValueError("The scores must be finite numbers, one row an outcome and one column a method; check them.")
    # Accuracies that differ by rounding only are equal, and their ranks shared.
    return np.round(scores, 12)
