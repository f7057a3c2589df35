"""LPD as a classifier: the paper's choices and claims."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import cross_val_score

from protolearn import LPD
from protolearn.data import TrainingSet
from protolearn.estimators.lpd import leave_one_out_error
from protolearn.metrics import METRICS
from reproduction.artificial import lpd_grid

PAPER = {"learning_rate": 0.1, "metric_learning_rate": 0.001, "step_factors": "constant", "initial_weights": "ones"}


def grid_errors(slope, starts, max_iter=800):
    X, y = lpd_grid()
    models = [LPD(3, slope=slope, max_iter=max_iter, random_state=seed, **PAPER).fit(X, y) for seed in range(starts)]
    return np.array([1 - model.score(X, y) for model in models])


def test_artificial_task_in_small():
    good, flat, steep = (grid_errors(slope, 6) for slope in (10.0, 0.1, 200.0))
    assert (good == 0).any()
    assert good.mean() < 0.02
    assert min(flat.mean(), steep.mean()) > good.mean() + 0.02


@pytest.mark.parametrize("loader", [load_iris, load_wine, load_breast_cancer])
def test_cross_validated_accuracy(loader):
    X, y = loader(return_X_y=True)
    assert cross_val_score(LPD(random_state=0), X, y, cv=5).mean() > 0.92


@pytest.mark.parametrize("initial_weights", ["ones", "inverse_std"])
def test_scale_free_steps_do_not_depend_on_the_units(initial_weights):
    X, y = load_iris(return_X_y=True)
    settings = {"initial_weights": initial_weights, "max_iter": 50, "random_state": 0}
    starts = np.r_[0:3, 60:63, 110:113]
    plain = LPD(init=(X[starts], y[starts]), **settings).fit(X, y)
    # Equal spread of all features where the weights start at 1; any factor for each feature where they start at 1/std.
    factor = 1000.0 if initial_weights == "ones" else np.array([1e3, 1e-2, 1.0, 50.0])
    scaled = LPD(init=(X[starts] * factor, y[starts]), **settings).fit(X * factor, y)
    np.testing.assert_allclose(scaled.prototypes_ / factor, plain.prototypes_, rtol=1e-4)


def test_initial_weights_follow_the_leave_one_out_contest():
    X, y = load_wine(return_X_y=True)
    model = LPD(random_state=0, max_iter=1).fit(X, y)
    assert model.weights_start_ == "inverse_std"
    X = np.random.RandomState(0).randn(200, 2)
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)
    X = np.hstack([X, 1e-3 * np.random.RandomState(1).randn(200, 6)])
    assert LPD(random_state=0, max_iter=1).fit(X, y).weights_start_ == "ones"


def test_leave_one_out_error_equals_scikit_learns_neighbours():
    from sklearn.neighbors import NearestNeighbors

    X, y = load_iris(return_X_y=True)
    X = X + 1e-6 * np.random.RandomState(0).randn(*X.shape)
    nearest = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(return_distance=False)[:, 0]
    found = leave_one_out_error(TrainingSet(X, y, None, 3), METRICS["euclidean"])
    assert found == pytest.approx(np.mean(y[nearest] != y))


def test_share_of_prototypes_follows_the_class_sizes():
    X, y = load_breast_cancer(return_X_y=True)
    model = LPD(max_iter=1, random_state=0).fit(X, y)
    counts = np.bincount(model.prototype_labels_)
    assert counts.sum() == round(0.05 * len(X))
    assert counts.tolist() == [10, 18]


def test_starts_on_training_samples():
    X, y = load_iris(return_X_y=True)
    model = LPD(max_iter=1, keep="best", learning_rate=1e-300, metric_learning_rate=0, random_state=0).fit(X, y)
    assert all((p == X).all(axis=1).any() for p in model.prototypes_)


def test_duplicates_of_different_classes_and_constant_features():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0], [3.0, 1.0]] * 4)
    y = np.array([0, 1, 0, 1, 1] * 4)
    for weights in ("ones", "inverse_std", "auto"):
        model = LPD(1, initial_weights=weights, random_state=0, max_iter=30).fit(X, y)
        assert np.isfinite(model.prototypes_).all()
        assert np.isfinite(model.weights_).all()
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_probabilities_are_equation_9():
    X, y = load_iris(return_X_y=True)
    model = LPD(1, exponent=5.0, random_state=0, max_iter=20).fit(X, y)
    d = np.sqrt(model.transform(X))
    expected = d**-5.0 / (d**-5.0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected[:, np.argsort(model.prototype_labels_)], rtol=1e-6)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


def test_verify_is_the_probability_of_the_claim():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = LPD(1, random_state=0, max_iter=20).fit(X, names)
    scores = model.verify(X, names)
    np.testing.assert_allclose(scores, model.predict_proba(X)[np.arange(150), y])
    assert scores.mean() > model.verify(X, np.roll(names, 50)).mean() + 0.3
    with pytest.raises(ValueError, match="claimed_labels"):
        model.verify(X, np.full(150, "z"))


def test_relevances_are_the_squares_of_the_weights():
    X, y = load_iris(return_X_y=True)
    model = LPD(random_state=0, max_iter=20).fit(X, y)
    np.testing.assert_allclose(model.relevances_, model.weights_**2)
    v = X[:1, None, :] - model.prototypes_[None]
    np.testing.assert_allclose(model.transform(X[:1]), (model.relevances_ * v**2).sum(axis=2), rtol=1e-6)


def test_online_reading_learns_too():
    X, y = lpd_grid()
    errors = [
        1 - LPD(3, solver="online", max_iter=150, random_state=seed, **PAPER).fit(X, y).score(X, y) for seed in range(4)
    ]
    assert np.mean(errors) < 0.05


def test_validation_set_may_be_given():
    X, y = load_iris(return_X_y=True)
    held = np.arange(150) % 3 == 0
    settings = {"random_state": 0, "max_iter": 60, "check_every": 5}
    best = LPD(keep="validation", **settings).fit(X[~held], y[~held], X_val=X[held], y_val=y[held])
    last = LPD(keep="last", **settings).fit(X[~held], y[~held])
    assert best.score(X[held], y[held]) >= last.score(X[held], y[held])
    with pytest.raises(ValueError, match="belong together"):
        LPD(keep="validation").fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="y_val holds class"):
        LPD(keep="validation").fit(X, y, X_val=X, y_val=y + 1)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("initial_weights", "std"), ("step_factors", 1), ("keep", "first"), ("exponent", 0), ("validation_fraction", 1.0)],
)
def test_bad_settings_are_named(setting, value):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=setting):
        LPD(**{setting: value}).fit(X, y)


def test_stream_meets_a_new_class_later():
    X, y = load_iris(return_X_y=True)
    model = LPD(2, random_state=0)
    model.partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    model.partial_fit(X[100:], y[100:])
    assert set(model.predict(X)) == {0, 1, 2}
    assert len(model.weights_) == len(model.prototypes_)
