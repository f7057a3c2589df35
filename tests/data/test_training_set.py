"""Rows in batches, weights as presentations, an order by content."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from protolearn.core.schedules import SCHEDULES, annealed, as_schedule
from protolearn.data import TrainingSet, class_codes, row_batches, shuffled, working_dtype
from protolearn.data.training_set import even_slices


def test_blocks_cover_all_rows_once():
    X = np.arange(30000.0).reshape(10000, 3)
    parts = list(row_batches(X, 50, np.float64))
    assert len(parts) > 1
    np.testing.assert_array_equal(np.concatenate([batch for _, batch in parts]), X)


def test_content_order_follows_the_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    X[0, 0] = 0.0
    order = rng.permutation(200)
    one = TrainingSet(X, y, None, 3)
    X_other = X.copy()
    X_other[0, 0] = -0.0
    other = TrainingSet(sparse.csr_matrix(X_other[order]), y[order], None, 3)
    np.testing.assert_array_equal(X[one.content_order], X[order][other.content_order])
    assert np.abs(np.corrcoef(one.content_order, np.arange(200))[0, 1]) < 0.2


def keys_of(data):
    return data._content_keys(data.rows(slice(None)), data.y)


@pytest.mark.parametrize("n", [1, 2, 3, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_content_order_is_that_of_the_whole_keys(n, dtype):
    rng = np.random.default_rng(0)
    data = TrainingSet(rng.normal(size=(n, 3)).astype(dtype), rng.integers(0, 2, n), None, 2)
    assert data.content_order.dtype == np.int32
    np.testing.assert_array_equal(data.content_order, np.argsort(keys_of(data)))


def test_keys_that_begin_alike_are_told_apart_by_their_end(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(150, 3)), 2, axis=0)
    data = TrainingSet(X, np.zeros(300, dtype=np.int64), None, 1)
    # Nine bits hold the row, so what differs in them alone is tied; each row comes twice.
    ends = rng.permutation(150).repeat(2).astype(np.uint64)
    by_value = dict(zip(X[:, 0], ends, strict=True))
    high = np.uint64(1) << np.uint64(40)

    def keys(self, batch, y):
        return np.array([by_value[value] + high * (by_value[value] % np.uint64(3)) for value in batch[:, 0]], np.uint64)

    monkeypatch.setattr(TrainingSet, "_content_keys", keys)
    found = keys_of(data)[data.content_order]
    assert (found[1:] >= found[:-1]).all()
    assert sorted(data.content_order) == list(range(300))


@pytest.mark.parametrize(
    ("n", "most", "times"), [(0, 5, 2), (1, 5, 2), (5, 5, 1), (5, 5, 2), (11, 5, 2), (15000, 4096, 2)]
)
def test_even_slices_hold_all_rows_in_blocks_of_one_size(n, most, times):
    found = even_slices(n, most, times)
    assert [row for rows in found for row in range(rows.start, rows.stop)] == list(range(n))
    sizes = [rows.stop - rows.start for rows in found]
    assert not sizes or max(sizes) <= most
    if n >= most:
        assert len(sizes) % times == 0
        assert max(sizes) - min(sizes) < len(sizes)


def test_content_order_tells_labels_apart():
    X = np.zeros((2, 3))
    one, other = TrainingSet(X, np.array([0, 1]), None, 2), TrainingSet(X, np.array([1, 0]), None, 2)
    assert one.y[one.content_order].tolist() == other.y[other.content_order].tolist()


def test_a_weight_of_two_and_a_bit_is_three_showings():
    data = TrainingSet(np.zeros((3, 1)), np.array([0, 1, 0]), np.array([2.25, 1.0, 0.5]), 2)
    ((rows, share),) = data.presentations(None).epoch()
    assert rows.tolist() == [0, 0, 0, 1, 2]
    assert share.tolist() == [1, 1, 0.25, 1, 0.5]


def test_large_weights_scale_the_steps_instead():
    data = TrainingSet(np.zeros((2, 1)), np.array([0, 1]), np.array([1e6, 3e6]), 2)
    ((rows, share),) = data.presentations(None).epoch()
    assert rows.tolist() == [0, 1]
    np.testing.assert_allclose(share, [0.5, 1.5])


def test_working_dtype():
    assert working_dtype(np.ones(3, np.float32)) == np.float32
    assert working_dtype(np.full(3, 1e20, np.float32)) == np.float64
    assert working_dtype(np.full(3, 1e-20, np.float32)) == np.float64
    assert working_dtype(np.zeros(3, np.float32)) == np.float32
    assert working_dtype(sparse.csr_matrix(np.eye(2, dtype=np.float32))) == np.float32


def test_moments_are_numpys():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(50, 3)), rng.uniform(0.5, 2, 50)
    data = TrainingSet(X, np.zeros(50, int), weight, 1)
    np.testing.assert_allclose(data.mean, np.average(X, axis=0, weights=weight))
    np.testing.assert_allclose(data.covariance, np.cov(X.T, aweights=weight, ddof=0))
    scaled = TrainingSet(np.array([[-1.0, 1.0], [1.0, -1.0]]), np.array([0, 1]), None, 2)
    assert scaled.squared_half_range == 1.0


def test_schedules_start_at_one():
    for name, schedule in SCHEDULES.items():
        assert schedule(0, 100) == pytest.approx(1.0), name
        factors = schedule(np.arange(101), 100)
        assert (np.diff(factors) <= 0).all(), name
    assert as_schedule("linear")(100, 100) == 0
    assert as_schedule("inverse_time")(1, 100) == pytest.approx(0.5)
    assert as_schedule(lambda step, n: 7.0)(0, 1) == 7.0
    assert annealed(2.0, 1.00001, 100000) == pytest.approx(2 * np.e, rel=1e-4)
    assert annealed(2.0, 2.0, 10**6) == pytest.approx(2e6)


@pytest.mark.parametrize("y", [[3, 1, 3, 2], ["b", "a", "c", "a"], [True, False, True, True], [2.0, 1.0, 2.0, 1.0]])
def test_codes_of_classes_are_those_of_numpy(y):
    classes, codes = class_codes(np.array(y))
    expected = np.unique(np.array(y), return_inverse=True)
    np.testing.assert_array_equal(classes, expected[0])
    np.testing.assert_array_equal(codes, expected[1])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_shuffle_has_all_items_and_follows_the_seed(dtype):
    items = np.arange(1000, dtype=dtype)[::-1].copy()
    found, again, other = (shuffled(items, np.random.RandomState(seed)) for seed in (3, 3, 4))
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.sort(found), np.arange(1000))
    np.testing.assert_array_equal(found, again)
    assert (found != other).mean() > 0.9
    assert shuffled(items, None) is items
    np.testing.assert_array_equal(items, np.arange(1000)[::-1])


def test_all_orders_are_equally_likely():
    random = np.random.RandomState(0)
    seen = Counter(tuple(shuffled(np.arange(4), random).tolist()) for _ in range(24_000))
    # The sum of squares over 24 orders: 23 on average, above 52 with a chance of 0.0005.
    assert len(seen) == 24
    assert sum((count - 1000) ** 2 / 1000 for count in seen.values()) < 52
