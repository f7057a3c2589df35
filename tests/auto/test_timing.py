"""Times of models: in turn, on one thread, the least of several runs, on at most 2,000 rows."""

import numpy as np
import polars as pl
import pytest
from threadpoolctl import threadpool_info

from protolearn.auto import timing


class Slow:
    """A model that takes, on a clock of our own, so many seconds a row, and once half as many."""

    def __init__(self, name, seconds, calls, clock):
        self.name, self.seconds, self.calls, self.clock = name, seconds, calls, clock
        self.times = 0

    def predict(self, rows):
        assert all(pool["num_threads"] == 1 for pool in threadpool_info())
        self.calls.append((self.name, len(rows)))
        self.times += 1
        self.clock[0] += self.seconds * len(rows) * (0.5 if self.times == 3 else 1.0 + 1.0 / self.times)


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(timing, "_clock", lambda: now[0])
    return now


@pytest.mark.parametrize("X", [np.zeros((7, 2)), pl.DataFrame({"a": range(7)})])
def test_models_take_turns_and_the_least_counts(X, clock):
    calls = []
    models = [Slow("a", 1e-5, calls, clock), Slow("b", 1e-3, calls, clock)]
    assert timing.microseconds_a_row(models, X) == pytest.approx([5.0, 500.0])
    assert [name for name, _ in calls] == ["a", "b"] * (timing.TURNS + 1)
    assert {n for name, n in calls[2:] if name == "a"} == {timing.MOST_ROWS}
    # A run of a slow model takes a fifth of a second: 100 rows at 2 milliseconds in its first run.
    assert {n for name, n in calls[2:] if name == "b"} == {100}
