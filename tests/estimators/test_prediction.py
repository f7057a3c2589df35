"""Fast paths of prediction give what the plain ones give, bit for bit."""

import numpy as np
import pytest

from protolearn import GMLVQ, LGMLVQ, LOGM, NearestPrototype, PrototypeClassifier
from protolearn.core.prototypes import PrototypeSet
from protolearn.estimators import prediction
from protolearn.metrics.base import centred, expanded_distances
from protolearn.metrics.omega import Omega


def test_prototypes_far_from_the_origin_are_centred_and_others_are_not_copied():
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(30, 4)), rng.normal(size=(5, 4))

    def prototypes(positions):
        return PrototypeSet(positions, np.arange(5), np.empty((1, 0)), np.zeros(5, dtype=np.int64))

    assert centred(X, prototypes(W))[0] is X
    far = expanded_distances(*centred(X + 1e6, prototypes(W + 1e6)))
    np.testing.assert_allclose(far, expanded_distances(X, W), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_and_small_blocks_change_no_label(monkeypatch, threads):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)
    model = LOGM(3, max_iter=3, random_state=0).fit(X, y)
    expected = model.predict(X)
    monkeypatch.setattr(prediction, "threads_for", lambda work: threads)
    monkeypatch.setattr(prediction, "_BATCH_BYTES", 1 << 12)
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], expected)


def test_rows_whose_squares_overflow_float32_are_still_classified():
    X = np.array([[-1e14], [-1e14], [1e14], [1e14]], dtype=np.float32)
    model = NearestPrototype().fit(X, [0, 0, 1, 1])
    np.testing.assert_array_equal(model.predict(np.array([[-1e22], [1e22]], dtype=np.float32)), [0, 1])


@pytest.mark.parametrize(
    "model", [LOGM(2), LOGM(2, metric="relevance"), LOGM(2, metric="local_relevance"), GMLVQ(2), LGMLVQ(2)]
)
def test_compiled_classifies_one_row_as_predict_does(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = np.array(["low", "high"])[(X[:, 0] * X[:, 1] > 0).astype(int)]
    model = model.set_params(max_iter=5, random_state=0).fit(X, y)
    classify = model.row_classifier()
    assert [classify(row) for row in X] == list(model.predict(X))


def test_compiled_says_what_is_wrong_with_a_row():
    X = np.arange(12.0).reshape(6, 2)
    classify = NearestPrototype().fit(X, [0, 0, 0, 1, 1, 1]).row_classifier()
    with pytest.raises(ValueError, match="2 features"):
        classify([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="not finite"):
        classify([1.0, np.nan])


@pytest.mark.parametrize(
    "model",
    [
        LOGM(3),
        LOGM(3, metric="relevance"),
        LOGM(3, metric="local_relevance"),
        GMLVQ(3),
        GMLVQ(3, n_components=2),
        LGMLVQ(3),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_linear_forms_find_the_nearest_by_distance(monkeypatch, model, dtype, offset):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(2000, 5)) + offset).astype(dtype)
    y = (X[:, 0] > offset).astype(int) + 2 * (X[:, 1] > offset)
    model = model.set_params(max_iter=3, random_state=0).fit(X, y)
    plain = model.predict(X)
    monkeypatch.setattr(prediction, "_worth_forms", lambda n_distances: True)
    monkeypatch.setattr(prediction, "_BATCH_BYTES", 1 << 13)
    # Rounding decides where a sample is as far from two prototypes.
    assert np.mean(model.predict(X) == plain) >= (0.999 if dtype == np.float32 else 1.0)
    metric, prototypes = model._sorted_prototypes(X)
    forms = metric.linear_forms(prototypes)
    if forms is not None:
        origin = 0 if prototypes.centring[0] is None else prototypes.centring[0]
        gap = metric.distances(X, prototypes) - ((X - origin) @ forms[0].T + forms[1])
        assert np.ptp(gap, axis=1).max() < (1e-10 if dtype == np.float64 else 1e-3)


def test_linear_forms_leave_rows_that_overflow_to_the_distances(monkeypatch):
    monkeypatch.setattr(prediction, "_worth_forms", lambda n_distances: True)
    X = np.array([[-1e14], [-1e14], [1e14], [1e14]], dtype=np.float32)
    model = NearestPrototype().fit(X, [0, 0, 1, 1])
    np.testing.assert_array_equal(model.predict(np.array([[-1e30], [1e30], [3.0]], dtype=np.float32)), [0, 1, 1])


def test_linear_forms_take_the_first_of_equal_prototypes(monkeypatch):
    monkeypatch.setattr(prediction, "_worth_forms", lambda n_distances: True)
    W = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 2, axis=0)
    model = NearestPrototype(init=(W, np.arange(8) % 2)).fit(np.r_[W, W], np.r_[np.arange(8), np.arange(8)] % 2)
    assert (model.predict(np.random.default_rng(1).normal(size=(2500, 3))) == 0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("worth", [True, False])
@pytest.mark.parametrize("at", [0, 2999])
def test_a_number_that_is_not_finite_is_found_without_a_look_at_all_rows_first(monkeypatch, bad, worth, at):
    monkeypatch.setattr(prediction, "_worth_forms", lambda n_distances: worth)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    models = [NearestPrototype(2).fit(X, y), GMLVQ(max_iter=2, random_state=0).fit(X, y)]
    # A feature that no prototype looks at: its product is zero times what is not finite.
    models.append(NearestPrototype(init=(np.array([[-1.0, 0, 0, 0], [1.0, 0, 0, 0]]), [0, 1])).fit(X, y))
    X[at, 3] = bad
    for model in models:
        with pytest.raises(ValueError, match="Input X contains (NaN|infinity)"):
            model.predict(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("link", ["difference", "relative_sigmoid", "relative", "power"])
def test_the_largest_probability_is_the_class_of_predict(dtype, link):
    """Prototypes a rounding apart: distances, and probabilities even more so, are equal where predict still decides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(dtype)
    near = np.repeat(X[:20], 2, axis=0)
    near[1::2] += rng.choice([-1, 1], size=near[1::2].shape) * 3 * np.finfo(dtype).eps
    model = NearestPrototype(init=(near, np.arange(40) % 3)).fit(X, np.arange(200) % 3)
    model._link_and_slope = lambda: (link, 1e-3)
    P = model.predict_proba(X)
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.max() <= 1.0


def test_probabilities_change_places_where_rounding_led_another_class():
    P = prediction.with_predicted_first(
        np.array([[0.5, 0.5], [0.6, 0.4], [1.0, 0.0], [0.2, 0.8]]), np.array([1, 1, 1, 1])
    )
    np.testing.assert_array_equal(P.argmax(axis=1), 1)
    np.testing.assert_allclose(P, [[0.5, 0.5], [0.4, 0.6], [0.0, 1.0], [0.2, 0.8]])


@pytest.mark.filterwarnings("ignore:Learning ended")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scope", ["global", "prototype"])
def test_a_row_that_prototypes_of_several_classes_share_gets_one_class(scope, seed):
    """Where distances are zero but for rounding, one row and many are measured by differences."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(5, 26))[rng.integers(0, 5, 36)], np.arange(36) % 2
    metric = Omega(n_components=2, scope=scope)
    model = PrototypeClassifier("glvq", metric=metric, init=(X[:20], y[:20]), max_iter=1, random_state=0)
    model.fit(X, y)
    classify = model.row_classifier()
    assert [classify(row) for row in X] == model.predict(X).tolist()
