"""Where prototypes start, and how many."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from protolearn import LOGM, LVQ1, LVQ3, NearestPrototype
from protolearn.data import TrainingSet
from protolearn.initializers import INITIALIZERS, prototype_counts
from protolearn.initializers.lvq_pak import LvqPakStart


def training_set(X, y):
    return TrainingSet(X, y, None, int(y.max()) + 1)


@pytest.mark.parametrize("name", [name for name in INITIALIZERS if name != "all"])
def test_right_number_of_each_class(name, blobs):
    X, y = blobs
    positions, labels = INITIALIZERS[name](training_set(X, y), np.array([4, 4, 4]), np.random.RandomState(0))
    assert positions.shape == (12, 4)
    assert len(labels) == 12
    if name != "balance":
        assert np.bincount(labels).tolist() == [4, 4, 4]
    assert np.isfinite(positions).all()


@pytest.mark.parametrize("name", list(INITIALIZERS))
def test_every_initializer_starts_a_fit(name, iris):
    X, y = iris
    assert LOGM(n_prototypes=3, init=name, random_state=0).fit(X, y).score(X, y) > 0.95


def test_kmeans_is_scikit_learns(blobs):
    X, y = blobs
    model = NearestPrototype(3, random_state=0).fit(X, y)
    for k in range(3):
        mine = model.prototypes_[model.prototype_labels_ == k]
        again = KMeans(3, init=mine, n_init=1).fit(X[y == k])
        np.testing.assert_allclose(np.sort(again.cluster_centers_, axis=0), np.sort(mine, axis=0), atol=0.05)


def test_one_prototype_a_class_is_the_nearest_centroid(iris):
    X, y = iris
    np.testing.assert_array_equal(NearestPrototype().fit(X, y).predict(X), NearestCentroid().fit(X, y).predict(X))


def test_all_samples_as_prototypes_is_1_nn(blobs):
    X, y = blobs
    model = NearestPrototype(init=(X[::2], y[::2])).fit(X[::2], y[::2])
    wanted = KNeighborsClassifier(1).fit(X[::2], y[::2]).predict(X[1::2])
    np.testing.assert_array_equal(model.predict(X[1::2]), wanted)


def test_weighted_class_means(blobs):
    X, y = blobs
    weight = np.linspace(0.1, 2, len(y))
    model = NearestPrototype().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.prototypes_[1], np.average(X[y == 1], axis=0, weights=weight[y == 1]))


def test_class_mean_parts_several_prototypes_a_little(blobs):
    X, y = blobs
    model = NearestPrototype(3, init="class_mean", random_state=0).fit(X, y)
    mean = X[y == 0].mean(axis=0)
    own = model.prototypes_[model.prototype_labels_ == 0]
    assert 0 < np.abs(own - mean).max() < 0.05 * X[y == 0].std()


def test_random_takes_samples_of_the_class(blobs):
    X, y = blobs
    model = NearestPrototype(0.25, init="random", random_state=0).fit(X, y)
    assert len(model.prototypes_) == 30
    for prototype, label in zip(model.prototypes_, model.prototype_labels_, strict=True):
        assert label in y[(prototype == X).all(axis=1)]


def test_eveninit_takes_the_first_samples_that_their_neighbours_get_right(blobs):
    X, y = blobs
    positions, _ = LvqPakStart()(training_set(X, y), np.array([3, 3, 3]), np.random.RandomState(0))
    right = []
    for i in range(len(y)):
        others = np.delete(np.arange(len(y)), i)
        vote = KNeighborsClassifier(5).fit(X[others], y[others]).predict_proba(X[[i]])[0]
        right.append(vote[y[i]] >= vote.max())
    wanted = np.concatenate([np.flatnonzero((y == k) & np.array(right))[:3] for k in range(3)])
    np.testing.assert_array_equal(positions, X[wanted])


def test_lvq_pak_lets_a_sample_vote_for_itself(blobs):
    X, y = blobs
    data, counts = training_set(X, y), np.array([5, 5, 5])
    compat, _ = LvqPakStart(lvqpak_compat=True, n_neighbors=1)(data, counts, np.random.RandomState(0))
    np.testing.assert_array_equal(compat, np.concatenate([X[y == k][:5] for k in range(3)]))


def test_propinit_follows_the_class_sizes(blobs):
    X, y = blobs
    keep = np.r_[0:40, 40:50, 80:100]
    model = NearestPrototype(3, init="propinit").fit(X[keep], y[keep])
    counts = np.bincount(model.prototype_labels_)
    assert counts.sum() == 9
    assert counts[0] > counts[2] >= counts[1] >= 1


def test_shortfall_goes_to_classes_that_have_more():
    """Class 1 is drowned in class 0: none of its samples is voted right, so class 0 takes its share."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(50, 2)), rng.normal(size=(4, 2)) * 0.1]
    y = np.r_[np.zeros(50, int), np.ones(4, int)]
    X[50:] = X[[3, 11, 25, 40]] + 1e-3
    model = NearestPrototype(3, init="eveninit").fit(X, y)
    assert np.bincount(model.prototype_labels_).tolist() == [6, 1]


def test_balance_moves_numbers_towards_the_wide_class():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(200, 2)) * 5, rng.normal(size=(200, 2)) * 0.5 + 40]
    y = np.repeat([0, 1], 200)
    model = NearestPrototype(8, init="balance").fit(X, y)
    counts = np.bincount(model.prototype_labels_)
    assert counts.sum() == 16
    assert counts[0] > counts[1]


def test_balance_with_one_prototype_a_class(blobs):
    assert len(NearestPrototype(1, init="balance").fit(*blobs).prototypes_) == 3


def test_start_from_a_fitted_estimator(blobs):
    X, y = blobs
    first = LVQ1(3, random_state=0).fit(X, y)
    assert len(LVQ3(init=first, random_state=0).fit(X, y).prototypes_) == 9


def test_start_from_an_array_in_the_order_of_the_classes(blobs):
    X, y = blobs
    start = np.array([X[y == k].mean(axis=0) for k in range(3)])
    np.testing.assert_array_equal(NearestPrototype(init=start).fit(X, y).prototypes_, start)


def test_start_from_a_function(blobs):
    def first_rows(data, counts, random):
        rows = [np.flatnonzero(data.y == k)[0] for k in range(len(counts))]
        return data.rows(rows), np.arange(len(counts))

    X, y = blobs
    np.testing.assert_array_equal(NearestPrototype(init=first_rows).fit(X, y).prototypes_, X[[0, 40, 80]])


def test_shares_by_class_size():
    classes = np.array(["a", "b", "c"])
    assert prototype_counts(0.05, np.array([100, 59, 3]), classes).tolist() == [5, 3, 1]
    assert prototype_counts(2, np.array([5, 5, 5]), classes).tolist() == [2, 2, 2]
    assert prototype_counts({"a": 1, "b": 2, "c": 3}, np.array([5, 5, 5]), classes).tolist() == [1, 2, 3]
