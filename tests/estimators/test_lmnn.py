"""LMNN: what it promises, and how it meets the classifiers."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, LMNN, NearestPrototype
from protolearn.metrics.omega import Omega


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def noisy(n_noise=20, seed=0):
    """Two informative features among many that only disturb."""
    X, y = make_classification(300, 2, n_informative=2, n_redundant=0, class_sep=1.5, random_state=seed)
    return np.hstack([X, 2.0 * np.random.default_rng(seed).standard_normal((len(X), n_noise))]), y


def test_a_noisy_problem_gets_easier():
    X, y = noisy()
    plain = cross_val_score(KNeighborsClassifier(3), X, y).mean()
    learned = cross_val_score(make_pipeline(LMNN(), KNeighborsClassifier(3)), X, y).mean()
    assert learned > plain + 0.03


@pytest.mark.parametrize("solver", ["factor", "projection"])
def test_cost_falls_and_the_matrix_is_positive(wine, solver):
    model = LMNN(solver=solver).fit(*wine)
    assert (np.diff(model.loss_curve_) <= 0).all()
    assert model.loss_curve_[-1] < 0.6 * model.loss_curve_[0]
    matrix = model.mahalanobis_matrix()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-10


def test_transform_and_matrix_measure_the_same_distance(wine):
    X, y = wine
    model = LMNN(max_iter=20, tol=1e-2).fit(X, y)
    v = X[0] - X[100]
    Z = model.transform(X)
    assert np.sum((Z[0] - Z[100]) ** 2) == pytest.approx(v @ model.mahalanobis_matrix() @ v)


def test_margin_only_sets_the_unit(wine):
    X, y = wine
    one, four = LMNN().fit(X, y), LMNN(margin=4.0).fit(X, y)
    np.testing.assert_allclose(four.loss_curve_[-1], 4 * one.loss_curve_[-1], rtol=1e-3)


@pytest.mark.parametrize("init", ["identity", "pca", "lda"])
def test_the_minimum_does_not_depend_on_the_start(wine, init):
    cost = LMNN(init=init).fit(*wine).loss_curve_[-1]
    assert cost == pytest.approx(LMNN().fit(*wine).loss_curve_[-1], rel=2e-3)


@pytest.mark.parametrize("init", ["identity", "pca", "lda"])
def test_few_components(wine, init):
    X, y = wine
    model = LMNN(n_components=2, init=init).fit(X, y)
    assert model.transform(X).shape == (len(X), 2)
    assert KNeighborsClassifier(3).fit(model.transform(X), y).score(model.transform(X), y) > 0.95
    assert list(model.get_feature_names_out()) == ["lmnn0", "lmnn1"]


def test_a_given_start_decides_the_targets(wine):
    X, y = wine
    first = LMNN().fit(X, y)
    second = LMNN(init=first.components_).fit(X, y)
    assert second.loss_curve_[-1] <= first.loss_curve_[-1]
    rounds = LMNN(n_rounds=2).fit(X, y)
    assert rounds.loss_curve_[-1] == pytest.approx(second.loss_curve_[-1], rel=1e-6)
    assert (np.diff(rounds.loss_curve_) <= 1e-6 * rounds.loss_curve_[0]).all()


def test_limit_warns(wine):
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        LMNN(max_iter=3).fit(*wine)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        LMNN().fit(*wine)


def test_its_map_replaces_or_starts_the_metric_of_a_classifier(wine):
    X, y = wine
    omega = LMNN().fit(X, y).components_
    mapped = NearestPrototype(init="class_mean").fit(X @ omega.T, y)
    direct = NearestPrototype(init="class_mean", metric="omega", metric_parameters=omega).fit(X, y)
    np.testing.assert_array_equal(direct.predict(X), mapped.predict(X @ omega.T))
    kept = GLVQ(metric=Omega(start_at=omega), metric_learning_rate=0, max_iter=5, random_state=0).fit(X, y)
    learned_on = GLVQ(metric=Omega(start_at=omega), max_iter=5, random_state=0).fit(X, y)
    scale = np.linalg.norm(omega) / np.linalg.norm(kept.omega_)
    np.testing.assert_allclose(kept.omega_ * scale, omega)
    assert not np.allclose(learned_on.omega_ * scale, omega)
    assert learned_on.score(X, y) > 0.95
    assert clone(learned_on).fit(X, y).score(X, y) == learned_on.score(X, y)


def test_float32_stays_float32(wine):
    X, y = wine
    model = LMNN().fit(X.astype(np.float32), y)
    assert model.components_.dtype == model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.loss_curve_[-1] == pytest.approx(LMNN().fit(X, y).loss_curve_[-1], rel=1e-3)


def test_in_a_grid_search():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(LMNN(), KNeighborsClassifier(3))
    search = GridSearchCV(pipeline, {"lmnn__n_neighbors": [1, 3], "lmnn__n_components": [2, None]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.93


def test_a_class_of_one_sample_has_no_targets(wine):
    X, y = wine
    y = y.copy()
    y[0] = 7
    assert np.isfinite(LMNN().fit(X, y).components_).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be a whole number"),
        ({"margin": 0}, "margin must be a number > 0"),
        ({"push_pull": 1.0}, "push_pull must be a number > 0 and < 1"),
        ({"init": "random"}, "init must be one of"),
        ({"init": np.ones((2, 3))}, "init must hold finite numbers and have shape"),
        ({"n_components": 40}, "more than the 13 features"),
        ({"n_components": 2, "solver": "projection"}, 'choose solver="factor"'),
        ({"solver": "sgd"}, "solver must be one of"),
    ],
)
def test_bad_settings_get_one_clear_sentence(wine, changes, message):
    with pytest.raises(ValueError, match=message):
        LMNN(**changes).fit(*wine)


def test_one_class_and_no_pairs(wine):
    X, _ = wine
    with pytest.raises(ValueError, match="two classes"):
        LMNN().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="no class of y has two samples"):
        LMNN().fit(X[:4], np.arange(4))


def test_float32_rows_whose_sum_overflows_both_ways_are_learned_without_a_warning_of_numpy():
    """scikit-learn sums the rows to see whether all are finite; found by the fuzzing, seed 777123, fit 2297."""
    rng = np.random.default_rng(0)
    y = np.arange(400) // 200
    X = (2e38 * (1 - 2 * y[:, None]) * rng.uniform(0.5, 1.0, size=(400, 2))).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = LMNN().fit(X, y)
        assert np.isfinite(model.transform(X)).all()
