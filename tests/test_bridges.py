"""Identities between methods that nothing in the code enforces (SPEC 8)."""

import numpy as np
import pytest

from problems import ALL_METRICS, random_problem
from protolearn import GLVQ, GMLVQ, GRLVQ, LOGM, RSLVQ, SNPC
from protolearn.core.prototypes import PrototypeSet
from protolearn.losses import LOSSES
from protolearn.metrics.diagonal import Diagonal
from protolearn.metrics.omega import Omega
from protolearn.solvers import Objective
from protolearn.solvers.batch import value_and_gradient
from test_conventions import field, pair

LABELS = np.array([0, 0, 1, 1, 2])


def distances(seed):
    return np.random.default_rng(seed).uniform(0.1, 4.0, len(LABELS))


@pytest.mark.parametrize("seed", range(5))
def test_rslvq_is_snpc_over_the_posterior(seed):
    D = distances(seed)
    error, soft = field("snpc", D, LABELS, 1, slope=0.8)
    log, robust = field("rslvq", D, LABELS, 1, slope=0.8)
    np.testing.assert_allclose(robust, soft / (1 - error), rtol=1e-12)
    assert log == pytest.approx(-np.log(1 - error))


@pytest.mark.parametrize("seed", range(5))
def test_logm_is_mce_over_the_posterior(seed):
    d_own, d_rival = distances(seed)[:2]
    error, mce, _ = pair("mce", d_own, d_rival, 0.8)
    _, logm, _ = pair("logm", d_own, d_rival, 0.8)
    assert logm == pytest.approx(mce / (1 - error), rel=1e-12)


def test_rslvq_with_one_prototype_a_side_is_logm():
    value, C = field("rslvq", [1.3, 0.4], [0, 1], 0, slope=0.8)
    wanted, pull, push = pair("logm", 1.3, 0.4, 0.8)
    assert value == pytest.approx(wanted)
    np.testing.assert_allclose(C, [pull, push])


def test_pruned_losses_that_keep_all_are_the_full_ones():
    D = distances(0)
    for pruned, full in (("maxp1", "snpc"), ("rslvq1", "rslvq")):
        np.testing.assert_allclose(field(pruned, D, LABELS, 0, 99)[1], field(full, D, LABELS, 0)[1], rtol=1e-12)


@pytest.mark.parametrize(("d_own", "d_rival"), [(2.0, 1.0), (1.0, 2.0)])
def test_steep_logm_is_dsm(d_own, d_rival):
    slope = 1e4
    _, pull, _ = pair("logm", d_own, d_rival, slope)
    assert pull / (2 * slope) == pytest.approx(pair("dsm", d_own, d_rival)[1], abs=1e-12)


@pytest.mark.parametrize("name", ["glvq", "glvq_sigmoid"])
def test_glvq_depends_on_the_ratio_only(name):
    _, pull, push = pair(name, 0.7, 1.9)
    assert pull * 0.7 == pytest.approx(-push * 1.9)


def test_frozen_grlvq_is_glvq(blobs):
    X, y = blobs
    settings = {"n_prototypes": 2, "random_state": 0, "max_iter": 20}
    frozen = GRLVQ(metric_learning_rate=0, normalization="mean", **settings).fit(X, y)
    np.testing.assert_allclose(frozen.prototypes_, GLVQ(**settings).fit(X, y).prototypes_, rtol=1e-9)


def test_frozen_gmlvq_is_glvq(blobs):
    X, y = blobs
    settings = {"n_prototypes": 2, "random_state": 0, "max_iter": 20}
    frozen = GMLVQ(metric_learning_rate=0, normalization="mean", **settings).fit(X, y)
    np.testing.assert_allclose(frozen.prototypes_, GLVQ(**settings).fit(X, y).prototypes_, rtol=1e-9)


def test_diagonal_omega_has_the_gradient_of_weights():
    """D is the same, so the gradients are linked by the chain rule: weight = omega^2."""
    data, prototypes = random_problem(ALL_METRICS["relevance"])
    omega = PrototypeSet(
        prototypes.positions, prototypes.labels, np.diag(np.sqrt(prototypes.theta[0]))[None], prototypes.slot
    )
    weight = np.ones(len(data.y))
    one = value_and_gradient(prototypes, Objective(LOSSES["glvq"](), Diagonal(), 1.0), data.X, data.y, weight)
    two = value_and_gradient(omega, Objective(LOSSES["glvq"](), Omega(), 1.0), data.X, data.y, weight)
    assert two.value == pytest.approx(one.value)
    np.testing.assert_allclose(two.positions, one.positions, atol=1e-12)
    np.testing.assert_allclose(np.diag(two.theta[0]), 2 * np.sqrt(prototypes.theta[0]) * one.theta[0], atol=1e-12)


def test_sgd_on_an_sklearn_reference():
    """LOGM with two classes minimises the log loss of its probabilities, as scikit-learn computes it."""
    from sklearn.metrics import log_loss

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    model = LOGM(solver="lbfgs", random_state=0, max_iter=50).fit(X, y)
    assert model.loss_curve_[-1] == pytest.approx(log_loss(y, model.predict_proba(X)), rel=1e-9)


def test_soft_probabilities_are_the_papers_posterior_with_one_prototype_a_class(blobs):
    X, y = blobs
    for method in (SNPC, RSLVQ):
        model = method(random_state=0, max_iter=5, slope=0.4).fit(X, y)
        D = ((X[:, None] - model.prototypes_) ** 2).sum(axis=2)
        slope = 0.4 * (model.annealing ** (5 * len(X)) if method is SNPC else 1.0)
        P = np.exp(-slope * D)
        np.testing.assert_allclose(model.predict_proba(X), P / P.sum(axis=1, keepdims=True), rtol=1e-9)
