"""Starts near the decision border, and draws that do not depend on how rows are repeated."""

import numpy as np

from protolearn.data import TrainingSet
from protolearn.initializers import INITIALIZERS
from reproduction.artificial import lpd_grid


def test_border_starts_are_samples_nearer_to_the_other_class():
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.randn(200, 2), rng.randn(200, 2) + np.array([3.0, 0.0])])
    y = np.repeat([0, 1], 200)
    data = TrainingSet(X, y, None, 2)
    means = {}
    for name in ("random", "border"):
        positions, labels = INITIALIZERS[name](data, np.array([20, 20]), np.random.RandomState(1))
        assert all((positions[i] == X[y == labels[i]]).all(axis=1).any() for i in range(len(positions)))
        means[name] = np.abs(positions[:, 0] - 1.5).mean()
    assert means["border"] < 0.7 * means["random"]


def test_border_gives_what_there_is():
    X = np.array([[0.0], [0.0], [1.0], [5.0]])
    data = TrainingSet(X, np.array([0, 0, 0, 1]), None, 2)
    positions, labels = INITIALIZERS["border"](data, np.array([3, 1]), np.random.RandomState(0))
    assert sorted(positions[:, 0]) == [0.0, 1.0, 5.0]
    assert list(labels) == [0, 0, 1]


def test_random_draw_is_the_same_for_repeated_rows_and_weights():
    X, y = lpd_grid()
    weight = np.random.RandomState(0).randint(1, 5, len(X))
    twice = np.repeat(np.arange(len(X)), weight)
    counts = np.array([4, 4])
    for seed in range(3):
        one, _ = INITIALIZERS["random"](TrainingSet(X, y, weight.astype(float), 2), counts, np.random.RandomState(seed))
        two, _ = INITIALIZERS["random"](TrainingSet(X[twice], y[twice], None, 2), counts, np.random.RandomState(seed))
        np.testing.assert_array_equal(one, two)
        assert len(np.unique(one, axis=0)) == 8
