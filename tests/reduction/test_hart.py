"""Hart's condensing: always consistent, and the textbook loop sample by sample."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from protolearn import HartCondensing, WilsonEditing
from protolearn.data import TrainingSet
from protolearn.reduction.hart import consistent_subset
from samples import SAMPLES


def textbook(X, y):
    """Hart's loop with every distance anew."""
    members = [0]
    while True:
        before = len(members)
        for i in range(len(y)):
            D = ((X[members] - X[i]) ** 2).sum(axis=1)
            own = D[y[members] == y[i]].min(initial=np.inf)
            if i not in members and not own < D[y[members] != y[i]].min(initial=np.inf):
                members.append(i)
        if len(members) == before:
            return members


def test_equals_the_textbook_loop():
    X, y = make_blobs(300, centers=4, n_features=3, cluster_std=3.0, random_state=0)
    found, own, rival = consistent_subset(TrainingSet(X, y, None, 4), np.arange(len(y)))
    assert list(found) == textbook(X, y)
    D = ((X[:, None] - X[found][None]) ** 2).sum(axis=2)
    same = y[:, None] == y[found]
    outside = np.setdiff1d(np.arange(len(y)), found)
    np.testing.assert_allclose(own[outside], np.where(same, D, np.inf).min(axis=1)[outside])
    np.testing.assert_allclose(rival[outside], np.where(same, np.inf, D).min(axis=1)[outside])


@pytest.mark.parametrize("moved", [0.0, 1e6, 1e25])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e20])
def test_float32_only_passes_over_what_float64_would(moved, scale):
    """Far from the origin, and beyond what float32 can square, the set is still the textbook's."""
    X, y = make_blobs(400, centers=3, n_features=5, cluster_std=3.0, random_state=1)
    X = moved + scale * X
    found = consistent_subset(TrainingSet(X, y, None, 3), np.arange(len(y)))[0]
    assert list(found) == textbook(X, y)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shuffle", [False, True])
def test_gets_its_whole_training_set_right(name, dtype, shuffle):
    X, y = SAMPLES[name]()
    X = X.astype(dtype)
    fitted = HartCondensing(shuffle=shuffle, random_state=0).fit(X, y)
    wrong = np.flatnonzero(fitted.predict(X) != y)
    # Equal rows of two classes cannot both be right.
    twins = [(X[row] == X).all(axis=1) & (y != y[row]) for row in wrong]
    assert all(twin.any() for twin in twins)
    assert 0 < fitted.reduction_ < 1
    own = KNeighborsClassifier(1).fit(X[fitted.sample_indices_], y[fitted.sample_indices_])
    assert own.score(X, y) >= 1 - len(wrong) / len(y) - 1e-12


def test_digits_where_imbalanced_learn_gets_88_percent():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    fitted = HartCondensing().fit(X, y)
    assert fitted.score(X, y) == 1.0
    assert fitted.score(X_test, y_test) > 0.95
    assert len(fitted.sample_indices_) < 180


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shuffle", [True, False])
def test_equal_rows_of_several_classes_are_wrong_as_rarely_as_possible(dtype, container, shuffle):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(60, 2)).astype(dtype), rng.integers(0, 3, size=60)
    least = 60 - sum(np.bincount(y[(point == X).all(axis=1)]).max() for point in np.unique(X, axis=0))
    with pytest.warns(UserWarning, match=f"{least} of the 60 samples equal others of another class"):
        fitted = HartCondensing(shuffle=shuffle, random_state=0).fit(container(X), y)
    assert (fitted.predict(container(X)) != y).sum() == least > 0


def test_equal_rows_of_two_classes_with_a_draw_get_the_first():
    with pytest.warns(UserWarning, match="1 of the 3 samples"):
        fitted = HartCondensing().fit([[0.0], [-0.0], [1.0]], [1, 0, 1])
    assert fitted.predict([[0.0], [1.0]]).tolist() == [0, 1]


def test_editing_first_keeps_a_consistent_part_of_the_edited_set():
    X, y = SAMPLES["with a constant"]()
    edited = WilsonEditing(3).fit(X, y).sample_indices_
    fitted = HartCondensing(edit_neighbors=3).fit(X, y)
    assert set(fitted.sample_indices_) <= set(edited)
    assert fitted.score(X[edited], y[edited]) == 1.0
    assert fitted.reduction_ > HartCondensing().fit(X, y).reduction_ + 0.2


def test_orders_differ_by_the_seed_only():
    X, y = make_blobs(500, centers=4, cluster_std=3.0, random_state=0)
    first, again, other = (
        HartCondensing(shuffle=True, random_state=seed).fit(X, y).sample_indices_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_sparse_equals_dense():
    X, y = load_digits(return_X_y=True)
    dense = HartCondensing().fit(X, y)
    np.testing.assert_array_equal(HartCondensing().fit(sparse.csr_array(X), y).sample_indices_, dense.sample_indices_)
