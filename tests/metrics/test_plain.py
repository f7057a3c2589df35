"""A metric of distances and gradient alone learns what the compiled one learns, under every solver."""

from dataclasses import fields

import numpy as np
import pytest

from problems import objective_of, random_problem
from protolearn.core.schedules import constant
from protolearn.metrics import METRICS, Metric
from protolearn.solvers import SOLVERS, Plan

OPTIONAL = ("pack", "linear_forms", "row_distances", "distances_and_pullback", "weights", "maps")


def plain(metric):
    """The same metric without what it gives beside distances, gradient and projection."""
    kind = type(metric)
    bare = type(f"Plain{kind.__name__}", (kind,), {name: getattr(Metric, name) for name in OPTIONAL})
    if kind.weights is not Metric.weights:
        # The weighted metrics form their distances from them.
        bare.weights = kind.weights
    return bare(**{field.name: getattr(metric, field.name) for field in fields(metric)})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["glvq", "rslvq", "lvq3", "olvq1"])
@pytest.mark.parametrize("name", METRICS)
def test_an_epoch_in_python_is_the_compiled_epoch(name, loss, dtype):
    metric = METRICS[name]
    data, start = random_problem(metric, n_samples=60, dtype=dtype)
    plan = Plan(2, 0.02, 0.01, constant, np.random.RandomState(0), scale=1.0, shuffle=False)
    found, wanted = (
        SOLVERS["online"](start, data, objective_of(loss, kind, regularization=0.0), plan).prototypes
        for kind in (plain(metric), metric)
    )
    tolerance = 2e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found.positions, wanted.positions, atol=tolerance)
    np.testing.assert_allclose(found.theta, wanted.theta, atol=tolerance)
    assert np.abs(wanted.positions - start.positions).max() > 1e-2


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "online"])
@pytest.mark.parametrize("name", METRICS)
def test_batch_solvers_need_no_more(name, solver):
    metric = METRICS[name]
    data, start = random_problem(metric, n_samples=60)
    found, wanted = (
        SOLVERS[solver](
            start,
            data,
            objective_of("glvq_sigmoid", kind, regularization=0.0),
            Plan(5, 0.01, 0.01, constant, np.random.RandomState(0), scale=1.0, batch_size=16),
        ).prototypes
        for kind in (plain(metric), metric)
    )
    np.testing.assert_allclose(found.positions, wanted.positions, atol=1e-6)
    np.testing.assert_allclose(found.theta, wanted.theta, atol=1e-6)
    assert np.abs(wanted.positions - start.positions).max() > 1e-3
