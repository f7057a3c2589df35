"""Maps to few numbers: the distances and the gradient of the same maps with rows of zeros, which go another way."""

import numpy as np
import pytest

from metrics.test_pulls import random_pull
from problems import random_problem
from protolearn.metrics import thin_maps
from protolearn.metrics.omega import Omega
from protolearn.metrics.thin_maps import is_thin

pytestmark = [
    pytest.mark.parametrize("scope", ["global", "class", "prototype"]),
    pytest.mark.parametrize("dtype", [np.float32, np.float64]),
]


def thin_and_padded(scope, dtype, **more):
    data, thin = random_problem(Omega(n_components=2, scope=scope), n_samples=60, n_features=7, dtype=dtype, **more)
    zeros = np.zeros((len(thin.theta), 3, 7), dtype=dtype)
    padded = thin.moved(thin.positions, np.concatenate([thin.theta, zeros], axis=1))
    assert is_thin(thin.theta)
    assert not is_thin(padded.theta)
    return data, thin, padded


def test_distances(scope, dtype, monkeypatch):
    monkeypatch.setattr(thin_maps, "_NUMBERS_AT_A_TIME", 100)
    data, thin, padded = thin_and_padded(scope, dtype)
    found, wanted = (Omega(scope=scope).distances_by_prototype(data.X, one) for one in (thin, padded))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, atol=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("whole", [False, True])
def test_gradient(scope, dtype, whole):
    data, thin, padded = thin_and_padded(scope, dtype)
    pull = random_pull(60, len(thin), dtype)
    pull = pull.toarray() if whole else pull
    found, wanted = (Omega(scope=scope).gradient(data.X, one, pull) for one in (thin, padded))
    atol = (1e-11 if dtype == np.float64 else 1e-4) * (1 + np.abs(wanted[1]).max())
    np.testing.assert_allclose(found[0], wanted[0], atol=atol)
    np.testing.assert_allclose(found[1], wanted[1][:, :2], atol=atol)
