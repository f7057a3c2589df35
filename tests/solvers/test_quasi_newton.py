"""L-BFGS without bounds: what it finds, and how it ends."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from protolearn.solvers.quasi_newton import Memory, minimise


def run(function, start, max_iter=500, tol=1e-12):
    seen = []
    minimise(
        function,
        start,
        max_iter=max_iter,
        tol=tol,
        note=lambda vector, value: bool(seen.append((vector, value))),
    )
    return seen


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_curved_valley(dtype):
    seen = run(lambda x: (rosen(x), rosen_der(x).astype(dtype)), np.linspace(-1.0, 1.5, 12))
    np.testing.assert_allclose(seen[-1][0], 1.0, atol=1e-4)
    values = [value for _, value in seen]
    assert (np.diff(values) <= 0).all()


def test_as_few_evaluations_as_scipy_on_a_quadratic():
    rng = np.random.default_rng(0)
    scales = np.exp(rng.uniform(0, 6, 300))
    start = rng.normal(size=300)
    calls = {"ours": 0, "scipy": 0}

    def counted(name):
        def function(x):
            calls[name] += 1
            return 0.5 * float(x @ (scales * x)), scales * x

        return function

    ours = run(counted("ours"), start, max_iter=40, tol=0.0)[-1][1]
    theirs = minimize(counted("scipy"), start, jac=True, method="L-BFGS-B", options={"maxiter": 40, "ftol": 0}).fun
    assert ours < 2 * theirs
    assert calls["ours"] <= 1.3 * calls["scipy"]


def test_a_function_with_kinks():
    def function(x):
        return float(np.abs(x).sum() + 0.5 * x @ x), np.sign(x) + x

    seen = run(function, np.array([3.0, -2.0, 0.7, 5.0]))
    assert seen[-1][1] < 1e-3


def test_it_ends_at_a_minimum_and_at_a_value_that_is_not_finite():
    assert run(lambda x: (float(x @ x), 2 * x), np.zeros(3)) == []
    assert run(lambda x: (np.nan, x), np.ones(3)) == []
    # A slope that points up: no step lowers the value.
    assert run(lambda x: (float(x @ x), -2 * x), np.ones(3)) == []


def test_the_caller_may_end_it():
    seen = []
    minimise(
        lambda x: (rosen(x), rosen_der(x)),
        np.zeros(5),
        max_iter=100,
        tol=0.0,
        note=lambda vector, value: seen.append(value) or len(seen) == 3,
    )
    assert len(seen) == 3


def test_steps_that_leave_the_domain_are_taken_back():
    def function(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.sum(x - np.log(x))), 1.0 - 1.0 / x

    seen = run(function, np.array([1e-3, 5.0]))
    np.testing.assert_allclose(seen[-1][0], 1.0, atol=1e-4)


def two_loops(steps, changes, slope):
    """Minus the inverse Hessian times the slope, as Nocedal (1980) writes it."""
    q = -slope
    shares = []
    for s, y in zip(steps[::-1], changes[::-1], strict=True):
        shares.append(s @ q / (s @ y))
        q = q - shares[-1] * y
    q = q * (steps[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
    for s, y, share in zip(steps, changes, shares[::-1], strict=True):
        q = q + (share - y @ q / (s @ y)) * s
    return q


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_steps", [1, 3, 4, 9])
@pytest.mark.parametrize("n", [7, 5000])
def test_the_direction_is_that_of_the_two_loops(n, n_steps, dtype):
    """Of the last three steps; one along which the slope does not rise is not remembered, but leads to a new slope."""
    rng = np.random.default_rng(0)
    memory = Memory(np.dtype(dtype), 3)
    scales, slope = rng.uniform(0.5, 2.0, n), rng.normal(size=n).astype(dtype)
    steps, changes = [], []
    for number in range(n_steps):
        direction, length = rng.normal(size=n).astype(dtype), rng.uniform(0.1, 1.0)
        sign = -1.0 if number in (2, 6) else 1.0
        after = (slope + sign * length * scales * direction).astype(dtype)
        memory.add(direction, length, slope, after)
        del steps[: len(steps) - 2], changes[: len(changes) - 2]
        if sign > 0:
            steps.append(length * direction.astype(np.float64))
            changes.append(after.astype(np.float64) - slope)
        slope = after
        assert len(memory) == len(steps)
        for of in (slope, slope.copy(), rng.normal(size=n).astype(dtype), slope):
            expected = two_loops(steps, changes, of.astype(np.float64))
            found = memory.direction(of)
            assert found.dtype == dtype
            tolerance = (2e-4 if dtype == np.float32 else 1e-10) * np.abs(expected).max()
            np.testing.assert_allclose(found, expected, atol=tolerance)
    memory.clear()
    np.testing.assert_array_equal(memory.direction(slope), -slope)
