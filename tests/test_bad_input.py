"""Each kind of bad or extreme input: one clear sentence, or a sound model; never NaN in silence."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler

import protolearn
from problems import ENGINE, LEARNERS
from protolearn import (
    GLVQ,
    GMLVQ,
    LGMLVQ,
    LOGM,
    LVQ1,
    LVQ21,
    MAXP1,
    MCE,
    OLVQ1,
    RSLVQ,
    SNPC,
    NearestPrototype,
    PrototypeClassifier,
)
from protolearn.solvers import Solution, Solver
from reproduction.datasets import load


def make(name, **options):
    options = {"random_state": 0, **options}
    if name in LEARNERS:
        options.setdefault("max_iter", 10)
    known = getattr(protolearn, name)().get_params()
    if "random_state" not in known:
        del options["random_state"]
    return getattr(protolearn, name)(**options)


def assert_sound(model, X):
    assert np.isfinite(model.prototypes_).all()
    P = model.predict_proba(X)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ENGINE)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity(name, bad, blobs):
    X, y = blobs
    X = X.copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match="NaN|infinity"):
        make(name).fit(X, y)


@pytest.mark.parametrize("name", ENGINE)
def test_one_class_only(name, blobs):
    with pytest.raises(ValueError, match="needs two classes; y has one class, 7"):
        make(name).fit(blobs[0], np.full(len(blobs[0]), 7))


def test_a_failed_fit_leaves_the_model_as_it_was(blobs):
    X, y = blobs
    model = LOGM(random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, np.zeros(len(y)))
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("name", ENGINE)
def test_zero_samples(name):
    with pytest.raises(ValueError, match="0 sample"):
        make(name).fit(np.empty((0, 3)), np.empty(0))


@pytest.mark.parametrize("name", ENGINE)
def test_another_number_of_features_at_predict(name, blobs):
    model = make(name).fit(*blobs)
    with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 4"):
        model.predict(blobs[0][:, :2])


@pytest.mark.parametrize("name", ENGINE)
def test_class_with_fewer_samples_than_prototypes(name, blobs):
    X, y = blobs
    keep = np.r_[0:40, 40:42, 80:120]
    with pytest.warns(UserWarning, match="Class 1 has 2 samples, fewer than the 3 prototypes asked for: it gets 2"):
        model = make(name, n_prototypes=3).fit(X[keep], y[keep])
    assert np.bincount(model.prototype_labels_).tolist() == [3, 2, 3]
    assert_sound(model, X)


def test_dict_that_misses_a_class(blobs):
    with pytest.raises(ValueError, match="names no number for class 1; give every class"):
        LOGM(n_prototypes={0: 1, 2: 1}).fit(*blobs)


def test_dict_with_an_unknown_class(blobs):
    with pytest.raises(ValueError, match="names class 9, which y does not have"):
        LOGM(n_prototypes={0: 1, 1: 1, 2: 1, 9: 1}).fit(*blobs)


def test_dict_with_a_bad_number(blobs):
    with pytest.raises(ValueError, match="of class 1 must be a whole number"):
        LOGM(n_prototypes={0: 1, 1: 0, 2: 1}).fit(*blobs)


@pytest.mark.parametrize("wrong", [0, -1, 1.0, 0.0, 2.5, "many", None, True])
def test_numbers_of_prototypes_that_mean_nothing(wrong, blobs):
    with pytest.raises(ValueError, match="n_prototypes must be a whole number"):
        LOGM(n_prototypes=wrong).fit(*blobs)


def test_share_that_gives_a_class_nothing_gives_it_one(blobs):
    X, y = blobs
    keep = np.r_[0:40, 40:41, 80:120]
    model = LOGM(n_prototypes=0.1, random_state=0).fit(X[keep], y[keep])
    assert np.bincount(model.prototype_labels_).tolist() == [4, 1, 4]


@pytest.mark.parametrize(
    "names",
    [np.array(["a", "b", "c"]), np.array([1.0, 2.0, 3.0]), np.array([-5, 0, 5]), np.array(["x", 1, 2.5], dtype=str)],
)
def test_labels_of_any_kind(names, blobs):
    X, y = blobs
    model = LOGM(random_state=0, n_prototypes={names[k].item(): 1 + k for k in range(3)}).fit(X, names[y])
    assert model.predict(X).dtype == names.dtype
    assert set(model.predict(X)) <= set(names)


def test_labels_that_are_bools(blobs):
    X, y = blobs
    model = LOGM(n_prototypes={False: 1, True: 2}, random_state=0).fit(X, y == 1)
    assert model.predict(X).dtype == bool
    assert model.prototype_labels_.tolist() == [False, True, True]


def test_labels_that_are_measurements(blobs):
    with pytest.raises(ValueError, match="Unknown label type"):
        LOGM().fit(blobs[0], blobs[0][:, 0])


@pytest.mark.parametrize("name", ENGINE)
def test_constant_features(name, blobs):
    X, y = blobs
    X = np.c_[X, np.full(len(X), 3.0)]
    assert_sound(make(name, n_prototypes=2).fit(X, y), X)


@pytest.mark.parametrize("name", ENGINE)
def test_all_samples_at_one_point(name):
    X, y = np.full((12, 3), 2.0), np.arange(12) % 2
    model = make(name, n_prototypes=2).fit(X, y)
    assert_sound(model, X)
    np.testing.assert_allclose(model.prototypes_, 2.0)


@pytest.mark.parametrize("name", ENGINE)
def test_identical_points_with_different_labels(name, blobs):
    X, y = blobs
    X, y = np.r_[X, X[:30]], np.r_[y, (y[:30] + 1) % 3]
    assert_sound(make(name, n_prototypes=2, init="random").fit(X, y), X)


@pytest.mark.parametrize("name", ENGINE)
@pytest.mark.parametrize("unit", [1e30, 1e-30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_and_tiny_values(name, unit, dtype, blobs):
    X, y = blobs
    X = (unit * X).astype(dtype)
    model = make(name, shuffle=False) if name in LEARNERS else make(name)
    model.fit(X, y)
    assert model.prototypes_.dtype == dtype
    assert_sound(model, X)
    usual = (make(name, shuffle=False) if name in LEARNERS else make(name)).fit(blobs[0], y)
    assert np.mean(model.predict(X) == usual.predict(blobs[0])) > 0.97


def test_huge_rows_at_predict_only(blobs):
    X, y = blobs
    model = LOGM(random_state=0).fit(X.astype(np.float32), y)
    far = np.float32(1e25) * (model.prototypes_ - model.prototypes_.mean(axis=0))
    wide = LOGM(random_state=0).fit(X.astype(np.float32), y)
    wide.prototypes_ = wide.prototypes_.astype(np.float64)
    np.testing.assert_array_equal(model.predict(far.astype(np.float32)), wide.predict(far.astype(np.float64)))


@pytest.mark.parametrize("name", LEARNERS)
def test_prototype_exactly_on_a_sample(name, blobs):
    X, y = blobs
    start = X[[0, 40, 80]], y[[0, 40, 80]]
    model = make(name, init=start).fit(X, y)
    assert_sound(model, X)


@pytest.mark.parametrize("name", LEARNERS)
def test_prototype_that_wins_nothing(name, blobs):
    X, y = blobs
    idle = np.full((1, 4), 1e3)
    start = np.r_[X[[0, 40, 80]], idle], np.r_[0, 1, 2, 2]
    model = make(name, init=start, bounds=None).fit(X, y)
    assert_sound(model, X)
    assert np.abs(model.prototypes_[3]).max() > 100


def test_weights_clipped_to_all_zeros_go_back_to_equal_ones(blobs):
    X, y = blobs
    model = LOGM(metric="local_relevance", metric_learning_rate=1e9, learning_rate=2, random_state=0).fit(X, y)
    assert np.isfinite(model.relevances_).all()
    np.testing.assert_allclose(model.relevances_.sum(axis=1), 4.0)


@pytest.mark.papers_data
def test_weight_that_reaches_d_does_not_run_away():
    """LOGM-PDW on sonar at tau = 2, read literally, has 2 eta c lambda above 1: the step is bounded."""
    data = load("sonar")
    X = MinMaxScaler((-1, 1)).fit_transform(data.X)
    model = LOGM(3, metric="local_relevance", learning_rate=2.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, data.y)
    assert model.relevances_.max() > 5
    assert np.abs(model.prototypes_).max() < 10
    assert model.score(X, data.y) > 0.9


def test_olvq1_rate_stays_below_its_cap(blobs):
    X, y = blobs
    wrong = (y + 1) % 3
    model = OLVQ1(init=(X[[0, 40, 80]], y[[0, 40, 80]]), learning_rate=0.9, max_iter=3, random_state=0).fit(X, wrong)
    assert_sound(model, X)
    assert model._rates.max() <= 0.9


def test_olvq1_refuses_a_rate_of_one(blobs):
    with pytest.raises(ValueError, match="learning_rate must be a number < 1"):
        OLVQ1(learning_rate=1.0).fit(*blobs)


@pytest.mark.parametrize("method", [SNPC, MAXP1, RSLVQ, MCE, LOGM])
def test_variance_so_small_that_exp_underflows(method, blobs):
    X, y = blobs
    model = method(2, slope=1e12, random_state=0, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert_sound(model, X)


@pytest.mark.parametrize("method", [LOGM, RSLVQ, LVQ1, LVQ21])
def test_learning_rate_that_diverges(method, blobs):
    X, y = blobs
    with pytest.warns(
        ConvergenceWarning, match="Learning diverged in epoch 1: .* choose a learning_rate below 1e\\+06"
    ):
        model = method(learning_rate=1e6, random_state=0).fit(X, (y + np.arange(len(y))) % 3)
    assert_sound(model, X)
    assert np.abs(model.prototypes_).max() < 1e3


@pytest.mark.parametrize("metric", ["local_relevance", "omega"])
def test_bounded_steps_do_not_hide_a_learning_rate_that_diverges(metric, blobs):
    with pytest.warns(ConvergenceWarning, match="choose a learning_rate below 1e\\+06"):
        LOGM(metric=metric, learning_rate=1e6, random_state=0).fit(*blobs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": 0}, "learning_rate must be a number > 0; got 0"),
        ({"learning_rate": "fast"}, "learning_rate must be a number > 0; got 'fast'"),
        ({"learning_rate": np.nan}, "learning_rate must be a number > 0; got nan"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1; got 0"),
        ({"max_iter": 1.5}, "max_iter must be a whole number"),
        ({"solver": "newton"}, "solver must be one of .*'lbfgs'.*; got 'newton'"),
        ({"metric": "cosine"}, "Unknown metric 'cosine'; choose one of .*euclidean"),
        ({"metric": 3}, "metric must be one of .*euclidean.* or a Metric; got 3"),
        ({"init": "middle"}, "Unknown init 'middle'; choose one of"),
        ({"init": [[1.0, 2.0]]}, "init must be one of .* with 4 columns"),
        ({"init": np.zeros((2, 4))}, "init has 2 rows, and n_prototypes asks for 3"),
        ({"init": (np.zeros((2, 4)), [0, 1])}, "init has no prototype of class 2"),
        ({"init": (np.zeros((3, 4)), [0, 1, 5])}, "labels of init must be one class of y for each row"),
        ({"schedule": "cosine"}, "Unknown schedule 'cosine'"),
        ({"slope": -1}, "slope must be a number > 0 or None"),
        ({"regularization": -0.1}, "regularization must be a number >= 0"),
        ({"tol": -1}, "tol must be a number >= 0 or None"),
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"class_weight": "fair"}, "class_weight must be one of 'balanced'"),
        ({"class_weight": {0: 0.0, 1: 1, 2: 1}}, "class_weight must be above zero"),
        ({"learn_prototypes": False}, "nothing to learn under the Euclidean metric"),
    ],
)
def test_parameters(options, message, blobs):
    with pytest.raises(ValueError, match=message):
        LOGM(**options).fit(*blobs)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LVQ21(window=1.5), "window must be a number > 0 and < 1"),
        (protolearn.LVQ3(epsilon=2), "epsilon must be a number >= 0 and <= 1"),
        (GLVQ(transfer="tanh"), "transfer must be one of 'sigmoid', 'identity'"),
        (GMLVQ(n_components=9), "n_components=9 is more than the 4 features"),
        (GMLVQ(n_components=0), "n_components must be a whole number of at least 1 or None"),
        (LGMLVQ(scope="global"), "scope must be one of 'class', 'prototype'"),
        (protolearn.GRLVQ(normalization="max"), "normalization must be one of 'mean', 'sum'"),
        (MAXP1(n_nearest=1), "n_nearest must be a whole number of at least 2 or None"),
        (PrototypeClassifier(loss="hinge"), "Unknown loss 'hinge'; choose one of"),
        (PrototypeClassifier(loss=3), "loss must be one of .* a Loss or a function; got 3"),
        (PrototypeClassifier(loss=lambda a, b, s: "no"), "does not compile with the signature"),
        (PrototypeClassifier(loss="lvq1", solver="lbfgs"), "solver must be one of 'online'; got 'lbfgs'"),
        (
            NearestPrototype(metric="relevance", metric_parameters=[1.0]),
            "metric_parameters must be finite and of shape",
        ),
    ],
)
def test_parameters_of_single_methods(model, message, blobs):
    with pytest.raises(ValueError, match=message):
        model.fit(*blobs)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), "one number for each of the 120 rows"),
        (-np.ones(120), "finite numbers of at least 0"),
        (np.full(120, np.nan), "finite numbers of at least 0"),
        (np.zeros(120), "zero for every row"),
    ],
)
def test_sample_weights(weight, message, blobs):
    with pytest.raises(ValueError, match=message):
        LOGM().fit(*blobs, sample_weight=weight)


# AutoPrototypes scales the columns first.
@pytest.mark.parametrize("name", sorted(set(protolearn.__all__) - {"save", "load", "AutoPrototypes"}))
@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (1e75, "X holds numbers of up to .* overflow beyond 1e\\+70; divide the features by"),
        (1e200, "X holds numbers of up to .* overflow beyond 1e\\+70; divide the features by"),
        (1e-80, "The values of every column of X lie within .* vanish below 1e-70; multiply the features by"),
        (1e-200, "The values of every column of X lie within .* vanish below 1e-70; multiply the features by"),
    ],
)
def test_numbers_whose_squares_overflow_or_vanish_are_refused_at_the_door(name, unit, message, blobs):
    X, y = unit * blobs[0], blobs[1]
    with pytest.raises(ValueError, match=message):
        make(name).fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (1e300, "sample_weight holds numbers of up to 1e\\+300 in size, .*; divide the weights by 1e\\+300 first"),
        (1e-300, "sample_weight holds no number above 1e-300, and .*; multiply the weights by 1e\\+300 first"),
    ],
)
def test_weights_whose_products_overflow_or_vanish_are_refused_as_weights(weight, message, blobs):
    X, y = blobs
    with pytest.raises(ValueError, match=message):
        LOGM().fit(X, y, sample_weight=np.full(len(y), weight))
    with pytest.raises(ValueError, match=message.replace("sample", "class")):
        LOGM(class_weight=dict.fromkeys(range(3), weight)).fit(X, y)


@pytest.mark.parametrize("name", ["LPD", "HartCondensing", "LMNN"])
def test_float32_numbers_without_digits_are_refused_at_the_door(name, blobs):
    with pytest.raises(ValueError, match="The values of every column of X lie within .* vanish below 1e-35; multiply"):
        make(name).fit((1e-44 * blobs[0]).astype(np.float32), blobs[1])


@pytest.mark.parametrize("name", ["LOGM", "HartCondensing", "MixtGauss"])
@pytest.mark.parametrize("options", [{}, {"classify_by": "mixture"}])
def test_rows_too_large_to_square_are_refused_by_predict(name, options, blobs):
    if name != "MixtGauss" and options:
        name, options = "NearestPrototype", {}
    model = make(name, **options).fit(*blobs)
    far = np.full((1, 4), 1e200)
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(ValueError, match="too large to square"):
            getattr(model, method)(far)


def test_distances_beyond_float32_are_refused_as_features(blobs):
    X = blobs[0].astype(np.float32)
    model = LOGM(random_state=0, max_iter=2).fit(X, blobs[1])
    with pytest.raises(ValueError, match="too large to square.* float64 holds larger ones"):
        model.transform(np.float32(1e25) * X)
    assert np.isfinite(model.transform(1e25 * X.astype(np.float64))).all()


@pytest.mark.parametrize("name", ["LOGM", "MCE", "GLVQ"])
def test_weights_out_of_range_are_refused(name, blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="sample_weight holds numbers of up to 1e\\+300"):
        make(name).fit(X, y, sample_weight=np.where(np.arange(len(y)) % 2, 1e300, 1.0))
    with pytest.raises(ValueError, match="class_weight holds numbers of up to 1e\\+300"):
        make(name, class_weight={0: 1, 1: 1, 2: 1e300}).fit(X, y)


@pytest.mark.parametrize("slope", [1e308, 1e-308])
@pytest.mark.parametrize("name", ["RSLVQ", "LOGM", "GLVQ"])
def test_slopes_out_of_reason_give_finite_probabilities_led_by_predict(name, slope, blobs):
    X, y = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = make(name, slope=slope).fit(X, y)
    assert_sound(model, X)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("solver", ["online", "gradient", "lbfgs", "adam"])
def test_nothing_to_learn_is_said(solver, iris):
    options = {"learn_prototypes": False, "metric_learning_rate": 0.0}
    with pytest.raises(ValueError, match="learn_prototypes=False and metric_learning_rate=0 leave nothing to learn"):
        GLVQ(metric="omega", solver=solver, **options).fit(*iris)


@pytest.mark.parametrize("name", sorted(set(protolearn.__all__) - {"save", "load", "LMNN", "ChenCondensing"}))
def test_a_seed_out_of_range_is_named(name, blobs):
    with pytest.raises(ValueError, match="random_state must be a whole number from 0 to 4294967295"):
        make(name, random_state=10**30).fit(*blobs)


def test_counts_without_end_are_refused(blobs):
    with pytest.raises(ValueError, match="n_nearest must be a whole number of at least 2 and at most 2147483647"):
        MAXP1(n_nearest=10**30).fit(*blobs)
    with pytest.raises(ValueError, match="max_iter must be a whole number of at least 1 and at most 2147483647"):
        LOGM(max_iter=10**30).fit(*blobs)
    with pytest.warns(UserWarning, match="fewer than the"):
        assert len(NearestPrototype(10**30).fit(*blobs).prototypes_) == len(blobs[1])


def test_one_warning_for_all_classes_with_too_few_samples(blobs):
    with pytest.warns(UserWarning, match="Class 0 has 40 .* Class 2 has 40 samples.*Choose a smaller") as caught:
        NearestPrototype(100).fit(*blobs)
    assert len(caught) == 1


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix, pd.DataFrame])
def test_rows_of_one_class_do_not_become_prototypes_of_others(container, iris):
    X, y = iris
    with pytest.raises(ValueError, match="Row 1 of init is a row of X of class 0, .* pass a pair"):
        GLVQ(init=X[:3]).fit(container(X), y)
    kept = GLVQ(init=X[[0, 50, 100]], max_iter=2, random_state=0).fit(container(X), y)
    assert kept.prototype_labels_.tolist() == [0, 1, 2]
    # A point that both classes have may stand for either.
    NearestPrototype(init=[[0.0], [1.0]]).fit(container([[0.0], [1.0], [1.0]]), [0, 0, 1])


@pytest.mark.parametrize("function", [lambda a, b: (a, b, 1.0), lambda a: a, lambda a, b, c, d: a])
def test_a_loss_with_other_arguments(function, blobs):
    with pytest.raises(ValueError, match=r"A loss takes three numbers, \(d_own, d_rival, slope\), and <lambda> takes"):
        PrototypeClassifier(loss=function).fit(*blobs)


@pytest.mark.parametrize("solver", ["online", "gradient", "lbfgs", "adam"])
def test_a_rate_next_to_zero_moves_nothing(solver, blobs):
    model = LOGM(solver=solver, learning_rate=5e-324, max_iter=2, random_state=0).fit(*blobs)
    assert_sound(model, blobs[0])


@pytest.mark.parametrize("setting", ["disturbance", "initial_spread"])
def test_mixtures_do_not_start_out_of_all_ranges(setting, blobs):
    with pytest.raises(ValueError, match=f"{setting} must be a number > 0 and <= 1000"):
        protolearn.MixtGauss(**{setting: 1e300}).fit(*blobs)


@pytest.mark.parametrize("classify_by", ["prototypes", "mixture"])
def test_a_mixture_of_more_components_than_samples_is_finite(classify_by):
    X = np.array([[0.0, 1e5], [1e-5, 0.0]])
    model = protolearn.MixtGauss(3, init="propinit", literal_variance=True, stopping="algorithm1", range_of="all")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.set_params(classify_by=classify_by, random_state=0).fit(X, [0, 1])
    assert model.predict(X).tolist() == [0, 1]
    assert_sound(model, X)


def test_a_margin_that_leaves_all_numbers_is_refused(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="LMNN came to numbers that are not finite, .* scale the features first"):
        protolearn.LMNN(margin=1e300, max_iter=5).fit(X.astype(np.float32), y)


@pytest.mark.parametrize("name", ["lmnn", "lamalvq"])
def test_a_decomposition_that_fails_is_said_in_a_sentence(name, monkeypatch, blobs):
    def fails(*_, **__):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(f"protolearn.estimators.{name}.solve_large_margin", fails)
    model = {"lmnn": protolearn.LMNN(), "lamalvq": protolearn.LaMaLVQ(rounds=1, random_state=0)}[name]
    with pytest.raises(ValueError, match="came to numbers that are not finite, .* scale the features first"):
        model.fit(*blobs)


def test_prototypes_that_leave_float32_are_not_kept(monkeypatch, blobs):
    """A number that float64 holds while learning, and float32 does not."""
    X, y = (1e30 * blobs[0]).astype(np.float32), blobs[1]

    def far(start, *_):
        return Solution(start.moved(1e9 * start.positions, start.theta))

    monkeypatch.setattr("protolearn.estimators.learning.SOLVERS", {"online": Solver(far, "", by_sample=True)})
    with pytest.warns(ConvergenceWarning, match="Learning diverged: prototypes or weights went beyond"):
        model = LOGM(random_state=0).fit(X, y)
    assert_sound(model, X)


def test_a_start_whose_weights_overflow_is_refused():
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32) * np.float32([1e-20, 1.0, 1.0])
    with pytest.raises(ValueError, match="The first weights of LPD overflow float32, because the features differ"):
        protolearn.LPD(initial_weights="inverse_std", random_state=0).fit(X, np.arange(20) % 2)


def test_weights_whose_squares_leave_all_numbers_are_not_kept(monkeypatch, blobs):
    def heavy(start, *_):
        return Solution(start.moved(start.positions, 1e200 * start.theta))

    monkeypatch.setattr("protolearn.estimators.learning.SOLVERS", {"online": Solver(heavy, "", by_sample=True)})
    with pytest.warns(ConvergenceWarning, match="Learning diverged: prototypes or weights went beyond"):
        model = LOGM(metric="squared_relevance", random_state=0).fit(*blobs)
    assert np.isfinite(model.relevances_).all()
    assert_sound(model, blobs[0])


def test_streams_say_what_they_need(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="first call of partial_fit needs `classes`"):
        LOGM().partial_fit(X, y)
    with pytest.raises(ValueError, match="y holds class 2, which is not in `classes`"):
        LOGM().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="differs from that of the first call"):
        LOGM().partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="needs all data at once"):
        LOGM(solver="lbfgs").partial_fit(X, y, classes=[0, 1, 2])


def test_warm_start_with_other_classes(blobs):
    X, y = blobs
    model = LOGM(warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="goes on with the classes of the fit before"):
        model.fit(X[:80], y[:80])
