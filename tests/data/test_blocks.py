"""Samples in blocks: the same sums as in memory, and one sentence that names the block where something is wrong."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from protolearn import GLVQ, GMLVQ, LPD, LVQ1, HartCondensing, Learn1NN, MixtGauss, NearestPrototype, WilsonEditing
from protolearn.data import BlockedSet, Blocks, ParquetBlocks, TrainingSet, blocked_set
from protolearn.data import blocks as blocks_module


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 600)
    return rng.normal(size=(600, 4)) + 2.0 * rng.normal(size=(3, 4))[y], y


def cut(X, y, size=150, weight=None):
    parts = [slice(start, start + size) for start in range(0, len(y), size)]
    return [(X[rows], y[rows]) if weight is None else (X[rows], y[rows], weight[rows]) for rows in parts]


def test_sums_and_moments_are_those_of_one_matrix(problem):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    whole = TrainingSet(X, y, weight, 3)
    data, _ = blocked_set(Blocks(cut(X, y, weight=weight)), lambda survey: None)
    assert isinstance(data, BlockedSet)
    np.testing.assert_allclose(data.mean, whole.mean)
    np.testing.assert_allclose(data.covariance, whole.covariance)
    assert data.squared_half_range == whole.squared_half_range
    np.testing.assert_array_equal(data.class_counts, whole.class_counts)
    assert data.total_weight == pytest.approx(whole.total_weight)
    assert (data.dtype, data.n_samples, data.n_features, data.n_classes) == (np.float64, 600, 4, 3)


def test_a_small_set_is_sampled_whole_and_a_large_one_by_class(problem):
    X, y = problem
    data, _ = blocked_set(Blocks(cut(X, y)), lambda survey: None)
    whole = data.on_sample(lambda sample: sample)
    np.testing.assert_array_equal(whole.X, X)
    many = np.tile(y, 4000)
    parts = Blocks(lambda: ((np.repeat(part[:, None], 8, axis=1), part) for part in np.array_split(many, 6)))
    data, _ = blocked_set(parts, lambda survey: None)
    sample = data.on_sample(lambda sample: sample)
    assert sample.n_samples == 3 * ((1 << 25) // (8 * 8 * 3))
    np.testing.assert_array_equal(sample.class_counts, sample.n_samples // 3)
    np.testing.assert_array_equal(sample.X[:, 0], sample.y)


@pytest.mark.parametrize("solver", ["lbfgs", "gradient"])
@pytest.mark.parametrize("model", [GLVQ, GMLVQ, Learn1NN, LPD])
def test_batch_solvers_find_what_they_find_in_memory(model, solver, problem):
    X, y = problem
    options = {"solver": solver, "max_iter": 10, "random_state": 0, "n_prototypes": 2}
    one, other = model(**options).fit(X, y), model(**options).fit(Blocks(cut(X, y)))
    np.testing.assert_allclose(other.prototypes_, one.prototypes_, atol=1e-6)
    assert other.loss_curve_[-1] == pytest.approx(one.loss_curve_[-1], rel=1e-9)
    np.testing.assert_array_equal(other.predict(Blocks(cut(X, y))), one.predict(X))
    assert other.score(Blocks(cut(X, y))) == one.score(X, y)


def test_lpds_own_descent_too(problem):
    X, y = problem
    one, other = (LPD(max_iter=20, random_state=0).fit(*given) for given in ((X, y), (Blocks(cut(X, y)),)))
    assert other.weights_start_ == one.weights_start_
    np.testing.assert_allclose(other.prototypes_, one.prototypes_, atol=1e-9)


@pytest.mark.parametrize("model", [GLVQ, LVQ1])
def test_unshuffled_rounds_are_the_online_method_step_for_step(model, problem):
    X, y = problem
    options = {"shuffle": False, "max_iter": 5, "random_state": 0}
    one, other = model(**options).fit(X, y), model(**options).fit(Blocks(cut(X, y)))
    np.testing.assert_allclose(other.prototypes_, one.prototypes_, rtol=1e-9)
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_)


@pytest.mark.parametrize("solver", ["online", "adam"])
def test_shuffled_solvers_come_as_near(solver, problem):
    X, y = problem
    one, other = (
        GLVQ(solver=solver, max_iter=30, random_state=0).fit(*given) for given in ((X, y), (Blocks(cut(X, y)),))
    )
    assert other.loss_curve_[-1] == pytest.approx(one.loss_curve_[-1], rel=0.05)


def test_weights_and_class_weights(problem):
    X, y = problem
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    options = {"solver": "lbfgs", "max_iter": 10, "class_weight": "balanced"}
    one = GLVQ(**options).fit(X, y, sample_weight=weight)
    other = GLVQ(**options).fit(Blocks(cut(X, y, weight=weight)))
    np.testing.assert_allclose(other.prototypes_, one.prototypes_, atol=1e-6)
    named = GLVQ(solver="lbfgs", class_weight={0: 2.0}).fit(Blocks(cut(X, y)))
    np.testing.assert_allclose(named.prototypes_, GLVQ(solver="lbfgs", class_weight={0: 2.0}).fit(X, y).prototypes_)


def test_held_out_rows_are_held_out(problem):
    X, y = problem
    data, _ = blocked_set(Blocks(cut(X, y)), lambda survey: None)
    kept, held = data.split(0.25, np.random.RandomState(0))
    assert kept.n_samples + held.n_samples == 600
    assert 100 < held.n_samples < 200
    np.testing.assert_array_equal(kept.class_counts + held.class_counts, data.class_counts)
    model = Learn1NN(keep="validation", max_iter=5, random_state=0).fit(Blocks(cut(X, y)))
    given = Learn1NN(keep="validation", max_iter=5, random_state=0).fit(Blocks(cut(X, y)), X_val=Blocks(cut(X, y, 300)))
    assert min(model.score(X, y), given.score(X, y)) > 0.85


def test_strings_sparse_rows_frames_and_float32(problem):
    X, y = problem
    names = np.array(["a", "bb", "ccc"])[y]
    expected = GLVQ(solver="lbfgs").fit(X, names)
    for convert in (sparse.csr_matrix, lambda part: pd.DataFrame(part, columns=list("wxyz"))):
        model = GLVQ(solver="lbfgs").fit(Blocks([(convert(part), label.tolist()) for part, label in cut(X, names)]))
        np.testing.assert_allclose(model.prototypes_, expected.prototypes_, atol=1e-6)
        np.testing.assert_array_equal(model.prototype_labels_, expected.prototype_labels_)
    assert model.feature_names_in_.tolist() == list("wxyz")
    single = GLVQ(solver="lbfgs").fit(Blocks(cut(X.astype(np.float32), y)))
    assert single.prototypes_.dtype == np.float32


def test_every_loss_can_start_from_blocks(problem):
    X, y = problem
    one, other = (NearestPrototype(2, random_state=0).fit(*given) for given in ((X, y), (Blocks(cut(X, y)),)))
    np.testing.assert_array_equal(one.prototypes_, other.prototypes_)
    with pytest.raises(ValueError, match='init="all"'):
        NearestPrototype(init="all").fit(Blocks(cut(X, y)))
    again = GLVQ(solver="lbfgs", max_iter=2, warm_start=True).fit(Blocks(cut(X, y)))
    before = again.loss_curve_[-1]
    assert again.fit(Blocks(cut(X, y))).loss_curve_[-1] <= before


def test_mixtures_are_those_of_one_matrix(problem):
    X, y = problem
    one, other = (MixtGauss(random_state=0).fit(*given) for given in ((X, y), (Blocks(cut(X, y)),)))
    np.testing.assert_allclose(other.means_, one.means_)
    np.testing.assert_allclose(other.variances_, one.variances_)
    assert other.n_iter_ == one.n_iter_
    assert not hasattr(other, "sample_prototypes_")


def spoiled(case):
    rng = np.random.default_rng(0)
    blocks = [(rng.normal(size=(20, 3)), rng.integers(0, 2, 20)) for _ in range(20)]
    X, y = blocks[17]
    if case == "nan":
        X[3, 1] = np.nan
    elif case == "infinity":
        X[3, 1] = np.inf
    elif case == "columns":
        blocks[17] = (X[:, :2], y)
    elif case == "empty":
        blocks[17] = (X[:0], y[:0])
    elif case == "labels":
        blocks[17] = (X, y[:-1])
    elif case == "kinds":
        blocks[17] = (X, np.array(["a"] * 20))
    elif case == "continuous":
        blocks[17] = (X, y + 0.5)
    elif case == "missing":
        blocks[17] = (X, np.where(y > 0, np.nan, 0.0))
    elif case == "nothing":
        blocks[17] = (X, np.array([None] * 20))
    elif case == "words":
        blocks[17] = (np.full((20, 3), "x"), y)
    elif case == "weights":
        blocks[17] = (X, y, np.full(20, -1.0))
    elif case == "few weights":
        blocks[17] = (X, y, np.ones(3))
    elif case == "not a pair":
        blocks[17] = [X, y]
    return blocks


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ("nan", "Block 17 of X contains NaN; remove or mend these rows."),
        ("infinity", "Block 17 of X contains infinity; remove or mend these rows."),
        ("columns", "Block 17 has 2 columns and block 0 has 3; give every block the same columns."),
        ("empty", "Block 17 is empty; leave it out, or divide the rows into other blocks."),
        ("labels", r"Block 17 has 20 rows and labels of shape \(19,\); give each row a label."),
        ("kinds", "The labels of block 17 are <U1 and those of block 0 are int64"),
        ("continuous", "block 17 of y is continuous"),
        ("missing", "Block 17 of y contains NaN"),
        ("nothing", "Block 17 of y contains a missing label"),
        ("words", "Block 17 of X is not a matrix of numbers"),
        ("weights", "sample_weight of block 17 must hold finite numbers of at least 0"),
        ("few weights", r"Block 17 has 20 rows and \(3,\) weights"),
        ("not a pair", "Block 17 is not a pair"),
    ],
)
def test_bad_blocks_are_named(case, sentence):
    with pytest.raises(ValueError, match=sentence):
        GLVQ(solver="lbfgs").fit(Blocks(spoiled(case)))


def test_a_class_in_one_block_only(problem):
    X, y = problem
    order = np.argsort(y == 2, kind="stable")
    X, y = X[order], y[order]
    last = len(y) - int((y == 2).sum())
    parts = [*cut(X[:last], y[:last]), (X[last:], y[last:])]
    model = GLVQ(solver="lbfgs", max_iter=10).fit(Blocks(parts))
    np.testing.assert_allclose(model.prototypes_, GLVQ(solver="lbfgs", max_iter=10).fit(X, y).prototypes_, atol=1e-6)
    with pytest.warns(UserWarning, match=f"Class 2 is in block {len(parts) - 1} only"):
        GLVQ(max_iter=2).fit(Blocks(parts))


def test_what_is_no_source_of_blocks(problem):
    X, y = problem
    with pytest.raises(ValueError, match="an iterator only once"):
        Blocks(iter(cut(X, y)))
    with pytest.raises(TypeError, match="something to iterate over"):
        Blocks(3)
    with pytest.raises(ValueError, match="There are no blocks"):
        GLVQ(solver="lbfgs").fit(Blocks([]))
    with pytest.raises(ValueError, match="Blocks hold y"):
        GLVQ(solver="lbfgs").fit(Blocks(cut(X, y)), y)
    with pytest.raises(ValueError, match="two classes; y has one class, 0"):
        GLVQ(solver="lbfgs").fit(Blocks(cut(X, np.zeros(600, int))))
    with pytest.raises(ValueError, match="no row with a weight above zero"):
        GLVQ(solver="lbfgs").fit(Blocks(cut(X, y, weight=np.zeros(600))))
    with pytest.raises(ValueError, match="one value for each of the 600 rows"):
        Blocks.of_arrays(X, y[:-1])


@pytest.mark.parametrize("model", [HartCondensing(), WilsonEditing(method="repeated")])
def test_what_compares_samples_needs_them_in_memory(model, problem):
    with pytest.raises(TypeError, match="needs samples in memory"):
        model.fit(Blocks(cut(*problem)), None)


def test_blocks_that_change_between_two_passes_are_noticed(problem):
    X, y = problem
    passes = iter(range(100))

    def parts():
        late = next(passes) > 2
        yield from cut(X, y)[:-1]
        yield X[:10], np.where(late, 9, y[:10])

    with pytest.raises(ValueError, match="Block 3 holds class 9, which it did not have before"):
        GLVQ(solver="lbfgs").fit(Blocks(parts))


def test_predictions_name_the_block_too(problem):
    X, y = problem
    model = GLVQ(solver="lbfgs", max_iter=3).fit(X, y)
    bad = X.copy()
    bad[320] = np.nan
    with pytest.raises(ValueError, match="Block 2: Input X contains NaN"):
        model.predict(Blocks.of_arrays(bad, rows=150))
    np.testing.assert_array_equal(model.predict_proba(Blocks.of_arrays(X, rows=100)), model.predict_proba(X))


def test_read_only_weights_of_a_frame(problem):
    X, y = problem
    weight = np.ones(len(y)) + (y == 0)
    weight.flags.writeable = False
    assert GLVQ(solver="lbfgs", max_iter=3).fit(X, y, sample_weight=weight).score(X, y) > 0.8


def test_parquet_files(problem, tmp_path):
    X, y = problem
    frame = pd.DataFrame(X, columns=list("wxyz")).assign(label=np.array(["a", "b", "c"])[y], heavy=1.0 + (y == 0))
    frame[:400].to_parquet(tmp_path / "1.parquet")
    frame[400:].to_parquet(tmp_path / "2.parquet")
    files = ParquetBlocks(tmp_path, "label", weight="heavy", rows=128)
    model = GLVQ(solver="lbfgs", max_iter=10).fit(files)
    expected = GLVQ(solver="lbfgs", max_iter=10).fit(X, frame["label"], sample_weight=frame["heavy"])
    np.testing.assert_allclose(model.prototypes_, expected.prototypes_, atol=1e-6)
    assert model.feature_names_in_.tolist() == list("wxyz")
    unlabelled = ParquetBlocks(tmp_path / "1.parquet", columns=list("wxyz"))
    assert len(model.predict(unlabelled)) == 400
    with pytest.raises(ValueError, match="The columns must be those of fit, in their order: w, x, y, z"):
        model.predict(ParquetBlocks(tmp_path / "1.parquet", columns=list("zyxw")))
    with pytest.raises(ValueError, match="has no column 'q'"):
        ParquetBlocks(tmp_path, "q")
    frame[["w", "label"]].to_parquet(tmp_path / "3.parquet")
    with pytest.raises(ValueError, match=r"3.parquet has no column 'x', which 1.parquet has"):
        GLVQ(solver="lbfgs").fit(ParquetBlocks(tmp_path, "label"))
    with pytest.raises(ValueError, match="no Parquet files"):
        ParquetBlocks([], "label")


def test_a_large_memory_map_is_read_in_blocks(problem, tmp_path, monkeypatch):
    X, y = problem
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = GLVQ(solver="lbfgs", max_iter=10).fit(X, y)
    monkeypatch.setattr(blocks_module, "LARGE_BYTES", 1000)
    monkeypatch.setattr(blocks_module, "_BLOCK_BYTES", 4000)
    model = GLVQ(solver="lbfgs", max_iter=10).fit(mapped, y)
    np.testing.assert_allclose(model.prototypes_, expected.prototypes_, atol=1e-6)
    np.testing.assert_array_equal(model.predict(mapped), expected.predict(X))
    assert model.score(mapped, y) == expected.score(X, y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(mapped, None)


_FIT_A_FILE = """
import sys, numpy as np
from protolearn import GLVQ
from protolearn.data import blocked, blocks
def resident():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))) / 1024
blocks.LARGE_BYTES, blocks._BLOCK_BYTES, blocked._SAMPLE_BYTES = 1 << 26, 1 << 23, 1 << 22
X = np.memmap(sys.argv[1], dtype=np.float32, mode="r", shape=(500_000, 64))
y = (np.arange(len(X)) // 50_000 % 2)
GLVQ(solver="lbfgs", max_iter=1).fit(X[:1000], np.arange(1000) % 2)
before = resident()
model = GLVQ(solver="lbfgs", max_iter=2).fit(X, y)
model.score(X, y)
print(resident() - before)
"""


def test_a_file_of_128_megabytes_in_a_fraction_of_them(tmp_path):
    path = tmp_path / "X.bin"
    X = np.memmap(path, dtype=np.float32, mode="w+", shape=(500_000, 64))
    X[::50_000] = np.random.default_rng(0).normal(size=(10, 64))
    X.flush()
    command = [sys.executable, "-c", _FIT_A_FILE, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 48
