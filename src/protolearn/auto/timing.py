"""How long models take for a row, so that the ratio of two times means something."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from protolearn.data.containers import rows_of

# Rows at most in one run, rows of the run that says how long a row takes, runs of each model, and seconds of a run.
MOST_ROWS, FIRST_ROWS, TURNS, LONGEST_RUN = 2000, 50, 7, 0.2


# On Windows the clock of a thread ticks 64 times a second only.
_clock = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-5 else time.perf_counter


def microseconds_a_row(models: Sequence[Any], X: Any) -> list[float]:
    """Microseconds that each model takes for a row, where many are predicted at once.

    All models use one thread, whose processor time counts: beside other work on the machine a long run waits more often
    than a short one. They take turns, and each has the least of its runs. A run has 2,000 rows, fewer where they
    would take more than a fifth of a second.

    Parameters
    ----------
    models : fitted classifiers
    X : table with at least one row, repeated where it has fewer rows than a run

    Returns
    -------
    microseconds : list of floats, one a model
    """
    least = [np.inf] * len(models)
    with threadpool_limits(1):
        parts = [_repeated(X, FIRST_ROWS)] * len(models)
        for turn in range(TURNS + 1):
            for i, model in enumerate(models):
                begin = _clock()
                model.predict(parts[i])
                seconds = (_clock() - begin) / len(parts[i])
                if turn:
                    least[i] = min(least[i], seconds)
                else:
                    n_rows = int(np.clip(LONGEST_RUN / max(seconds, 1e-9), FIRST_ROWS, MOST_ROWS))
                    parts[i] = _repeated(X, n_rows)
    return [1e6 * seconds for seconds in least]


def _repeated(X: Any, n_rows: int) -> Any:
    """So many rows of a table, from its first one on again where it ends."""
    return rows_of(X, np.arange(n_rows) % (X.shape[0]))
