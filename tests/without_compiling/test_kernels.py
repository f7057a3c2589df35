"""The compiled functions, small enough to run as Python: `NUMBA_DISABLE_JIT=1 pytest tests/without_compiling`.

Coverage of the kernels comes from that run; the assertions hold in both.
"""

import numpy as np
import pytest

from problems import ALL_METRICS, DIFFERENTIABLE, RULES, mean_gradient, objective_of, random_problem, stepwise_objective
from protolearn import OLVQ1
from protolearn.core.schedules import constant
from protolearn.data import TrainingSet
from protolearn.losses.rslvq import PrunedSoftLogLoss
from protolearn.losses.snpc import PrunedSoftErrorLoss
from protolearn.metrics import METRICS
from protolearn.solvers import SOLVERS, Objective, Plan
from protolearn.solvers.batch import value_and_gradient


def one_epoch(prototypes, data, objective, eta=1e-3, rho=1e-3, limit=np.inf):
    plan = Plan(1, eta, rho, constant, np.random.RandomState(0), scale=1.0, shuffle=False, limit=limit)
    return SOLVERS["online"](prototypes, data, objective, plan)


@pytest.mark.parametrize("metric", list(ALL_METRICS))
@pytest.mark.parametrize("loss", list(DIFFERENTIABLE))
def test_an_epoch_is_a_sequence_of_gradient_steps(loss, metric):
    metric = ALL_METRICS[metric]
    data, prototypes = random_problem(metric, n_samples=6)
    objective = stepwise_objective(loss, metric)
    rate = 1e-4
    found = one_epoch(prototypes, data, objective, eta=rate, rho=rate).prototypes
    for x, k in zip(data.X, data.y, strict=True):
        step = value_and_gradient(prototypes, objective, x[None], np.array([k]), np.ones(1))
        theta = prototypes.theta
        if metric.adaptive:
            touched = np.unique(prototypes.slot[np.abs(step.positions).max(axis=1) > 0])
            theta = theta.copy()
            theta[touched] = metric.project(prototypes.theta - rate * step.theta)[touched]
        prototypes = prototypes.moved(prototypes.positions - rate * step.positions, theta)
    np.testing.assert_allclose(found.positions, prototypes.positions, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.theta, prototypes.theta, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", list(RULES))
def test_rules_move_one_or_two_prototypes_along_the_line_to_the_sample(loss):
    metric = ALL_METRICS["euclidean"]
    data, prototypes = random_problem(metric, n_samples=9)
    most = 0
    for x, k in zip(data.X, data.y, strict=True):
        one = TrainingSet(x[None], np.array([k]), None, 3)
        moves = (
            one_epoch(prototypes, one, objective_of(loss, metric), eta=0.1).prototypes.positions - prototypes.positions
        )
        ways = x - prototypes.positions
        share = (moves * ways).sum(axis=1) / (ways * ways).sum(axis=1)
        np.testing.assert_allclose(moves, share[:, None] * ways, atol=1e-12)
        moved = share != 0
        right = prototypes.labels == k
        # Right ones come nearer, wrong ones go away, and the nearest is among them.
        assert (share[moved & right] > 0).all()
        assert (share[moved & ~right] < 0).all()
        assert not moved.any() or moved[(ways**2).sum(axis=1).argmin()]
        most = max(most, moved.sum())
    assert most == (1 if loss in ("lvq1", "olvq1") else 2)


def test_columns_give_the_same_as_rows():
    """Many prototypes and few features change the layout, not the numbers; five is one beyond a group of four."""
    rng = np.random.default_rng(0)
    data = TrainingSet(rng.normal(size=(3, 5)), np.arange(3) % 2, None, 2)
    metric = METRICS["euclidean"]
    many = metric.start(rng.normal(size=(130, 5)), np.arange(130) % 2, data)
    few = metric.start(many.positions[:30], many.labels[:30], data)
    D = metric.distances(data.X, many)
    near = np.unique(np.concatenate([np.argsort(D[:, many.labels == k], axis=1)[:, 0] * 2 + k for k in (0, 1)]))
    # Columns are padded to whole cache lines.
    assert metric.pack(many).positions.shape == (5, 144)
    assert metric.pack(few).positions.shape == (32, 5)
    objective = objective_of("logm", metric)
    by_column = one_epoch(many, data, objective).prototypes
    by_row = one_epoch(metric.start(many.positions[near], many.labels[near], data), data, objective).prototypes
    np.testing.assert_allclose(by_column.positions[near], by_row.positions, atol=1e-12)


def test_divergence_goes_back_to_the_start_of_the_batch():
    for loss in ("logm", "rslvq"):
        metric = ALL_METRICS["euclidean"]
        data, prototypes = random_problem(metric)
        found = one_epoch(prototypes, data, objective_of(loss, metric), limit=1e-6)
        assert "diverged" in found.message
        np.testing.assert_array_equal(found.prototypes.positions, prototypes.positions)


def test_weights_clipped_to_zero_and_large_weights():
    for name in ("local_relevance", "omega"):
        metric = ALL_METRICS[name]
        data, prototypes = random_problem(metric)
        found = one_epoch(prototypes, data, objective_of("logm", metric), eta=5.0, rho=1e9).prototypes
        assert np.isfinite(found.positions).all()
        assert np.isfinite(found.theta).all()


def test_pruned_losses_without_an_own_prototype_near():
    metric = ALL_METRICS["euclidean"]
    data, prototypes = random_problem(metric)
    far = prototypes.moved(prototypes.positions + 9.0 * (prototypes.labels == 0)[:, None], prototypes.theta)
    for loss in (
        PrunedSoftErrorLoss(2),
        PrunedSoftErrorLoss(2, True),
        PrunedSoftLogLoss(2, False),
        PrunedSoftLogLoss(2),
    ):
        value = mean_gradient(far, data, Objective(loss, metric, 0.5, 0.1)).value
        assert np.isfinite(value)


def test_a_class_without_prototypes_has_no_loss():
    metric = ALL_METRICS["euclidean"]
    data, prototypes = random_problem(metric)
    odd = TrainingSet(data.X, np.full(len(data.y), 3), None, 4)
    for loss in ("logm", "mce"):
        assert not np.isfinite(mean_gradient(prototypes, odd, objective_of(loss, metric)).value)


def test_individual_rates_fall():
    rng = np.random.default_rng(0)
    X, y = np.r_[rng.normal(size=(5, 2)), rng.normal(size=(5, 2)) + 9], np.repeat([0, 1], 5)
    assert (OLVQ1(max_iter=1).fit(X, y)._rates < 0.3).all()
