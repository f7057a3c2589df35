"""Epochs without calls through functions make the steps of those with them; rules the steps they promise."""

import numpy as np
import pytest

from problems import RULES
from protolearn.core.schedules import linear
from protolearn.core.searches import LANES, all_below, least, nearest_of, room_for_distances, two_nearest_of
from protolearn.data import TrainingSet
from protolearn.losses import LOSSES
from protolearn.metrics import METRICS
from protolearn.metrics import euclidean as euclidean_file
from protolearn.solvers import SOLVERS, Objective, Plan, online

EUCLIDEAN = METRICS["euclidean"]


def problem(d=7, per_class=8, dtype=np.float64):
    rng = np.random.default_rng(5)
    y = np.arange(90) % 3
    X = (rng.normal(size=(3, d))[y] + rng.normal(size=(90, d))).astype(dtype)
    chosen = np.concatenate([np.flatnonzero(y == k)[:per_class] for k in range(3)])
    data = TrainingSet(X, y, None, 3)
    return data, EUCLIDEAN.start(X[chosen] + dtype(0.1), y[chosen], data)


def learn(data, start, loss, rate=0.05):
    loss = LOSSES[loss]()
    plan = Plan(2, rate, 0.0, linear, np.random.RandomState(0), scale=1.0, limit=1e6)
    return SOLVERS["online"](start, data, Objective(loss, EUCLIDEAN, 0.8, 0.0), plan)


@pytest.mark.parametrize("loss", ["logm", "glvq", "dsm", *RULES])
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_steps_as_with_functions(monkeypatch, loss, by_column, dtype):
    monkeypatch.setattr(online, "across_prototypes", lambda *sizes, **moves: by_column)
    data, start = problem(dtype=dtype)
    fast = learn(data, start, loss)
    monkeypatch.setattr(online, "special_epoch", lambda *parts: None)
    plain = learn(data, start, loss)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(fast.prototypes.positions, plain.prototypes.positions, atol=tolerance)
    np.testing.assert_allclose(fast.loss_curve, plain.loss_curve, rtol=1e-5)
    np.testing.assert_allclose(fast.rates, plain.rates, rtol=1e-12)
    assert np.abs(fast.prototypes.positions - start.positions).max() > 1e-4


@pytest.mark.parametrize("loss", ["logm", "lvq1", "lvq3", "rslvq"])
@pytest.mark.parametrize(("d", "per_class"), [(3, 5), (4, 6), (6, 11), (17, 7)])
def test_rows_and_columns_make_the_same_steps(monkeypatch, loss, d, per_class):
    data, start = problem(d, per_class)
    found = []
    for by_column in (False, True):
        for file in (online, euclidean_file):
            monkeypatch.setattr(file, "across_prototypes", lambda *sizes, by_column=by_column, **moves: by_column)
        found.append(learn(data, start, loss).prototypes.positions)
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)


def plain_rule(name, D, labels, k, window=0.3, epsilon=0.2):
    """The rules as Kohonen writes them, on a whole row of distances."""
    near, far = np.argsort(D, kind="stable")[:2]
    right, far_right = labels[near] == k, labels[far] == k
    C = np.zeros(len(D))
    inside = D[near] > ((1 - window) / (1 + window)) ** 2 * D[far]
    if name in ("lvq1", "olvq1"):
        C[near] = 0.5 if right else -0.5
    elif name == "lvq2" and not right and far_right and inside:
        C[near], C[far] = -0.5, 0.5
    elif name in ("lvq21", "lvq3") and right != far_right and inside:
        C[near], C[far] = (0.5, -0.5) if right else (-0.5, 0.5)
    elif name == "lvq3" and right and far_right:
        C[near] = C[far] = 0.5 * epsilon
    return float(not right), C


@pytest.mark.parametrize("rule", [name for name in RULES if name != "olvq1"])
def test_a_rule_moves_what_it_says(rule):
    data, start = problem()
    W = start.positions.copy()
    expected, n_epochs, rate = W.copy(), 1, 0.05
    values = []
    for step, (x, k) in enumerate(zip(data.X, data.y, strict=True)):
        value, C = plain_rule(rule, ((x - expected) ** 2).sum(axis=1), start.labels, k)
        values.append(value)
        expected += 2 * rate * (1 - step / len(data.X)) * C[:, None] * (x - expected)
    plan = Plan(n_epochs, rate, 0.0, linear, np.random.RandomState(0), scale=1.0, shuffle=False)
    found = SOLVERS["online"](start, data, Objective(LOSSES[rule](), EUCLIDEAN, 1.0), plan)
    np.testing.assert_allclose(found.prototypes.positions, expected, atol=1e-12)
    assert found.loss_curve[0] == pytest.approx(np.mean(values))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_search_for_the_nearest(dtype):
    rng = np.random.default_rng(0)
    for n in range(1, 71):
        padded, bits = room_for_distances(n, dtype)
        # Whole numbers: ties are frequent. Some rows hold infinities, some distances that are no numbers.
        for bad in (None, None, np.inf, np.nan):
            padded[:n] = rng.integers(0, rng.choice([2, 6, 100]), n)
            if bad is not None:
                padded[: n - 1][rng.random(n - 1) < 0.3] = bad
            assert nearest_of(bits) == np.nanargmin(padded)
            assert np.isnan(padded).any() or least(padded) == padded.min()
            # Numpy sorts what is no number behind infinity.
            assert two_nearest_of(bits) == tuple(np.argsort(padded, kind="stable")[:2])


def test_the_search_among_what_is_no_number():
    for dtype in (np.float32, np.float64):
        D, bits = room_for_distances(2 * LANES, dtype)
        D[:] = np.nan
        D[20] = np.inf
        assert nearest_of(bits) == 20
        D[25] = 3.0
        assert two_nearest_of(bits) == (25, 20)


def test_distances_that_are_no_numbers_are_not_below():
    for dtype in (np.float32, np.float64):
        for n in range(1, 40):
            D = np.ones(n, dtype=dtype)
            assert all_below(D, np.inf)
            for bad in (np.nan, np.inf, 2.0):
                D[n // 3] = bad
                assert not all_below(D, 2.0)


def test_a_rule_under_another_metric_runs_through_functions():
    data, _ = problem()
    for name in ("relevance", "omega"):
        metric = METRICS[name]
        start = metric.start(data.X[:9] + 0.1, data.y[:9], data)
        plan = Plan(1, 0.05, 0.01, linear, np.random.RandomState(0), scale=1.0)
        found = SOLVERS["online"](start, data, Objective(LOSSES["lvq3"](), metric, 1.0), plan)
        assert np.abs(found.prototypes.theta - start.theta).max() > 1e-6
        assert not found.message


@pytest.mark.parametrize("metric", ["euclidean", "omega", "relevance"])
def test_a_class_without_prototypes_stops_the_epoch(metric):
    data, _ = problem()
    metric = METRICS[metric]
    for labels in ([0, 0, 1], [1, 2, 2], [1, 0, 1]):
        labels = np.array(labels)
        start = metric.start(np.stack([data.X[data.y == k][i] for i, k in enumerate(labels)]), labels, data)
        plan = Plan(1, 0.05, 0.01, linear, np.random.RandomState(0), scale=1.0)
        found = SOLVERS["online"](start, data, Objective(LOSSES["logm"](), metric, 1.0), plan)
        assert "diverged" in found.message
        np.testing.assert_array_equal(found.prototypes.positions, start.positions)
