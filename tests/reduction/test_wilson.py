"""Editing: against imbalanced-learn, and the rules one by one."""

import numpy as np
import pytest
from imblearn.under_sampling import EditedNearestNeighbours
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances

from protolearn import WilsonEditing
from protolearn.reduction.wilson import agreeing, choose_neighbours, edit, multi_edit, repeated_edit
from samples import SAMPLES


def rules_coincide(X, y, k):
    """Rows whose vote does not depend on how equal distances are ordered, and is not a draw.

    On the others imbalanced-learn takes the order of its search, may take a twin for the sample itself, and gives a
    draw to the class that sorts first.
    """
    D = pairwise_distances(X)
    same = np.empty(len(y), dtype=bool)
    for i, distances in enumerate(D):
        others = np.delete(np.arange(len(y)), i)
        ordered = others[np.argsort(distances[others], kind="stable")]
        last = distances[ordered[k - 1]]
        on_the_edge = others[np.isclose(distances[others], last, rtol=1e-9, atol=0)]
        twins = others[distances[others] <= 1e-9]
        votes = np.sort(np.bincount(np.unique(y, return_inverse=True)[1][ordered[:k]]))
        same[i] = (
            len(set(y[on_the_edge])) == 1 and set(y[twins]) <= {y[i]} and (len(votes) < 2 or votes[-1] > votes[-2])
        )
    return same


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("k", [1, 3, 5])
def test_same_indices_as_imbalanced_learn_wherever_the_rules_coincide(name, k):
    X, y = SAMPLES[name]()
    peer = EditedNearestNeighbours(n_neighbors=k, kind_sel="mode", sampling_strategy="all")
    peer.fit_resample(X, y)
    ours, theirs = np.zeros(len(y), dtype=bool), np.zeros(len(y), dtype=bool)
    ours[WilsonEditing(k).fit(X, y).sample_indices_] = True
    theirs[peer.sample_indices_] = True
    same_rule = rules_coincide(X, y, k)
    assert same_rule.mean() > 0.7
    np.testing.assert_array_equal(ours[same_rule], theirs[same_rule])


def test_a_draw_that_includes_the_class_keeps_the_sample():
    y = np.array([0, 0, 1, 1, 2])
    neighbours = np.array([[1, 2], [2, 3], [0, 1], [2, 4], [0, 2]])
    np.testing.assert_array_equal(agreeing(y, neighbours, 3), [True, False, False, True, False])


def test_repeated_editing_ends_where_one_more_pass_changes_nothing():
    X, y = make_blobs(300, centers=3, cluster_std=4.0, random_state=0)
    once, _ = edit(X, y, 3, 3)
    often, _ = repeated_edit(X, y, 3, 3)
    again, _ = edit(X[often], y[often], 3, 3)
    assert set(often) < set(once)
    assert len(again) == len(often)


def test_multi_edit_leaves_classes_that_a_plane_can_part():
    X, y = make_blobs(600, centers=[[-1.5, 0], [1.5, 0]], cluster_std=1.0, random_state=0)
    kept, _ = multi_edit(X, y, 2, n_blocks=3, patience=5, random=np.random.RandomState(0))
    overlap = (X[:, 0] > 0) != (y == 1)
    assert overlap.mean() > 0.05
    assert overlap[kept].mean() < 0.01
    assert len(kept) > 400


def test_cross_validation_edits_noise_and_leaves_clean_classes_alone():
    X, y = make_blobs(400, centers=[[-3, 0], [3, 0]], cluster_std=1.0, random_state=0)
    options = {"candidates": (1, 3, 5), "n_folds": 5}
    clean, _ = choose_neighbours(X, y, 2, random=np.random.RandomState(0), **options)
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.2, 1 - y, y)
    chosen, scores = choose_neighbours(X, noisy, 2, random=np.random.RandomState(0), **options)
    assert clean == 0
    assert chosen > 0
    assert scores[chosen] == max(scores.values()) > scores[0] + 0.05


def test_auto_reports_what_it_compared():
    X, y = SAMPLES["with a constant"]()
    fitted = WilsonEditing("auto", random_state=0).fit(X, y)
    assert set(fitted.cv_scores_) == {0, 1, 3, 5, 7, 9}
    assert fitted.cv_scores_[fitted.n_neighbors_] == max(fitted.cv_scores_.values())
    assert fitted.reduction_ == 1 - len(fitted.sample_indices_) / len(y)


@pytest.mark.parametrize("method", ["wilson", "repeated", "multi"])
def test_a_class_that_would_vanish_is_kept_and_named(method):
    X, y = make_blobs(200, centers=[[0, 0], [8, 8]], random_state=0)
    X = np.vstack([X, [[0.0, 0.1], [8.0, 8.1]]])
    names = np.array(["left", "right", "rare"])[np.append(y, [2, 2])]
    with pytest.warns(UserWarning, match="class rare"):
        fitted = WilsonEditing(3, method=method, random_state=0).fit(X, names)
    assert (names[fitted.sample_indices_] == "rare").sum() == 2


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be a whole number of at least 1"),
        ({"n_neighbors": "best"}, "n_neighbors must be one of 'auto'"),
        ({"method": "tomek"}, "method must be one of"),
        ({"cv": 1}, "cv must be a whole number of at least 2"),
        ({"n_neighbors": "auto", "candidates": (0,)}, "candidates must be whole numbers"),
    ],
)
def test_bad_settings_are_named(setting, words):
    X, y = make_blobs(30, random_state=0)
    with pytest.raises(ValueError, match=words):
        WilsonEditing(**setting).fit(X, y)
