"""Every loss under every metric and scope, against finite differences; and what runs online against the gradient."""

import numpy as np
import pytest

from problems import ALL_METRICS, DIFFERENTIABLE, mean_gradient, objective_of, random_problem, stepwise_objective
from protolearn import RSLVQ, NearestPrototype
from protolearn.core.schedules import constant
from protolearn.solvers import SOLVERS, Plan, Solution
from protolearn.solvers.base import Solver
from protolearn.solvers.batch import value_and_gradient
from protolearn.solvers.descent import _Variables

CASES = [(loss, metric) for loss in DIFFERENTIABLE for metric in ALL_METRICS]


def central_differences(function, at, step=1e-6):
    gradient = np.empty_like(at)
    for index in np.ndindex(at.shape):
        moved = at.copy()
        moved[index] += step
        above = function(moved)
        moved[index] -= 2 * step
        gradient[index] = (above - function(moved)) / (2 * step)
    return gradient


def relative_error(found, wanted):
    return np.abs(found - wanted).max(initial=0) / max(np.abs(wanted).max(initial=0), 1e-3)


def total_loss(prototypes, data, objective):
    return value_and_gradient(prototypes, objective, data.X, data.y, np.ones(len(data.y))).value


@pytest.mark.parametrize(("loss", "metric"), CASES)
def test_gradient_equals_finite_differences(loss, metric):
    data, prototypes = random_problem(ALL_METRICS[metric])
    objective = objective_of(loss, ALL_METRICS[metric])
    found = value_and_gradient(prototypes, objective, data.X, data.y, np.ones(len(data.y)))

    by_position = central_differences(
        lambda W: total_loss(prototypes.moved(W, prototypes.theta), data, objective), prototypes.positions
    )
    by_theta = central_differences(
        lambda T: total_loss(prototypes.moved(prototypes.positions, T), data, objective), prototypes.theta
    )
    assert relative_error(found.positions, by_position) < 1e-6
    assert relative_error(found.theta, by_theta) < 1e-6
    assert np.abs(by_position).max() > 1e-3


@pytest.mark.parametrize(("loss", "metric"), CASES)
def test_online_step_is_the_gradient_step(loss, metric):
    """One sample, one step: positions by eta times the gradient, the metric by rho times it, then projected."""
    metric = ALL_METRICS[metric]
    data, prototypes = random_problem(metric, n_samples=1)
    objective = stepwise_objective(loss, metric)
    eta, rho = 1e-3, 2e-3
    plan = Plan(1, eta, rho, constant, np.random.RandomState(0), scale=1.0)
    stepped = SOLVERS["online"](prototypes, data, objective, plan).prototypes

    found = value_and_gradient(prototypes, objective, data.X, data.y, np.ones(1))
    np.testing.assert_allclose(stepped.positions, prototypes.positions - eta * found.positions, rtol=0, atol=1e-12)
    touched = np.zeros(len(prototypes.theta), dtype=bool)
    touched[prototypes.slot[np.abs(found.positions).max(axis=1) > 0]] = True
    wanted = prototypes.theta.copy()
    if metric.adaptive:
        wanted[touched] = metric.project(prototypes.theta - rho * found.theta)[touched]
    np.testing.assert_allclose(stepped.theta, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", [name for name, metric in ALL_METRICS.items() if metric.adaptive])
def test_gradient_through_the_normalisation(metric):
    """What L-BFGS sees: positions in the unit of the data, metric parameters that are normalised on the way."""
    metric = ALL_METRICS[metric]
    data, prototypes = random_problem(metric)
    objective = objective_of("logm", metric)
    plan = Plan(1, 1.0, 1.0, constant, np.random.RandomState(0), scale=3.0)
    variables = _Variables(prototypes, objective, plan)
    vector = variables.vector(prototypes)
    vector[variables.n_positions :] *= np.random.default_rng(1).uniform(0.5, 2.0, len(vector) - variables.n_positions)

    at = variables.prototypes(vector)
    found = variables.gradient(vector, at, mean_gradient(at, data, objective))
    wanted = central_differences(lambda v: mean_gradient(variables.prototypes(v), data, objective).value, vector)
    assert relative_error(found, wanted) < 1e-6


def test_gradients_of_blocks_add_up():
    metric = ALL_METRICS["local_omega"]
    data, prototypes = random_problem(metric, n_samples=30)
    objective = objective_of("rslvq", metric)
    weight = np.linspace(0.5, 2.0, 30)
    whole = value_and_gradient(prototypes, objective, data.X, data.y, weight)
    parts = [
        value_and_gradient(prototypes, objective, data.X[p], data.y[p], weight[p]) for p in (slice(11), slice(11, 30))
    ]
    total = parts[0] + parts[1]
    assert total.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_allclose(total.positions, whole.positions, atol=1e-12)
    np.testing.assert_allclose(total.theta, whole.theta, atol=1e-12)


@pytest.mark.parametrize(
    "metric", ["euclidean", "local_squared_relevance", "low-rank local omega", "class omega, free scale"]
)
@pytest.mark.parametrize("loss", ["rslvq", "glvq"])
def test_gradient_of_the_ridge(loss, metric):
    """The gradient that L-BFGS gets is that of the mean loss with the ridge of the docstring, written out here."""
    metric = ALL_METRICS[metric]
    data, prototypes = random_problem(metric)
    objective = objective_of(loss, metric)
    plan = Plan(1, 1.0, 1.0, constant, np.random.RandomState(0), scale=3.0, ridge=0.7, variance=1.3)
    variables = _Variables(prototypes, objective, plan)
    rng = np.random.default_rng(1)
    vector = variables.vector(prototypes) * rng.uniform(0.8, 1.2, len(variables.origin))

    def with_ridge(v):
        at = variables.prototypes(v)
        moved = ((at.positions - prototypes.positions) ** 2).sum() / 1.3
        raw = v[variables.n_positions :].reshape(prototypes.theta.shape)
        for t, t0 in zip(raw, prototypes.theta, strict=True):
            moved += data.n_features * ((t - t0) ** 2).sum() / (t0**2).sum() if t0.size else 0.0
        return mean_gradient(at, data, objective).value + 0.7 / (2 * len(data.y)) * moved

    value, gradient = variables.value_and_gradient(vector, data, objective)
    assert value == pytest.approx(with_ridge(vector), rel=1e-12)
    assert relative_error(gradient, central_differences(with_ridge, vector)) < 1e-6


@pytest.mark.parametrize("solver", ["lbfgs", "gradient", "adam"])
def test_a_large_ridge_keeps_the_start(solver, blobs):
    X, y = blobs
    options = {"metric": "local_omega", "solver": solver, "random_state": 0, "max_iter": 20}
    free, held = RSLVQ(2, **options).fit(X, y), RSLVQ(2, ridge=1e6, learning_rate=1e-3, **options).fit(X, y)
    start = NearestPrototype(2, random_state=0).fit(X, y).prototypes_
    assert np.abs(held.prototypes_ - start).max() < 0.05 * np.abs(free.prototypes_ - start).max()


def test_the_ridge_is_the_same_in_every_unit(blobs):
    X, y = blobs
    options = {"metric": "local_omega", "solver": "lbfgs", "ridge": 1.0}
    one = RSLVQ(init=(X[::20], y[::20]), **options).fit(X, y)
    other = RSLVQ(init=(1024 * X[::20], y[::20]), **options).fit(1024 * X, y)
    np.testing.assert_allclose(1024 * one.prototypes_, other.prototypes_, rtol=1e-6)


@pytest.mark.parametrize("solver", ["online", "nothing"])
def test_a_ridge_that_the_solver_does_not_add_is_refused(solver, blobs, monkeypatch):
    own = Solver(lambda start, data, objective, plan: Solution(start), "keeps the start")
    monkeypatch.setattr("protolearn.estimators.learning.SOLVERS", dict(SOLVERS.items()) | {"nothing": own})
    with pytest.raises(ValueError, match=f"solver='{solver}' learns without a ridge; choose solver='gradient' or"):
        RSLVQ(ridge=1.0, solver=solver).fit(*blobs)
