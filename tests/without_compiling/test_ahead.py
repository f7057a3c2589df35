"""Distances computed ahead change no step: the same prototypes as one distance after the other."""

import numpy as np
import pytest

from protolearn.core.schedules import linear
from protolearn.core.searches import class_starts, nearest_of, own_and_rival, pop_nearest, room_for_distances
from protolearn.data import TrainingSet
from protolearn.losses import LOSSES
from protolearn.metrics import METRICS
from protolearn.solvers import SOLVERS, Objective, Plan, ahead

EUCLIDEAN = METRICS["euclidean"]


def learn(monkeypatch, X, y, start, *, looking_ahead, loss="logm", tau=1.0, weight=None, epochs=2, limit=np.inf):
    monkeypatch.setattr(ahead, "_LEAST_PROTOTYPES", 1 if looking_ahead else 10**9)
    monkeypatch.setattr(ahead, "_LEAST_NUMBERS", 1)
    data = TrainingSet(X, y, weight, y.max() + 1)
    loss = LOSSES[loss]()
    scale = float(EUCLIDEAN.distances(X, start).min(axis=1).mean()) + 1.0
    plan = Plan(
        epochs, tau * loss.rate_unit(scale), 0.0, linear, np.random.RandomState(0), scale=scale, limit=limit
    )  # fmt: skip
    return SOLVERS["online"](start, data, Objective(loss, EUCLIDEAN, loss.default_slope(scale), 0.01), plan)


def problem(offset=0.0, n_samples=150, n_classes=3, per_class=9, d=6, dtype=np.float64):
    rng = np.random.default_rng(1)
    y = np.arange(n_samples) % n_classes
    X = (offset + rng.normal(size=(n_classes, d))[y] + rng.normal(size=(n_samples, d))).astype(dtype)
    # Rows far out make the reach of the bounds grow in the middle of a batch.
    X[50:53] += 20
    chosen = np.concatenate([np.flatnonzero(y == k)[:per_class] for k in range(n_classes)])
    return X, y, EUCLIDEAN.start(X[chosen], y[chosen], TrainingSet(X, y, None, n_classes))


@pytest.mark.parametrize("loss", ["logm", "glvq", "mce"])
@pytest.mark.parametrize("tau", [0.01, 1.0, 4.0])
def test_the_same_prototypes_as_one_distance_after_the_other(monkeypatch, loss, tau):
    X, y, start = problem()
    one, other = (learn(monkeypatch, X, y, start, looking_ahead=flag, loss=loss, tau=tau) for flag in (True, False))
    np.testing.assert_allclose(one.prototypes.positions, other.prototypes.positions, atol=1e-10)
    np.testing.assert_allclose(one.loss_curve, other.loss_curve, rtol=1e-12)
    assert np.abs(one.prototypes.positions - start.positions).max() > 1e-4


@pytest.mark.parametrize("stored", ["by columns", "read-only", "in the other number type"])
def test_rows_that_a_kernel_cannot_read_in_place(monkeypatch, stored):
    X, y, start = problem()
    other = np.asfortranarray(X) if stored == "by columns" else X.copy()
    if stored == "read-only":
        other.flags.writeable = False
    if stored == "in the other number type":
        X = X.astype(np.float32).astype(np.float64)
        other = X.astype(np.longdouble)
    one, two = (learn(monkeypatch, rows, y, start, looking_ahead=True) for rows in (X, other))
    np.testing.assert_array_equal(one.prototypes.positions, two.prototypes.positions)


def test_data_far_from_the_origin(monkeypatch):
    X, y, start = problem(offset=1e4)
    one, other = (learn(monkeypatch, X, y, start, looking_ahead=flag) for flag in (True, False))
    np.testing.assert_allclose(one.prototypes.positions, other.prototypes.positions, atol=1e-7)


def test_rows_and_prototypes_in_one_point(monkeypatch):
    X, y, start = problem()
    for positions in (np.zeros_like(start.positions), start.positions):
        part = EUCLIDEAN.start(positions, start.labels, TrainingSet(X, y, None, 3))
        same = np.tile(positions.mean(axis=0), (len(X), 1))
        one, other = (learn(monkeypatch, same, y, part, looking_ahead=flag) for flag in (True, False))
        np.testing.assert_allclose(one.prototypes.positions, other.prototypes.positions, atol=1e-10)


def test_equal_prototypes_the_one_with_the_lowest_index_moves(monkeypatch):
    X, y, start = problem()
    twice = EUCLIDEAN.start(
        np.repeat(start.positions, 2, axis=0), np.repeat(start.labels, 2), TrainingSet(X, y, None, 3)
    )
    found = learn(monkeypatch, X, y, twice, looking_ahead=True, epochs=1).prototypes.positions
    plain = learn(monkeypatch, X, y, twice, looking_ahead=False, epochs=1).prototypes.positions
    np.testing.assert_allclose(found, plain, atol=1e-10)


def test_weights_make_the_same_steps(monkeypatch):
    X, y, start = problem(n_samples=60)
    weight = np.linspace(0.5, 2.0, 60)
    one, other = (learn(monkeypatch, X, y, start, looking_ahead=flag, weight=weight) for flag in (True, False))
    np.testing.assert_allclose(one.prototypes.positions, other.prototypes.positions, atol=1e-10)


def test_divergence_is_noticed(monkeypatch):
    X, y, start = problem()
    found = learn(monkeypatch, X, y, start, looking_ahead=True, limit=1e-6)
    assert "diverged" in found.message
    np.testing.assert_array_equal(found.prototypes.positions, start.positions)


def test_a_class_without_a_prototype_and_a_lonely_class_stop_the_epoch(monkeypatch):
    X, y, start = problem()
    data = TrainingSet(X, y, None, 3)
    for kept in (start.labels != 1, start.labels == 0):
        part = EUCLIDEAN.start(start.positions[kept], start.labels[kept], data)
        if not kept[-1]:
            y = np.zeros_like(y)
        assert "diverged" in learn(monkeypatch, X, y, part, looking_ahead=True).message


@pytest.mark.parametrize("n_prototypes", [64, 70, 81])
def test_the_search_by_class_finds_what_the_plain_one_finds(n_prototypes):
    rng = np.random.default_rng(n_prototypes)
    labels = np.sort(rng.integers(0, 4, n_prototypes))
    for _ in range(20):
        padded, bits = room_for_distances(n_prototypes, np.float64)
        # Whole numbers: ties are frequent.
        padded[:n_prototypes] = rng.integers(0, 9, n_prototypes)
        before = padded.copy()
        expected = own_and_rival(before[:n_prototypes], labels, 2)
        starts = class_starts(labels)
        own, d_own = pop_nearest(padded, starts[2], starts[3])
        rival = nearest_of(bits)
        d_rival = padded[rival]
        assert (own, rival) == expected
        assert np.isinf(padded[starts[2] : starts[3]]).all()
        assert (d_own, d_rival) == tuple(before[list(expected)])


def test_prototypes_out_of_order_are_searched_one_by_one():
    assert len(class_starts(np.array([0, 1, 0]))) == 0
