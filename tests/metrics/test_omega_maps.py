"""Many maps in one product: the same as a plain loop over prototypes, however many go at a time."""

import numpy as np
import pytest

from protolearn.core.prototypes import PrototypeSet
from protolearn.metrics import omega as omegas
from protolearn.metrics.omega import Omega


@pytest.mark.parametrize(("at_a_time", "kept"), [(1 << 17, 1 << 22), (50, 1 << 22), (50, 0)])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_a_map_for_each_prototype(monkeypatch, at_a_time, kept, shift):
    monkeypatch.setattr(omegas, "_IMAGES_AT_A_TIME", at_a_time)
    monkeypatch.setattr(omegas, "_IMAGES_KEPT", kept)
    rng = np.random.default_rng(0)
    X, W, T = rng.normal(size=(9, 4)) + shift, rng.normal(size=(5, 4)) + shift, rng.normal(size=(5, 2, 4))
    C, slot = rng.normal(size=(9, 5)), np.array([3, 1, 0, 4, 2])
    D, pullback = Omega(2, scope="prototype").distances_and_pullback(X, PrototypeSet(W, np.arange(5), T, slot))
    by_position, by_omega = pullback(C)
    wide = [part.astype(np.longdouble) for part in (X, W, T[slot], C)]
    expected = np.zeros(W.shape, np.longdouble), np.zeros(T.shape, np.longdouble)
    for i, (m, omega, c) in enumerate(zip(wide[1], wide[2], wide[3].T, strict=True)):
        v = wide[0] - m
        np.testing.assert_allclose(D[:, i], np.square(v @ omega.T).sum(axis=1).astype(float), rtol=1e-8)
        expected[0][i] = -2 * (c[:, None] * v).sum(axis=0) @ omega.T @ omega
        expected[1][slot[i]] = 2 * omega @ (v * c[:, None]).T @ v
    np.testing.assert_allclose(by_position, expected[0].astype(float), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(by_omega, expected[1].astype(float), rtol=1e-8, atol=1e-7)
