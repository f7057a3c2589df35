"""What must not change: order of rows, features and classes, units, number type, seed, weights against copies."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import protolearn
from problems import ENGINE, LEARNERS
from protolearn import GLVQ, GMLVQ, LOGM, RSLVQ, PrototypeClassifier
from protolearn.data import TrainingSet

FAST = {"max_iter": 15, "random_state": 0}


# A shuffle depends on the content of the rows, hence on their unit: what compares units shows the rows as they stand.
IN_ORDER = {"shuffle": False, "n_prototypes": 1}


def make(name, **options):
    return getattr(protolearn, name)(**{**FAST, "n_prototypes": 2, **options})


@pytest.mark.parametrize("name", LEARNERS)
def test_same_seed_same_bits(name, blobs):
    assert make(name).fit(*blobs).prototypes_.tobytes() == make(name).fit(*blobs).prototypes_.tobytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_order_of_the_rows_does_not_matter(name, blobs):
    X, y = blobs
    order = np.random.default_rng(5).permutation(len(y))
    np.testing.assert_allclose(make(name).fit(X[order], y[order]).prototypes_, make(name).fit(X, y).prototypes_)


@pytest.mark.parametrize("name", LEARNERS)
def test_weight_two_is_the_row_twice(name, blobs):
    X, y = blobs
    weight = np.random.default_rng(5).integers(0, 3, len(y)).astype(float)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    options = {"n_prototypes": 1}
    weighted = make(name, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.prototypes_, make(name, **options).fit(X[copies], y[copies]).prototypes_)


@pytest.mark.parametrize("solver", ["gradient", "lbfgs"])
@pytest.mark.parametrize("loss", ["logm", "glvq_sigmoid", "rslvq"])
def test_weight_two_is_the_row_twice_in_batch(solver, loss, blobs):
    X, y = blobs
    weight = np.where(np.arange(len(y)) % 2, 2.0, 1.0)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    model = PrototypeClassifier(1, loss=loss, solver=solver, max_iter=10)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.prototypes_, clone(model).fit(X[copies], y[copies]).prototypes_, rtol=1e-6)


@pytest.mark.parametrize("name", LEARNERS)
def test_order_of_the_features_does_not_matter(name, blobs):
    X, y = blobs
    order = [2, 0, 3, 1]
    model = make(name, **IN_ORDER)
    np.testing.assert_allclose(
        clone(model).fit(X[:, order], y).prototypes_, clone(model).fit(X, y).prototypes_[:, order], rtol=1e-7
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_names_of_the_classes_do_not_matter(name, blobs):
    X, y = blobs
    names = np.array(["ant", "bee", "cat"])
    model = make(name).fit(X, names[y])
    np.testing.assert_array_equal(model.predict(X), names[make(name).fit(X, y).predict(X)])
    assert list(model.classes_) == list(names)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_unit_of_the_features_does_not_matter(name, unit, blobs):
    X, y = blobs
    model = make(name, **IN_ORDER)
    np.testing.assert_allclose(
        clone(model).fit(unit * X, y).prototypes_,
        unit * clone(model).fit(X, y).prototypes_,
        rtol=1e-5,
        atol=1e-7 * unit,
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_far_from_the_origin(name, blobs):
    X, y = blobs
    near, far = make(name, **IN_ORDER).fit(X, y), make(name, **IN_ORDER).fit(X + 1e5, y)
    np.testing.assert_allclose(far.prototypes_ - 1e5, near.prototypes_, atol=1e-3)
    np.testing.assert_array_equal(far.predict(X + 1e5), near.predict(X))


@pytest.mark.parametrize("name", ENGINE)
def test_float32_stays_and_agrees(name, blobs):
    X, y = blobs
    options = {} if name == "NearestPrototype" else {"max_iter": 5, "shuffle": False}
    double = getattr(protolearn, name)(random_state=0, **options).fit(X, y)
    single = getattr(protolearn, name)(random_state=0, **options).fit(X.astype(np.float32), y)
    assert single.prototypes_.dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.prototypes_, double.prototypes_, atol=2e-4)


@pytest.mark.parametrize("name", ENGINE)
def test_probabilities(name, blobs):
    X, y = blobs
    model = getattr(protolearn, name)(n_prototypes=2, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert (P >= 0).all()
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))
    nearest = ((X[:, None] - model.prototypes_) ** 2).sum(axis=2).argmin(axis=1)
    if not hasattr(model, "relevances_") and not hasattr(model, "omega_"):
        np.testing.assert_array_equal(model.prototype_labels_[nearest], model.predict(X))


@pytest.mark.parametrize("name", LEARNERS)
def test_sparse_is_dense(name, blobs):
    X, y = blobs
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense, thin = make(name).fit(X, y), make(name).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.prototypes_, dense.prototypes_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(thin.predict(sparse.csr_array(X)), dense.predict(X))


def test_read_only_and_memory_mapped(tmp_path, blobs):
    X, y = blobs
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(make("LOGM").fit(mapped, y).prototypes_, make("LOGM").fit(X, y).prototypes_)


@pytest.mark.parametrize("name", LEARNERS)
def test_pickle_keeps_the_predictions(name, blobs):
    X, y = blobs
    model = make(name).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.partial_fit(X, y)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_keep_their_names(frame, blobs):
    X, y = blobs
    module = pytest.importorskip(frame)
    data = module.DataFrame({f"f{j}": X[:, j] for j in range(4)})
    model = make("LOGM").fit(data, y)
    assert list(model.feature_names_in_) == ["f0", "f1", "f2", "f3"]
    np.testing.assert_array_equal(model.predict(data), make("LOGM").fit(X, y).predict(X))
    wide = model.set_output(transform=frame).transform(data)
    assert list(wide.columns)[:2] == ["logm0", "logm1"]


def test_loss_falls():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    for method in (LOGM, GLVQ, RSLVQ):
        curve = method(n_prototypes=2, random_state=0, max_iter=20).fit(X, y).loss_curve_
        assert len(curve) == 20
        assert curve[-1] < 0.8 * curve[0]


def test_gmlvq_transform_is_the_map(blobs):
    X, y = blobs
    model = GMLVQ(n_components=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.transform(X), X @ model.omega_.T)
    assert model.omega_.shape == (2, 4)
    assert np.sum(model.omega_**2) == pytest.approx(1.0)
    assert list(model.get_feature_names_out()) == ["gmlvq0", "gmlvq1"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_order_of_whole_numbers_does_not_depend_on_where_the_rows_stand(dtype):
    """Their bits end in zeros: a product of them with a factor of 64 bits keeps few."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(500, 3)).astype(dtype), np.zeros(500, dtype=np.int64)
    orders = [np.arange(500), rng.permutation(500)]
    found = [TrainingSet(X[order], y[order], None, 1) for order in orders]
    first, other = (data.rows(data.content_order) for data in found)
    np.testing.assert_array_equal(first, other)
    assert np.sum((first[1:] != first[:-1]).any(axis=1)) + 1 == len(np.unique(X, axis=0))
