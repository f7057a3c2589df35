"""L-BFGS without bounds (Liu and Nocedal 1989), with a line search that does not need a smooth function.

scipy's is made for bounds: with the 78,000 numbers of a matrix of 256 features and 50 prototypes it spends 7 ms an
iteration beside the function, this one 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types

from protolearn.compiled import VECTORISED, compiled, matrix, vector

# As many pairs of steps as scipy keeps.
_MEMORY = 10
# The least cosine of the angle between a step and the change of the slope that is remembered.
_LEAST_CURVATURE = 1e-12
# Sufficient decrease and curvature of the weak Wolfe conditions.
_DECREASE, _CURVATURE = 1e-4, 0.9
_MOST_TRIES = 20

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Note = Callable[[np.ndarray, float], bool]


class Memory:
    """The last steps and changes of slope, and the approximate inverse Hessian they make.

    They are kept in the number type of the data: a slope computed in float32 has no digits beyond.
    """

    def __init__(self, dtype: np.dtype, size: int = _MEMORY) -> None:
        self.dtype, self.size = dtype, size
        self.scale = 1.0
        # Rows of `_steps` and `_changes` in the order in which they came; the oldest gives way.
        self._order: list[int] = []
        self._steps = self._changes = np.empty((0, 0), dtype=dtype)
        self._inverses = np.empty(size)

    def __len__(self) -> int:
        return len(self._order)

    def clear(self) -> None:
        """Forget them all."""
        self._order = []
        self.scale = 1.0

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Remember a step, where the slope rose along it."""
        curvature, squares = float(step @ change), float(change @ change)
        if not curvature > _LEAST_CURVATURE * np.sqrt(float(step @ step) * squares):
            return
        if not len(self._steps):
            self._steps, self._changes = (np.empty((self.size, len(step)), dtype=self.dtype) for _ in range(2))
        row = len(self._order) if len(self._order) < self.size else self._order.pop(0)
        self._order.append(row)
        self._steps[row], self._changes[row], self._inverses[row] = step, change, 1.0 / curvature
        self.scale = curvature / squares

    def direction(self, slope: np.ndarray) -> np.ndarray:
        """Minus the inverse Hessian times the slope."""
        q = (-slope).astype(self.dtype)
        if self._order:
            order = np.array(self._order)
            two_loops.of(self.dtype)(self._steps, self._changes, self._inverses, order, self.scale, q)
        return q.astype(np.float64)


@compiled(
    lambda number: types.void(
        matrix(number),  # steps s
        matrix(number),  # changes y of the slope
        vector(types.float64),  # 1 / s'y
        vector(types.int64),  # their order, newest last
        types.float64,  # scale of the first Hessian
        vector(number),  # q
    ),
    fastmath=VECTORISED,
)
def two_loops(steps, changes, inverses, order, scale, q):
    """q <- inverse Hessian times q, in place, by the two loops of Nocedal (1980).

    Each pass over q takes leave of one pair and meets the next. BLAS, called 40 times, takes five times as long for a
    dozen numbers, 1.7 times for a few thousand, and as long for a hundred thousand.
    """
    number = q.dtype.type
    count, d = order.shape[0], q.shape[0]
    shares = np.empty(count)
    i = order[count - 1]
    product = number(0)
    for j in range(d):
        product += steps[i, j] * q[j]
    for p in range(count - 1, 0, -1):
        i, k = order[p], order[p - 1]
        shares[p] = inverses[i] * product
        share = number(shares[p])
        product = number(0)
        for j in range(d):
            q[j] -= share * changes[i, j]
            product += steps[k, j] * q[j]
    i = order[0]
    shares[0] = inverses[i] * product
    share = number(shares[0])
    factor = number(scale)
    product = number(0)
    for j in range(d):
        q[j] = factor * (q[j] - share * changes[i, j])
        product += changes[i, j] * q[j]
    for p in range(count - 1):
        i, k = order[p], order[p + 1]
        share = number(shares[p] - inverses[i] * product)
        product = number(0)
        for j in range(d):
            q[j] += share * steps[i, j]
            product += changes[k, j] * q[j]
    i = order[count - 1]
    share = number(shares[count - 1] - inverses[i] * product)
    for j in range(d):
        q[j] += share * steps[i, j]


def minimise(function: Function, start: np.ndarray, *, max_iter: int, tol: float, dtype: np.dtype, note: Note) -> None:
    """Follow L-BFGS for `max_iter` iterations; `note(vector, value)` sees each and ends it by True.

    Ends where the value falls by less than `tol` times itself (or times 1, where that is larger), or where no slope is
    above `tol`, as scipy does. Where no step makes the value fall, the memory is cleared once, and then it ends too.

    dtype : the number type in which earlier steps are remembered
    """
    memory = Memory(dtype)
    vector = start
    value, slope = function(vector)
    for _ in range(max_iter):
        if not np.isfinite(value) or np.abs(slope).max(initial=0.0) <= tol:
            return
        found = _search(function, vector, value, slope, memory)
        if found is None and len(memory):
            memory.clear()
            found = _search(function, vector, value, slope, memory)
        if found is None:
            return
        candidate, new_value, new_slope = found
        memory.add(candidate - vector, new_slope - slope)
        fallen = value - new_value
        before = value
        vector, value, slope = candidate, new_value, new_slope
        if note(vector, value) or fallen <= tol * max(abs(before), abs(value), 1.0):
            return


def _search(
    function: Function, vector: np.ndarray, value: float, slope: np.ndarray, memory: Memory
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """A step that fulfils the weak Wolfe conditions: Lewis and Overton (2013), for functions with kinks.

    An interval is halved, or where the slope at its lower end says so, divided at the minimum of a parabola. None where
    no step lowers the value enough; the best one where only the second condition fails.
    """
    direction = memory.direction(slope)
    along = float(slope @ direction)
    if not along < 0:
        return None
    # Without a memory the direction has no length of its own: as scipy, one of length 1.
    step = 1.0 if len(memory) else min(1.0, 1.0 / float(np.sqrt(slope @ slope)))
    low, high, best = 0.0, np.inf, None
    for _ in range(_MOST_TRIES):
        candidate = vector + step * direction
        new_value, new_slope = function(candidate)
        if not new_value <= value + _DECREASE * step * along:
            high = step
            # The minimum of the parabola through both values with the slope at the start.
            parabola = -along * step**2 / (2.0 * (new_value - value - along * step)) if np.isfinite(new_value) else 0.0
            inside = low + 0.1 * (high - low) < parabola < low + 0.9 * (high - low)
            step = parabola if inside and best is None else 0.5 * (low + high)
        elif float(new_slope @ direction) < _CURVATURE * along:
            low, best = step, (candidate, new_value, new_slope)
            step = 2.0 * low if high == np.inf else 0.5 * (low + high)
        else:
            return candidate, new_value, new_slope
    return best
