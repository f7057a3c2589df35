"""n_prototypes="auto": the fewest prototypes a class that held-out rows do not tell from the best."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import protolearn
from protolearn import GLVQ, LVQ1, NearestPrototype
from protolearn.initializers import prototype_counts

TAKES_IT = [
    name
    for name in protolearn.__all__
    if "n_prototypes" in inspect.signature(getattr(protolearn, name)).parameters and name != "ChenCondensing"
]


@pytest.fixture(scope="module")
def islands():
    """Four islands of each of two classes, in the fields of a board: one prototype a class tells nothing apart."""
    rng = np.random.default_rng(0)
    island = np.arange(320) % 8
    X = np.column_stack([island % 4, island // 4]) * 4.0 + 0.3 * rng.normal(size=(320, 2))
    return X, np.where((island % 4 + island // 4) % 2, "black", "white")


def quick(name):
    estimator = getattr(protolearn, name)(n_prototypes="auto", random_state=0)
    return estimator.set_params(max_iter=3) if "max_iter" in estimator.get_params() else estimator


@pytest.mark.parametrize("name", TAKES_IT)
def test_every_estimator_takes_it(name, islands):
    model = quick(name)
    assert clone(model.fit(*islands)).get_params() == model.get_params()
    assert model.get_params()["n_prototypes"] == "auto"
    assert set(model.prototype_labels_) == {"black", "white"}


def test_as_many_as_the_data_needs(islands):
    X, y = islands
    estimator = NearestPrototype("auto", random_state=0)
    model = clone(estimator).fit(X, y)
    assert model.score(X, y) > 0.97
    assert 8 <= len(model.prototypes_) <= 26
    one = clone(estimator).fit(X[:, :1], np.where(X[:, 0] > 6, "right", "left"))
    assert len(one.prototypes_) <= 6


def test_weights_and_rare_classes(islands):
    X, y = islands
    weight = np.where(y == "white", 0.0, 1.0)
    weight[:4] = 1.0
    model = NearestPrototype("auto", random_state=0).fit(X, y, weight)
    assert set(model.prototype_labels_) == {"black", "white"}
    assert len(NearestPrototype("auto").fit(X[:2], y[:2]).prototypes_) == 2


def test_another_text_is_refused(islands):
    with pytest.raises(
        ValueError, match="n_prototypes must be a whole number .* or, where init is a name, 'auto'; got 'automatic'"
    ):
        GLVQ("automatic").fit(*islands)
    with pytest.raises(ValueError, match="n_prototypes must be a whole number"):
        prototype_counts("auto", np.array([3, 3]), np.array([0, 1]))


@pytest.mark.parametrize("as_stored", [np.asarray, sparse.csr_array])
def test_weight_two_is_a_row_twice(islands, as_stored):
    X, y = islands[0][:120], islands[1][:120]
    weight = np.random.default_rng(0).integers(1, 4, size=120)
    shuffle = np.random.default_rng(1).permutation(weight.sum())
    once = NearestPrototype("auto", random_state=0).fit(as_stored(X), y, weight)
    repeated = NearestPrototype("auto", random_state=0).fit(
        as_stored(X.repeat(weight, axis=0)[shuffle]), y.repeat(weight)[shuffle]
    )
    np.testing.assert_allclose(once.prototypes_, repeated.prototypes_)


@pytest.mark.parametrize("times", [1, 3])
def test_classes_of_one_row_however_often_it_is_there_get_one_prototype(times):
    X, y = np.random.default_rng(0).normal(size=(4, 2)), np.arange(4)
    model = LVQ1(n_prototypes="auto", random_state=0).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert model.prototype_labels_.tolist() == [0, 1, 2, 3]
