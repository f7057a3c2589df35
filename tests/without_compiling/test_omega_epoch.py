"""Prototypes kept mapped make the steps of those that are mapped for each sample."""

import numpy as np
import pytest

from protolearn.core.schedules import linear
from protolearn.data import TrainingSet
from protolearn.losses import LOSSES
from protolearn.metrics.omega import Omega
from protolearn.solvers import SOLVERS, Objective, Plan, omega_epoch, online

METRICS = {
    "global": Omega(),
    "class": Omega(scope="class", normalization="sum"),
    "prototype": Omega(scope="prototype"),
    "low rank": Omega(n_components=3),
    "low rank, local": Omega(n_components=2, scope="prototype", normalization="sum"),
}


def learn(monkeypatch, metric, *, plainly, rates=(0.05, 0.05), offset=0.0, dtype=np.float64, sort=True, limit=np.inf):
    rng = np.random.default_rng(2)
    y = np.arange(60) % 3
    X = (rng.normal(size=(3, 6))[y] + rng.normal(size=(60, 6)) + offset).astype(dtype)
    data = TrainingSet(X, y, None, 3)
    labels = np.repeat(np.arange(3), 2) if sort else np.array([2, 0, 1, 0, 2, 1])
    positions = np.stack([X[y == k][i] for i, k in enumerate(labels)])
    start = metric.start(positions + dtype(0.1), labels, data)
    plan = Plan(3, *rates, linear, np.random.RandomState(0), scale=1.0, limit=limit)
    if plainly:
        monkeypatch.setattr(online, "special_epoch", lambda *parts: None)
    found = SOLVERS["online"](start, data, Objective(LOSSES["glvq_sigmoid"](), metric, 3.0, 0.01), plan)
    monkeypatch.undo()
    return found, start


def agree(monkeypatch, metric, tolerance=1e-9, **options):
    (fast, start), (plain, _) = (learn(monkeypatch, metric, plainly=flag, **options) for flag in (False, True))
    np.testing.assert_allclose(fast.prototypes.positions, plain.prototypes.positions, atol=tolerance)
    np.testing.assert_allclose(fast.prototypes.theta, plain.prototypes.theta, atol=tolerance)
    np.testing.assert_allclose(fast.loss_curve, plain.loss_curve, atol=tolerance)
    return fast.prototypes, start


@pytest.mark.parametrize("metric", list(METRICS))
@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("every", [1, 7, 1000])
def test_the_same_steps_as_with_maps_of_each_difference(monkeypatch, metric, sort, every):
    monkeypatch.setattr(omega_epoch, "_MAPPED_ANEW", every)
    found, start = agree(monkeypatch, METRICS[metric], sort=sort)
    assert np.abs(found.positions - start.positions).max() > 1e-3
    assert np.abs(found.theta - start.theta).max() > 1e-3


@pytest.mark.parametrize("metric", list(METRICS))
def test_frozen_positions_and_frozen_metric(monkeypatch, metric):
    found, start = agree(monkeypatch, METRICS[metric], rates=(0.0, 0.05))
    np.testing.assert_array_equal(found.positions, start.positions)
    found, start = agree(monkeypatch, METRICS[metric], rates=(0.05, 0.0))
    np.testing.assert_array_equal(found.theta, start.theta)


def test_long_steps_are_bounded_alike(monkeypatch):
    agree(monkeypatch, METRICS["global"], rates=(3.0, 0.5), tolerance=1e-7)


def test_float32_far_from_the_origin(monkeypatch):
    agree(monkeypatch, METRICS["global"], offset=100.0, dtype=np.float32, tolerance=3e-3)
    agree(monkeypatch, METRICS["class"], dtype=np.float32, tolerance=1e-4)


def test_divergence_is_noticed(monkeypatch):
    found, start = learn(monkeypatch, METRICS["global"], plainly=False, limit=1e-6)
    assert "diverged" in found.message
    np.testing.assert_array_equal(found.prototypes.positions, start.positions)
