"""compress: the smallest prototype model within a loss, or the best within bytes, of a model of any kind."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import AutoPrototypes, compress


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:240, 8:40], y[:240]


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
    """A rule of parity of 16 islands, and not even one prototype for each of them."""
    rng = np.random.default_rng(0)
    island = rng.integers(16, size=400)
    X = np.column_stack([island % 4, island // 4]) + 0.1 * rng.normal(size=(400, 2))
    y = (island % 4 + island // 4) % 2
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
