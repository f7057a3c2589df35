"""Bounds rule out what is not nearest, and change nothing else: own, rival, their distances and whole fits."""

import numpy as np
import pytest

from protolearn import LGMLVQ
from protolearn.data import TrainingSet
from protolearn.data.kept_rows import KeptRows
from protolearn.metrics import bounded
from protolearn.metrics.omega import Omega
from protolearn.prototypes import PrototypeSet
from protolearn.searches import own_and_rival

CLASSES, EACH, FEATURES = 8, 3, 64


def learned(scope, dtype, seed=0, n=700, offset=0.0):
    """Samples, and prototypes among them whose maps have lost most of their directions, as they do by learning."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % CLASSES
    X = 1.5 * rng.normal(size=(CLASSES, FEATURES))[y] + rng.normal(size=(n, FEATURES)) * np.geomspace(2, 0.2, FEATURES)
    X = (X + offset).astype(dtype)
    data = TrainingSet(X, y, None, CLASSES)
    labels = np.repeat(np.arange(CLASSES), EACH)
    metric = Omega(scope=scope)
    start = metric.start(np.stack([X[y == k][j] for k in range(CLASSES) for j in range(EACH)]), labels, data)
    maps = start.theta + 0.3 * rng.normal(size=start.theta.shape)
    theta = metric.project((maps * np.geomspace(3, 0.05, FEATURES)[:, None]).astype(dtype))
    return metric, data, PrototypeSet(start.positions, labels, theta, start.slot)


@pytest.fixture(autouse=True)
def _small_problems_pay(monkeypatch):
    monkeypatch.setattr(bounded, "_LEAST_ROWS", 0)


def nearest(D, labels, y):
    pairs = np.array([own_and_rival(row, labels, k) for row, k in zip(D, y, strict=True)])
    return pairs, np.take_along_axis(D, pairs, axis=1)


@pytest.mark.parametrize("scope", ["class", "prototype"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_own_and_rival_are_those_of_all_distances(scope, dtype, offset):
    metric, data, prototypes = learned(scope, dtype, offset=offset)
    kept = KeptRows(data.X)
    found = metric.distances_of_nearest(data.X, data.y, prototypes, kept)
    every = metric.distances_by_prototype(data.X, prototypes, kept)
    measured = np.isclose(found, every, rtol=1e-4, atol=1e-4 * every.mean()).mean()
    assert measured < 0.5, "the bounds ruled out less than half"
    for one, other in zip(
        nearest(found.T, prototypes.labels, data.y), nearest(every.T, prototypes.labels, data.y), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=(1e-5 if dtype == np.float32 else 1e-12) * every.mean())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_are_below_the_distances(dtype):
    metric, data, prototypes = learned("prototype", dtype)
    bounds = bounded.bounding(prototypes, KeptRows(data.X))
    below, every = (metric.distances_by_prototype(data.X, one) for one in (bounds, prototypes))
    assert (below <= every * (1 + bounded._SLACK) + 1e-6 * every.mean()).all()
    assert below.sum() > 0.3 * every.sum()


def test_where_bounds_leave_too_much_everything_is_measured(monkeypatch):
    monkeypatch.setattr(bounded, "_TOO_MUCH", 0.0)
    metric, data, prototypes = learned("class", np.float64)
    kept = KeptRows(data.X)
    found = metric.distances_of_nearest(data.X, data.y, prototypes, kept)
    np.testing.assert_allclose(found, metric.distances_by_prototype(data.X, prototypes), rtol=1e-9)


def test_rows_that_are_no_numbers_stay_so():
    metric, data, prototypes = learned("class", np.float64)
    kept = KeptRows(data.X)
    X = data.X.copy()
    X[5, 3] = np.nan
    found = metric.distances_of_nearest(X, data.y, prototypes, kept)
    assert np.isnan(found[:, 5]).all()
    assert np.isfinite(np.delete(found, 5, axis=1)).all()


@pytest.mark.parametrize("theta", [0.0, np.inf])
def test_maps_without_directions_have_no_bounds(theta):
    _, data, prototypes = learned("class", np.float64)
    broken = prototypes.theta.copy()
    broken[2] = theta
    with np.errstate(invalid="ignore"):
        assert bounded.bounding(prototypes.moved(prototypes.positions, broken), KeptRows(data.X)) is None


@pytest.mark.parametrize("scope", ["class", "prototype"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fit_is_the_same_without_them(scope, dtype, monkeypatch):
    _, data, _ = learned(scope, dtype, n=600)
    model = LGMLVQ(2, scope=scope, solver="lbfgs", max_iter=6, random_state=0)
    used = []
    monkeypatch.setattr(bounded, "bounding", counted(bounded.bounding, used))
    with_bounds = model.fit(data.X, data.y)
    found = with_bounds.prototypes_, with_bounds.omega_, with_bounds.loss_curve_
    assert len(used) >= 6
    monkeypatch.setattr(bounded, "pays", lambda theta: False)
    plain = model.fit(data.X, data.y)
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    for one, other in zip(found, (plain.prototypes_, plain.omega_, plain.loss_curve_), strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance * np.abs(other).max())


def counted(function, calls):
    def counting(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return counting
