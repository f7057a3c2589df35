"""A fit that undoes itself gives back its best epoch and says so."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from protolearn import PrototypeClassifier


def backwards(d_own, d_rival, slope):
    """A loss whose derivatives have the wrong sign: every epoch is worse than the one before."""
    z = slope * (d_own - d_rival)
    return np.exp(0.1 * z), -0.01 * slope, 0.01 * slope


def test_the_best_epoch_is_kept(blobs):
    X, y = blobs
    model = PrototypeClassifier(loss=backwards, max_iter=60, random_state=0, callback=lambda *_: False)
    with pytest.warns(ConvergenceWarning, match="ended with a mean loss of .*, above the .* it began with"):
        model.fit(X, y)
    assert model.loss_curve_[-1] > 1.5 * model.loss_curve_[0]
    np.testing.assert_allclose(model.prototypes_, [X[y == k].mean(axis=0) for k in range(3)])
