"""Splitting space: diameters, cuts, numbers of prototypes and their labels."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.datasets import make_blobs

from protolearn import ChenCondensing
from protolearn.data import TrainingSet
from protolearn.reduction.chen import farthest_pair, split_blocks
from samples import SAMPLES


def reference_blocks(X, y, wanted):
    """Chen's splitting with every distance anew."""
    blocks = [np.arange(len(y))]
    while len(blocks) < wanted:
        width = [pdist(X[rows]).max(initial=0) for rows in blocks]
        mixed = [len(np.unique(y[rows])) > 1 and w > 0 for rows, w in zip(blocks, width, strict=True)]
        chosen = max(range(len(blocks)), key=lambda b: (mixed[b], width[b]))
        rows = blocks.pop(chosen)
        D = ((X[rows][:, None] - X[rows][None]) ** 2).sum(axis=2)
        i, j = np.unravel_index(D.argmax(), D.shape)
        first = D[i] <= D[j]
        blocks += [rows[first], rows[~first]]
    return sorted(map(tuple, blocks))


def test_blocks_are_those_of_the_plain_rule():
    X, y = make_blobs(200, centers=4, n_features=3, cluster_std=3.0, random_state=0)
    blocks = split_blocks(TrainingSet(X, y, None, 4), 15, criterion="diameter", by_class=False, exact=True)
    assert sorted(map(tuple, blocks)) == reference_blocks(X, y, 15)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("d", [1, 2, 10, 50])
def test_exact_diameter_and_its_bound(seed, d):
    X = np.random.default_rng(seed).standard_t(3, size=(1500, d))
    X -= X.mean(axis=0)
    largest = pdist(X).max()
    i, j = farthest_pair(X, exact=True)
    assert np.linalg.norm(X[i] - X[j]) == pytest.approx(largest, rel=1e-12)
    i, j = farthest_pair(X, exact=False)
    assert largest / 2 <= np.linalg.norm(X[i] - X[j]) <= largest * (1 + 1e-12)


@pytest.mark.parametrize("exact", [True, False, None])
def test_number_of_prototypes_majority_and_centroid(exact):
    X, y = SAMPLES["overlapping"]()
    fitted = ChenCondensing(5, exact_diameter=exact).fit(X, y)
    assert len(fitted.prototypes_) == 5 * 4
    for number, (position, label) in enumerate(zip(fitted.prototypes_, fitted.prototype_labels_, strict=True)):
        rows = fitted.sample_prototypes_ == number
        np.testing.assert_allclose(position, X[rows].mean(axis=0))
        names, counts = np.unique(y[rows], return_counts=True)
        assert label == names[counts.argmax()]


def test_one_prototype_for_each_class_of_a_block():
    X, y = SAMPLES["overlapping"]()
    fitted = ChenCondensing(5, centroids="class").fit(X, y)
    assert 20 <= len(fitted.prototypes_) < 20 + 4
    assert set(fitted.prototype_labels_) == set(y)
    for number, label in enumerate(fitted.prototype_labels_):
        assert set(y[fitted.sample_prototypes_ == number]) == {label}


def test_none_splits_until_every_block_holds_one_class():
    X, y = SAMPLES["iris"]()
    fitted = ChenCondensing(None).fit(X, y)
    np.testing.assert_array_equal(fitted.prototype_labels_[fitted.sample_prototypes_], y)
    assert 0.5 < fitted.reduction_ < 1


def test_overlap_splits_where_classes_mix():
    far_apart = make_blobs(100, centers=[[0, 0], [100, 0]], random_state=0)
    mixed = make_blobs(100, centers=[[50, 300], [51, 300]], random_state=1)
    X, y = np.vstack([far_apart[0], mixed[0]]), np.append(far_apart[1], mixed[1])
    data = TrainingSet(X, y, None, 2)
    upper = X[:, 1] > 150
    wide = split_blocks(data, 3, criterion="diameter", by_class=False, exact=True)
    crossed = split_blocks(data, 3, criterion="overlap", by_class=False, exact=True)
    assert sum(upper[rows].all() for rows in wide) == 1
    assert sum(upper[rows].all() for rows in crossed) == 2


@pytest.mark.filterwarnings("ignore:Class")
def test_equal_samples_are_never_split():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    y = np.tile([0, 1], 10)
    assert len(ChenCondensing(5).fit(X, y).prototypes_) == 2


def test_a_class_without_a_prototype_is_named():
    X, y = make_blobs(100, centers=[[0, 0], [5, 5]], random_state=0)
    names = np.where(y == 0, "left", "right").astype(object)
    names[np.flatnonzero(y == 0)[:2]] = "rare"
    with pytest.warns(UserWarning, match="Class rare"):
        ChenCondensing(1).fit(X, names.astype(str))


def test_sparse_and_float32_agree_with_dense_float64():
    X, y = SAMPLES["overlapping"]()
    whole = ChenCondensing(3).fit(X, y)
    thin = ChenCondensing(3).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(thin.sample_prototypes_, whole.sample_prototypes_)
    short = ChenCondensing(3).fit(X.astype(np.float32), y)
    assert short.prototypes_.dtype == np.float32
    np.testing.assert_allclose(short.prototypes_, whole.prototypes_, rtol=1e-5)


@pytest.mark.parametrize("wanted", [0, -1, 1.5, "many", True, {"a": 3}])
def test_bad_numbers_are_named(wanted):
    X, y = make_blobs(30, random_state=0)
    with pytest.raises(ValueError, match="n_prototypes must be a whole number of at least 1"):
        ChenCondensing(wanted).fit(X, y)
