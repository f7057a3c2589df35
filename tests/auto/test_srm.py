"""Structural risk minimisation, and settings chosen on a validation set."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.multiclass import OneVsRestClassifier

from protolearn import LPD, Learn1NN
from protolearn.auto.srm import StructuralRiskSelector, complexity_penalty, vc_dimension
from protolearn.auto.validation import choose_on_validation


@pytest.mark.parametrize(("n_prototypes", "n_features"), [(2, 2), (3, 2), (10, 2), (5, 64), (100, 64)])
def test_vc_dimension_solves_equation_33(n_prototypes, n_features):
    v = vc_dimension(n_prototypes, n_features)
    power = (n_features + 1) * n_prototypes * (n_prototypes - 1) / 2
    assert n_prototypes + power * np.log2(v) == pytest.approx(v)
    assert v > power


def test_vc_dimension_grows_and_starts_at_1():
    assert vc_dimension(1, 5) == 1.0
    values = [vc_dimension(m, 2) for m in range(1, 20)]
    assert np.all(np.diff(values) > 0)


def test_penalty_is_larger_than_any_error_for_10000_samples_in_the_plane():
    # Fig. 11: useful for a very small number of prototypes only.
    assert complexity_penalty(1, 2, 10000) < 0.5
    assert complexity_penalty(4, 2, 10000) > 1.0
    assert complexity_penalty(4, 2, 40000) < complexity_penalty(4, 2, 10000)


def test_selector_takes_the_fewest_prototypes_with_the_papers_penalty():
    X, y = make_moons(200, noise=0.1, random_state=0)
    selector = StructuralRiskSelector(Learn1NN(random_state=0, max_iter=30), n_prototypes=(1, 2, 4, 8)).fit(X, y)
    assert selector.best_n_prototypes_ == 1
    assert (selector.results_["penalty"] > 1).all()
    free = StructuralRiskSelector(Learn1NN(random_state=0, max_iter=30), (1, 2, 4, 8), penalty_weight=0.0).fit(X, y)
    assert free.best_n_prototypes_ > 1
    assert free.score(X, y) > selector.score(X, y)
    np.testing.assert_array_equal(free.classes_[free.predict_proba(X).argmax(axis=1)], free.predict(X))


def test_more_classes_go_through_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    selector = StructuralRiskSelector(Learn1NN(random_state=0, max_iter=20), (1, 2))
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        selector.fit(X, y)
    assert OneVsRestClassifier(selector).fit(X, y).score(X, y) > 0.6


def test_choice_on_validation_returns_the_lowest_error():
    X, y = make_moons(400, noise=0.2, random_state=0)
    split = (X[:200], y[:200], X[200:], y[200:])
    grid = {"sigma": [0.05, 5.0], "learning_rate": [0.05, 0.5]}
    best, results = choose_on_validation(Learn1NN(4, max_iter=20), grid, *split, runs=2)
    assert len(results) == 4
    assert dict(results[[r[0] for r in results].index(best)][0]) == best
    assert min(error for _, error in results) == results[[r[0] for r in results].index(best)][1]
    best, results = choose_on_validation(LPD(4, keep="validation", max_iter=20), {"slope": [1.0, 10.0]}, *split)
    assert best["slope"] in (1.0, 10.0)
