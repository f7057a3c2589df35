"""compress: the smallest prototype model within a loss, or the best within bytes, of a model of any kind."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from protolearn import GLVQ, AutoPrototypes, compress
from protolearn.auto import compress as compressing
from protolearn.auto.race import Fold, Problem


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:240, 8:40], y[:240]


def parity():
    """A rule of parity of 16 islands."""
    rng = np.random.default_rng(0)
    island = rng.integers(16, size=400)
    X = np.column_stack([island % 4, island // 4]) + 0.1 * rng.normal(size=(400, 2))
    return X, (island % 4 + island // 4) % 2


def test_a_fitted_k_nn_needs_no_rows(iris, capsys):
    X, y = iris
    names = np.array(["a", "b", "c"])[y]
    knn = make_pipeline(StandardScaler(), KNeighborsClassifier(5)).fit(X, names)
    small = compress(knn, random_state=0)
    assert [type(step).__name__ for _, step in small.steps] == ["StandardScaler", "AutoPrototypes"]
    assert small.score(X, names) > 0.93
    printed = capsys.readouterr().out
    assert "given: KNeighborsClassifier" in printed
    assert f"in {small[-1].size_bytes_} bytes where it takes" in printed
    assert small[-1].size_bytes_ < X.nbytes / 2


def test_the_smallest_within_a_loss_is_smaller_where_more_may_be_lost(digits):
    X, y = digits
    knn = KNeighborsClassifier(1).fit(X, y)
    sizes = [compress(knn, max_loss=loss, random_state=0, verbose=0).n_numbers_ for loss in (0.03, 0.3)]
    assert sizes[1] <= sizes[0]
    assert sizes[1] < X.size / 4


def test_a_budget_of_bytes_is_kept_and_both_sides_are_measured_on_rows_held_out(iris):
    X, y = iris
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    small = compress(forest, X, y, max_bytes=150, random_state=0, verbose=0)
    assert isinstance(small, AutoPrototypes)
    assert small.size_bytes_ <= 150
    found = small.compression_
    assert found.given.n_bytes > 20 * found.small.n_bytes
    # The forest knows all rows by heart: measured on them it would be right always.
    assert 0.8 < found.given.accuracy < 1.0
    assert small.score(X, y) > 0.9


def test_labels_of_the_model_where_there_are_none(iris):
    X, y = iris
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    small = compress(forest, X, max_bytes=400, random_state=0, verbose=0)
    assert "Agrees with the given model on" in small.compression_.verdict
    assert np.mean(small.predict(X) == forest.predict(X)) > 0.93


def test_what_cannot_be_had_is_said():
    """Not even one prototype for each island."""
    X, y = parity()
    knn = KNeighborsClassifier(3).fit(X, y)
    with pytest.warns(UserWarning, match="No prototype model within 1 points of the given model was found"):
        small = compress(knn, max_bytes=60, max_loss=0.01, random_state=0, verbose=0)
    assert not small.compression_.within
    assert "LESS accurate than the given model" in str(small.compression_)


def test_a_model_that_holds_no_rows_asks_for_them():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="RandomForestClassifier does not hold the rows .* pass X"):
        compress(RandomForestClassifier(5).fit(X, y))
    with pytest.raises(ValueError, match="max_loss must be a number"):
        compress(KNeighborsClassifier().fit(X, y), max_loss=-1)


def test_held_out_rows_say_whether_the_loss_is_kept(monkeypatch):
    """Whatever the race believed: here it takes the smallest set."""

    def smallest(self, entries, *_):
        return {min(range(len(entries)), key=lambda j: entries[j].numbers): 1}

    monkeypatch.setattr(compressing._Choice, "__call__", smallest)
    knn = KNeighborsClassifier(3).fit(*parity())
    with pytest.warns(UserWarning, match="No prototype model within 5 points of the given model was found, the noise"):
        found = compress(knn, max_loss=0.05, random_state=0, verbose=0).compression_
    assert not found.within
    lost, error = (float(part) for part in re.search(r"\(-(.*) points, standard error (.*)\)", found.verdict).groups())
    assert lost == pytest.approx(100 * (found.given.accuracy - found.small.accuracy), abs=0.05)
    assert lost > 5 + error


def test_the_standard_error_is_of_pairs():
    given, small = np.ones(400, dtype=bool), np.ones(400, dtype=bool)
    given[:40] = small[:40] = False
    assert compressing.paired_loss(given, small) == pytest.approx((0.0, 0.0), abs=1e-8)
    small[40:44] = False
    given[44:45] = False
    # Four rows lost, one won: each other row is right in both or wrong in both.
    error = np.std([1.0] * 4 + [-1.0] + [0.0] * 395, ddof=1) / 20
    assert compressing.paired_loss(given, small) == pytest.approx((3 / 400, error))


def test_a_set_that_is_good_enough_by_luck_alone_is_not_taken(iris):
    """Sizes 10 and 20 lose nothing on the mean; 10 by as many rows won as lost, which may be chance."""
    X, y = iris
    folds = [Fold(np.setdiff1d(np.arange(150), test), test) for test in (np.arange(0, 150, 3), np.arange(1, 150, 3))]
    rows = np.concatenate([fold.test for fold in folds])
    knn = KNeighborsClassifier(5)
    right = [KNeighborsClassifier(5).fit(X[f.train], y[f.train]).predict(X[f.test]) == y[f.test] for f in folds]
    same = np.concatenate(right)
    other = same.copy()
    wrong = np.flatnonzero(~same)
    other[wrong] = True
    other[np.flatnonzero(same)[: len(wrong)]] = False
    assert len(wrong) >= 3

    def entry(numbers, is_right):
        P = np.eye(3)[np.where(is_right, y[rows], (y[rows] + 1) % 3)]
        return SimpleNamespace(folds=folds, rows=rows, numbers=numbers, log_proba=np.log(P + 1e-9))

    entries = [entry(20, same), entry(10, other)]
    problem = Problem(X, y, None, 3)
    choose = [compressing._Choice(knn, X, y, loss, refit=True)(entries, problem, np.inf) for loss in (0.01, 0.1)]
    assert choose == [{0: 1}, {1: 1}]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda X, y: Ridge().fit(X, y), TypeError, "compress replaces a classifier by prototypes, and Ridge is none"),
        (lambda X, y: KMeans(2).fit(X), TypeError, "KMeans is none"),
        (lambda X, y: StandardScaler().fit(X), TypeError, "StandardScaler is none"),
        (lambda X, y: SVC(), NotFittedError, "SVC instance is not fitted yet"),
        (lambda X, y: make_pipeline(StandardScaler(), SVC()), NotFittedError, "Pipeline instance is not fitted yet"),
        (lambda X, y: KNeighborsClassifier().fit(X, np.c_[y, y]), ValueError, "gives several labels to a row"),
        (lambda X, y: SVC(kernel="precomputed").fit(X @ X.T, y), ValueError, "SVC takes distances or a kernel"),
    ],
)
def test_what_is_no_fitted_classifier_of_rows_is_refused(make, error, message, iris):
    X, y = iris
    with pytest.raises(error, match=message):
        compress(make(X, y), X, y)


def test_labels_that_do_not_fit_the_rows_are_refused(iris):
    X, y = iris
    knn = KNeighborsClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        compress(knn, X, np.c_[y, y])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        compress(knn, X, y[:-1])


def test_a_k_nn_of_a_data_frame_hands_on_the_names_of_its_columns(iris):
    X, y = iris
    table = pd.DataFrame(X, columns=list("abcd"))
    small = compress(KNeighborsClassifier().fit(table, y), max_bytes=200, random_state=0, verbose=0)
    assert list(small.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(small.predict(table[list("dcba")]), small.predict(table))


def test_prototypes_count_alike_on_both_sides(iris):
    X, y = iris
    model = AutoPrototypes(members=1, cv=2, max_bytes=200, random_state=0).fit(X, y)
    assert compressing._bytes_of(model) == compressing._bytes_of(model.best_estimator_) == model.size_bytes_
    # Three prototypes, a metric of one number, a slope; a scaler that is none of protolearn's by its pickle.
    glvq = make_pipeline(StandardScaler(), GLVQ()).fit(X, y)
    assert compressing._bytes_of(glvq) == 4 * (3 * 4 + 2) + compressing._bytes_of(glvq[0])
    small = compress(model, X, y, max_bytes=200, random_state=0, verbose=0)
    assert small.compression_.given.n_bytes == model.size_bytes_
    assert str(small.compression_).startswith("bytes: of prototypes 4 a number, of other models what pickle writes\n")


class LabelsInAColumn(KNeighborsClassifier):
    """Gives its labels as CatBoost does with three classes and more."""

    def predict(self, X):
        return super().predict(X)[:, None]


def test_labels_in_a_column_are_labels(iris):
    X, y = iris
    knn = KNeighborsClassifier().fit(X, y)
    column = LabelsInAColumn().fit(X, y)
    for labels in (y, None):
        one, other = (compress(model, X, labels, random_state=0, verbose=0) for model in (knn, column))
        assert one.compression_.given.accuracy == other.compression_.given.accuracy
        np.testing.assert_array_equal(one.prototypes_, other.prototypes_)
