"""A shared start: computed once for a fold, and the same models as without it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, LOGM
from protolearn.initializers import SharedStart

X, Y = load_iris(return_X_y=True)


def test_the_model_is_the_one_without_it():
    start = SharedStart("kmeans")
    for rate in (0.5, 2.0):
        plain = LOGM(3, learning_rate=rate, random_state=1, max_iter=5).fit(X, Y)
        shared = LOGM(3, learning_rate=rate, random_state=1, max_iter=5, init=start).fit(X, Y)
        np.testing.assert_array_equal(shared.prototypes_, plain.prototypes_)
        np.testing.assert_array_equal(shared.loss_curve_, plain.loss_curve_)
    assert start.n_computed == 1


def test_other_samples_counts_seeds_and_weights_are_computed_anew():
    start = SharedStart()
    LOGM(2, init=start, random_state=0, max_iter=1).fit(X, Y)
    LOGM(2, init=start, random_state=0, max_iter=1).fit(X[1:], Y[1:])
    LOGM(3, init=start, random_state=0, max_iter=1).fit(X, Y)
    LOGM(2, init=start, random_state=1, max_iter=1).fit(X, Y)
    LOGM(2, init=start, random_state=0, max_iter=1).fit(X, Y, sample_weight=np.arange(150) + 1.0)
    assert start.n_computed == 5
    GLVQ(2, init=start, random_state=0, max_iter=1).fit(X, Y)
    assert start.n_computed == 5


def test_a_search_clusters_each_fold_once():
    start = SharedStart()
    model = make_pipeline(StandardScaler(), LOGM(2, init=start, random_state=0, max_iter=3))
    grid = {"logm__learning_rate": [0.3, 1, 3], "logm__regularization": [0.0, 0.01]}
    GridSearchCV(model, grid, cv=4).fit(X, Y)
    # Four folds, and all samples for the best setting.
    assert start.n_computed == 5


def test_a_folder_shares_between_objects(tmp_path):
    one = LOGM(2, init=SharedStart(memory=tmp_path), random_state=0, max_iter=2).fit(X, Y)
    files = sorted(tmp_path.rglob("output.pkl"))
    two = LOGM(2, init=SharedStart(memory=tmp_path), random_state=0, max_iter=2).fit(X, Y)
    assert len(files) == 1
    assert sorted(tmp_path.rglob("output.pkl")) == files
    np.testing.assert_array_equal(one.prototypes_, two.prototypes_)


def test_clones_share_and_unknown_names_are_told():
    start = SharedStart("no such")
    assert clone(LOGM(init=start)).init is start
    with pytest.raises(ValueError, match="init"):
        LOGM(init=start).fit(X, Y)
    assert repr(start) == "SharedStart('no such')"
