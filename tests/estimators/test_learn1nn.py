"""Learn1NN as a classifier: the toy of section 4.3, the margins of section 6, early stopping."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from protolearn import Learn1NN
from reproduction.learn1nn import toy_prototypes, widest_margin_angle


@pytest.mark.parametrize("outlier", [False, True])
def test_toy_border_is_3_5_with_and_without_the_outlier(outlier):
    a, b = toy_prototypes(outlier=outlier, loss="margin")
    assert a < b
    assert (a + b) / 2 == pytest.approx(3.5, abs=0.1)


def test_cross_entropy_fails_with_the_outlier():
    a, b = toy_prototypes(outlier=False, loss="cross_entropy")
    assert (a + b) / 2 == pytest.approx(3.5, abs=0.5)
    before = b - a
    a, b = toy_prototypes(outlier=True, loss="cross_entropy")
    assert abs(b - a) < 0.1 * before
    assert abs((a + b) / 2 - 3.5) > 3.0


@pytest.mark.parametrize("per_class", [1, 6, 25])
def test_border_is_the_maximum_margin_hyperplane(per_class):
    assert widest_margin_angle(per_class) < 2.0


def test_probabilities_are_the_discriminants_and_margins_follow():
    X, y = load_iris(return_X_y=True)
    model = Learn1NN(2, random_state=0, max_iter=20).fit(X, y)
    D = np.array([model.transform(X)[:, model.prototype_labels_ == c].min(axis=1) for c in range(3)]).T
    G = np.exp(-(D - D.min(axis=1, keepdims=True)) / (2 * model.sigma_))
    d = G / G.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), d, atol=1e-12)
    margins = model.margin(X, y)
    np.testing.assert_array_equal(margins > 0, model.predict(X) == y)
    two = y < 2
    model = Learn1NN(random_state=0).fit(X[two], y[two])
    z = np.where(y[two] == 1, 1, -1)
    np.testing.assert_allclose(model.margin(X[two], y[two]), z * (model.predict_proba(X[two])[:, 1] - 0.5), atol=1e-12)
    assert model.minimum_margin(X[two], y[two]) == model.margin(X[two], y[two]).min()
    assert model.minimum_margin(X[two], y[two], near=1e-9) == 0.5


def test_loss_is_minus_the_mean_margin():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    model = Learn1NN(sigma=0.5, solver="gradient", max_iter=30, random_state=0).fit(X, y)
    assert model.loss_curve_[-1] / 0.5 == pytest.approx(0.5 - model.margin(X, y).mean(), rel=1e-6)


def test_early_stopping_on_a_validation_part():
    X, y = load_iris(return_X_y=True)
    settings = {"random_state": 0, "max_iter": 400, "check_every": 10}
    stopped = Learn1NN(3, keep="validation", patience=1, **settings).fit(X, y)
    assert stopped.n_iter_ < 400
    assert stopped.n_iter_ % 10 == 0
    assert stopped.score(X, y) > 0.9


def test_default_sigma_has_the_units_of_the_data():
    X, y = load_iris(return_X_y=True)
    starts = np.r_[0:2, 60:62, 110:112]
    plain = Learn1NN(init=(X[starts], y[starts]), shuffle=False).fit(X, y)
    scaled = Learn1NN(init=(8 * X[starts], y[starts]), shuffle=False).fit(8 * X, y)
    np.testing.assert_allclose(scaled.prototypes_ / 8, plain.prototypes_, rtol=1e-9)
    assert scaled.sigma_ == pytest.approx(64 * plain.sigma_)


def test_infinite_sigma_still_predicts_what_is_most_probable():
    X, y = load_iris(return_X_y=True)
    model = Learn1NN(2, sigma=np.inf, learning_rate=0.02, random_state=0, max_iter=5).fit(X, y)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))
    assert np.isinf(model.sigma_)


def test_annealing_narrows_the_kernel():
    X, y = load_iris(return_X_y=True)
    model = Learn1NN(2, sigma=1.0, annealing=1.0001, bounds=None, random_state=0, max_iter=10).fit(X, y)
    assert model.sigma_ == pytest.approx(1.0001 ** -(10 * 150), rel=1e-9)


def test_regulariser_holds_prototypes_together():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    gaps = []
    for regularization in (0.0, 1e-3, 1e-2):
        model = Learn1NN(bounds=None, regularization=regularization, sigma=5.0, max_iter=300, random_state=0).fit(X, y)
        gaps.append(np.linalg.norm(model.prototypes_[0] - model.prototypes_[1]))
        assert model.score(X, y) == 1.0
    assert gaps[0] > gaps[1] > gaps[2]


@pytest.mark.parametrize(("setting", "value"), [("sigma", 0), ("sigma", "wide"), ("loss", "hinge"), ("patience", 0)])
def test_bad_settings_are_named(setting, value):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=setting):
        Learn1NN(**{setting: value}).fit(X, y)


def ripley(n, seed):
    """Ripley's mixture: two classes, two Gaussians of variance 0.03 each; the least possible error is 8 %."""
    rng = np.random.default_rng(seed)
    centres = np.array([[-0.7, 0.3], [0.3, 0.3], [-0.3, 0.7], [0.4, 0.7]])
    component = rng.integers(4, size=n)
    return centres[component] + np.sqrt(0.03) * rng.normal(size=(n, 2)), component // 2


@pytest.mark.parametrize("n_prototypes", [2, 4, "auto"])
def test_the_defaults_come_near_the_error_of_the_paper_on_ripleys_mixture(n_prototypes):
    X_test, y_test = ripley(20_000, 9)
    fits = [Learn1NN(n_prototypes, random_state=0).fit(*ripley(250, seed)) for seed in (0, 1, 3)]
    assert np.mean([1.0 - model.score(X_test, y_test) for model in fits]) < 0.098
