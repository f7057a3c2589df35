"""The papers' drawn problems."""

import numpy as np

from reproduction.artificial import learn1nn_toy, lpd_grid, separable_points


def test_lpd_grid_has_the_printed_counts():
    X, y = lpd_grid()
    assert np.bincount(y).tolist() == [223, 253]
    assert len(np.unique(X, axis=0)) == len(X) == 476
    assert X.min(axis=0).tolist() == [1, 1]
    assert X.max(axis=0).tolist() == [21, 25]


def test_toy_has_two_errors_at_the_border_3_5():
    X, y = learn1nn_toy()
    assert ((X[:, 0] < 3.5) != (y == "a")).sum() == 2
    X, y = learn1nn_toy(outlier=True)
    assert len(X) == 11
    assert X[-1, 0] == -7


def test_separable_points_have_the_printed_border():
    from sklearn.svm import SVC

    X, y = separable_points()
    plane = SVC(kernel="linear", C=1e6).fit(X, y)
    # x2 = x1 - 1, with (6, 8) and (9, 5) on the two margins.
    a, b = plane.coef_[0]
    assert np.allclose([b / a, plane.intercept_[0] / a], [-1.0, -1.0], atol=1e-3)
    assert np.allclose(plane.decision_function([[6, 8], [9, 5]]), [-1.0, 1.0], atol=1e-2)
