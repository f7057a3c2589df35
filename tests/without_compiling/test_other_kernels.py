"""The compiled parts of reducers, metric solves, LPD and learn1NN, small enough to run as Python too."""

import numpy as np
import pytest
from scipy import sparse

from problems import ALL_METRICS, mean_gradient, objective_of, random_problem
from protolearn import LMNN, LPD, HartCondensing, LaMaLVQ, Learn1NN, WilsonEditing
from protolearn.data import TrainingSet
from protolearn.reduction import neighbours
from protolearn.reduction.neighbours import nearest_others
from protolearn.solvers.large_margin import METRIC_SOLVERS


def small(n=24, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 1.5 * y[:, None], y


@pytest.mark.parametrize("d", [2, 40])
def test_neighbours_are_the_nearest_others(d):
    X, _ = small(d=d)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    wanted = np.argsort(D, axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(nearest_others(X, 3), wanted)
    np.testing.assert_array_equal(neighbours._by_blocks(X, 3), wanted)
    np.testing.assert_array_equal(nearest_others(X.astype(np.float32), 3), wanted)


def test_hart_is_consistent():
    X, y = small()
    assert HartCondensing().fit(X, y).score(X, y) == 1.0
    assert HartCondensing().fit(sparse.csr_matrix(X), y).score(X, y) == 1.0


def test_editing_drops_what_is_outvoted():
    X, y = small()
    X, y = np.r_[X, X[1:2] + 1e-6], np.r_[y, 0]
    assert 24 not in WilsonEditing(3).fit(X, y).sample_indices_


@pytest.mark.parametrize("solver", list(METRIC_SOLVERS))
def test_lmnn_lowers_its_cost(solver):
    X, y = small()
    curve = LMNN(n_neighbors=2, max_iter=5, solver=solver).fit(X, y).loss_curve_
    assert curve[-1] <= curve[0]


def test_lamalvq_in_both_versions_and_all_updates():
    X, y = small()
    for settings in (
        {},
        {"update": "lama"},
        {"update": "gradient", "version": "prototype"},
        {"matrix_update": "batch"},
    ):
        model = LaMaLVQ(2, rounds=1, epochs=1, n_neighbors=2, random_state=0, **settings).fit(X, y)
        assert model.history_.cost[0] < model.history_.cost_before[0]


def test_lpd_by_batch_sums():
    X, y = small()
    for settings in ({}, {"solver": "online", "learning_rate": 0.1}):
        curve = LPD(0.2, max_iter=3, random_state=0, keep="last", **settings).fit(X, y).loss_curve_
        assert curve[-1] < curve[0]


@pytest.mark.parametrize("loss", ["margin", "cross_entropy"])
@pytest.mark.parametrize("sigma", [1.0, np.inf])
def test_learn1nn_and_its_limit(loss, sigma):
    X, y = small()
    curve = Learn1NN(2, loss=loss, sigma=sigma, max_iter=3, random_state=0).fit(X, y).loss_curve_
    assert curve[-1] < curve[0]


@pytest.mark.parametrize("loss", ["learn1nn", "learn1nn_cross_entropy"])
def test_learn1nn_of_a_class_without_prototypes_is_nothing(loss):
    metric = ALL_METRICS["euclidean"]
    data, prototypes = random_problem(metric)
    odd = TrainingSet(data.X, np.full(len(data.y), 3), None, 4)
    assert mean_gradient(prototypes, odd, objective_of(loss, metric, regularization=0.0)).value == 0.0
