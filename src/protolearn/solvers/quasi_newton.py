"""L-BFGS without bounds (Liu and Nocedal 1989), with a line search that does not need a smooth function.

scipy's is made for bounds: with the 78,000 numbers of a matrix of 256 features and 50 prototypes it spends 7 ms an
iteration beside the function, this one 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import types

from protolearn.compiled import VECTORISED, compiled, matrix, vector, vectorised

# As many pairs of steps as scipy keeps; half of them where a vector has so many numbers that all of them would not stay
# in the cache: then they take twice the time and the loss after 30 or 100 iterations is the same within one percent.
_MEMORY, _LONG, _MEMORY_OF_LONG = 10, 20_000, 5
# The least cosine of the angle between a step and the change of the slope that is remembered.
_LEAST_CURVATURE = 1e-12
# Sufficient decrease and curvature of the weak Wolfe conditions.
_DECREASE, _CURVATURE = 1e-4, 0.9
_MOST_TRIES = 20
# Numbers of a vector that are worked on at a time: four vectors of them stay in the first-level cache.
_AT_A_TIME = 2048

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Note = Callable[[np.ndarray, float], bool]


class Memory:
    """The last steps and changes of slope, and the approximate inverse Hessian they make.

    They are kept in the number type of the slopes: one that is computed in float32 has no digits beyond.
    """

    def __init__(self, dtype: np.dtype, size: int) -> None:
        self.dtype, self.size = dtype, size
        self.scale = 1.0
        # Rows of `_steps` and `_changes` in the order in which they came; one more is free for the next.
        self._order: list[int] = []
        self._steps = self._changes = np.empty((0, 0), dtype=dtype)
        self._inverses = np.empty(size + 1)

    def __len__(self) -> int:
        return len(self._order)

    def clear(self) -> None:
        """Forget them all."""
        self._order = []
        self.scale = 1.0

    def add(self, direction: np.ndarray, length: float, before: np.ndarray, after: np.ndarray) -> None:
        """Remember a step of so many times the direction, if the slope rose along it; the oldest gives way.

        before, after : the slopes at its ends
        """
        if not len(self._steps):
            self._steps, self._changes = (np.empty((self.size + 1, len(after)), dtype=self.dtype) for _ in range(2))
        row = next(row for row in range(self.size + 1) if row not in self._order)
        curvature, step_squares, change_squares = step_and_change.of(self.dtype)(
            direction, length, before, after, self._steps[row], self._changes[row]
        )
        if not curvature > _LEAST_CURVATURE * np.sqrt(step_squares * change_squares):
            return
        self._order = [*self._order[-self.size + 1 :], row]
        self._inverses[row] = 1.0 / curvature
        self.scale = curvature / change_squares

    def direction(self, slope: np.ndarray) -> np.ndarray:
        """Minus the inverse Hessian times the slope."""
        q = -slope
        if self._order:
            order = np.array(self._order)
            two_loops.of(self.dtype)(self._steps, self._changes, self._inverses, order, self.scale, q)
        return q


@compiled(
    lambda number: types.UniTuple(types.float64, 3)(
        vector(number),  # direction
        types.float64,  # length
        *(vector(number),) * 4,  # slopes before and after, step, change
    ),
    fastmath=VECTORISED,
)
def step_and_change(direction, length, before, after, step, change):
    """Fill step s and change y of the slope; s'y, s's and y'y."""
    factor = step.dtype.type(length)
    product = step_squares = change_squares = 0.0
    for begin in range(0, step.shape[0], _AT_A_TIME):
        part = slice(begin, begin + _AT_A_TIME)
        s, y = step[part], change[part]
        fill(direction[part], factor, before[part], after[part], s, y)
        product += inner_product(s, y)
        step_squares += inner_product(s, s)
        change_squares += inner_product(y, y)
    return product, step_squares, change_squares


@vectorised
def fill(direction, factor, before, after, step, change):
    """step = factor direction, change = after - before."""
    for j in range(step.shape[0]):
        step[j] = factor * direction[j]
        change[j] = after[j] - before[j]


@vectorised
def inner_product(one, other):
    """Of two short vectors, which write nothing: a loop that adds up and writes rounds as its arrays happen to lie."""
    product = one.dtype.type(0)
    for j in range(one.shape[0]):
        product += one[j] * other[j]
    return product


@vectorised
def add_multiple(q, factor, share, other):
    """q = factor (q + share other)."""
    for j in range(q.shape[0]):
        q[j] = factor * (q[j] + share * other[j])


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

    Each pass takes leave of one pair and meets the next, a part that stays in the cache at a time. BLAS, called 40
    times, takes five times as long for a dozen numbers, 1.7 times for a few thousand, and as long for a hundred
    thousand.
    """
    number = q.dtype.type
    count = order.shape[0]
    shares = np.empty(count)
    product = 0.0
    for begin in range(0, q.shape[0], _AT_A_TIME):
        part = slice(begin, begin + _AT_A_TIME)
        product += inner_product(steps[order[count - 1], part], q[part])
    # Back to the oldest pair and forth to the newest; the pair that is left, and the one that is met.
    for turn in range(2 * count):
        back = turn < count
        p = count - 1 - turn if back else turn - count
        i = order[p]
        factor = number(1.0)
        if back:
            shares[p] = inverses[i] * product
            share, left = number(-shares[p]), changes[i]
            met = steps[order[p - 1]] if p > 0 else changes[order[0]]
            if p == 0:
                factor = number(scale)
        else:
            share, left = number(shares[p] - inverses[i] * product), steps[i]
            met = changes[order[p + 1]] if p + 1 < count else changes[i]
        product = 0.0
        for begin in range(0, q.shape[0], _AT_A_TIME):
            part = slice(begin, begin + _AT_A_TIME)
            add_multiple(q[part], factor, share, left[part])
            # The newest pair meets none.
            if turn + 1 < 2 * count:
                product += inner_product(met[part], q[part])


@compiled(
    lambda number: types.void(
        vector(types.float64),  # start
        vector(number),  # direction
        types.float64,  # length
        vector(types.float64),  # out
    ),
    fastmath=VECTORISED,
)
def go(start, direction, length, out):
    """out = start + length direction."""
    for j in range(start.shape[0]):
        out[j] = start[j] + length * direction[j]


class _Step(NamedTuple):
    """A step that lowers the value."""

    length: float
    end: np.ndarray
    value: float
    slope: np.ndarray


def minimise(function: Function, start: np.ndarray, *, max_iter: int, tol: float, note: Note) -> None:
    """Follow L-BFGS for `max_iter` iterations; `note(vector, value)` sees each and ends it by True.

    Ends where the value falls by less than `tol` times itself (or times 1, where that is larger), or where no slope is
    above `tol`, as scipy does. Where no step makes the value fall, the memory is cleared once, and then it ends too.

    function : value and slope at a vector of float64; the slope may be of float32
    """
    vector = start
    value, slope = function(vector)
    memory = Memory(slope.dtype, _MEMORY if len(slope) < _LONG else _MEMORY_OF_LONG)
    for _ in range(max_iter):
        if not np.isfinite(value) or max(slope.max(initial=0.0), -slope.min(initial=0.0)) <= tol:
            return
        direction = memory.direction(slope)
        found = _search(function, vector, value, slope, direction, first=not len(memory))
        if found is None and len(memory):
            memory.clear()
            direction = memory.direction(slope)
            found = _search(function, vector, value, slope, direction, first=True)
        if found is None:
            return
        memory.add(direction, found.length, slope, found.slope)
        before = value
        vector, value, slope = found.end, found.value, found.slope
        if note(vector, value) or before - value <= tol * max(abs(before), abs(value), 1.0):
            return


def _search(
    function: Function, vector: np.ndarray, value: float, slope: np.ndarray, direction: np.ndarray, *, first: bool
) -> _Step | None:
    """A step that fulfils the weak Wolfe conditions: Lewis and Overton (2013), for functions with kinks.

    An interval is halved, or where the slope at its lower end says so, divided at the minimum of a parabola. None where
    no step lowers the value enough; the best one where only the second condition fails.

    first : without a memory the direction has no length of its own, and as in scipy the first step is one of length 1
    """
    along = float(slope @ direction)
    if not along < 0:
        return None
    length = min(1.0, 1.0 / float(np.sqrt(slope @ slope))) if first else 1.0
    low, high, best = 0.0, np.inf, None
    for _ in range(_MOST_TRIES):
        candidate = np.empty_like(vector)
        go.of(direction.dtype)(vector, direction, length, candidate)
        new_value, new_slope = function(candidate)
        if not new_value <= value + _DECREASE * length * along:
            high = length
            # The minimum of the parabola through both values with the slope at the start.
            rise = new_value - value - along * length
            parabola = -along * length**2 / (2.0 * rise) if np.isfinite(new_value) else 0.0
            inside = low + 0.1 * (high - low) < parabola < low + 0.9 * (high - low)
            length = parabola if inside and best is None else 0.5 * (low + high)
        elif float(new_slope @ direction) < _CURVATURE * along:
            low, best = length, _Step(length, candidate, new_value, new_slope)
            length = 2.0 * low if high == np.inf else 0.5 * (low + high)
        else:
            return _Step(length, candidate, new_value, new_slope)
    return best
