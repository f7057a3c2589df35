"""The loss of LPD: the paper's formulas, and nothing but finite numbers at zero distances."""

import numpy as np
import pytest

from protolearn.losses import LOSSES
from protolearn.losses.links import class_probabilities

pair = LOSSES["lpd"].coefficients.function


def test_value_is_equation_3_of_equation_5():
    value, _, _ = pair(4.0, 9.0, 10.0)
    assert value == pytest.approx(1 / (1 + np.exp(10 * (1 - 2 / 3))))


@pytest.mark.parametrize(("d_own", "d_rival"), [(4.0, 9.0), (9.0, 4.0), (1.0, 1.0), (1e-12, 1.0), (1e8, 1.1e8)])
def test_coefficients_equal_finite_differences(d_own, d_rival):
    _, pull, push = pair(d_own, d_rival, 5.0)
    h = 1e-6
    by_own = (pair(d_own * (1 + h), d_rival, 5.0)[0] - pair(d_own * (1 - h), d_rival, 5.0)[0]) / (2 * h * d_own)
    by_rival = (pair(d_own, d_rival * (1 + h), 5.0)[0] - pair(d_own, d_rival * (1 - h), 5.0)[0]) / (2 * h * d_rival)
    assert pull == pytest.approx(by_own, rel=1e-4)
    assert push == pytest.approx(by_rival, rel=1e-4)


def test_pull_and_push_depend_on_the_ratio_only():
    _, pull, push = pair(3.0, 5.0, 10.0)
    assert pull * 3.0 == pytest.approx(-push * 5.0)


@pytest.mark.parametrize(
    ("d_own", "d_rival", "value"), [(0.0, 1.0, 1 / (1 + np.exp(10.0))), (1.0, 0.0, 1.0), (0.0, 0.0, 0.5)]
)
def test_zero_distances_move_nothing(d_own, d_rival, value):
    found, pull, push = pair(d_own, d_rival, 10.0)
    assert found == pytest.approx(value)
    assert pull == push == 0.0


@pytest.mark.parametrize("d_own", [1e-300, 1e-30, 1e300])
@pytest.mark.parametrize("d_rival", [1e-300, 1e-30, 1e300])
def test_extreme_distances_give_finite_steps(d_own, d_rival):
    with np.errstate(over="ignore"):
        value, pull, push = (np.float64(part) for part in pair(np.float64(d_own), np.float64(d_rival), 10.0))
    # The step of a prototype is its coefficient times the distance to the sample.
    assert 0.0 <= value <= 1.0
    assert np.isfinite(pull * np.sqrt(d_own) * 1.0)
    assert np.isfinite(push)


def test_probabilities_of_equation_9():
    D = np.array([[1.0, 4.0, 16.0], [0.0, 0.0, 1.0], [2.0, 2.0, 2.0]])
    found = class_probabilities(D, "power", 3.0)
    distances = np.sqrt(D[0])
    np.testing.assert_allclose(found[0], distances**-3 / (distances**-3).sum())
    np.testing.assert_allclose(found[1], [0.5, 0.5, 0.0])
    np.testing.assert_allclose(found[2], [1 / 3] * 3)
    np.testing.assert_allclose(class_probabilities(D, "power", 2.0), class_probabilities(D, "relative", 7.0))
