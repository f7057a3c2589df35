"""Integers that stand for the model: scales from data, sums that cannot overflow."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, GMLVQ, GRLVQ, LGMLVQ, LOGM, LPD, MixtGauss, NearestPrototype
from protolearn.export.fixed_point import fixed_point_model
from protolearn.export.folding import plain_model
from protolearn.export.size import model_size

MODELS = {
    "euclidean": GLVQ(3, max_iter=5, random_state=0),
    "weights": GRLVQ(3, max_iter=5, random_state=0),
    "local weights": LOGM(3, metric="local_relevance", max_iter=5, random_state=0),
    "weights of any size": LPD(3, max_iter=5, random_state=0),
    "omega": GMLVQ(3, max_iter=5, random_state=0),
    "low rank": GMLVQ(3, n_components=2, max_iter=5, random_state=0),
    "omega of a prototype": LGMLVQ(3, scope="prototype", max_iter=5, random_state=0),
}


def _fitted(model, X, y):
    return plain_model(make_pipeline(StandardScaler(), model).fit(X, y))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_labels_and_distances_stay(blobs, model, dtype):
    X, y = blobs
    plain = _fitted(model, X * [1, 10, 0.1, 5], y)
    X = X * [1, 10, 0.1, 5]
    fixed = fixed_point_model(plain, X, dtype)
    kept = np.mean(fixed.predict(X) == plain.predict(X))
    assert kept >= (0.98 if dtype == "int8" else 0.999)
    D, real = fixed.distances(X) * fixed.unit, plain.distances(X)
    assert np.abs(D - real).max() < (0.05 if dtype == "int8" else 0.001) * real.max()


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_no_row_overflows(blobs, model, dtype):
    X, y = blobs
    fixed = fixed_point_model(_fitted(model, X, y), X, dtype)
    rng = np.random.default_rng(0)
    # Every input at an end of its range is the worst that `quantised` lets through.
    rows = rng.choice([-1e30, 1e30], size=(200, X.shape[1]))
    q = fixed.quantised(rows)
    assert np.abs(q).max() == fixed.row_top
    exact = _exact_distances(fixed, q)
    sums, largest = fixed.bounds
    assert max(exact.flat) <= largest < 2**fixed.distance_bits
    assert sums < 2 ** (fixed.sum_bits - 1)
    assert np.array_equal(fixed.distances_of(q).astype(object), exact)


def _exact_distances(fixed, q):
    """The formula in Python's integers, which have no end."""
    plain = fixed.plain
    D = np.empty((len(q), plain.n_prototypes), dtype=object)
    for n, row in enumerate(q.tolist()):
        for i, s in enumerate(plain.slot):
            point = row
            if fixed.maps is not None:
                point = []
                tables = fixed.maps[s].tolist(), fixed.multiplier[s].tolist(), fixed.start[s].tolist()
                for a, m, first in zip(*tables, strict=True):
                    v = sum(x * y for x, y in zip(a, row, strict=True)) * m
                    z = first + (abs(v) + (1 << (fixed.shift - 1)) >> fixed.shift) * (1 if v >= 0 else -1)
                    point.append(max(min(z, fixed.limit), -fixed.limit))
            weights = [1] * len(point) if fixed.weights is None else fixed.weights[s].tolist()
            D[n, i] = sum(v * (x - p) ** 2 for v, x, p in zip(weights, point, fixed.positions[i].tolist(), strict=True))
    return D


CLOSE = {
    "euclidean": NearestPrototype(1, init="class_mean", random_state=0),
    "weights": NearestPrototype(1, init="class_mean", metric="class_relevance", random_state=0),
    "maps": NearestPrototype(1, init="class_mean", metric="omega", random_state=0),
}


def close_together(model):
    """Two prototypes a two-hundredth of the range of the data apart, each right on its side."""
    random = np.random.default_rng(0)
    X = random.uniform(-10.0, 10.0, size=(600, 3))
    y = (X.sum(axis=1) > 0).astype(int)
    plain = plain_model(model.fit(X, y))
    positions = np.array([[-0.02] * 3, [0.02] * 3])
    origin = np.zeros(3)
    return plain.with_arrays(positions=positions, **({} if plain.maps is None else {"origin": origin})), X, y


@pytest.mark.parametrize("model", CLOSE.values(), ids=CLOSE)
def test_prototypes_closer_than_a_step_of_8_bits(model):
    plain, X, y = close_together(model)
    assert np.mean(plain.predict(X) == y) > 0.99
    fixed = fixed_point_model(plain, X, "int8")
    assert np.mean(fixed.predict(X) == plain.predict(X)) > 0.99
    assert fixed.positions.dtype == np.int8
    if plain.maps is None:
        assert (fixed.row_top, fixed.row_dtype) == (16383, "int16")
        assert model_size(fixed).ram == 2 * 3
    rows = np.random.default_rng(1).choice([-1e30, 1e30], size=(50, 3))
    q = fixed.quantised(rows)
    assert np.abs(q).max() == fixed.row_top
    assert np.array_equal(fixed.distances_of(q).astype(object), _exact_distances(fixed, q))
    assert fixed.distances_of(q).max() <= fixed.bounds[1]


def test_one_scale_for_all_inputs_or_one_each(blobs):
    X, y = blobs
    plain = plain_model(GLVQ(3, max_iter=5, random_state=0).fit(X, y))
    common = fixed_point_model(plain, X, per_feature=False)
    assert common.factor.size == common.offset.size == 1
    assert common.weights is None
    assert fixed_point_model(plain, X, per_feature=True).factor.size == 4


def test_an_input_without_weight_does_not_count(blobs):
    X, y = blobs
    plain = _fitted(GRLVQ(2, max_iter=2, random_state=0), X, y)
    weights = plain.weights.copy()
    weights[0, 1] = 0.0
    plain = plain.with_arrays(weights=weights)
    for dtype in ("int8", "int16"):
        fixed = fixed_point_model(plain, X, dtype)
        far = X.copy()
        far[:, 1] += 100.0
        assert np.array_equal(fixed.predict(X), fixed.predict(far))


def test_sizes_are_those_of_the_arrays(blobs):
    X, y = blobs
    plain = _fitted(GMLVQ(2, n_components=2, max_iter=2, random_state=0), X, y)
    size = model_size(plain)
    assert size.tables == {"class_ends": 3, "maps": 32, "origin": 16, "positions": 48}
    assert size.flash == 99
    assert size.ram == 4 * (4 + 2)
    fixed = fixed_point_model(plain, X, "int8", per_feature=False)
    assert model_size(fixed).tables == {
        "class_ends": 3, "scales": 8, "maps": 8, "multipliers": 4, "starts": 8, "positions": 12,
    }  # fmt: skip


def test_what_fixed_point_needs(blobs):
    X, y = blobs
    plain = _fitted(GLVQ(max_iter=2), X, y)
    with pytest.raises(ValueError, match="int8 learns its scales from data; pass X"):
        fixed_point_model(plain, None)
    with pytest.raises(ValueError, match="rows of 4 finite numbers"):
        fixed_point_model(plain, X[:, :2])
    with pytest.raises(ValueError, match="rows of 4 finite numbers"):
        fixed_point_model(plain, np.where(X > 0, X, np.nan))
    with pytest.raises(ValueError, match="dtype must be one of"):
        fixed_point_model(plain, X, "int4")
    mixture = _fitted(MixtGauss(2, classify_by="mixture", random_state=0), X, y)
    with pytest.raises(ValueError, match="no fixed point; export it as float32"):
        fixed_point_model(mixture, X)
