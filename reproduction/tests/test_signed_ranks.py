"""Average ranks and p-values that the LOGM paper prints for its own Table 5."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm, wilcoxon

from protolearn.compare.statistics import average_ranks, signed_ranks
from reproduction.signed_ranks import printed_p_value, printed_pairs

METHODS = ("MCE", "GLVQ", "SNPC", "MAXP1", "LOGM", "RSLVQ", "RSLVQ1", "SVM")
# Jin, Liu and Hou (2010), Table 5: accuracies on 30 data sets, in the order of METHODS.
TABLE_5 = np.loadtxt(
    """
    74.24 74.19 73.80 73.81 74.84 73.70 74.22 76.55
    94.63 94.24 94.64 94.76 94.31 94.13 94.14 94.27
    97.75 96.44 98.31 98.22 98.41 98.69 99.44 99.16
    99.77 99.69 99.69 99.85 100.00 99.85 99.77 100.00
    95.16 95.55 95.57 95.33 95.22 94.40 93.86 96.33
    76.13 75.37 75.60 75.93 76.81 76.50 75.77 76.68
    86.97 86.72 87.05 86.90 87.08 86.97 87.22 87.04
    68.06 66.45 68.29 68.33 67.56 68.51 66.56 68.43
    73.77 72.26 72.64 72.84 74.41 76.07 75.19 75.84
    82.37 83.04 83.22 83.41 81.18 81.70 81.44 83.04
    87.25 86.88 86.75 86.38 87.50 88.00 88.00 84.50
    87.75 89.12 87.47 87.52 88.38 89.03 89.17 94.53
    95.60 95.53 95.73 95.73 96.20 96.00 96.00 95.53
    95.66 95.06 95.74 96.02 95.92 96.16 95.76 97.04
    69.92 66.76 69.43 69.50 69.46 70.07 68.68 71.69
    81.86 81.08 80.23 80.05 81.23 81.78 81.22 82.09
    98.27 98.00 98.05 98.27 98.33 97.77 97.89 98.72
    97.86 97.57 98.03 98.06 97.00 97.51 97.43 98.31
    75.94 75.75 75.75 75.94 76.39 75.63 75.38 76.56
    72.15 70.75 72.80 73.15 72.80 71.20 71.60 74.85
    95.67 95.48 95.50 95.29 95.94 95.94 94.91 96.90
    86.74 84.69 85.77 85.91 86.81 86.19 85.51 87.76
    89.27 89.41 89.86 90.09 89.90 88.84 87.24 89.75
    93.82 93.79 93.90 93.82 93.82 93.90 94.11 96.56
    94.62 93.77 94.37 94.77 94.32 94.17 94.82 95.42
    80.38 78.25 77.02 76.95 81.95 81.26 75.88 85.61
    94.89 94.53 94.85 95.04 95.26 95.17 95.16 94.88
    86.84 86.20 83.64 84.64 86.84 86.96 86.87 86.97
    97.35 97.21 97.44 97.38 97.22 97.31 97.26 97.34
    97.22 96.44 97.83 97.56 97.27 97.45 97.34 98.01
    """.splitlines()
)
RANKS = (3.82, 5.63, 4.15, 3.63, 3.05, 3.47, 4.25)
# Table 7: p of each pair, with the sign of R+ - R-; rows are the second method.
TABLE_7 = {
    "GLVQ": (-0.0005,),
    "SNPC": (-0.3135, 0.0305),
    "MAXP1": (-0.5971, 0.0417, 0.1195),
    "LOGM": (0.1084, 0.0004, 0.0410, 0.1048),
    "RSLVQ": (0.7703, 0.0055, 0.2098, 0.3524, -0.6420),
    "RSLVQ1": (-0.1274, 0.0878, -0.5999, -0.4106, -0.0703, -0.0372),
    "SVM": (0.0001, 0.0000, 0.0003, 0.0005, 0.0006, 0.0004, 0.0002),
}


def test_the_papers_average_ranks():
    np.testing.assert_allclose(average_ranks(TABLE_5[:, :7]), RANKS, atol=0.0051)


def test_the_papers_p_values():
    pairs = printed_pairs(dict(zip(METHODS, TABLE_5.T, strict=True)))
    assert list(pairs) == list(itertools.combinations(METHODS, 2))
    for second, printed in TABLE_7.items():
        for first, value in zip(METHODS, printed, strict=False):
            found = pairs[first, second]
            assert found.p_value == pytest.approx(abs(value), abs=0.009)
            assert found.better == (np.sign(value) or 1)


@pytest.mark.parametrize("seed", range(20))
def test_equals_scipy_where_no_two_differences_are_equal(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 25))
    second[:5] = first[:5]
    wanted = wilcoxon(second, first, zero_method="wilcox", correction=False, method="asymptotic")
    assert printed_p_value(signed_ranks(first, second)) == pytest.approx(wanted.pvalue)


def test_equal_differences_leave_the_variance_as_printed():
    found = signed_ranks(np.zeros(6), np.array([1, 1, 1, -1, 2, 0.0]))
    # R- = 2.5 of N = 5; scipy's p is smaller, for it takes the ties out of the variance.
    assert found.smaller_sum == 2.5
    wanted = wilcoxon([1, 1, 1, -1, 2], correction=False, method="asymptotic")
    assert printed_p_value(found) == pytest.approx(2 * norm.sf((7.5 - 2.5) / np.sqrt(5 * 6 * 11 / 24)))
    assert printed_p_value(found) > wanted.pvalue


def test_no_difference_has_p_1():
    assert printed_p_value(signed_ranks([0.5, 0.7], [0.5, 0.7])) == 1.0
