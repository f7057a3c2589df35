"""Reducers in the hands of users: pipelines, containers, bad input."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.pipeline import Pipeline
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import protolearn
from protolearn import ChenCondensing, HartCondensing, MixtGauss, WilsonEditing

SELECTORS = [WilsonEditing(), HartCondensing()]
GENERATORS = [ChenCondensing(5), MixtGauss(5, random_state=0)]
REDUCERS = SELECTORS + GENERATORS


def named(reducer):
    return type(reducer).__name__


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("reducer", REDUCERS, ids=named)
@pytest.mark.parametrize("final", [KNeighborsClassifier(1), LogisticRegression()], ids=named)
def test_in_a_pipeline_before_any_classifier(reducer, final, iris):
    steps = Pipeline([("scale", StandardScaler()), ("reduce", reducer), ("classify", final)])
    assert cross_val_score(steps, *iris, cv=5).mean() > 0.85
    fitted = steps.fit(*iris)
    assert fitted.named_steps["reduce"].reduction_ > 0


def test_editing_then_condensing_in_a_pipeline_with_a_search(iris):
    steps = Pipeline([("edit", WilsonEditing("auto", random_state=0)), ("condense", MixtGauss(random_state=0))])
    search = GridSearchCV(steps, {"condense__n_prototypes": [1, 3], "edit__n_neighbors": [3, "auto"]}, cv=3)
    assert search.fit(*iris).best_score_ > 0.9


@pytest.mark.parametrize("reducer", REDUCERS, ids=named)
def test_predicts_as_1nn_on_what_it_returns(reducer, iris):
    X, y = iris
    kept, labels = reducer.fit_resample(X, y)
    assert len(kept) == len(labels) < len(y)
    assert reducer.reduction_ == pytest.approx(1 - len(labels) / len(y))
    expected = KNeighborsClassifier(1).fit(kept, labels).predict(X)
    assert (reducer.predict(X) == expected).mean() > 0.99


@pytest.mark.parametrize("reducer", SELECTORS, ids=named)
def test_selectors_say_which_rows_they_keep(reducer, iris):
    X, y = iris
    kept, labels = reducer.fit_resample(X, y)
    np.testing.assert_array_equal(kept, X[reducer.sample_indices_])
    np.testing.assert_array_equal(labels, y[reducer.sample_indices_])
    assert (np.diff(reducer.sample_indices_) > 0).all()
    assert not np.shares_memory(kept, X)


@pytest.mark.parametrize("reducer", GENERATORS, ids=named)
def test_generators_say_which_samples_a_prototype_stands_for(reducer, iris):
    made, _ = reducer.fit_resample(*iris)
    assert not np.shares_memory(made, reducer.prototypes_)
    assert reducer.sample_prototypes_.shape == (150,)
    assert set(reducer.sample_prototypes_) <= set(range(len(reducer.prototypes_)))


@pytest.mark.parametrize("reducer", REDUCERS, ids=named)
def test_frames_stay_frames(reducer, iris):
    X, y = iris
    columns = ["a", "b", "c", "d"]
    names = np.array(["x", "y", "z"])[y]
    expected, labels = reducer.fit_resample(X, names)
    frame, series = reducer.fit_resample(pd.DataFrame(X, columns=columns), pd.Series(names, name="kind"))
    assert list(frame.columns) == columns
    assert series.name == "kind"
    np.testing.assert_allclose(frame.to_numpy(), expected)
    np.testing.assert_array_equal(series.to_numpy(), labels)
    frame, series = reducer.fit_resample(pl.DataFrame(X, schema=columns), pl.Series("kind", names))
    assert frame.columns == columns
    assert series.name == "kind"
    np.testing.assert_allclose(frame.to_numpy(), expected)
    np.testing.assert_array_equal(series.to_numpy(), labels)


@pytest.mark.parametrize("reducer", REDUCERS, ids=named)
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_stays_sparse(reducer, container, iris):
    X, y = iris
    expected, _ = reducer.fit_resample(X, y)
    kept, _ = reducer.fit_resample(container(X), y)
    assert sparse.issparse(kept)
    np.testing.assert_allclose(kept.toarray(), expected, atol=1e-9)


@pytest.mark.parametrize("reducer", REDUCERS, ids=named)
def test_lists_and_read_only_arrays(reducer, iris):
    X, y = iris
    expected, _ = reducer.fit_resample(X, y)
    np.testing.assert_array_equal(reducer.fit_resample(X.tolist(), y.tolist())[0], expected)
    X.setflags(write=False)
    np.testing.assert_array_equal(reducer.fit_resample(X, y)[0], expected)


@pytest.mark.parametrize("reducer", REDUCERS, ids=named)
def test_float32_stays_float32(reducer, iris):
    X, y = iris
    assert reducer.fit(X.astype(np.float32), y).prototypes_.dtype == np.float32


@pytest.mark.parametrize("reducer", REDUCERS, ids=named)
def test_one_class_is_refused(reducer, iris):
    X, y = iris
    with pytest.raises(ValueError, match="needs two classes"):
        reducer.fit(X[:50], y[:50])


@pytest.mark.filterwarnings("ignore:Class", "ignore:Editing")
@pytest.mark.parametrize("reducer", REDUCERS, ids=named)
def test_two_samples_are_enough(reducer):
    X, y = np.array([[0.0], [1.0]]), np.array(["a", "b"])
    np.testing.assert_array_equal(reducer.fit(X, y).predict(X), y)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def mapped(X, folder):
    path = folder / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize("name", sorted(set(protolearn.__all__) - {"save", "load"}))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [3, 20])
def test_every_layout_of_the_same_rows_gives_the_same_model(name, dtype, n_features, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, n_features)).astype(dtype), np.arange(60) % 3
    X[:, 0] += 2 * y
    short = {"max_iter": 3, "rounds": 1, "epochs": 2, "members": 1, "cv": 2, "random_state": 0}
    kind = getattr(protolearn, name)

    def answer(rows):
        model = kind(**{key: value for key, value in short.items() if key in kind().get_params()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(rows, y).transform(rows) if name == "LMNN" else model.fit(rows, y).predict_proba(rows)

    usual = answer(X)
    wide = np.repeat(X, 2, axis=1)
    layouts = [read_only(X), np.asfortranarray(X), read_only(np.asfortranarray(X)), wide[:, ::2], X[::-1][::-1]]
    layouts += [mapped(X, tmp_path), pd.DataFrame(X)]
    if get_tags(kind()).input_tags.sparse:
        layouts.append(sparse.csr_array(X))
        frozen = sparse.csr_array(X)
        for part in (frozen.data, frozen.indices, frozen.indptr):
            part.flags.writeable = False
        layouts.append(frozen)
    for rows in layouts:
        np.testing.assert_allclose(answer(rows), usual, rtol=1e-3 if dtype == np.float32 else 1e-7, atol=1e-5)


@pytest.mark.parametrize("n_features", [15, 16, 25, 60])
@pytest.mark.parametrize("method", ["wilson", "repeated", "multi"])
def test_editing_takes_read_only_rows_of_any_width(n_features, method):
    X = read_only(np.random.default_rng(0).normal(size=(60, n_features)))
    y = np.arange(60) % 2
    for n_neighbors in (3, "auto"):
        editing = WilsonEditing(n_neighbors, method=method, random_state=0)
        kept = editing.fit(X, y).sample_indices_
        np.testing.assert_array_equal(kept, editing.fit(X.copy(), y).sample_indices_)
