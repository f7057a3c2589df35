"""What a fit remembers of the ranges of its training set."""

import numpy as np
import pytest
from scipy import sparse

from protolearn import GLVQ, HartCondensing, LaMaLVQ, MixtGauss, NearestPrototype
from protolearn.data import Blocks
from protolearn.export.model_file import dumps, loads
from protolearn.tables import Preparation


@pytest.mark.parametrize(
    "model",
    [NearestPrototype(), GLVQ(max_iter=2), LaMaLVQ(rounds=1, epochs=1), HartCondensing(), MixtGauss()],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix], ids=["array", "float32", "sparse"])
def test_every_classifier_knows_the_range_of_each_feature(model, form, blobs):
    X, y = blobs
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    given = form(X)
    model.fit(given, y)
    X = X.astype(np.float32) if form is np.float32 else X
    np.testing.assert_array_equal(model.data_min_, X.min(axis=0))
    np.testing.assert_array_equal(model.data_max_, X.max(axis=0))
    np.testing.assert_array_equal(loads(dumps(model)).data_max_, model.data_max_)


def test_rows_without_weight_do_not_count(blobs):
    X, y = blobs
    X = np.vstack([X, np.full((1, 4), 1e3)])
    model = GLVQ(max_iter=1).fit(X, np.append(y, 0), np.append(np.ones(len(y)), 0.0))
    assert model.data_max_.max() < 100


def test_more_rows_widen_the_ranges_and_blocks_without_bounds_leave_them_unknown(blobs):
    X, y = blobs
    model = GLVQ(random_state=0).partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    model.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(model.data_min_, X.min(axis=0))
    model.set_params(bounds=None).fit(Blocks([(X[::2], y[::2]), (X[1::2], y[1::2])]))
    assert not hasattr(model, "data_min_")


def test_a_preparation_knows_ranges_and_whole_numbers():
    rows = np.array([[1, 0.5, "a", None], [4, 2.5, "b", 3], [2, None, "a", 7]], dtype=object)
    prepared = loads(dumps(Preparation().fit(rows)))
    np.testing.assert_array_equal(prepared.data_min_, [1, 0.5, np.nan, 3])
    np.testing.assert_array_equal(prepared.data_max_, [4, 2.5, np.nan, 7])
    assert prepared.is_whole_.tolist() == [True, False, False, True]
