"""The large margin solver: against sums by hand, finite differences, and the exact minimum by linear programming."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from protolearn.solvers import large_margin, triples
from protolearn.solvers.large_margin import METRIC_SOLVERS, best_scale, project, solve_large_margin, whitening
from protolearn.solvers.triples import Candidates, TripleProblem


def overlapping(n_features=3, n_per_class=15, n_classes=3, seed=0):
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_per_class)
    X = random.standard_normal((len(y), n_features)) + 1.5 * random.standard_normal((n_classes, n_features))[y]
    return X, y


def lmnn_problem(**changes):
    X, y = overlapping(**changes)
    return TripleProblem.among_points(X, y, 3).with_targets(np.eye(X.shape[1]))


def pattern_problem():
    X, y = overlapping()
    centres = np.array([X[y == c].mean(axis=0) for c in (0, 1, 2)])
    problem = TripleProblem.around_centres(centres, np.arange(3), X, y, 4, margin=0.7, pull=1.0, push=1.0)
    return problem.with_targets(np.eye(3))


def triples_by_hand(problem):
    """Every (centre, target, invader) as differences (centre - target, centre - invader)."""
    for i, centre in enumerate(problem.centres):
        rivals = np.flatnonzero(problem.point_labels != problem.centre_labels[i])
        for j, b in itertools.product(problem.targets[i][problem.targets[i] >= 0], rivals):
            yield centre - problem.points[j], centre - problem.points[b]


def cost_by_hand(problem, metric):
    pull = sum(
        (v := centre - problem.points[j]) @ metric @ v
        for centre, row in zip(problem.centres, problem.targets, strict=True)
        for j in row[row >= 0]
    )
    push = sum(max(problem.margin + v @ metric @ v - u @ metric @ u, 0.0) for v, u in triples_by_hand(problem))
    return problem.pull * pull + problem.push * push


@pytest.mark.parametrize("problem", [lmnn_problem(), pattern_problem()], ids=["lmnn", "pattern"])
def test_cost_equals_the_sum_over_all_triples(problem):
    omega = np.random.default_rng(1).standard_normal((2, 3))
    A, B = problem.mapped(omega)
    found = Candidates(problem, omega, 0.0).sums(A, B, A, B)
    assert found.cost == pytest.approx(cost_by_hand(problem, omega.T @ omega), rel=1e-12)


@pytest.mark.parametrize("problem", [lmnn_problem(), pattern_problem()], ids=["lmnn", "pattern"])
@pytest.mark.parametrize("solver", METRIC_SOLVERS)
@pytest.mark.parametrize("smooth", [0.0, 0.3])
def test_gradient_by_finite_differences(problem, solver, smooth):
    random = np.random.default_rng(2)
    omega = np.eye(3) + 0.2 * random.standard_normal((3, 3))
    steps = METRIC_SOLVERS[solver](problem, omega)
    everything = Candidates(problem, omega, 1e6)
    start = omega if solver == "factor" else omega.T @ omega

    def value(at):
        factor = at if solver == "factor" else np.linalg.cholesky(at).T
        return steps.measure(everything, factor, smooth)[0].smooth_cost

    slope = steps.measure(everything, omega, smooth)[1]
    for _ in range(5):
        move = random.standard_normal((3, 3))
        move = move if solver == "factor" else move + move.T
        numeric = (value(start + 1e-6 * move) - value(start - 1e-6 * move)) / 2e-6
        assert np.vdot(slope, move) == pytest.approx(numeric, rel=1e-5)


@pytest.mark.parametrize("problem", [lmnn_problem(), pattern_problem()], ids=["lmnn", "pattern"])
@pytest.mark.parametrize("solver", METRIC_SOLVERS)
def test_rough_steps_are_the_exact_ones_to_rounding(problem, solver):
    omega = np.eye(3) + 0.2 * np.random.default_rng(2).standard_normal((3, 3))
    steps = METRIC_SOLVERS[solver](problem, omega)
    everything = Candidates(problem, omega, 1e6)
    exact, slope = steps.measure(everything, omega, 0.3)
    steps.rough = True
    rough, rough_slope = steps.measure(everything, omega, 0.3)
    assert rough.at_points.dtype == np.float32
    assert rough_slope.dtype == np.float64
    assert rough.smooth_cost == pytest.approx(exact.smooth_cost, rel=1e-6)
    np.testing.assert_allclose(rough_slope, slope, rtol=1e-4, atol=1e-5 * np.abs(slope).max())


@pytest.mark.parametrize("solver", METRIC_SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_rough_steps_end_where_exact_ones_end(solver, seed, monkeypatch):
    problem = lmnn_problem(seed=seed, n_per_class=40)
    settings = {"solver": solver, "tol": 1e-5, "max_iter": 3000}
    exact = solve_large_margin(problem, np.eye(3), **settings)
    monkeypatch.setattr(large_margin, "_FLOAT32_WORK", 0)
    rough = solve_large_margin(problem, np.eye(3), **settings)
    assert rough.cost_curve != exact.cost_curve
    assert rough.cost_curve[-1] == pytest.approx(exact.cost_curve[-1], rel=1e-3)
    assert (np.diff(rough.cost_curve) <= 0).all()


@pytest.mark.parametrize("margin", [1e-30, 1e30])
def test_margins_beyond_float32_are_solved_too(margin, monkeypatch):
    monkeypatch.setattr(large_margin, "_FLOAT32_WORK", 0)
    X, y = overlapping()
    problem = TripleProblem.among_points(X, y, 3, margin=margin).with_targets(np.eye(3))
    usual = solve_large_margin(lmnn_problem(), np.eye(3), tol=1e-6)
    found = solve_large_margin(problem, np.eye(3), tol=1e-4)
    assert found.cost_curve[-1] / margin == pytest.approx(usual.cost_curve[-1], rel=1e-2)


def minimum_by_linear_programming(problem):
    """Table 1 and 2 as a linear programme; the cone by cutting planes v' Lambda v >= 0, added where they are broken."""
    d = problem.n_features
    entries = [(a, b) for a in range(d) for b in range(a, d)]

    def row(v):
        return np.array([v[a] * v[b] * (1 if a == b else 2) for a, b in entries])

    pairs = [(row(v), row(u)) for v, u in triples_by_hand(problem)]
    n = len(pairs)
    pull = sum(
        row(centre - problem.points[j])
        for centre, targets in zip(problem.centres, problem.targets, strict=True)
        for j in targets[targets >= 0]
    )
    cost = np.concatenate([problem.pull * pull, np.full(n, problem.push)])
    hinges = np.hstack([np.array([v - u for v, u in pairs]), -np.eye(n)])
    cuts = [np.concatenate([-row(v), np.zeros(n)]) for v in np.eye(d)]
    bounds = [(None, None)] * len(entries) + [(0, None)] * n
    for _ in range(60):
        found = linprog(
            cost,
            A_ub=np.vstack([hinges, *cuts]),
            b_ub=np.concatenate([np.full(n, -problem.margin), np.zeros(len(cuts))]),
            bounds=bounds,
        )
        assert found.success
        metric = np.zeros((d, d))
        for (a, b), value in zip(entries, found.x, strict=False):
            metric[a, b] = metric[b, a] = value
        values, vectors = np.linalg.eigh(metric)
        if values[0] > -1e-9 * values[-1]:
            break
        cuts.append(np.concatenate([-row(vectors[:, 0]), np.zeros(n)]))
    return found.fun


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", METRIC_SOLVERS)
def test_the_minimum_is_the_exact_one(solver, seed):
    X, y = overlapping(n_features=2, n_per_class=9, n_classes=2, seed=seed)
    problem = TripleProblem.among_points(X, y, 2).with_targets(np.eye(2))
    reference = minimum_by_linear_programming(problem)
    found = solve_large_margin(problem, np.eye(2), solver=solver, max_iter=5000, tol=1e-9)
    assert reference * (1 - 1e-6) <= found.cost_curve[-1] <= reference * (1 + 1e-6)


@pytest.mark.parametrize("problem", [lmnn_problem(), pattern_problem()], ids=["lmnn", "pattern"])
@pytest.mark.parametrize("solver", METRIC_SOLVERS)
@pytest.mark.parametrize("invader_interval", [1, 10])
def test_cost_never_rises_and_the_metric_is_positive(problem, solver, invader_interval):
    found = solve_large_margin(problem, np.eye(3), solver=solver, invader_interval=invader_interval)
    metric = found.omega.T @ found.omega
    assert (np.diff(found.cost_curve) <= 0).all()
    assert found.cost_curve[-1] == pytest.approx(cost_by_hand(problem, metric), rel=1e-9)
    assert found.cost_curve[-1] < cost_by_hand(problem, best_scale(problem, np.eye(3)) ** 2 * np.eye(3))
    assert np.linalg.eigvalsh(metric)[0] >= -1e-10
    assert found.converged


def test_both_ways_find_the_same_minimum():
    problem = lmnn_problem(n_features=4)
    costs = [solve_large_margin(problem, np.eye(4), solver=name, tol=1e-7).cost_curve[-1] for name in METRIC_SOLVERS]
    assert costs[0] == pytest.approx(costs[1], rel=5e-3)


def test_units_of_the_features_do_not_matter():
    problem = lmnn_problem()
    unit = np.diag([1e-3, 1.0, 1e4])
    scaled = problem.under(unit)
    one = solve_large_margin(problem, np.eye(3), max_iter=60)
    other = solve_large_margin(scaled, np.linalg.inv(unit), max_iter=60)
    assert other.cost_curve[-1] == pytest.approx(one.cost_curve[-1], rel=1e-4)


def test_few_rows_and_a_constant_feature():
    X, y = overlapping()
    X = np.column_stack([X, np.full(len(X), 3.0)])
    problem = TripleProblem.among_points(X, y, 3).with_targets(np.eye(4))
    found = solve_large_margin(problem, np.eye(4)[:2])
    assert found.omega.shape == (2, 4)
    assert np.isfinite(found.omega).all()
    assert found.cost_curve[-1] < found.cost_curve[0]


def test_memory_limit_changes_nothing(monkeypatch):
    problem = lmnn_problem()
    kept = solve_large_margin(problem, np.eye(3), max_iter=20)
    monkeypatch.setattr(triples, "_MOST_CANDIDATES", 10)
    assert Candidates(problem, np.eye(3), 0.0).pairs is None
    searched = solve_large_margin(problem, np.eye(3), max_iter=20)
    assert searched.cost_curve[-1] == pytest.approx(kept.cost_curve[-1], rel=1e-3)


def test_blocks_change_nothing(monkeypatch):
    problem = lmnn_problem()
    A, B = problem.mapped(np.eye(3))
    whole = Candidates(problem, np.eye(3), 0.1)
    monkeypatch.setattr(triples, "_BLOCK_NUMBERS", 12)
    monkeypatch.setattr(triples, "_BLOCK_COLUMNS", 4)
    parts = Candidates(problem, np.eye(3), 0.1)
    assert parts.n_pairs == whole.n_pairs
    assert parts.sums(A, B, A, B).cost == pytest.approx(whole.sums(A, B, A, B).cost, rel=1e-13)


def test_targets_are_the_nearest_of_the_class():
    problem = lmnn_problem()
    for i, row in enumerate(problem.targets):
        D = np.sum((problem.points - problem.points[i]) ** 2, axis=1)
        D[(problem.point_labels != problem.point_labels[i]) | (np.arange(len(D)) == i)] = np.inf
        np.testing.assert_array_equal(row, np.argsort(D, kind="stable")[:3])


def test_a_class_with_too_few_points_has_fewer_targets():
    X, y = overlapping(n_per_class=2)
    problem = TripleProblem.among_points(X, y, 3).with_targets(np.eye(3))
    assert (problem.targets[:, 0] >= 0).all()
    assert (problem.targets[:, 1:] == -1).all()


def test_new_targets_never_raise_the_cost():
    problem = lmnn_problem()
    omega = np.random.default_rng(3).standard_normal((3, 3))
    assert cost_by_hand(problem.with_targets(omega), omega.T @ omega) <= cost_by_hand(problem, omega.T @ omega)
    stale = solve_large_margin(problem, np.eye(3))
    fresh = solve_large_margin(problem, np.eye(3), refresh_targets=True)
    assert fresh.cost_curve[-1] <= stale.cost_curve[-1] * (1 + 1e-3)
    assert (np.diff(fresh.cost_curve) <= 0).all()
    metric = fresh.omega.T @ fresh.omega
    assert cost_by_hand(fresh.problem, metric) == pytest.approx(fresh.cost_curve[-1], rel=1e-9)


def test_projection_keeps_positive_parts():
    matrix = np.diag([3.0, -2.0, 1.0])
    nearest, factor = project(matrix)
    np.testing.assert_allclose(nearest, np.diag([3.0, 0.0, 1.0]), atol=1e-15)
    np.testing.assert_allclose(factor.T @ factor, nearest)


def test_whitening_and_its_inverse():
    X, _ = overlapping(n_features=4)
    frame, back = whitening(X)
    np.testing.assert_allclose(frame @ back, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(np.cov((X @ frame).T, bias=True), np.eye(4), atol=1e-10)


def test_best_scale_is_the_minimum_along_the_ray():
    problem = lmnn_problem()
    best = best_scale(problem, np.eye(3))
    costs = [cost_by_hand(problem, (factor * best) ** 2 * np.eye(3)) for factor in (0.98, 1.0, 1.02)]
    assert costs[1] <= min(costs)
