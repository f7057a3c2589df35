"""The function of one row of an encoding gives what `transform` gives."""

import numpy as np
import pytest

from protolearn.tables import NormalScores, PiecewiseLinearBins


@pytest.mark.parametrize("encoding", [NormalScores(), PiecewiseLinearBins()], ids=lambda one: type(one).__name__)
def test_one_row_is_encoded_as_many_are(encoding):
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(120, 3)), rng.integers(0, 3, (120, 3)), np.ones(120), np.exp(3 * rng.normal(size=120))]
    encoding.fit(X, rng.integers(0, 2, 120))
    encode = encoding.row_function()
    # Values of the training set, between them, on quantiles that several rows share, and beyond both ends.
    rows = np.r_[X, X + 0.1, np.quantile(X, np.linspace(0, 1, 25), axis=0), X - 1e6, X + 1e6]
    np.testing.assert_allclose([encode(row) for row in rows], encoding.transform(rows), rtol=1e-9, atol=1e-12)
