"""The losses of learn1NN: printed updates, finite differences, bridges to MCE, LOGM and SNPC, the limit of sigma."""

import numpy as np
import pytest
from scipy import sparse

from problems import mean_gradient
from protolearn.core.schedules import constant
from protolearn.data import TrainingSet
from protolearn.losses import LOSSES
from protolearn.metrics import METRICS
from protolearn.solvers import SOLVERS, Objective, Plan
from protolearn.solvers.batch import coefficients

EUCLIDEAN = METRICS["euclidean"]
SIGMA = 0.7


def make_problem(n_classes=3, per_class=2, n=30, seed=0):
    rng = np.random.RandomState(seed)
    y = rng.randint(n_classes, size=n)
    data = TrainingSet(rng.randn(n, 2) + y[:, None], y, None, n_classes)
    labels = np.repeat(np.arange(n_classes), per_class)
    return data, EUCLIDEAN.start(rng.randn(len(labels), 2), labels, data)


def pulls(name, slope, data, prototypes):
    value, _, pull, _ = coefficients(
        prototypes, data.X, data.y, np.ones(data.n_samples), Objective(LOSSES[name](), EUCLIDEAN, slope)
    )
    return value, pull.toarray() if sparse.issparse(pull) else pull


@pytest.mark.parametrize("name", ["learn1nn", "learn1nn_cross_entropy"])
@pytest.mark.parametrize("slope", [0.0, 0.3, 4.0])
@pytest.mark.parametrize("regularization", [0.0, 0.2])
def test_gradient_equals_finite_differences(name, slope, regularization):
    data, prototypes = make_problem()
    objective = Objective(LOSSES[name](), EUCLIDEAN, slope, regularization)
    found = mean_gradient(prototypes, data, objective).positions
    numeric = np.empty_like(found)
    for index in np.ndindex(found.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = prototypes.positions.copy()
            moved[index] += step
            ends.append(mean_gradient(prototypes.moved(moved, prototypes.theta), data, objective).value)
        numeric[index] = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(found, numeric, rtol=1e-5, atol=1e-8)


def test_online_step_is_equation_19():
    data, prototypes = make_problem(n=1)
    x, k = data.X[0], data.y[0]
    alpha = 0.2
    D = ((x - prototypes.positions) ** 2).sum(axis=1)
    winner = [np.flatnonzero(prototypes.labels == c)[D[prototypes.labels == c].argmin()] for c in range(3)]
    G = np.exp(-D[winner] / (2 * SIGMA))
    d = G / G.sum()
    expected = prototypes.positions.copy()
    for j, i in enumerate(winner):
        share = d[k] * (1 - d[k]) if j == k else -d[j] * d[k]
        expected[i] += alpha * share * (x - prototypes.positions[i])
    plan = Plan(1, alpha, 0.0, constant, np.random.RandomState(0), scale=1.0)
    objective = Objective(LOSSES["learn1nn"](), EUCLIDEAN, 1 / (2 * SIGMA))
    found = SOLVERS["online"](prototypes, data, objective, plan).prototypes.positions
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), [("learn1nn", "mce"), ("learn1nn_cross_entropy", "logm")])
def test_two_classes_are_sigma_times_the_pair_loss(ours, theirs):
    data, prototypes = make_problem(n_classes=2, per_class=3)
    slope = 1 / (2 * SIGMA)
    value, pull = pulls(ours, slope, data, prototypes)
    other, other_pull = pulls(theirs, slope, data, prototypes)
    assert value == pytest.approx(SIGMA * other)
    np.testing.assert_allclose(pull, SIGMA * other_pull, atol=1e-14)


def test_one_prototype_a_class_is_sigma_times_snpc():
    data, prototypes = make_problem(n_classes=4, per_class=1)
    slope = 1 / (2 * SIGMA)
    value, pull = pulls("learn1nn", slope, data, prototypes)
    other, other_pull = pulls("snpc", slope, data, prototypes)
    assert value == pytest.approx(SIGMA * other)
    np.testing.assert_allclose(pull, SIGMA * other_pull, atol=1e-14)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_limit_of_sigma(n_classes):
    data, prototypes = make_problem(n_classes=n_classes)
    _, limit = pulls("learn1nn", 0.0, data, prototypes)
    _, near = pulls("learn1nn", 1e-9, data, prototypes)
    np.testing.assert_allclose(limit, near, atol=1e-7)
    # alpha (1/C - 1/C^2) for the own winner, alpha / C^2 for each other: section 8.4.
    own = limit[np.arange(data.n_samples)[:, None], np.arange(len(prototypes))]
    assert 2 * own.max() == pytest.approx(1 / n_classes - 1 / n_classes**2)
    assert 2 * own.min() == pytest.approx(-1 / n_classes**2)


def test_cross_entropy_is_the_margin_gradient_over_d_own():
    data, prototypes = make_problem()
    slope = 1 / (2 * SIGMA)
    _, margin = pulls("learn1nn", slope, data, prototypes)
    _, entropy = pulls("learn1nn_cross_entropy", slope, data, prototypes)
    own = np.array([row[prototypes.labels == k].max() for row, k in zip(entropy, data.y, strict=True)])
    d_own = 1 - 2 * own
    np.testing.assert_allclose(margin, entropy * d_own[:, None], atol=1e-14)


def test_penalty_of_two_prototypes_is_equation_34():
    positions = np.array([[0.0, 1.0], [3.0, 5.0]])
    value, gradient = LOSSES["learn1nn"]().penalty(positions, np.array([0, 1]))
    assert value == pytest.approx(0.5 * 25.0)
    np.testing.assert_allclose(gradient, [[-3.0, -4.0], [3.0, 4.0]])


def test_far_samples_give_finite_numbers():
    labels = np.array([0, 1, 1])
    for name in ("learn1nn", "learn1nn_cross_entropy"):
        loss = LOSSES[name]()
        C = np.empty(3)
        value = loss.coefficients.of(np.float64)(
            np.array([1e6, 0.0, 1e9]), labels, 0, loss.parameters(5.0, 0.0, labels), C
        )
        assert np.isfinite(value)
        assert np.isfinite(C).all()
