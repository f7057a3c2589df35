"""Each kink and tie: what is written in losses/base.py, once."""

import numpy as np
import pytest

from protolearn import NearestPrototype
from protolearn.core.searches import own_and_rival, room_for_distances, two_nearest_of
from protolearn.losses import LOSSES, NearestLoss


def pair(name, d_own, d_rival, slope=1.0):
    return LOSSES[name]().coefficients.of(np.float64)(float(d_own), float(d_rival), slope)


def field(name, D, labels, k, *options, slope=1.0, alpha=0.0):
    loss = LOSSES[name](*options)
    labels = np.array(labels)
    C = np.empty(len(labels))
    parameters = loss.parameters(slope, alpha, labels)
    D = np.array(D, dtype=float)
    if isinstance(loss, NearestLoss):
        return rule(loss, D, labels == k, parameters)
    value = loss.coefficients.of(np.float64)(D, labels, k, parameters, C)
    return value, C


def rule(loss, D, right, parameters):
    """What the rule makes of a row of distances, with the search of the kernels."""
    padded, bits = room_for_distances(len(D), np.float64)
    padded[: len(D)] = D
    near, far = two_nearest_of(bits)
    d_near, d_far = padded[near], padded[far]
    lonely = d_far == np.inf
    found = loss.coefficients.of(np.float64)(d_near, d_far, right[near], not lonely and right[far], parameters)
    C = np.zeros(len(D))
    if not lonely:
        C[far] = found[2]
    C[near] = found[1]
    return found[0], C


def test_nearest_of_equals_is_the_lowest_index():
    assert own_and_rival(np.array([2.0, 1.0, 1.0, 1.0]), np.array([0, 0, 0, 1]), 0) == (1, 3)
    assert own_and_rival(np.array([1.0, 1.0]), np.array([1, 1]), 0) == (-1, 0)


def test_predict_gives_the_first_class_on_a_tie_whatever_the_order_of_the_prototypes():
    X, y = np.array([[0.0], [2.0]]), np.array(["b", "a"])
    model = NearestPrototype(init=(np.array([[2.0], [0.0]]), np.array(["b", "a"]))).fit(X, y)
    assert model.predict([[1.0]]) == ["a"]
    np.testing.assert_array_equal(model.predict_proba([[1.0]]), [[0.5, 0.5]])


def test_dsm_moves_nothing_on_a_tie():
    assert pair("dsm", 2, 2) == (0.0, 0.0, 0.0)
    assert pair("dsm", 1, 2) == (0.0, 0.0, 0.0)
    assert pair("dsm", 3, 2) == (0.5, 0.5, -0.5)


@pytest.mark.parametrize("name", ["glvq", "glvq_sigmoid"])
def test_glvq_moves_nothing_where_both_prototypes_are_on_the_sample(name):
    value, pull, push = pair(name, 0, 0)
    assert (pull, push) == (0.0, 0.0)
    assert value == (0.0 if name == "glvq" else 0.5)


@pytest.mark.parametrize("name", ["glvq", "glvq_sigmoid"])
def test_glvq_on_its_own_prototype_does_not_push_the_rival(name):
    _, pull, push = pair(name, 0, 3)
    assert pull > 0
    assert push == 0


@pytest.mark.parametrize(("name", "at_border"), [("logm", 0.5), ("mce", 0.25)])
def test_margin_losses_at_the_border(name, at_border):
    _, pull, push = pair(name, 4, 4, slope=2.0)
    assert pull == pytest.approx(2.0 * at_border)
    assert push == -pull


@pytest.mark.parametrize("gap", [1e3, 1e300])
def test_margin_losses_far_away_do_not_overflow(gap):
    assert pair("logm", gap, 0) == (gap, 1.0, -1.0)
    assert pair("logm", 0, gap) == (0.0, 0.0, 0.0)
    assert pair("mce", gap, 0) == (1.0, 0.0, 0.0)


def test_lvq1_pulls_or_pushes_the_nearest_only():
    assert field("lvq1", [1, 2, 1], [0, 1, 1], 0)[1].tolist() == [0.5, 0, 0]
    value, C = field("lvq1", [1, 2, 1], [0, 1, 1], 1)
    assert value == 1.0
    assert C.tolist() == [-0.5, 0, 0]


def test_lvq2_acts_on_errors_only_and_lvq21_on_both_orders():
    assert field("lvq2", [1, 1.1], [0, 1], 1)[1].tolist() == [-0.5, 0.5]
    assert field("lvq2", [1, 1.1], [1, 0], 1)[1].tolist() == [0, 0]
    assert field("lvq21", [1, 1.1], [1, 0], 1)[1].tolist() == [0.5, -0.5]
    assert field("lvq21", [1, 1.1], [0, 0], 1)[1].tolist() == [0, 0]
    assert field("lvq21", [1, 1.1], [1, 1], 1)[1].tolist() == [0, 0]


def test_window_is_open_and_squared_distances_make_it_narrower():
    ratio = (1 - 0.3) / (1 + 0.3)
    border = ratio**2
    assert field("lvq21", [border, 1], [0, 1], 0)[1].tolist() == [0, 0]
    assert field("lvq21", [border * 1.001, 1], [0, 1], 0)[1].tolist() == [0.5, -0.5]
    assert field("lvq21", [border * 1.001, 1], [0, 1], 0, 0.3, True)[1].tolist() == [0, 0]
    assert field("lvq21", [ratio * 1.001, 1], [0, 1], 0, 0.3, True)[1].tolist() == [0.5, -0.5]


def test_window_holds_a_sample_that_both_prototypes_are_on():
    assert field("lvq21", [0, 0], [0, 1], 0)[1].tolist() == [0.5, -0.5]


def test_lvq3_pulls_both_where_both_are_right_window_or_not():
    assert field("lvq3", [0.001, 1, 2], [0, 0, 1], 0, 0.3, False, 0.4)[1].tolist() == [0.2, 0.2, 0]
    assert field("lvq3", [1, 1.1, 2], [1, 0, 1], 0)[1].tolist() == [-0.5, 0.5, 0]


def test_rules_with_one_prototype_only():
    for name in ("lvq2", "lvq21", "lvq3"):
        assert field(name, [1.0], [0], 0)[1].tolist() == [0]


@pytest.mark.parametrize("name", ["snpc", "maxp1"])
def test_soft_error_of_a_hopeless_sample_moves_nothing(name):
    """exp underflows: P_k is 0, and so is the limit of the coefficients."""
    value, C = field(name, [1e6, 1.0], [0, 1], 0, slope=1e3)
    assert value == 1.0
    assert C.tolist() == [0, 0]


def test_soft_log_loss_of_a_hopeless_sample_stays_finite():
    value, C = field("rslvq", [1e6, 2e6, 1.0], [0, 0, 1], 0, slope=1e3)
    assert value == pytest.approx(1e9, rel=1e-6)
    assert C.tolist() == [1e3, 0, -1e3]


def test_pruned_losses_where_no_own_prototype_is_near():
    D, labels = [5.0, 1.0, 1.5, 2.0], [0, 1, 1, 2]
    assert field("maxp1", D, labels, 0, 2)[1].tolist() == [0, 0, 0, 0]
    assert field("maxp1", D, labels, 0, 2, True)[1][0] > 0
    value, C = field("rslvq1", D, labels, 0, 2, False)
    P = np.exp([-1.0, -1.5]) / np.exp([-1.0, -1.5]).sum()
    np.testing.assert_allclose(C, [0, -P[0], -P[1], 0])
    assert np.isfinite(value)
    assert field("rslvq1", D, labels, 0, 2)[1][0] > 0
    assert field("rslvq1", D, labels, 0, 2)[1][2] == 0


def test_pruned_losses_keep_the_lowest_index_of_equals():
    _, C = field("rslvq1", [1.0, 2.0, 2.0], [0, 1, 1], 0, 2)
    assert C[1] < 0
    assert C[2] == 0


def test_soft_regulariser_in_the_papers_form():
    """alpha slope P_i / P_k on the own class, (26); nothing on the others."""
    D, labels = [1.0, 1.5, 0.7], [0, 0, 1]
    own = np.exp([-1.0, -1.5]) / np.exp([-1.0, -1.5]).sum()
    for name in ("snpc", "rslvq"):
        plain, regular = field(name, D, labels, 0)[1], field(name, D, labels, 0, alpha=0.3)[1]
        np.testing.assert_allclose(regular - plain, [0.3 * own[0], 0.3 * own[1], 0], atol=1e-12)
