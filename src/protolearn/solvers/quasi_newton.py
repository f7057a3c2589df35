"""L-BFGS without bounds (Liu and Nocedal 1989), with a line search that does not need a smooth function.

scipy's is made for bounds: with the 78,000 numbers of a matrix of 256 features and 50 prototypes it spends 7 ms an
iteration beside the function, this one 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types

from protolearn.compiled import VECTORISED, aligned_empty, compiled, inline, matrix, stack, vector, vectorised
from protolearn.function_arguments import FunctionOf
from protolearn.lanes import three_products
from protolearn.partner import BOX, in_company, run_pieces
from protolearn.tiles import room_for, up_to

# As many pairs of steps as scipy keeps; half of them where a vector has so many numbers that all of them would not stay
# in the cache: then they take twice the time and the loss after 30 or 100 iterations is the same within one percent.
_MEMORY, _LONG, _MEMORY_OF_LONG = 10, 20_000, 5
# The least cosine of the angle between a step and the change of the slope that is remembered.
_LEAST_CURVATURE = 1e-12
# Sufficient decrease and curvature of the weak Wolfe conditions.
_DECREASE, _CURVATURE = 1e-4, 0.9
_MOST_TRIES = 20
# Numbers of a vector that are worked on at a time, by one of two threads: four of them stay in the first-level cache.
_AT_A_TIME = 2048
# Numbers of all steps from which two threads take less time than one.
_WORTH_TWO = 100_000
# As many numbers of float32 or float64 fill whole cache lines.
_IN_LINES = 16

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Note = Callable[[np.ndarray, float], bool]


class Memory:
    """The last steps s and changes y of the slope, and the approximate inverse Hessian they make.

    They are kept in the number type of the slopes: one that is computed in float32 has no digits beyond. The two loops
    of Nocedal (1980) need their inner products and nothing else (Chen, Wang and Zhou 2014), so that each vector is read
    twice an iteration: when a new pair meets it, and for the direction after that.
    """

    def __init__(self, dtype: np.dtype, size: int) -> None:
        self.dtype, self.size = dtype, size
        # Rows of `_steps` and `_changes` in the order in which they came.
        self._order: list[int] = []
        self._steps = self._changes = np.empty((0, 0), dtype=dtype)
        # s'y and y'y of all pairs, and s'g and y'g with one slope g.
        self._products, self._squares = np.empty((size, size)), np.empty((size, size))
        self._with_slope, self._slope = np.empty((size, 2)), np.empty(0, dtype=dtype)

    def __len__(self) -> int:
        return len(self._order)

    def clear(self) -> None:
        """Forget them all."""
        self._order = []

    def add(self, direction: np.ndarray, length: float, before: np.ndarray, after: np.ndarray) -> None:
        """Remember a step of so many times the direction, if the slope rose along it; the oldest gives way in any case.

        before, after : the slopes at its ends
        """
        if not len(self._steps):
            # Rows that begin on cache lines, so that vectors do not cross them.
            shape = self.size, up_to(len(after), _IN_LINES)
            self._steps, self._changes = (aligned_empty(shape, self.dtype) for _ in range(2))
        if len(self) == self.size:
            del self._order[0]
        row = next(row for row in range(self.size) if row not in self._order)
        rows = np.array([*self._order, row])
        step_squares = in_company(
            meet, self.dtype, meet_part.argument(self.dtype), direction, length, before, after, self._steps,
            self._changes, rows, self._products, self._squares, self._with_slope, worth=self._worth_two,
        )  # fmt: skip
        self._slope = after
        curvature, change_squares = self._products[row, row], self._squares[row, row]
        if curvature > _LEAST_CURVATURE * np.sqrt(step_squares * change_squares):
            self._order.append(row)

    def direction(self, slope: np.ndarray) -> np.ndarray:
        """Minus the inverse Hessian times the slope."""
        if not self._order:
            return -slope
        pairs = self._steps, self._changes, np.array(self._order)
        if slope is not self._slope:
            meet_slope.of(self.dtype)(*pairs, slope, self._with_slope)
            self._slope = slope
        found = np.empty_like(slope)
        in_company(
            fill_direction, self.dtype, fill_part.argument(self.dtype), *pairs, self._products, self._squares,
            self._with_slope, slope, found, worth=self._worth_two,
        )  # fmt: skip
        return found

    @property
    def _worth_two(self) -> bool:
        """Whether there are enough numbers for two threads."""
        return self._steps.size >= _WORTH_TWO


def _types_of_meeting(number: Any) -> tuple[Any, ...]:
    return (
        vector(number),  # direction
        types.float64,  # length
        vector(number),  # slope before
        vector(number),  # slope after
        matrix(number),  # steps
        matrix(number),  # changes
        vector(types.int64),  # rows of the pairs that stay, and last that of the new one
    )


def _types_of_part(number: Any) -> Any:
    return types.void(
        *_types_of_meeting(number),
        stack(types.float64),  # inner products of each pair, of each piece
        types.int64,  # piece
    )


@compiled(_types_of_part, fastmath=VECTORISED)
def meet_part(direction, length, before, after, steps, changes, rows, products, piece):
    """Fill a piece of a new step s and change y of the slope g, and its inner products with each pair.

    Of a pair s_i, y_i: s_i'y, s_i'g, s_i's, y_i'y, y_i'g, y_i's.
    """
    length_of_row = steps.shape[1]
    of_steps, of_changes = steps.reshape(-1), changes.reshape(-1)
    last = rows.shape[0] - 1
    new = rows[last]
    factor = steps.dtype.type(length)
    slope = room_for(_AT_A_TIME, after)
    found, first = products[piece], piece * _AT_A_TIME
    count, s = min(_AT_A_TIME, after.shape[0] - first), new * length_of_row + first
    part = slice(first, first + count)
    fill(direction[part], factor, before[part], after[part], steps[new, part], changes[new, part], slope)
    for p in range(last + 1):
        at = rows[p] * length_of_row + first
        with_step = three_products(of_steps, at, of_changes, s, slope, 0, of_steps, s, count)
        with_change = three_products(of_changes, at, of_changes, s, slope, 0, of_steps, s, count)
        for i in range(3):
            found[p, i] = with_step[i]
            found[p, 3 + i] = with_change[i]


@compiled(
    lambda number: types.float64(
        FunctionOf(_types_of_part(number)),
        *_types_of_meeting(number),
        matrix(types.float64),  # s'y
        matrix(types.float64),  # y'y
        matrix(types.float64),  # s'g and y'g
        BOX,
    )
)
def meet(part, direction, length, before, after, steps, changes, rows, products, squares, with_slope, box):
    """Fill a new step and change of the slope, and all inner products with them and with the slope; s's of the new."""
    count, n_pieces = rows.shape[0], pieces_of(after.shape[0])
    found = np.empty((n_pieces, count, 6))
    run_pieces(box, part, n_pieces, direction, length, before, after, steps, changes, rows, found)
    for piece in range(1, n_pieces):
        for p in range(count):
            for i in range(6):
                found[0, p, i] += found[piece, p, i]
    new = rows[count - 1]
    for p in range(count):
        row = rows[p]
        products[row, new] = found[0, p, 0]
        with_slope[row, 0] = found[0, p, 1]
        if p < count - 1:
            products[new, row] = found[0, p, 5]
        squares[row, new] = squares[new, row] = found[0, p, 3]
        with_slope[row, 1] = found[0, p, 4]
    return found[0, count - 1, 2]


@inline
def pieces_of(n):
    """How many pieces a vector has."""
    return (n + _AT_A_TIME - 1) // _AT_A_TIME


@compiled(
    lambda number: types.void(
        *(matrix(number),) * 2,  # steps, changes
        vector(types.int64),  # rows
        vector(number),  # slope
        matrix(types.float64),  # s'g and y'g
    ),
    fastmath=VECTORISED,
)
def meet_slope(steps, changes, rows, slope, with_slope):
    """The inner products with a slope that no step has led to."""
    for row in rows:
        with_slope[row, 0] = with_slope[row, 1] = 0.0
        for begin in range(0, slope.shape[0], _AT_A_TIME):
            part = slice(begin, min(begin + _AT_A_TIME, slope.shape[0]))
            with_slope[row, 0] += inner_product(steps[row, part], slope[part])
            with_slope[row, 1] += inner_product(changes[row, part], slope[part])


@vectorised
def fill(direction, factor, before, after, step, change, slope):
    """step = factor direction, change = after - before, and the slope after."""
    for j in range(step.shape[0]):
        step[j] = factor * direction[j]
        change[j] = after[j] - before[j]
        slope[j] = after[j]


@vectorised
def inner_product(one, other):
    """Of two short vectors, which write nothing: a loop that adds up and writes rounds as its arrays happen to lie."""
    product = one.dtype.type(0)
    for j in range(one.shape[0]):
        product += one[j] * other[j]
    return product


def _types_of_filling(number: Any) -> Any:
    return types.void(
        matrix(number),  # steps s
        matrix(number),  # changes y of the slope
        vector(types.int64),  # their rows, newest last
        types.float64,  # factor of g
        vector(types.float64),  # factors of s
        vector(types.float64),  # factors of y
        vector(number),  # g
        vector(number),  # out
        types.int64,  # piece
    )


@compiled(_types_of_filling, fastmath=VECTORISED)
def fill_part(steps, changes, order, of_slope, of_steps, of_changes, g, out, piece):
    """A piece of a sum of multiples of g and of all steps and changes."""
    number = g.dtype.type
    part = slice(piece * _AT_A_TIME, min((piece + 1) * _AT_A_TIME, g.shape[0]))
    some = out[part]
    put_multiple(g[part], number(of_slope), some)
    for p in range(order.shape[0]):
        add_multiples(steps[order[p], part], number(of_steps[p]), changes[order[p], part], number(of_changes[p]), some)


@compiled(
    lambda number: types.void(
        FunctionOf(_types_of_filling(number)),
        matrix(number),  # steps s
        matrix(number),  # changes y of the slope
        vector(types.int64),  # their rows, newest last
        matrix(types.float64),  # s'y
        matrix(types.float64),  # y'y
        matrix(types.float64),  # s'g and y'g
        vector(number),  # g
        vector(number),  # out
        BOX,
    )
)
def fill_direction(part, steps, changes, order, products, squares, with_slope, g, out, box):
    """Minus the inverse Hessian times g.

    The first loop takes multiples `back` of the changes from -g, the second adds multiples `forth` of the steps to that
    times the scale s'y / y'y of the newest pair.
    """
    count = order.shape[0]
    newest = order[count - 1]
    scale = products[newest, newest] / squares[newest, newest]
    back, forth, shares = np.zeros(count), np.zeros(count), np.zeros(count)
    for p in range(count - 1, -1, -1):
        i = order[p]
        product = -with_slope[i, 0]
        for o in range(p + 1, count):
            product -= back[o] * products[i, order[o]]
        back[p] = product / products[i, i]
        shares[p] = -scale * back[p]
    for p in range(count):
        i = order[p]
        product = -with_slope[i, 1]
        for o in range(count):
            product -= back[o] * squares[i, order[o]]
        product *= scale
        for o in range(p):
            product += forth[o] * products[order[o], i]
        forth[p] = back[p] - product / products[i, i]
    run_pieces(box, part, pieces_of(g.shape[0]), steps, changes, order, -scale, forth, shares, g, out)


@vectorised
def put_multiple(one, factor, out):
    """out = factor one."""
    for j in range(out.shape[0]):
        out[j] = factor * one[j]


@vectorised
def add_multiples(one, factor, other, share, out):
    """out += factor one + share other."""
    for j in range(out.shape[0]):
        out[j] += factor * one[j] + share * other[j]


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
        if not np.isfinite(value) or _all_within(slope, tol):
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


def _all_within(slope: np.ndarray, tol: float) -> bool:
    """Whether no number of the slope is above `tol`, or below -tol; not so where the sum of their squares says so."""
    if float(slope @ slope) > 2.0 * len(slope) * tol**2:
        return False
    return max(slope.max(initial=0.0), -slope.min(initial=0.0)) <= tol


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
