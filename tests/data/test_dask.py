"""Dask: the same results as on one machine, with threads and with processes, whatever happens to a worker."""

import os
import signal
import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import protolearn
from protolearn import GLVQ, GMLVQ, LVQ1, OLVQ1, MixtGauss, PrototypeClassifier, WilsonEditing
from protolearn.compare.comparison import compare
from protolearn.data import Blocks

DIFFERENTIABLE = [
    "GLVQ", "GRLVQ", "GMLVQ", "LGMLVQ", "MCE", "SNPC", "MAXP1", "RSLVQ", "RSLVQ1", "LOGM", "LPD", "Learn1NN",
    "PrototypeClassifier",
]  # fmt: skip


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(1)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 600)]
    return rng.normal(size=(600, 4)) + 2.0 * rng.normal(size=(3, 4))[np.searchsorted(["a", "b", "c"], y)], y


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def as_dask(X, y, size=150):
    return da.from_array(X, chunks=(size, X.shape[1])), da.from_array(y, chunks=size)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_lbfgs_finds_what_it_finds_in_memory(name, problem):
    X, y = problem
    options = {"solver": "lbfgs", "max_iter": 8, "random_state": 0, "n_prototypes": 2}
    one = getattr(protolearn, name)(**options).fit(X, y)
    other = getattr(protolearn, name)(**options).fit(*as_dask(X, y))
    assert other.loss_curve_[-1] == pytest.approx(one.loss_curve_[-1], abs=1e-6)
    np.testing.assert_allclose(other.prototypes_, one.prototypes_, atol=1e-6)
    assert other.classes_.tolist() == ["a", "b", "c"]


def test_predictions_are_lazy_and_the_score_is_a_number(problem):
    X, y = problem
    dX, dy = as_dask(X, y)
    model = GMLVQ(solver="lbfgs", max_iter=5).fit(dX, dy)
    for name in ("predict", "predict_proba", "decision_function", "transform"):
        lazy = getattr(model, name)(dX)
        expected = getattr(model, name)(X)
        assert isinstance(lazy, da.Array)
        assert (lazy.shape, lazy.dtype, lazy.chunks[0]) == (expected.shape, expected.dtype, dX.chunks[0])
        np.testing.assert_array_equal(lazy.compute(), expected)
    weight = np.linspace(0.0, 1.0, len(y))
    assert model.score(dX, dy) == pytest.approx(model.score(X, y))
    assert model.score(dX, dy, da.from_array(weight, chunks=100)) == pytest.approx(model.score(X, y, weight))


def test_data_frames(problem):
    X, y = problem
    frame = pd.DataFrame(X, columns=list("wxyz")).assign(label=y)
    parts = dd.from_pandas(frame, npartitions=4)
    model = GLVQ(solver="lbfgs", max_iter=5).fit(parts[list("wxyz")], parts["label"])
    expected = GLVQ(solver="lbfgs", max_iter=5).fit(frame[list("wxyz")], frame["label"])
    np.testing.assert_allclose(model.prototypes_, expected.prototypes_, atol=1e-6)
    assert model.feature_names_in_.tolist() == list("wxyz")
    found = model.predict(parts[list("wxyz")])
    np.testing.assert_array_equal(found.compute(), expected.predict(frame[list("wxyz")]))
    assert model.score(parts[list("wxyz")], parts["label"]) == expected.score(frame[list("wxyz")], y)


def test_chunks_of_every_shape(problem):
    X, y = problem
    expected = GLVQ(solver="lbfgs", max_iter=5).fit(X, y)
    across = da.from_array(X, chunks=(200, 2))
    for given in (
        (across, da.from_array(y, chunks=130)),
        (across, y),
        (across, da.from_array(y[:, None], chunks=(200, 1))),
        (dd.from_pandas(pd.DataFrame(X), npartitions=3).values, dd.from_pandas(pd.Series(y), npartitions=3)),
    ):
        model = GLVQ(solver="lbfgs", max_iter=5).fit(*given)
        np.testing.assert_allclose(model.prototypes_, expected.prototypes_, atol=1e-6)
    weight = np.arange(600) % 3
    one = GLVQ(solver="lbfgs", max_iter=5).fit(X, y, sample_weight=weight)
    other = GLVQ(solver="lbfgs", max_iter=5).fit(*as_dask(X, y), sample_weight=da.from_array(weight, chunks=600))
    np.testing.assert_allclose(other.prototypes_, one.prototypes_, atol=1e-6)


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ("nan", "Block 17 of X contains NaN; remove or mend these rows."),
        ("columns", "Block 17 has 2 columns and block 16 has 3; give every block the same columns."),
        ("empty", "Block 17 is empty; leave it out, or divide the rows into other blocks."),
        ("labels", r"Block 17 has 20 rows and labels of shape \(19,\)"),
    ],
)
def test_bad_blocks_are_named(case, sentence):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(20, 3)) for _ in range(20)]
    y = [rng.integers(0, 2, 20) for _ in range(20)]
    if case == "nan":
        X[17][3, 1] = np.nan
    elif case == "columns":
        X[17] = X[17][:, :2]
    elif case == "empty":
        X[17], y[17] = X[17][:0], y[17][:0]
    else:
        y[17] = y[17][:-1]
    # The lengths that the collections claim, as a careless from_delayed makes them.
    blocks = [da.from_delayed(dask.delayed(part), (np.nan, 3), dtype=float) for part in X]
    labels = [da.from_delayed(dask.delayed(part), (np.nan,), dtype=int) for part in y]
    joined = (da.concatenate(part, allow_unknown_chunksizes=True) for part in (blocks, labels))
    with pytest.raises(ValueError, match=sentence):
        GLVQ(solver="lbfgs").fit(*joined)


def test_unknown_chunk_sizes_that_do_not_match(problem):
    X, y = problem
    unknown = dd.from_pandas(pd.DataFrame(X), npartitions=3).values
    with pytest.raises(ValueError, match="X has 3 blocks and y has 5, of unknown lengths"):
        GLVQ().fit(unknown, da.from_array(y, chunks=120))
    with pytest.raises(ValueError, match=r"y is in memory and the lengths of X's blocks are unknown"):
        GLVQ().fit(unknown, y)
    with pytest.raises(ValueError, match="X has 600 rows and y 599"):
        GLVQ().fit(da.from_array(X, chunks=(100, 4)), da.from_array(y[:-1], chunks=100))
    with pytest.raises(ValueError, match="requires y to be passed"):
        GLVQ().fit(da.from_array(X, chunks=(100, 4)))
    with pytest.raises(ValueError, match="1 dimensions"):
        GLVQ().fit(da.from_array(X[:, 0], chunks=100), y)
    with pytest.raises(ValueError, match="y must have one column"):
        GLVQ().fit(da.from_array(X, chunks=(100, 4)), da.from_array(X, chunks=(100, 4)))


def test_a_class_in_one_block_only(problem):
    X, y = problem
    order = np.argsort(y == "c", kind="stable")
    X, y = X[order], y[order]
    cuts = (150, 150, len(y) - 300 - int((y == "c").sum()), int((y == "c").sum()))
    dX, dy = da.from_array(X, chunks=(cuts, 4)), da.from_array(y, chunks=(cuts,))
    one, other = (GLVQ(solver="lbfgs", max_iter=5).fit(*given) for given in ((X, y), (dX, dy)))
    np.testing.assert_allclose(other.prototypes_, one.prototypes_, atol=1e-6)
    with pytest.warns(UserWarning, match="Class c is in block 3 only"):
        GLVQ(max_iter=2).fit(dX, dy)


@pytest.mark.parametrize("model", [GLVQ, LVQ1, OLVQ1, GMLVQ])
def test_averaged_rounds_come_near_one_machine(model, problem):
    X, y = problem
    one, other = (model(max_iter=30, random_state=0).fit(*given) for given in ((X, y), as_dask(X, y)))
    assert abs(one.score(X, y) - other.score(X, y)) < 0.02
    again = model(max_iter=30, random_state=0).fit(*as_dask(X, y))
    np.testing.assert_array_equal(again.prototypes_, other.prototypes_)


def test_one_walk_is_the_same_as_blocks_one_by_one(problem):
    X, y = problem
    parts = [(X[start : start + 150], y[start : start + 150]) for start in range(0, 600, 150)]
    one = GLVQ(max_iter=5, random_state=0).fit(Blocks(parts))
    with dask.config.set(scheduler="synchronous"):
        other = GLVQ(max_iter=5, random_state=0).fit(*as_dask(X, y))
    np.testing.assert_allclose(other.prototypes_, one.prototypes_, rtol=1e-9)


def test_divergence_on_a_cluster_is_told(problem):
    X, y = problem
    with pytest.warns(ConvergenceWarning, match="Learning diverged in epoch 1"):
        model = PrototypeClassifier(loss="logm", learning_rate=1e9, max_iter=3).fit(*as_dask(X, y))
    assert np.isfinite(model.prototypes_).all()


def test_adam_on_sums_over_blocks(problem):
    X, y = problem
    one, other = (GLVQ(solver="adam", max_iter=30, random_state=0).fit(*given) for given in ((X, y), as_dask(X, y)))
    assert other.loss_curve_[-1] == pytest.approx(one.loss_curve_[-1], rel=0.05)


def test_a_loss_of_the_user_on_processes(client, problem):
    X, y = problem

    def hinge(d_own, d_rival, slope):
        margin = slope * (d_rival - d_own)
        if margin >= 1.0:
            return 0.0, 0.0, 0.0
        return 1.0 - margin, slope, -slope

    options = {"loss": hinge, "solver": "lbfgs", "max_iter": 5}
    one, other = (PrototypeClassifier(**options).fit(*given) for given in ((X, y), as_dask(X, y)))
    np.testing.assert_allclose(other.prototypes_, one.prototypes_, atol=1e-6)


def test_a_killed_worker_changes_nothing(client, problem):
    rng = da.random.default_rng(0)
    y = rng.integers(0, 2, size=4000, chunks=500)
    X = rng.normal(size=(4000, 6), chunks=(500, 6)) + 2.0 * y[:, None]
    options = {"solver": "lbfgs", "max_iter": 6, "tol": 0.0, "random_state": 0}
    undisturbed = GLVQ(**options).fit(X, y)
    killed = []

    def kill_one(epoch, loss, positions):
        if epoch == 2:
            pids = client.run(os.getpid)
            killed.append(pids[sorted(pids)[0]])
            os.kill(killed[0], signal.SIGKILL)

    X, y = client.persist([X, y])
    disturbed = GLVQ(callback=kill_one, **options).fit(X, y)
    assert killed
    assert killed[0] not in client.run(os.getpid).values()
    np.testing.assert_allclose(disturbed.prototypes_, undisturbed.prototypes_, rtol=1e-9)
    np.testing.assert_allclose(disturbed.loss_curve_, undisturbed.loss_curve_, rtol=1e-9)


def test_reducers_on_processes(client, problem):
    X, y = problem
    dX, dy = as_dask(X, y)
    one, other = (MixtGauss(random_state=0).fit(*given) for given in ((X, y), (dX, dy)))
    np.testing.assert_allclose(other.means_, one.means_)
    assert other.score(dX, dy) == one.score(X, y)
    editing = WilsonEditing(3)
    X_left, y_left = editing.fit_resample(dX, dy)
    rows = WilsonEditing(3).fit(X, y).sample_indices_
    np.testing.assert_array_equal(editing.sample_indices_.compute(), rows)
    np.testing.assert_array_equal(X_left.compute(), X[rows])
    np.testing.assert_array_equal(y_left.compute(), y[rows])
    trained = GLVQ(solver="lbfgs", max_iter=5).fit(X_left, y_left)
    np.testing.assert_allclose(
        trained.prototypes_, GLVQ(solver="lbfgs", max_iter=5).fit(X[rows], y[rows]).prototypes_, atol=1e-6
    )


def test_editing_keeps_a_class_and_does_not_classify():
    X = np.array([[0.0], [0.1], [0.2], [0.15], [5.0], [5.1]])
    y = np.array([0, 0, 0, 1, 0, 0])
    with pytest.warns(UserWarning, match="Editing would remove every sample of class 1"):
        editing = WilsonEditing(3).fit(da.from_array(X, chunks=(2, 1)), da.from_array(y, chunks=2))
    assert editing.sample_indices_.compute().tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(TypeError, match="does not classify by it"):
        editing.predict(X)
    with pytest.raises(ValueError, match="with a number of neighbours"):
        WilsonEditing("auto").fit(da.from_array(X, chunks=(2, 1)), da.from_array(y, chunks=2))


def test_data_frames_are_edited_to_data_frames(problem):
    X, y = problem
    parts = dd.from_pandas(pd.DataFrame(X, columns=list("wxyz")).assign(label=y), npartitions=3)
    left, labels = WilsonEditing(3).fit_resample(parts[list("wxyz")], parts["label"])
    rows = WilsonEditing(3).fit(X, y).sample_indices_
    assert left.columns.tolist() == list("wxyz")
    np.testing.assert_array_equal(left.compute().to_numpy(), X[rows])
    np.testing.assert_array_equal(labels.compute(), y[rows])


def test_a_grid_search_runs_on_the_cluster_through_joblib(client, problem):
    X, y = problem
    search = GridSearchCV(GLVQ(max_iter=5, random_state=0), {"n_prototypes": [1, 2]}, cv=2)
    alone = search.fit(X, y).cv_results_["mean_test_score"]
    with parallel_config(backend="dask"):
        np.testing.assert_array_equal(search.fit(X, y).cv_results_["mean_test_score"], alone)


def test_compare_runs_on_the_cluster_through_joblib(client, problem):
    options = {"methods": ["1-NN", "NearestPrototype"], "folds": 2}
    alone = compare(*problem, jobs=1, **options)
    with parallel_config(backend="dask"):
        together = compare(*problem, jobs=2, **options)
    for key in ("method", "fold", "accuracy", "prototypes", "error"):
        assert [row[key] for row in together] == [row[key] for row in alone]


def test_without_dask_everything_else_works():
    code = """
import sys
sys.modules["dask"] = None
import numpy as np, protolearn
from protolearn.data import Blocks
X = np.arange(20.0).reshape(10, 2); y = np.arange(10) // 5
assert protolearn.GLVQ(max_iter=2).fit(X, y).score(X, y) == 1.0
assert protolearn.GLVQ(max_iter=2).fit(Blocks([(X, y)])).score(X, y) == 1.0
try:
    import protolearn.data.dask
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Dask arrays and data frames need dask: pip install protolearn[dask]."
