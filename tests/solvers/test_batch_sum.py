"""Fig. 1 of LPD as it is printed, and which iterate comes back."""

import numpy as np
import pytest

from protolearn.core.schedules import constant, linear
from protolearn.data import TrainingSet
from protolearn.initializers import INITIALIZERS
from protolearn.losses import LOSSES
from protolearn.metrics import METRICS
from protolearn.solvers import SOLVERS, Objective, Plan
from protolearn.solvers.batch import classification_error
from reproduction.artificial import lpd_grid

METRIC = METRICS["local_squared_relevance"]


def figure_1(X, y, P, W, labels, beta, mu, nu, epochs):
    """The printed pseudo-code, line by line; samples on a prototype are skipped (A3)."""
    P, W = P.copy(), W.copy()
    for _ in range(epochs):
        new_P, new_W = P.copy(), W.copy()
        for x, k in zip(X, y, strict=True):
            d = np.sqrt((W**2 * (x - P) ** 2).sum(axis=1))
            own = np.where(labels == k, d, np.inf).argmin()
            rival = np.where(labels != k, d, np.inf).argmin()
            if d[own] == 0 or d[rival] == 0:
                continue
            r = d[own] / d[rival]
            e = np.exp(beta * (1 - r))
            window = beta * e / (1 + e) ** 2
            R1, R2 = window * r / d[own] ** 2, window * r / d[rival] ** 2
            new_P[own] -= nu * W[own] ** 2 * (P[own] - x) * R1
            new_P[rival] += nu * W[rival] ** 2 * (P[rival] - x) * R2
            new_W[own] -= mu * W[own] * (P[own] - x) ** 2 * R1
            new_W[rival] += mu * W[rival] * (P[rival] - x) ** 2 * R2
        P, W = new_P, new_W
    return P, W


@pytest.fixture
def grid():
    X, y = lpd_grid()
    data = TrainingSet(X, y, None, 2)
    positions, labels = INITIALIZERS["random"](data, np.array([3, 3]), np.random.RandomState(0))
    return data, METRIC.start(positions, labels, data)


def make_plan(epochs, **options):
    settings = {"tol": 0.0, "position_rate": 0.1, "metric_rate": 0.001, "schedule": constant} | options
    return Plan(max_iter=epochs, random=np.random.RandomState(0), scale=1.0, **settings)


def test_equals_the_printed_algorithm(grid):
    data, start = grid
    found = SOLVERS["batch_sum"](start, data, Objective(LOSSES["lpd"](), METRIC, 10.0), make_plan(5)).prototypes
    P, W = figure_1(data.X, data.y, start.positions, start.theta, start.labels, 10.0, 0.001, 0.1, 5)
    np.testing.assert_allclose(found.positions, P, rtol=1e-9)
    np.testing.assert_allclose(found.theta, W, rtol=1e-9)


def test_a_weight_of_2_is_the_row_twice(grid):
    data, start = grid
    objective = Objective(LOSSES["lpd"](), METRIC, 10.0)
    weight = np.random.RandomState(1).randint(1, 4, data.n_samples).astype(float)
    twice = np.repeat(np.arange(data.n_samples), weight.astype(int))
    weighted = SOLVERS["batch_sum"](start, TrainingSet(data.X, data.y, weight, 2), objective, make_plan(4))
    repeated = SOLVERS["batch_sum"](start, TrainingSet(data.X[twice], data.y[twice], None, 2), objective, make_plan(4))
    np.testing.assert_allclose(weighted.prototypes.positions, repeated.prototypes.positions, rtol=1e-10)
    np.testing.assert_allclose(weighted.loss_curve, repeated.loss_curve, rtol=1e-10)


def test_keeps_the_lowest_training_error_of_the_way(grid):
    data, start = grid
    objective = Objective(LOSSES["lpd"](), METRIC, 10.0)
    path = []

    def note(epoch, loss, prototypes):
        path.append(classification_error(prototypes(), data, METRIC))
        return False

    # Steps far too large, so that the last iterate is not the best one.
    options = {"position_rate": 2.0, "metric_rate": 0.02}
    last = SOLVERS["batch_sum"](start, data, objective, make_plan(60, watch=note, **options)).prototypes
    best = SOLVERS["batch_sum"](start, data, objective, make_plan(60, keep="best", **options)).prototypes
    lowest = min([classification_error(start, data, METRIC), *path])
    assert classification_error(last, data, METRIC) == path[-1]
    assert classification_error(best, data, METRIC) == lowest < path[-1]


@pytest.mark.parametrize("solver", ["batch_sum", "online", "gradient", "adam", "lbfgs"])
def test_keeps_the_lowest_validation_error(grid, solver):
    data, start = grid
    rng = np.random.RandomState(2)
    held = rng.rand(data.n_samples) < 0.3
    train, test = (TrainingSet(data.X[part], data.y[part], None, 2) for part in (~held, held))
    objective = Objective(LOSSES["lpd"](), METRIC, 10.0)
    seen = []

    def note(epoch, loss, prototypes):
        seen.append(classification_error(prototypes(), test, METRIC))
        return False

    plan = make_plan(30, keep="validation", validation=test, check_every=1, watch=note)
    found = SOLVERS[solver](start, train, objective, plan).prototypes
    first = [classification_error(start, test, METRIC)] if solver == "batch_sum" else []
    assert classification_error(found, test, METRIC) == min(seen + first)


def test_patience_stops(grid):
    data, start = grid
    objective = Objective(LOSSES["lpd"](), METRIC, 10.0)
    long = SOLVERS["batch_sum"](start, data, objective, make_plan(300, keep="best"))
    short = SOLVERS["batch_sum"](start, data, objective, make_plan(300, keep="best", check_every=5, patience=2))
    assert short.n_iter < long.n_iter == 300
    assert short.n_iter % 5 == 0


def test_stops_where_the_loss_stands_still_and_follows_the_schedule(grid):
    data, start = grid
    objective = Objective(LOSSES["lpd"](), METRIC, 10.0)
    assert SOLVERS["batch_sum"](start, data, objective, make_plan(2000, tol=1e-2)).n_iter < 200
    falling = SOLVERS["batch_sum"](start, data, objective, make_plan(50, schedule=linear))
    assert abs(falling.loss_curve[-1] - falling.loss_curve[-2]) < abs(falling.loss_curve[1] - falling.loss_curve[0])


def test_divergence_keeps_finite_prototypes_and_says_so(grid):
    data, start = grid
    found = SOLVERS["batch_sum"](
        start, data, Objective(LOSSES["lpd"](), METRIC, 10.0), make_plan(50, position_rate=1e200, metric_rate=1e200)
    )
    assert "diverged" in found.message
    assert np.isfinite(found.prototypes.positions).all()
