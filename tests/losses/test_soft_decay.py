"""The exponential of the soft losses."""

import numpy as np

from protolearn.losses.soft import NEGLIGIBLE, decay, decays


def test_decay_is_the_exponential():
    gaps = np.linspace(0.0, NEGLIGIBLE, 2001)
    np.testing.assert_allclose([decay(gap) for gap in gaps], np.exp(-gaps), rtol=5e-14)


def test_sums_of_both_sides_and_distances_of_infinity():
    D = np.array([1.0, 3.0, np.inf, 2.0, 90.0])
    labels = np.array([0, 0, 0, 1, 1])
    C = np.empty(5)
    *nearest, own, rival = decays(D, labels, 0, 0.7, 1.0, 2.0, C)
    assert nearest == [1.0, 2.0]
    np.testing.assert_allclose(C, [1.0, np.exp(-1.4), 0.0, 1.0, 0.0], rtol=1e-13)
    np.testing.assert_allclose([own, rival], [1.0 + np.exp(-1.4), 1.0], rtol=1e-13)
