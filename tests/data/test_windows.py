"""Epochs of many rows go through windows of runs from all over the set; those of few rows are one shuffle."""

import tracemalloc

import numpy as np
import pytest

from protolearn import GLVQ, LOGM
from protolearn.data import TrainingSet, orders, shuffled
from protolearn.solvers import online

WINDOW = 1 << 16


def numbered(n, weight=None, n_classes=4):
    """Rows that hold their number, sorted by class."""
    return TrainingSet(np.arange(n, dtype=np.float64)[:, None], np.arange(n) * n_classes // n, weight, n_classes)


def rows_of(data, seed):
    """The rows of one epoch."""
    return np.concatenate([rows for rows, _ in data.presentations(np.random.RandomState(seed)).epoch()])


@pytest.fixture
def small_windows(monkeypatch):
    """128 runs of 8 rows."""
    monkeypatch.setattr(orders, "_WINDOW", 1024)
    monkeypatch.setattr(orders, "_RUN", 8)


@pytest.mark.parametrize("n", [1, 2, 1000, WINDOW, WINDOW + 1, 3 * WINDOW, 200_007])
def test_an_epoch_shows_every_row_once(n):
    data = numbered(n)
    assert data.presentations(None).length == n
    np.testing.assert_array_equal(np.sort(rows_of(data, 0)), np.arange(n))
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in data.presentations(None).epoch()]), np.arange(n))


@pytest.mark.parametrize("n", [1000, 200_007])
def test_epochs_differ_and_follow_the_seed(n):
    data = numbered(n)
    presentations = data.presentations(np.random.RandomState(3))
    first, second = (np.concatenate([rows for rows, _ in presentations.epoch()]) for _ in range(2))
    np.testing.assert_array_equal(first, rows_of(data, 3))
    assert (first != second).mean() > 0.9
    assert (first != rows_of(data, 4)).mean() > 0.9


def test_windows_have_about_one_size():
    sizes = [len(rows) for rows, _ in numbered(WINDOW + 1).presentations(np.random.RandomState(0)).epoch()]
    assert len(sizes) == 2
    assert max(sizes) - min(sizes) <= 128


def test_up_to_a_window_the_content_is_shuffled():
    data = numbered(WINDOW)
    np.testing.assert_array_equal(rows_of(data, 3), shuffled(data.content_order, np.random.RandomState(3)))
    weighted = numbered(500, np.tile([1.0, 2.5], 250))
    ((rows, share),) = weighted.presentations(np.random.RandomState(3)).epoch()
    heavy = weighted.content_order % 2 == 1
    repeated = np.repeat(weighted.content_order, np.where(heavy, 3, 1))
    shares = np.concatenate([[1.0, 1.0, 0.5] if twice else [1.0] for twice in heavy])
    places = shuffled(np.arange(1000), np.random.RandomState(3))
    np.testing.assert_array_equal(rows, repeated[places])
    np.testing.assert_array_equal(share, shares[places])


def test_rows_sorted_by_class_are_mixed_in_every_window(small_windows):
    n, shares = 40_000, np.array([0.5, 0.3, 0.15, 0.05])
    y = np.repeat(np.arange(4), (shares * n).astype(int))
    data = TrainingSet(np.zeros((n, 1)), y, None, 4)
    found = [y[rows] for rows, _ in data.presentations(np.random.RandomState(0)).epoch()]
    assert len(found) == 40
    counts = np.array([np.bincount(window, minlength=4) / len(window) for window in found])
    # 128 runs of one class each: four standard deviations.
    most = 4 * np.sqrt(shares * (1 - shares) / 128)
    assert (np.abs(counts - shares) < most).all()
    # Neighbours are of one class as often as chance has it, though the rows of a run are.
    alike = np.concatenate([window[1:] == window[:-1] for window in found])
    assert alike.mean() == pytest.approx(np.sum(shares**2), abs=0.02)


def blobs_by_class(n):
    rng = np.random.default_rng(0)
    y = np.arange(n) * 3 // n
    return rng.normal(size=(n, 4)) + np.array([[0, 0, 0, 0], [2, 0, 1, 0], [0, 2, 0, 1]])[y], y


def test_a_fit_of_rows_sorted_by_class_is_as_good_as_of_mixed_ones(small_windows):
    X, y = blobs_by_class(9000)
    order = np.random.default_rng(1).permutation(len(y))
    options = {"max_iter": 2, "random_state": 0, "init": (X[::1500], y[::1500])}
    by_class = GLVQ(**options).fit(X, y).score(X, y)
    mixed = GLVQ(**options).fit(X[order], y[order]).score(X, y)
    as_they_stand = GLVQ(**options, shuffle=False).fit(X, y).score(X, y)
    assert by_class == pytest.approx(mixed, abs=0.005)
    assert as_they_stand < mixed - 0.02


@pytest.mark.parametrize("solver", ["online", "adam"])
def test_many_rows_are_not_sorted(solver, small_windows, monkeypatch):
    def sort(self):
        raise AssertionError("sorted")

    monkeypatch.setattr(TrainingSet, "content_order", property(sort))
    X, y = blobs_by_class(3000)
    model = LOGM(solver=solver, max_iter=2, random_state=0, init=(X[::500], y[::500]))
    assert model.fit(X, y).score(X, y) > 0.8
    with pytest.raises(AssertionError, match="sorted"):
        model.fit(X[::3], y[::3])


@pytest.mark.parametrize("weighted", [False, True])
def test_memory_of_an_epoch_does_not_grow(weighted):
    def peak(n):
        data = numbered(n, np.tile([0.5, 2.0], n // 2) if weighted else None)
        tracemalloc.start()
        for _ in data.presentations(np.random.RandomState(0)).epoch():
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    rows_of(numbered(10), 0)
    few, many = 2 * WINDOW, 12 * WINDOW
    # An order of the runs before and after its shuffle.
    assert (peak(many) - peak(few)) / (many - few) < 0.25


def test_rows_of_many_are_shown_by_their_weights(small_windows):
    weight = np.random.default_rng(0).choice([0.25, 1.0, 2.5], 5000)
    presentations = numbered(5000, weight).presentations(np.random.RandomState(0))
    found = list(presentations.epoch())
    assert len(found) == 5
    rows, share = (np.concatenate(part) for part in zip(*found, strict=True))
    assert presentations.length == len(rows)
    assert presentations.total == share.sum() == weight.sum()
    np.testing.assert_array_equal(np.bincount(rows), np.ceil(weight))
    np.testing.assert_array_equal(np.bincount(rows, share), weight)
    # The two showings and a half of a row are not neighbours.
    assert np.mean(rows[1:] == rows[:-1]) < 0.01


def test_large_weights_of_many_rows_scale_the_steps(small_windows):
    weight = np.random.default_rng(0).uniform(10, 50, 5000)
    presentations = numbered(5000, weight).presentations(np.random.RandomState(0))
    rows, share = (np.concatenate(part) for part in zip(*presentations.epoch(), strict=True))
    assert presentations.length == 5000
    assert presentations.total == pytest.approx(5000)
    np.testing.assert_allclose(share, weight[rows] / weight.mean())


def test_a_sample_of_many_rows_is_even(small_windows):
    n = 100_000
    found = numbered(n).presentations(np.random.RandomState(0)).sample(2000)
    assert len(np.unique(found)) == 2000
    np.testing.assert_allclose(np.bincount(found * 20 // n), 100, atol=2)
    # What comes again every five rows, or every fifty, which is how far apart the rows of the sample are.
    for period in (5, 50):
        np.testing.assert_allclose(np.bincount(found % period) / 2000, 1 / period, rtol=0.15)
    weighted = numbered(n, np.where(np.arange(n) < n // 2, 3.0, 1.0)).presentations(None).sample(2000)
    assert len(weighted) <= 2000
    assert np.mean(weighted < n // 2) == pytest.approx(0.75, abs=0.02)


def test_the_loss_before_learning_is_that_of_all_classes(small_windows, monkeypatch):
    found = []

    def keep(self, rows, measure=online.OnlineRun.loss_at_start):
        found.append(measure(self, rows))
        return found[-1]

    monkeypatch.setattr(online.OnlineRun, "loss_at_start", keep)
    X, y = blobs_by_class(12_000)
    # Classes in turn, and a start that is right about one of them: every sixth row would be of that class.
    in_turn = np.arange(12_000).reshape(3, -1).T.ravel()
    start = X[[0, 4000, 8000]] * [[1], [9], [9]], y[[0, 4000, 8000]]
    options = {"max_iter": 1, "random_state": 0, "init": start, "bounds": None}
    GLVQ(**options).fit(X[in_turn], y[in_turn])
    monkeypatch.setattr(orders, "_WINDOW", 12_000)
    GLVQ(**options).fit(X, y)
    assert found[0] == pytest.approx(found[1], abs=0.03)


@pytest.mark.parametrize("batch_size", [1, 100, 5000, 20_000])
def test_mini_batches_hold_every_row_once(batch_size, small_windows):
    n = 10_001
    batches = list(numbered(n).batches(batch_size, np.random.RandomState(0)))
    sizes = [len(batch.y) for batch in batches]
    assert set(sizes[:-1]) <= {batch_size}
    assert sizes[-1] <= batch_size
    rows = np.concatenate([batch.X[:, 0] for batch in batches])
    np.testing.assert_array_equal(np.sort(rows), np.arange(n))
    assert np.abs(np.corrcoef(rows, np.arange(n))[0, 1]) < 0.1
    as_they_stand = [batch.X[:, 0] for batch in numbered(n).batches(batch_size, None)]
    np.testing.assert_array_equal(np.concatenate(as_they_stand), np.arange(n))


def test_mini_batches_of_few_rows_follow_their_content():
    data = numbered(1000)
    rows = np.concatenate([batch.X[:, 0] for batch in data.batches(64, np.random.RandomState(3))])
    np.testing.assert_array_equal(rows, shuffled(data.content_order, np.random.RandomState(3)))
