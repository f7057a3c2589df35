"""Average ranks, and exact signed ranks beside scipy's and beside all signs counted one by one."""

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from protolearn.compare.statistics import all_pairs, average_ranks, signed_ranks


@pytest.mark.parametrize("seed", range(20))
def test_equals_scipys_exact_test_where_no_two_differences_are_equal(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 25))
    second[:5] = first[:5]
    found = signed_ranks(first, second)
    assert found.p_value == pytest.approx(wilcoxon((second - first)[5:], method="exact").pvalue)
    assert found.ties == 5
    assert found.wins + found.losses == 20


@pytest.mark.parametrize("seed", range(10))
def test_equal_differences_count_all_signs(seed):
    difference = np.random.default_rng(seed).integers(-3, 4, size=9) / 10
    ranks = rankdata(np.abs(difference[difference != 0]))
    own = min(ranks[difference[difference != 0] > 0].sum(), ranks[difference[difference != 0] < 0].sum())
    sums = [np.dot(signs, ranks) for signs in itertools.product([0, 1], repeat=len(ranks))]
    wanted = min(1.0, 2 * np.mean([total <= own for total in sums]))
    found = signed_ranks(np.zeros(9), difference)
    assert found.p_value == pytest.approx(wanted)
    assert found.smaller_sum == own
    assert found.better == np.sign((ranks * np.sign(difference[difference != 0])).sum())


@pytest.mark.parametrize(("n_folds", "p_value"), [(5, 0.0625), (6, 0.03125)])
def test_a_sweep_of_five_folds_is_no_evidence(n_folds, p_value):
    found = signed_ranks(np.zeros(n_folds), np.arange(1, n_folds + 1))
    assert (found.p_value, found.wins, found.better) == (p_value, n_folds, 1)


def test_no_difference_is_no_evidence():
    found = signed_ranks([0.5, 0.7], [0.5, 0.7 + 1e-16])
    assert (found.p_value, found.better, found.ties) == (1.0, 0, 2)


def test_holms_correction_of_all_pairs():
    rng = np.random.default_rng(0)
    scores = {name: rng.normal(size=10) + shift for name, shift in (("a", 0), ("b", 0.1), ("c", 3), ("d", 1))}
    tests = list(all_pairs(scores).values())
    rising = sorted(tests, key=lambda test: test.p_value)
    assert rising[0].adjusted == pytest.approx(6 * rising[0].p_value)
    # Holm rejects the i-th of m at level a where all before it and (m - i) p are below a.
    for level in (0.01, 0.05, 0.2, 0.5):
        kept = [i for i in range(6) if (6 - i) * rising[i].p_value > level]
        assert sum(test.adjusted <= level for test in tests) == min(kept, default=6)
    assert all(test.p_value <= test.adjusted <= 1 for test in tests)


def test_ties_share_the_mean_rank():
    np.testing.assert_allclose(average_ranks([[0.9, 0.9, 0.5], [0.1, 0.2, 0.3]]), [2.25, 1.75, 2.0])
    with pytest.raises(ValueError, match="finite"):
        average_ranks([[np.nan, 1.0]])
