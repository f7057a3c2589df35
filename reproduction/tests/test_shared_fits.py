"""Shared fits give what the estimators give, only sooner."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from protolearn import GLVQ, LOGM, MAXP1, MCE, RSLVQ, RSLVQ1, SNPC, NearestPrototype
from protolearn.data import orders
from reproduction import shared_fits
from reproduction.shared_fits import SharedFits

X, y = load_wine(return_X_y=True)
X = MinMaxScaler((-1, 1)).fit_transform(X)
y = np.array(["c", "a", "b"])[y]
TRAIN, TEST = np.arange(0, 178, 2), np.arange(1, 178, 2)


@pytest.fixture(scope="module")
def part():
    return SharedFits(X[TRAIN], y[TRAIN], 3)


@pytest.mark.parametrize(
    "model",
    [
        MCE(),
        GLVQ(slope=20.0),
        SNPC(),
        MAXP1(),
        LOGM(),
        RSLVQ(),
        RSLVQ1(),
        LOGM(metric="relevance"),
        LOGM(metric="local_relevance"),
        LOGM(metric="relevance", learn_prototypes=False),
        LOGM(metric="class_relevance"),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.metric}-{model.learn_prototypes}",
)
def test_predictions_are_those_of_the_estimator(part, model):
    for size, alpha, tau in ((1, 0.0, 0.5), (3, 0.01, 2.0)):
        model.set_params(regularization=alpha, learning_rate=tau, bounds=None, max_iter=30, random_state=3)
        fitted = clone(model).set_params(init=part.start(size)).fit(X[TRAIN], y[TRAIN])
        trained = part._trained(clone(model).set_params(init=part.start(size)), size)
        assert trained is not None
        np.testing.assert_array_equal(trained.prototypes.positions, fitted.prototypes_)
        np.testing.assert_array_equal(part.predictions(model, size, X[TEST]), fitted.predict(X[TEST]))


def test_predictions_of_more_rows_than_a_window_are_those_of_the_estimator(monkeypatch):
    monkeypatch.setattr(orders, "_WINDOW", 32)
    monkeypatch.setattr(orders, "_RUN", 4)
    part = SharedFits(X[TRAIN], y[TRAIN], 3)
    fitted, same = (LOGM(init=part.start(2), bounds=None, max_iter=30, random_state=3) for _ in range(2))
    trained = part._trained(same, 2)
    np.testing.assert_array_equal(trained.prototypes.positions, fitted.fit(X[TRAIN], y[TRAIN]).prototypes_)


def test_the_start_itself_and_other_classifiers(part):
    start = NearestPrototype(2, random_state=3).fit(X[TRAIN], y[TRAIN])
    np.testing.assert_array_equal(part.predictions(NearestPrototype(), 2, X[TEST]), start.predict(X[TEST]))
    svm = SVC(C=4.0).fit(X[TRAIN], y[TRAIN])
    np.testing.assert_array_equal(part.predictions(SVC(C=4.0), None, X[TEST]), svm.predict(X[TEST]))


@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_diverges_or_is_too_long_is_the_estimators(part, monkeypatch):
    wild = MCE(bounds=None, learning_rate=1e6, max_iter=5, random_state=3)
    fitted = clone(wild).set_params(init=part.start(2)).fit(X[TRAIN], y[TRAIN])
    assert part._trained(clone(wild).set_params(init=part.start(2)), 2) is None
    np.testing.assert_array_equal(part.predictions(wild, 2, X[TEST]), fitted.predict(X[TEST]))
    monkeypatch.setattr(shared_fits, "_MOST_NUMBERS", 10)
    calm = MCE(bounds=None, max_iter=5, random_state=3)
    assert part._trained(clone(calm).set_params(init=part.start(2)), 2) is None
    fitted = clone(calm).set_params(init=part.start(2)).fit(X[TRAIN], y[TRAIN])
    np.testing.assert_array_equal(part.predictions(calm, 2, X[TEST]), fitted.predict(X[TEST]))


def test_sparse_rows_are_fitted_as_the_estimator_fits_them():
    counts = sparse.csr_array(np.where(np.abs(X) > 0.6, X, 0.0))
    part = SharedFits(counts[TRAIN], y[TRAIN], 3)
    model = LOGM(bounds=None, max_iter=5, random_state=3)
    fitted = clone(model).set_params(init=part.start(2)).fit(counts[TRAIN], y[TRAIN])
    np.testing.assert_array_equal(part.predictions(model, 2, counts[TEST]), fitted.predict(counts[TEST]))


def test_one_k_means_for_each_number_of_prototypes(part):
    assert part.start(4) is part.start(4)
