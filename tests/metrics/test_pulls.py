"""Two coefficients a row in place of a whole matrix, and sums over blocks in place of one block: the same gradient."""

import pickle

import numpy as np
import pytest

from problems import ALL_METRICS, random_problem
from protolearn import partner
from protolearn.data import TrainingSet
from protolearn.metrics import omega
from protolearn.metrics.omega import Omega
from protolearn.metrics.pulls import PairPull
from protolearn.metrics.quadratic import MatrixDistances
from protolearn.metrics.scatter import scatter_by_slot, scatter_of_entries
from protolearn.metrics.squared_maps import matrix_distances
from protolearn.prototypes import PrototypeSet

NUMBERS = [np.float32, np.float64]


def random_pull(n_samples, n_prototypes, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    indices = np.array([rng.choice(n_prototypes, 2, replace=False) for _ in range(n_samples)], dtype=np.int32)
    values = rng.normal(size=(n_samples, 2)).astype(dtype)
    values[::5, 0] = 0.0
    values[::10] = 0.0
    return PairPull(indices, values, n_prototypes)


@pytest.mark.parametrize("metric", list(ALL_METRICS))
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_two_coefficients_a_row_give_the_gradient_of_the_whole_matrix(metric, dtype, offset):
    metric = ALL_METRICS[metric]
    data, prototypes = random_problem(metric, n_samples=60, dtype=dtype)
    X = data.X + dtype(offset)
    prototypes = prototypes.moved(prototypes.positions + dtype(offset), prototypes.theta)
    pull = random_pull(60, len(prototypes), dtype)
    thin, whole = (metric.gradient(X, prototypes, p) for p in (pull, pull.toarray()))
    tolerance = 1e-10 if dtype == np.float64 else 2e-3
    for one, other in zip(thin, whole, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance * (1 + np.abs(other).max(initial=0.0)))


@pytest.mark.parametrize("metric", list(ALL_METRICS))
def test_distances_by_prototype_are_the_distances(metric):
    metric = ALL_METRICS[metric]
    data, prototypes = random_problem(metric, n_samples=40)
    found = metric.distances_by_prototype(data.X, prototypes)
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found.T, metric.distances(data.X, prototypes), atol=1e-12)
    by_row = metric.distances_of_row(prototypes)
    np.testing.assert_allclose(found.T, [by_row(x) for x in data.X], atol=1e-12)


@pytest.mark.parametrize("rows", [64, 8])
def test_half_of_lambda_measures_as_the_map_does_also_in_float32(rows):
    rng = np.random.default_rng(0)
    # From directions that count to some that hardly do, as Omega is after training.
    axes = np.linalg.qr(rng.normal(size=(64, 64)))[0]
    omega = rng.normal(size=(rows, 64)) @ (axes * np.geomspace(1.0, 1e-3, 64)) @ axes.T
    labels = np.arange(20) % 2
    X, W = rng.normal(size=(300, 64)), rng.normal(size=(20, 64))
    exact = ((X[:, None] @ omega.T - W @ omega.T) ** 2).sum(axis=2)
    found = []
    for dtype in NUMBERS:
        prototypes = PrototypeSet(W.astype(dtype), labels, omega[None].astype(dtype), np.zeros(20, dtype=np.int64))
        found.append(Omega().distances_by_prototype(X.astype(dtype), prototypes).T)
    np.testing.assert_allclose(found[0], exact, rtol=2e-5)
    np.testing.assert_allclose(found[1], exact, rtol=1e-12)


@pytest.mark.parametrize("metric", ["omega", "local_omega"])
def test_samples_of_float64_keep_their_digits_beside_prototypes_of_float32(metric):
    metric = ALL_METRICS[metric]
    data, prototypes = random_problem(metric, n_samples=40, dtype=np.float32)
    X = data.X.astype(np.float64) + 1e-9
    found = metric.distances_by_prototype(X, prototypes)
    assert found.dtype == np.float64
    np.testing.assert_allclose(
        found, metric.distances_by_prototype(X, prototypes.astype(np.float64)), rtol=1e-5, atol=1e-6
    )


def test_prototypes_that_have_measured_can_be_pickled():
    metric = ALL_METRICS["local_omega"]
    data, prototypes = random_problem(metric)
    before = metric.distances(data.X, prototypes)
    copied = pickle.loads(pickle.dumps(prototypes))
    np.testing.assert_array_equal(metric.distances(data.X, copied), before)


@pytest.mark.parametrize("metric", list(ALL_METRICS))
def test_moments_of_blocks_add_up(metric):
    metric = ALL_METRICS[metric]
    data, prototypes = random_problem(metric, n_samples=30)
    pull = random_pull(30, len(prototypes))
    parts = [
        metric.moments(data.X[p], prototypes, PairPull(pull.indices[p], pull.values[p], len(prototypes)))
        for p in (slice(11), slice(11, 30))
    ]
    summed = metric.gradient_of(prototypes, tuple(a + b for a, b in zip(*parts, strict=True)))
    for one, other in zip(summed, metric.gradient(data.X, prototypes, pull), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_the_sums_of_a_pull_are_those_of_its_matrix():
    pull = random_pull(20, 6)
    for axis in (0, 1):
        np.testing.assert_allclose(pull.sum(axis=axis), pull.toarray().sum(axis=axis), atol=1e-14)


def lower(sums, n_features):
    """What is read of sums of products."""
    return np.tril(sums[..., :n_features, :n_features])


@pytest.mark.parametrize("ends", [[700], [5, 5, 700], [0, 700]])
@pytest.mark.parametrize("n_features", [1, 4, 64, 100])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_a_scatter_with_weights_of_both_signs_and_zeros(ends, n_features, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, n_features)).astype(dtype)
    X.setflags(write=False)
    weights = (rng.normal(size=700) * (np.arange(700) % 3 > 0)).astype(dtype)
    rows = rng.integers(0, 30, 700)
    found = lower(scatter_of_entries(X, rows, weights, np.array(ends)), n_features)
    assert found.dtype == dtype
    for one, begin, end in zip(found, [0, *ends], ends, strict=False):
        some = X[rows[begin:end]].astype(np.float64)
        expected = np.tril((some * weights[begin:end, None]).T @ some)
        np.testing.assert_allclose(one, expected, atol=2e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("shape", [(1, 2, 5), (3, 2, 5), (3, 40, 40), (2, 300, 300)])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_what_distances_need_of_maps(shape, dtype, monkeypatch):
    """Also of a map that no prototype has."""
    from protolearn import threads

    monkeypatch.setattr(threads, "_WORTH_A_THREAD", 0)
    rng = np.random.default_rng(0)
    maps = rng.normal(size=shape) / np.sqrt(shape[2])
    slot = np.array([0, 2, 0]) % shape[0]
    W = rng.normal(size=(3, shape[2]))
    prototypes = PrototypeSet(W.astype(dtype), np.arange(3), maps.astype(dtype), slot)
    found = prototypes.derived(matrix_distances)
    matrices = maps.transpose(0, 2, 1) @ maps
    away = prototypes.centring[1]
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found.matrices[:, :, : shape[2]], matrices, atol=tolerance)
    assert not found.matrices[:, :, shape[2] :].any()
    linear = np.stack([matrices[s] @ m for m, s in zip(away, slot, strict=True)])
    np.testing.assert_allclose(found.linear, linear, atol=tolerance)
    np.testing.assert_allclose(found.constants, (linear * away).sum(axis=1), atol=10 * tolerance)
    given = MatrixDistances.under(found.matrices, found.linear, found.constants, slot)
    np.testing.assert_array_equal(found.tiles, given.tiles)


@pytest.mark.parametrize("metric", ["omega", "class_omega", "local_omega"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_distances_of_few_rows_need_no_compiler(metric, dtype, monkeypatch):
    """And are those that the compiled function measures."""
    metric = ALL_METRICS[metric]
    data, prototypes = random_problem(metric, n_samples=60, n_features=40)
    prototypes, X = prototypes.astype(dtype), data.X.astype(dtype)
    found = metric.distances_by_prototype(X, prototypes)
    assert not prototypes._derived
    monkeypatch.setattr(omega, "_WORTH_COMPILING", 0)
    compiled = metric.distances_by_prototype(X, prototypes)
    assert prototypes._derived
    assert found.dtype == compiled.dtype == dtype
    np.testing.assert_allclose(found, compiled, rtol=1e-9 if dtype == np.float64 else 2e-4)


@pytest.mark.parametrize("metric", ["omega", "class_omega"])
@pytest.mark.parametrize("n_features", [3, 40, 64])
def test_the_gradient_is_the_sum_of_those_of_the_samples(metric, n_features):
    metric = ALL_METRICS[metric]
    data, prototypes = random_problem(metric, n_samples=60, n_features=n_features)
    pull = random_pull(60, len(prototypes))
    theta, slot, whole = prototypes.theta, prototypes.slot, pull.toarray()
    by_positions, by_theta = np.zeros(prototypes.positions.shape), np.zeros(theta.shape)
    for i, m in enumerate(prototypes.positions):
        v, omega = data.X - m, theta[slot[i]]
        by_positions[i] = -2.0 * omega.T @ omega @ (whole[:, i] @ v)
        by_theta[slot[i]] += 2.0 * omega @ (v.T * whole[:, i]) @ v
    for found, expected in zip(metric.gradient(data.X, prototypes, pull), (by_positions, by_theta), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9 * n_features)


@pytest.mark.parametrize("n_features", [3, 40, 70])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_parts_of_a_gradient_are_the_same_numbers(n_features, dtype, monkeypatch):
    """Those of one map and of many prototypes, by one thread and in two parts."""
    rng = np.random.default_rng(0)
    W, omega = rng.normal(size=(70, n_features)), rng.normal(size=(1, n_features, n_features))
    prototypes = PrototypeSet(W, np.arange(70) % 2, omega, np.zeros(70, dtype=np.int64)).astype(dtype)
    X, pull = rng.normal(size=(60, n_features)).astype(dtype), random_pull(60, 70, dtype)
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(partner, "n_threads", lambda threads=threads: threads)
        monkeypatch.setattr(partner, "_WORTH_A_PARTNER", 0)
        found.append(Omega().gradient(X, prototypes, pull))
    for one, other in zip(*found, strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(one, other)


def test_threads_do_not_change_a_sum_over_blocks(monkeypatch):
    from protolearn.data import training_set

    rng = np.random.default_rng(0)
    data = TrainingSet(rng.normal(size=(5000, 3)).astype(np.float32), rng.integers(0, 2, 5000), None, 2)
    monkeypatch.setattr(training_set, "_REDUCED_ROWS", 100)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(training_set, "threads_for", lambda work, threads=threads: threads)
        found.append(data.reduce(lambda X, y, weight: (weight @ X) / np.float32(3), 3))
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
    np.testing.assert_allclose(found[0], data.X.sum(axis=0) / 3, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(1, 5), (3, 14), (3, 15), (60, 40), (60, 97), (2, 300)])
@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("n_samples", [1, 700])
def test_distances_under_several_matrices(shape, each, n_samples, dtype):
    n_matrices, d = shape
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(n_matrices, d, d)) / np.sqrt(d)
    slot = rng.permutation(np.repeat(np.arange(n_matrices), each)) if each > 1 else np.arange(n_matrices)
    W, X = rng.normal(size=(len(slot), d)), rng.normal(size=(n_samples, d))
    matrices = maps.transpose(0, 2, 1) @ maps
    linear = np.einsum("ijk,ik->ij", matrices[slot], W)
    expected = np.stack([(((X - m) @ maps[s].T) ** 2).sum(axis=1) for m, s in zip(W, slot, strict=True)])
    # What stands below the diagonals is not read.
    matrices[:, *np.tril_indices(d, -1)] = np.nan
    given = MatrixDistances.under(
        matrices.astype(dtype), linear.astype(dtype), np.einsum("ij,ij->i", linear, W).astype(dtype), slot
    )
    X = X.astype(dtype)
    X.setflags(write=False)
    found = given.of(X)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, atol=(1e-4 if dtype == np.float32 else 1e-11) * expected.max())


def test_a_distance_that_is_no_number_stays_none():
    for each, d in ((1, 3), (1, 40)):
        given = MatrixDistances.under(
            np.repeat(np.eye(d)[None], 3, axis=0), np.zeros((3, d)), np.zeros(3), np.arange(3)
        )
        X = np.ones((4, d))
        X[2, each] = np.nan
        assert (np.isnan(given.of(X)) == [False, False, True, False]).all()


@pytest.mark.parametrize("n_features", [5, 96, 97])
def test_the_scatter_of_each_slot(n_features):
    """Also of slots that no row pulls."""
    rng = np.random.default_rng(0)
    slot = np.array([0, 1, 1, 3, 4, 3])
    prototypes = PrototypeSet(
        rng.normal(size=(6, n_features)), np.zeros(6, dtype=np.int64), np.zeros((5, n_features, n_features)), slot
    )
    pull = random_pull(40, 6)
    pull.indices[pull.indices == 4] = 0
    X = rng.normal(size=(40, n_features))
    whole = pull.toarray()
    for given in (pull, whole):
        found = lower(scatter_by_slot(X, given, prototypes), n_features)
        for s in range(5):
            expected = np.tril((X * whole[:, slot == s].sum(axis=1)[:, None]).T @ X)
            np.testing.assert_allclose(found[s], expected, atol=1e-11)
        assert not found[4].any()
