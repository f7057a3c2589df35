"""How a rate changes with the step: a schedule is a function (step, n_steps) -> factor of the first rate.

Steps are counted from 0 over the whole fit, one a presented sample (online) or one a batch; `step` may be an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from protolearn.core.registry import Registry

Schedule = Callable[[Any, int], Any]
SCHEDULES = Registry("schedule")


def _register(name: str) -> Callable[[Schedule], Schedule]:
    def add(schedule: Schedule) -> Schedule:
        SCHEDULES.add(name, schedule)
        return schedule

    return add


@_register("constant")
def constant(step: Any, n_steps: int) -> Any:
    """The first rate all the way."""
    return np.ones_like(step, dtype=np.float64)


@_register("linear")
def linear(step: Any, n_steps: int) -> Any:
    """Straight down to zero at the last step, 1 - step / n_steps: LOGM (6.2), LVQ_PAK's default."""
    return 1.0 - np.minimum(np.asarray(step, dtype=np.float64) / max(n_steps, 1), 1.0)


@_register("inverse_time")
def inverse_time(step: Any, n_steps: int) -> Any:
    """C / (C + step) with C = n_steps / 100: LVQ_PAK's other choice."""
    horizon = max(n_steps, 1) / 100.0
    return horizon / (horizon + np.asarray(step, dtype=np.float64))


def as_schedule(schedule: str | Schedule) -> Schedule:
    """A registered schedule by name, or the caller's own function."""
    return schedule if callable(schedule) else SCHEDULES[schedule]


# The SNPC of the LOGM paper reaches 403 times its first slope on the longest run.
_STEEPEST = 1e6


def annealed(slope: float, factor: float, step: Any) -> Any:
    """The slope after `step` samples, each of which multiplies it by `factor` (LOGM 6.2: 1.00001 for SNPC)."""
    return slope * np.exp(np.minimum(np.log(factor) * np.asarray(step, dtype=np.float64), np.log(_STEEPEST)))
