"""Tables that many tests learn from."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def blobs():
    """Three overlapping classes of 40 samples in 4 dimensions."""
    rng = np.random.default_rng(7)
    y = np.repeat(np.arange(3), 40)
    X = rng.normal(size=(120, 4)) + 1.5 * rng.normal(size=(3, 4))[y]
    return X, y
