"""The signed ranks test as Jin, Liu and Hou (2010) print it: by the normal distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from protolearn.compare.statistics import SignedRanks, all_pairs


def printed_pairs(scores: Mapping[str, Sequence[float]]) -> dict[tuple[str, str], SignedRanks]:
    """The test for each pair of methods, with the p-value of (37) in the place of the exact one.

    Parameters
    ----------
    scores : accuracies by method over the same data sets

    Returns
    -------
    pairs : dict from (first, second) to SignedRanks
    """
    return {pair: replace(test, p_value=printed_p_value(test)) for pair, test in all_pairs(scores).items()}


def printed_p_value(test: SignedRanks) -> float:
    """P(|z| > z0) of one pair.

        z0 = |min(R+, R-) - N (N + 1) / 4| / sqrt(N (N + 1) (2 N + 1) / 24)                             LOGM (37)

    N counts the outcomes that differ. As printed, the variance is not corrected for equal differences and the sum not
    for being discrete.
    """
    n = test.wins + test.losses
    if n == 0:
        return 1.0
    z = abs(test.smaller_sum - n * (n + 1) / 4) / math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return math.erfc(z / math.sqrt(2))
