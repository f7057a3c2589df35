"""Sums of a block under matrices in one call: those of distances, coefficients and moments one after the other."""

import numpy as np
import pytest

from problems import objective_of, random_problem
from protolearn.metrics.diagonal import Diagonal
from protolearn.metrics.omega import Omega
from protolearn.solvers import omega_block, thin_block
from protolearn.solvers.batch import SumsOfBlock, coefficients, sums_of_block

METRICS = [
    Omega(scope=scope, n_components=rows) for scope in ("global", "class", "prototype") for rows in (None, 5, 3, 2)
]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: f"{metric.scope}, {metric.n_components}")
@pytest.mark.parametrize("loss", ["glvq", "logm", "dsm"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 20.0])
@pytest.mark.parametrize("n_samples", [1, 700])
def test_the_same_sums(metric, loss, dtype, offset, n_samples):
    """Full matrices and, where Omega has at most a third as many rows as columns, maps to few numbers."""
    data, prototypes = random_problem(metric, n_samples=n_samples, dtype=dtype, n_features=9)
    X = data.X + dtype(offset)
    prototypes = prototypes.moved(prototypes.positions + dtype(offset), prototypes.theta)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    objective = objective_of(loss, metric)
    way, other_way = (omega_block, thin_block)[:: 1 if metric.n_components in (None, 5) else -1]
    assert way.serves(prototypes, objective)
    assert not other_way.serves(prototypes, objective)
    found = sums_of_block(prototypes, objective, X, data.y, weight)
    value, _, pull = coefficients(prototypes, X, data.y, weight, objective)
    tolerance = 2e-5 if dtype == np.float32 else 1e-12
    assert found.value == pytest.approx(value, rel=tolerance)
    assert found.weight == pytest.approx(weight.sum())
    wanted = metric.moments(X, prototypes, pull)
    for one, other in zip(found.moments, wanted, strict=True):
        assert one.dtype == dtype
        if one.ndim == 3 and way is omega_block:
            # What stands above the diagonals, and behind the features, is anything.
            one, other = (np.tril(sums[:, :9, :9]) for sums in (one, other))
        np.testing.assert_allclose(one, other, atol=tolerance * (1 + np.abs(other).max()))


@pytest.mark.parametrize("scope", ["global", "class", "prototype"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pieces_are_the_sum_of_blocks(scope, dtype):
    """Number for number: an iteration does not depend on how many threads there are."""
    metric = Omega(scope=scope)
    data, prototypes = random_problem(metric, n_samples=700, dtype=dtype, n_features=9)
    # Whole numbers, so that their sum is the same however it is taken.
    block = data.X, data.y, np.random.default_rng(0).integers(1, 4, 700).astype(np.float64)
    sums = SumsOfBlock(prototypes, objective_of("glvq", metric))
    for length in (700, 350, 233):
        found = sums.of_pieces(*block, length)
        wanted = [sums(*(part[begin : begin + length] for part in block)) for begin in range(0, 700, length)]
        total = sum(wanted[1:], wanted[0])
        assert (found.value, found.weight, found.n_blocks) == (total.value, total.weight, total.n_blocks)
        for one, other in zip(found.moments, total.moments, strict=True):
            if one.ndim == 3:
                one, other = (np.tril(part[:, :9, :9]) for part in (one, other))
            np.testing.assert_array_equal(one, other)


def test_pieces_whose_distances_come_from_bounds_are_left_to_threads(monkeypatch):
    metric = Omega(scope="class")
    data, prototypes = random_problem(metric, n_samples=20)
    monkeypatch.setattr(Omega, "bounds", lambda *_: prototypes)
    sums = SumsOfBlock(prototypes, objective_of("glvq", metric))
    assert sums.of_pieces(data.X, data.y, np.ones(20), 10) is None


@pytest.mark.parametrize("scope", ["global", "class"])
@pytest.mark.parametrize("n_components", [None, 1])
def test_a_distance_that_is_no_number_makes_the_value_none(scope, n_components):
    metric = Omega(scope=scope, n_components=n_components)
    data, prototypes = random_problem(metric, n_samples=20)
    data.X[3, 1] = np.nan
    found = sums_of_block(prototypes, objective_of("glvq", metric), data.X, data.y, np.ones(20))
    assert np.isnan(found.value)
    assert all((part == 0).all() for part in found.moments)


@pytest.mark.parametrize(
    ("loss", "metric"), [("rslvq", Omega()), ("rslvq", Omega(n_components=1)), ("glvq", Diagonal())]
)
def test_other_losses_and_metrics_go_another_way(loss, metric):
    _, prototypes = random_problem(metric)
    for way in (omega_block, thin_block):
        assert not way.serves(prototypes, objective_of(loss, metric))
    assert SumsOfBlock(prototypes, objective_of(loss, metric)).of_pieces(None, None, None, 10) is None
