"""Prototypes inside the range of the data, and the training row nearest to each."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import protolearn
from problems import LEARNERS
from protolearn import LGMLVQ, LOGM, LPD, RSLVQ, load, save
from protolearn.core.prototypes import PrototypeSet
from protolearn.data import Blocks
from protolearn.metrics import METRICS
from protolearn.solvers import SOLVERS
from protolearn.solvers.inside import brought_inside

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)[:, :10]


def outside(model, data=X):
    positions = model.prototypes_
    return ((positions < data.min(axis=0)) | (positions > data.max(axis=0))).mean()


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("n_prototypes", [1, 4])
def test_no_prototype_is_outside(name, n_prototypes):
    model = getattr(protolearn, name)(n_prototypes, max_iter=20, random_state=0).fit(X, Y)
    assert outside(model) == 0
    # LVQ2.1 and LVQ3 drift away in so many epochs, inside or not.
    assert model.score(X, Y) > (0.7 if name in ("LVQ21", "LVQ3") else 0.85)


@pytest.mark.parametrize("solver", list(dict(SOLVERS.items())))
@pytest.mark.parametrize("n_prototypes", [1, 8])
def test_every_solver_keeps_inside(solver, n_prototypes):
    model = LPD(n_prototypes) if solver == "batch_sum" else RSLVQ(n_prototypes, solver=solver)
    model.set_params(max_iter=40, random_state=0).fit(X, Y)
    assert outside(model) == 0
    assert model.score(X, Y) > 0.85


@pytest.mark.parametrize(("metric", "n_prototypes"), [("euclidean", 3), ("relevance", 1), ("omega", 1)])
def test_shrinking_moves_no_border(metric, n_prototypes):
    settings = {"metric": metric, "solver": "lbfgs", "max_iter": 30, "random_state": 0}
    free = LOGM(n_prototypes, bounds=None, **settings).fit(X, Y)
    kept = LOGM(n_prototypes, **settings).fit(X, Y)
    assert outside(free) > 0
    assert outside(kept) == 0
    np.testing.assert_array_equal(kept.predict(X), free.predict(X))
    np.testing.assert_allclose(kept.predict_proba(X), free.predict_proba(X), atol=1e-4)


def test_the_point_of_the_shrinking_is_equally_far_from_all():
    rng = np.random.default_rng(0)
    positions, labels = rng.normal(size=(3, 6)), np.array([0, 0, 1])
    metric = METRICS["euclidean"]
    given = PrototypeSet(positions, labels, np.empty((1, 0)), metric.slots(labels))
    found = brought_inside(given, metric, np.repeat([[[-1.0]], [[1.0]]], 6, axis=2))
    assert found.exact
    assert found.shrunk > 1
    # m' = o + (m - o) / k, so o = (k m' - m) / (k - 1), the same for every prototype.
    centre = (found.shrunk * found.prototypes.positions - positions) / (found.shrunk - 1)
    np.testing.assert_allclose(centre, np.repeat(centre[:1], 3, axis=0), atol=1e-6)
    apart = ((positions - centre[0]) ** 2).sum(axis=1)
    np.testing.assert_allclose(apart, apart[0], rtol=1e-5)


def test_where_nothing_is_equally_far_the_positions_learn_inside():
    free = LOGM(8, bounds=None, random_state=0).fit(X[:, :4], Y)
    kept = LOGM(8, random_state=0).fit(X[:, :4], Y)
    assert outside(free, X[:, :4]) > 0
    assert outside(kept, X[:, :4]) == 0
    assert kept.score(X[:, :4], Y) > free.score(X[:, :4], Y) - 0.02


def test_prototypes_that_are_inside_stay_as_they_are():
    free, kept = (LGMLVQ(bounds=bounds, random_state=0).fit(X, Y) for bounds in (None, "data"))
    assert outside(free) == 0
    assert free.prototypes_.tobytes() == kept.prototypes_.tobytes()


def test_a_constant_feature_and_sparse_rows():
    widened = np.c_[X, np.full(len(X), 2.5), np.where(X[:, 0] > 1, X[:, 0], 0.0)]
    model = LOGM(2, random_state=0).fit(widened, Y)
    np.testing.assert_allclose(model.prototypes_[:, 10], 2.5)
    assert outside(model, widened) == 0
    assert outside(RSLVQ(4, random_state=0).fit(sparse.csr_array(widened), Y), widened) == 0


def test_a_stream_has_no_bounds_and_goes_on_from_where_learning_was():
    rng = np.random.default_rng(0)
    blocks = np.array_split(rng.permutation(len(X)), 6)
    free, kept = (LOGM(8, bounds=bounds, shuffle=False, random_state=0).fit(X, Y) for bounds in (None, "data"))
    assert outside(free) > 0 == outside(kept)
    for rows in blocks:
        free.partial_fit(X[rows], Y[rows])
        kept.partial_fit(X[rows], Y[rows])
    np.testing.assert_allclose(kept.prototypes_, free.prototypes_)
    np.testing.assert_allclose(kept.predict_proba(X), free.predict_proba(X))
    assert kept.prototype_cases_ is None


def test_learning_goes_on_from_where_the_prototypes_were(tmp_path):
    """Thirty fits of one epoch that shrink the prototypes each time lead where the same fits without bounds lead."""
    free = LOGM(bounds=None, max_iter=1, warm_start=True, random_state=0)
    kept = LOGM(max_iter=1, warm_start=True, random_state=0)
    for _ in range(30):
        free.fit(X, Y)
        kept.fit(X, Y)
    np.testing.assert_allclose(kept._free_positions, free.prototypes_)
    save(kept, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.prototype_cases_, kept.prototype_cases_)
    np.testing.assert_array_equal(again.fit(X, Y).prototypes_, kept.fit(X, Y).prototypes_)


def test_blocks_stay_inside_and_have_no_cases():
    pieces = [(X[rows], Y[rows]) for rows in np.array_split(np.random.default_rng(1).permutation(len(X)), 3)]
    for n_prototypes in (1, 8):
        model = LOGM(n_prototypes, random_state=0).fit(Blocks(pieces))
        assert outside(model) == 0
        assert model.prototype_cases_ is None
        np.testing.assert_array_equal(model.data_min_, X.min(axis=0))


@pytest.mark.parametrize("model", [LOGM(3), LOGM(2, metric="omega"), LGMLVQ(2, scope="prototype")], ids=str)
def test_the_case_is_the_nearest_row_of_the_class(model):
    weight = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    model.set_params(random_state=0).fit(X, Y, sample_weight=weight)
    D = model.transform(X)
    D[weight == 0] = np.inf
    for i, label in enumerate(model.prototype_labels_):
        own = np.where(label == Y, D[:, i], np.inf)
        assert own[model.prototype_cases_[i]] <= own.min() * (1 + 1e-9)
        assert weight[model.prototype_cases_[i]] > 0


def outside_the_class(model, rows, labels):
    """Prototypes beyond the values that a tenth of their class is below, and a tenth above."""
    found = []
    for code in np.unique(labels):
        own = rows[labels == code]
        low, high = np.quantile(own, [0.1, 0.9], axis=0, method="inverted_cdf")
        low, high = np.minimum(low, own.mean(axis=0)), np.maximum(high, own.mean(axis=0))
        mine = model.prototypes_[model.prototype_labels_ == code]
        found.append(((mine < low - 1e-9) | (mine > high + 1e-9)).ravel())
    return np.concatenate(found).mean()


@pytest.mark.parametrize("solver", ["online", "lbfgs", "gradient", "adam"])
@pytest.mark.parametrize("n_prototypes", [1, 3])
def test_prototypes_stay_in_the_middle_of_their_class(solver, n_prototypes):
    whole = LOGM(n_prototypes, solver=solver, max_iter=40, random_state=0).fit(X, Y)
    model = LOGM(n_prototypes, solver=solver, max_iter=40, bounds="class", random_state=0).fit(X, Y)
    assert outside_the_class(whole, X, Y) > 0
    assert outside_the_class(model, X, Y) == 0
    assert model.score(X, Y) > whole.score(X, Y) - 0.02


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_stays_in_the_middle_of_its_classes(name):
    model = getattr(protolearn, name)(2, max_iter=20, bounds="class", random_state=0).fit(X, Y)
    assert outside_the_class(model, X, Y) == 0
    assert model.score(X, Y) > (0.7 if name in ("LVQ21", "LVQ3") else 0.85)


def test_such_prototypes_are_nearer_to_the_rows_of_their_class():
    def far(model):
        places = zip(model.prototype_labels_, model.prototypes_, strict=True)
        return [np.linalg.norm(X[label == Y] - place, axis=1).min() for label, place in places]

    free, data, middle = (LOGM(3, bounds=bounds, random_state=0).fit(X, Y) for bounds in (None, "data", "class"))
    assert np.mean(far(middle)) < 0.8 * min(np.mean(far(data)), np.mean(far(free)))


def test_a_row_of_weight_two_is_that_row_twice_in_the_middle_of_its_class():
    weight = 1.0 + np.arange(len(X)) % 2
    once = LOGM(2, bounds="class", random_state=0).fit(X, Y, sample_weight=weight)
    twice = LOGM(2, bounds="class", random_state=0).fit(
        np.repeat(X, weight.astype(int), 0), np.repeat(Y, weight.astype(int))
    )
    np.testing.assert_allclose(once.prototypes_, twice.prototypes_, atol=1e-8)


@pytest.mark.parametrize(
    "rows", [sparse.csr_array(X), Blocks([(X[::2], Y[::2]), (X[1::2], Y[1::2])])], ids=["sparse", "blocks"]
)
def test_the_middle_of_a_class_needs_its_rows(rows):
    with pytest.raises(ValueError, match="bounds='class' needs the rows of each class"):
        LOGM(bounds="class").fit(rows, None if isinstance(rows, Blocks) else Y)


def test_bad_bounds():
    with pytest.raises(ValueError, match="bounds must be"):
        LOGM(bounds="box").fit(X, Y)
