"""A temperature from held-out or cross-fitted rows makes probabilities as sure as they are right."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, GMLVQ, LGMLVQ, LOGM, LPD, LVQ1, RSLVQ, Learn1NN, MixtGauss, NearestPrototype, load, save
from protolearn.explain import calibrated
from protolearn.export.folding import plain_model
from protolearn.losses.links import LINKS, at_temperature, class_probabilities, log_class_probabilities

X, Y = make_classification(1500, 8, n_informative=4, n_classes=3, flip_y=0.2, random_state=3)
NAMES = np.array(["ant", "bee", "cat"])
LEARN, HELD, NEW = slice(0, 300), slice(300, 600), slice(600, 1500)
MODELS = [
    LOGM(4, random_state=0),
    GLVQ(2, random_state=0),
    GMLVQ(2, random_state=0),
    LGMLVQ(1, random_state=0),
    RSLVQ(2, random_state=0),
    LVQ1(2, random_state=0),
    LPD(random_state=0),
    Learn1NN(2, random_state=0),
    NearestPrototype(3, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_log_loss_falls_and_classes_stay(model, tmp_path):
    model = make_pipeline(StandardScaler(), model).fit(X[LEARN], NAMES[Y[LEARN]])
    held = calibrated(model, X[HELD], NAMES[Y[HELD]])
    raw, after = (log_loss(Y[NEW], one.predict_proba(X[NEW])) for one in (model, held))
    assert after < raw + 0.005
    assert after < np.log(3)
    np.testing.assert_array_equal(held.predict(X[NEW]), model.predict(X[NEW]))
    P = held.predict_proba(X[NEW])
    np.testing.assert_array_equal(held.classes_[P.argmax(axis=1)], held.predict(X[NEW]))
    np.testing.assert_allclose(plain_model(held).predict_proba(X[NEW]), P, atol=1e-6)
    save(held, tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(X[NEW]), P)
    assert not hasattr(model[-1], "temperature_")
    assert not hasattr(held.fit(X[LEARN], NAMES[Y[LEARN]])[-1], "temperature_")


def test_cross_fitted_is_near_to_held_out():
    model = GMLVQ(2, random_state=0).fit(X[LEARN], Y[LEARN])
    held, cross = calibrated(model, X[HELD], Y[HELD]), calibrated(model, X[LEARN], Y[LEARN], cv=5)
    raw, of_held, of_cross = (log_loss(Y[NEW], one.predict_proba(X[NEW])) for one in (model, held, cross))
    assert abs(of_held - of_cross) < 0.3 * (raw - of_held)
    twice = calibrated(held, X[HELD], Y[HELD])
    assert twice.temperature_ == held.temperature_


@pytest.mark.parametrize("link", LINKS)
def test_a_temperature_is_a_power_of_the_probabilities(link):
    D = np.random.default_rng(0).uniform(0.1, 2.0, (20, 4))
    P = class_probabilities(D, link, 3.0)
    np.testing.assert_allclose(log_class_probabilities(D, link, 3.0), np.log(P), rtol=1e-10)
    expected = np.exp(log_softmax(0.4 * np.log(P), axis=1))
    np.testing.assert_allclose(class_probabilities(D, *at_temperature(link, 3.0, 0.4)), expected, rtol=1e-10)


def test_what_has_no_temperature():
    with pytest.raises(ValueError, match="needs a classifier with prototypes"):
        calibrated(LogisticRegression().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="densities"):
        calibrated(MixtGauss(classify_by="mixture", random_state=0).fit(X[LEARN], Y[LEARN]), X, Y)
    with pytest.raises(ValueError, match="class 7, which the model has not learned"):
        calibrated(LOGM(random_state=0).fit(X[LEARN], Y[LEARN]), X[:1], [7])
