"""Squared weights: gradients, compiled parts, class-dependent variance weights."""

import numpy as np
import pytest

from problems import mean_gradient
from protolearn import NearestPrototype
from protolearn.core.schedules import constant
from protolearn.data import TrainingSet
from protolearn.losses import LOSSES
from protolearn.metrics import METRICS
from protolearn.metrics.squared_diagonal import SquaredDiagonal, class_spread
from protolearn.solvers import SOLVERS, Objective, Plan


def make_data(seed=0, n=40, d=3, n_classes=3):
    rng = np.random.RandomState(seed)
    y = rng.randint(n_classes, size=n)
    return TrainingSet(rng.randn(n, d) + y[:, None], y, None, n_classes)


def make_set(data, scope, seed=1):
    rng = np.random.RandomState(seed)
    labels = np.repeat(np.arange(data.n_classes), 2)
    metric = SquaredDiagonal(scope)
    start = metric.start(rng.randn(len(labels), data.n_features), labels, data)
    return metric, start.moved(start.positions, rng.uniform(0.5, 2.0, start.theta.shape))


@pytest.mark.parametrize("scope", ["global", "class", "prototype"])
@pytest.mark.parametrize("loss", ["lpd", "glvq", "logm", "snpc"])
def test_gradient_equals_finite_differences(loss, scope):
    data = make_data()
    metric, prototypes = make_set(data, scope)
    objective = Objective(LOSSES[loss](), metric, 1.5)
    found = mean_gradient(prototypes, data, objective)

    def value(positions, theta):
        return mean_gradient(prototypes.moved(positions, theta), data, objective).value

    step = 1e-6
    for name, array in (("positions", prototypes.positions), ("theta", prototypes.theta)):
        numeric = np.empty_like(array)
        for index in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = {"positions": prototypes.positions, "theta": prototypes.theta}
                moved[name] = array.copy()
                moved[name][index] += sign * step
                ends.append(value(**moved))
            numeric[index] = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(getattr(found, name), numeric, rtol=1e-5, atol=1e-8)


def test_distance_is_the_weighted_sum_of_equation_1():
    data = make_data()
    metric, prototypes = make_set(data, "prototype")
    v = data.X[:, None, :] - prototypes.positions[None]
    expected = (prototypes.theta[None] ** 2 * v**2).sum(axis=2)
    np.testing.assert_allclose(metric.distances(data.X, prototypes), expected, rtol=1e-12)


@pytest.mark.parametrize("factors", [False, True])
def test_online_step_on_one_sample_is_minus_the_rate_times_the_gradient(factors):
    data = make_data(n=1)
    metric, prototypes = make_set(data, "prototype")
    objective = Objective(LOSSES["lpd"](), metric, 3.0)
    gradient = mean_gradient(prototypes, data, objective)
    rng = np.random.RandomState(3)
    by_position = rng.uniform(0.5, 2.0, prototypes.positions.shape) if factors else 1.0
    by_theta = rng.uniform(0.5, 2.0, prototypes.theta.shape) if factors else 1.0
    plan = Plan(1, 1e-3, 1e-4, constant, rng, scale=1.0, position_factor=by_position, metric_factor=by_theta)
    for solver in ("online", "batch_sum"):
        found = SOLVERS[solver](prototypes, data, objective, plan).prototypes
        np.testing.assert_allclose(
            found.positions, prototypes.positions - 1e-3 * by_position * gradient.positions, rtol=1e-10
        )
        np.testing.assert_allclose(found.theta, prototypes.theta - 1e-4 * by_theta * gradient.theta, rtol=1e-10)


def test_class_spread_is_the_standard_deviation_and_never_zero():
    X = np.array([[0.0, 1.0, 5.0], [2.0, 1.0, 5.0], [1.0, 3.0, 5.0], [5.0, 7.0, 5.0]])
    data = TrainingSet(X, np.array([0, 0, 1, 1]), None, 3)
    spread = class_spread(data)
    np.testing.assert_allclose(spread[0], [1.0, 0.1 * X[:, 1].std(), 1.0])
    np.testing.assert_allclose(spread[1], [2.0, 2.0, 1.0])
    np.testing.assert_allclose(spread[2], [X[:, 0].std(), X[:, 1].std(), 1.0])


def test_class_variance_on_all_samples_is_the_diagonal_mahalanobis_rule():
    data = make_data(n=120)
    queries = np.random.RandomState(5).randn(50, 3)
    model = NearestPrototype(init="all", metric="class_variance").fit(data.X, data.y)
    spread = np.array([data.X[data.y == c].std(axis=0) for c in range(3)])
    D = (((queries[:, None] - data.X[None]) / spread[data.y][None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(queries), data.y[D.argmin(axis=1)])


def test_all_samples_under_the_euclidean_metric_are_the_nearest_neighbour_rule():
    from sklearn.neighbors import KNeighborsClassifier

    data = make_data(n=120)
    queries = np.random.RandomState(5).randn(80, 3)
    model = NearestPrototype(init="all").fit(data.X, data.y)
    reference = KNeighborsClassifier(1).fit(data.X, data.y)
    np.testing.assert_array_equal(model.predict(queries), reference.predict(queries))


def test_registered_names():
    for name in ("squared_relevance", "class_squared_relevance", "local_squared_relevance", "class_variance"):
        assert isinstance(METRICS[name], SquaredDiagonal)
    with pytest.raises(ValueError, match="initial must be one of"):
        SquaredDiagonal(initial="zeros").check()
