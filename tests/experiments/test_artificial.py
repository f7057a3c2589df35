"""The papers' drawn problems."""

import numpy as np

from protolearn.experiments.artificial import learn1nn_toy, lpd_grid, separable_points


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


def test_separable_points_have_the_printed_support_vectors():
    from sklearn.svm import SVC

    X, y = separable_points()
    found = SVC(kernel="linear", C=1e6).fit(X, y)
    assert {tuple(point) for point in found.support_vectors_} == {(6.0, 8.0), (9.0, 5.0)}
