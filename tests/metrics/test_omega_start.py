"""A matrix metric that starts from a given Omega."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from protolearn import GLVQ
from protolearn.metrics.omega import Omega

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("scope", ["global", "class", "prototype"])
def test_every_slot_starts_there(scope):
    omega = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0]])
    model = GLVQ(metric=Omega(scope=scope, start_at=omega), metric_learning_rate=0, max_iter=1).fit(X, Y)
    found = model.omega_ if scope != "global" else model.omega_[None]
    for one in found:
        np.testing.assert_allclose(one, omega * np.sqrt(4 / np.sum(omega**2)))


@pytest.mark.parametrize("bad", [np.ones((2, 3)), np.full((2, 4), np.nan), np.zeros((4, 4)), 3.0])
def test_a_bad_start_is_named(bad):
    with pytest.raises(ValueError, match="start_at must hold finite numbers"):
        GLVQ(metric=Omega(start_at=bad)).fit(X, Y)
