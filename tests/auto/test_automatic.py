"""AutoPrototypes: what it chooses, what it promises, and how it ends early."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from protolearn import RSLVQ, AutoPrototypes
from protolearn.auto import automatic
from protolearn.auto import race as races
from protolearn.auto import search as searches


@pytest.fixture(scope="module")
def halves():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)


@pytest.fixture(scope="module")
def fitted(halves):
    X, _, y, _ = halves
    return AutoPrototypes(random_state=0).fit(X, y)


def test_it_is_as_good_as_an_svm_and_smaller_than_the_training_set(halves, fitted):
    X, X_test, y, y_test = halves
    machine = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    assert fitted.score(X_test, y_test) >= machine.score(X_test, y_test) - 0.02
    assert fitted.n_numbers_ < X.size / 2
    assert fitted.size_bytes_ == 4 * fitted.n_numbers_


def test_probabilities_are_calibrated(halves, fitted):
    _, X_test, _, y_test = halves
    P = fitted.predict_proba(X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert log_loss(y_test, P) < 0.15
    assert abs(P.max(axis=1).mean() - accuracy_score(y_test, fitted.predict(X_test))) < 0.03


def test_the_mean_of_the_sets_is_what_it_says(halves, fitted):
    """Written out from the public parts of the sets: a mean of softmaxes at their temperatures."""
    _, X_test, _, _ = halves
    total = np.zeros((len(X_test), 2))
    for pipeline, share, t, soft in zip(
        fitted.estimators_, fitted.shares_, fitted.temperatures_, fitted._soft, strict=True
    ):
        Z, classifier = pipeline[:-1].transform(X_test), pipeline[-1]
        if soft:
            E = np.exp(-classifier.slope * classifier.transform(Z).astype(np.longdouble))
            P = np.stack([E[:, classifier.prototype_labels_ == k].sum(axis=1) for k in (0, 1)], axis=1)
        else:
            P = classifier.predict_proba(Z).astype(np.longdouble)
        P = (P / P.sum(axis=1, keepdims=True)) ** t
        total += share * np.asarray(P / P.sum(axis=1, keepdims=True), dtype=float)
    np.testing.assert_allclose(fitted.predict_proba(X_test), total, atol=1e-8)
    assert fitted.shares_.sum() == pytest.approx(1.0)


def test_one_set_decides_by_the_nearest_prototype_in_units_of_the_columns(halves):
    X, X_test, y, _ = halves
    model = AutoPrototypes(members=1, random_state=0).fit(X, y)
    assert [name for name, _ in model.best_estimator_.steps] == ["prepare", "classifier"]
    np.testing.assert_array_equal(model.predict(X_test), model.best_estimator_.predict(X_test))
    np.testing.assert_array_equal(model.predict(X_test), model.classes_[model.predict_proba(X_test).argmax(axis=1)])
    Z, classifier = model.best_estimator_[:-1].transform(X_test), model.best_estimator_[-1]
    nearest = classifier.transform(Z).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X_test), classifier.prototype_labels_[nearest])


def test_results_are_what_happened(fitted):
    table = fitted.results_
    assert {"candidate", "prototypes", "loss", "spread", "accuracy", "numbers", "bytes", "seconds"} <= set(table)
    assert table.loss[table.folds == 3].is_monotonic_increasing
    assert table.share.sum() == pytest.approx(1.0)
    assert len(table) >= 9
    assert (table.bytes == 4 * table.numbers).all()


def test_a_budget_of_bytes_is_kept(halves):
    X, X_test, y, y_test = halves
    model = AutoPrototypes(max_bytes=600, random_state=0).fit(X, y)
    assert model.size_bytes_ <= 600
    assert model.score(X_test, y_test) > 0.9
    with pytest.raises(ValueError, match=r"within max_bytes; raise max_bytes to at least (\d+)") as error:
        AutoPrototypes(max_bytes=40).fit(X, y)
    least = int(str(error.value).removesuffix(".").split()[-1])
    assert AutoPrototypes(max_bytes=least, random_state=0).fit(X, y).size_bytes_ <= least


def test_a_budget_of_bytes_is_kept_where_all_rows_would_give_more_numbers(halves, monkeypatch):
    X, _, y, _ = halves
    refitted = automatic.refitted
    monkeypatch.setattr(automatic, "CANDIDATES", automatic.CANDIDATES[:1])
    monkeypatch.setattr(automatic, "refitted", lambda candidate, count, problem: refitted(candidate, 9, problem))
    assert AutoPrototypes(cv=2, random_state=0).fit(X, y).size_bytes_ > 2000
    assert AutoPrototypes(max_bytes=800, cv=2, random_state=0).fit(X, y).size_bytes_ <= 800


def test_raw_tables():
    rng = np.random.default_rng(0)
    n = 300
    colour = rng.choice(["red", "green", "blue"], n)
    size = np.exp(rng.normal(size=n))
    size[::17] = np.nan
    y = np.where((colour == "red") ^ (np.nan_to_num(size, nan=1.0) > 1.5), "yes", "no")
    table = pd.DataFrame({"colour": colour, "size": size, "noise": rng.normal(size=n)})
    model = AutoPrototypes(random_state=0).fit(table[:200], y[:200])
    assert model.score(table[200:], y[200:]) > 0.85
    assert set(model.predict(table[200:])) == {"yes", "no"}
    assert list(model.feature_names_in_) == ["colour", "size", "noise"]
    np.testing.assert_array_equal(model.predict(table[200:][["noise", "size", "colour"]]), model.predict(table[200:]))


def test_same_seed_same_model(halves):
    X, X_test, y, _ = halves
    one, other = (AutoPrototypes(random_state=3, members=2).fit(X[:60], y[:60]) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(X_test), other.predict_proba(X_test))
    threads = AutoPrototypes(random_state=3, members=2, n_jobs=2).fit(X[:60], y[:60])
    np.testing.assert_array_equal(one.predict_proba(X_test), threads.predict_proba(X_test))


def test_ten_rows_and_a_hundred_classes():
    X, y = load_iris(return_X_y=True)
    few = AutoPrototypes(random_state=0).fit(X[::15], y[::15])
    assert few.score(X, y) > 0.8
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=8, size=(100, 6))
    y = np.repeat(np.arange(100), 6)
    X = centres[y] + rng.normal(size=(600, 6))
    many = AutoPrototypes(members=1, random_state=0).fit(X[::2], y[::2])
    assert many.score(X[1::2], y[1::2]) > 0.95


def test_scoring_chooses_what_it_names():
    X, y = make_classification(400, 6, weights=[0.9], n_informative=4, random_state=0, flip_y=0.0)
    model = AutoPrototypes(scoring="balanced_accuracy", class_weight="balanced", members=1, random_state=0)
    model.fit(X[:250], y[:250])
    assert balanced_accuracy_score(y[250:], model.predict(X[250:])) > 0.75
    best = min(model.cv_results_["loss"])
    assert -1.0 <= best < -0.75, "the loss of a scoring is minus the score"


def test_a_time_limit_gives_the_best_so_far(halves):
    X, _, y, _ = halves
    with pytest.warns(UserWarning, match="time_limit ended the race after .* the best of them is kept"):
        model = AutoPrototypes(time_limit=1e-3, random_state=0).fit(X, y)
    assert len(model.cv_results_["loss"]) == 1
    assert model.score(X, y) > 0.8


def test_ctrl_c_gives_the_best_so_far(halves):
    X, _, y, _ = halves
    seen = []

    def stop(row):
        seen.append(row)
        if len(seen) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    assert threading.current_thread() is threading.main_thread()
    with pytest.warns(UserWarning, match="Ctrl-C ended the race"):
        model = AutoPrototypes(random_state=0, callback=stop).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ctrl_c_in_the_first_fold_keeps_the_candidates_that_are_fitted(halves, monkeypatch, capsys, n_jobs):
    fit_set, begun = races.fit_set, []

    def third_is_interrupted(*arguments):
        begun.append(arguments[0].name)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return fit_set(*arguments)

    X, _, y, _ = halves
    monkeypatch.setattr(races, "fit_set", third_is_interrupted)
    with pytest.warns(UserWarning, match="Ctrl-C ended the race after 2 candidates; the best of them is kept"):
        model = AutoPrototypes(random_state=0, verbose=1, n_jobs=n_jobs).fit(X, y)
    assert model.stopped_by_ == "Ctrl-C"
    assert model.cv_results_["folds"] == [1, 1]
    assert model.score(X, y) > 0.9
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 2
    assert told[0].startswith("soft, Euclidean, 1 a class, on the first fold: accuracy 0.")


def test_threads_leave_the_filters_of_warnings_as_they_were(halves, monkeypatch):
    X, _, y, _ = halves
    before = list(warnings.filters)
    fit_set = races.fit_set

    def others_ignore(*arguments):
        # As where two threads enter and leave in turns.
        warnings.simplefilter("ignore")
        return fit_set(*arguments)

    monkeypatch.setattr(races, "fit_set", others_ignore)
    monkeypatch.setattr(automatic, "CANDIDATES", automatic.CANDIDATES[:2])
    monkeypatch.setattr(automatic, "refitted", lambda *_: pytest.fail("not asked for"))
    AutoPrototypes(random_state=0, n_jobs=2, callback=lambda row: True).fit(X, y)
    assert warnings.filters == before


def test_ctrl_c_before_any_candidate_is_fitted_is_ctrl_c(halves, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    X, _, y, _ = halves
    monkeypatch.setattr(races, "fit_set", interrupted)
    with pytest.raises(KeyboardInterrupt):
        AutoPrototypes(random_state=0).fit(X, y)


def test_ctrl_c_in_the_last_fits_keeps_those_of_the_race(halves, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    X, _, y, _ = halves
    monkeypatch.setattr(automatic, "CANDIDATES", automatic.CANDIDATES[:2])
    monkeypatch.setattr(automatic, "refitted", interrupted)
    with pytest.warns(UserWarning, match="Ctrl-C ended the race"):
        model = AutoPrototypes(cv=2, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9


def test_the_callback_ends_the_race(halves):
    X, _, y, _ = halves
    seen = []
    model = AutoPrototypes(random_state=0, callback=lambda row: seen.append(row) or len(seen) == 3).fit(X, y)
    assert len(seen) == 3
    assert {"candidate", "loss", "numbers"} <= set(seen[0])
    assert model.score(X, y) > 0.9


def test_a_large_table_grows_on_all_rows(monkeypatch):
    """Many small islands of two classes: a few prototypes cannot tell them apart, many can."""
    monkeypatch.setattr(searches, "LARGE", 800)
    monkeypatch.setattr(searches, "RACE_ROWS", 200)
    monkeypatch.setattr(races, "LARGE_COUNTS", (20, 40))
    monkeypatch.setattr(searches, "LARGE_COUNTS", (20, 40))
    rng = np.random.default_rng(0)
    centres = rng.uniform(-10, 10, size=(40, 2))
    island = rng.integers(40, size=2000)
    X, y = centres[island] + 0.3 * rng.normal(size=(2000, 2)), island % 2
    model = AutoPrototypes(members=1, random_state=0).fit(X[:1500], y[:1500])
    assert model.cv_results_["prototypes"][int(np.argmax(model.cv_results_["share"]))] >= 20
    assert model.score(X[1500:], y[1500:]) > 0.9


def test_weights_count():
    X, y = load_wine(return_X_y=True)
    weight = np.ones(len(y))
    weight[y == 2] = 0.0
    model = AutoPrototypes(members=1, random_state=0).fit(X, y, sample_weight=weight)
    assert 2 not in model.predict(X)
    with pytest.raises(ValueError, match="Rows of at least two classes must have a sample_weight above zero"):
        AutoPrototypes().fit(X, y, sample_weight=np.zeros(len(y)))


def test_a_class_of_one_row_is_learned_and_judges_nothing():
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:50, 100]
    model = AutoPrototypes(random_state=0).fit(X[rows], y[rows])
    assert model.predict(X[rows]).tolist() == y[rows].tolist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": 0}, "members must be a whole number of at least 1"),
        ({"cv": 1}, "cv must be a whole number of at least 2"),
        ({"time_limit": 0}, "time_limit must be a number > 0"),
        ({"max_bytes": 0.5}, "max_bytes must be a whole number"),
        ({"scoring": "acuracy"}, "acuracy"),
        ({"scoring": "r2"}, "scoring='r2' judges numbers, and AutoPrototypes predicts classes"),
        ({"scoring": "neg_mean_squared_error"}, "scoring='neg_mean_squared_error' judges numbers"),
        ({"scoring": "roc_auc"}, "scoring='roc_auc' cannot judge these 3 classes: .* Choose .*roc_auc_ovr"),
        ({"scoring": "f1"}, "scoring='f1' cannot judge these 3 classes: .* Choose f1_macro or f1_micro"),
        ({"scoring": lambda model, X, y: np.nan}, "cannot judge these 3 classes: it gives no finite number"),
        ({"class_weight": "foo"}, "class_weight must be one of 'balanced'; got 'foo'"),
        ({"class_weight": [1, 2]}, "class_weight must be None, 'balanced' or a dict by class"),
        ({"class_weight": {0: 1, 7: 2}}, "class_weight names class 7, and y holds 0, 1, 2; name these"),
        ({"class_weight": {0: 0.0}}, "class_weight must be above zero for every class"),
    ],
)
def test_bad_parameters(parameters, message, iris, monkeypatch):
    # Nothing learns before.
    monkeypatch.setattr(automatic, "Search", None)
    with pytest.raises(ValueError, match=message):
        AutoPrototypes(**parameters).fit(*iris)


def test_bad_tables(iris):
    X, y = iris
    with pytest.raises(ValueError, match="y holds one class only, 0"):
        AutoPrototypes().fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="Every class has one row only"):
        AutoPrototypes().fit(X[::50], y[::50])
    with pytest.raises(ValueError, match="X has 150 rows and y has 149"):
        AutoPrototypes().fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"X has 150 rows and sample_weight is of shape \(149,\)"):
        AutoPrototypes().fit(X, y, sample_weight=np.ones(149))
    with pytest.raises(ValueError, match="scoring='f1' cannot judge these 2 classes: .* Choose f1_macro"):
        AutoPrototypes(scoring="f1").fit(X[:100], np.array(["no", "yes"])[y[:100]])


def test_a_clone_is_unfitted_and_equal(fitted):
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "estimators_")


@pytest.mark.parametrize("exponent", [-700, 700])
def test_the_unit_of_the_columns_changes_nothing(exponent, iris):
    X, y = iris
    one, other = (AutoPrototypes(members=1, cv=2, random_state=0).fit(rows, y) for rows in (X, np.ldexp(X, exponent)))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(np.ldexp(X, exponent)), rtol=1e-12)


def test_a_set_that_was_brought_inside_the_data_has_the_probabilities_of_before():
    """Shrunk prototypes have shorter distances, and a steeper slope in exchange."""
    X, y = load_wine(return_X_y=True)
    Z = StandardScaler().fit_transform(X)
    found = []
    for bounds in (None, "data"):
        model = RSLVQ(1, solver="lbfgs", slope=0.05, bounds=bounds, random_state=0).fit(Z, y)
        found.append((model.prototypes_, races.set_log_proba(model, Z, model.classes_, soft=True)))
    assert np.abs(found[0][0]).max() > 1.1 * np.abs(found[1][0]).max()
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-6)
