"""Instructions that numba's compiler does not choose by itself: searches in registers, long vectors, rows in time.

It vectorises a search for the least value only where it may assume that no number is a NaN, and a search for the two
least not at all. These say which vectors to compare: a sample of LVQ3 at 50 prototypes and 32 features takes 186
nanoseconds instead of 214 with loops that keep what they found in memory. It takes half of the width of AVX-512's
vectors where the processor is Intel's, and writes sums to memory after each few features: an online epoch at 390
prototypes and 16 features takes 0.7 of its time with sums that stay in registers. Nor does it know which row of a
matrix comes next. Called without a compiler, they are the plain functions that explain them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

# Numbers at a time, two or four vectors of AVX2: one does not wait for the other. Lengths are multiples of it.
LANES = 16

_CACHE_LINE = 64
INDEX = ir.IntType(64)


def two_least(D):
    """The least and the second least value, which may be equal; a NaN is passed over, infinity if there is no other."""
    ordered = np.sort(np.append(D[~np.isnan(D)], np.full(2, np.inf, D.dtype)))
    return ordered[0], ordered[1]


def index_of(D, value):
    """The lowest index of a value, the length of D where it is not there."""
    return int(np.append(np.flatnonzero(np.equal(D, value)), len(D))[0])


def next_at_most(D, begin, end, limit):
    """The lowest index from `begin` on, before `end`, of a value that is not above a limit; `end` if there is none."""
    return int(begin + np.append(np.flatnonzero(D[begin:end] <= limit), end - begin)[0])


def three_products(A, a, B, b, C, c, D, d, count):
    """The inner products of so many numbers of A, from place a on, with those of three others from theirs on."""
    # With places, not parts: numba counts the users of each part of an array, which takes as long as 300 numbers.
    one = A[a : a + count]
    return tuple(A.dtype.type(one @ X[x : x + count]) for X, x in ((B, b), (C, c), (D, d)))


def put_distances_to_columns(x, W, D):
    """D[i] = |x - W[i]|^2, where W is in Fortran's order and has a multiple of LANES rows."""
    D[: len(W)] = 0
    for j in range(len(x)):
        D[: len(W)] += (x[j] - W[:, j]) ** 2


def ask_for(X, n):
    """Have row n of X brought to the cache while other work goes on."""


@type_callable(two_least)
def _type_of_two_least(context: Any) -> Callable:
    return lambda D: types.UniTuple(D.dtype, 2)


@type_callable(index_of)
def _type_of_index_of(context: Any) -> Callable:
    return lambda D, value: types.int64


@type_callable(next_at_most)
def _type_of_next_at_most(context: Any) -> Callable:
    return lambda D, begin, end, limit: types.int64


@type_callable(three_products)
def _type_of_three_products(context: Any) -> Callable:
    return lambda A, a, B, b, C, c, D, d, count: types.UniTuple(A.dtype, 3)


@type_callable(put_distances_to_columns)
def _type_of_put_distances_to_columns(context: Any) -> Callable:
    return lambda x, W, D: types.none


@type_callable(ask_for)
def _type_of_ask_for(context: Any) -> Callable:
    return lambda X, n: types.none


@lower_builtin(two_least, types.Array)
def _two_least(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    lanes = _Lanes(context, builder, signature.args[0], arguments[0])
    least = cgutils.alloca_once_value(builder, ir.Constant(lanes.type, [float("inf")] * LANES))
    second = cgutils.alloca_once_value(builder, ir.Constant(lanes.type, [float("inf")] * LANES))
    with cgutils.for_range_slice(builder, index(0), lanes.length, index(LANES), INDEX) as (i, _):
        values, least_before = lanes.load(i), builder.load(least)
        higher = _select_less(builder, values, least_before, otherwise=True)
        builder.store(_select_less(builder, higher, builder.load(second)), second)
        builder.store(_select_less(builder, values, least_before), least)
    a, b = builder.load(least), builder.load(second)
    half = LANES // 2
    while half > 0:
        (a, c), (b, d) = (
            (_chosen(builder, vector, range(half)), _chosen(builder, vector, range(half, 2 * half)))
            for vector in (a, b)
        )
        higher = _select_less(builder, a, c, otherwise=True)
        a = _select_less(builder, a, c)
        b = _select_less(builder, _select_less(builder, b, d), higher)
        half //= 2
    found = [builder.extract_element(vector, ir.Constant(ir.IntType(32), 0)) for vector in (a, b)]
    return context.make_tuple(builder, signature.return_type, found)


@lower_builtin(index_of, types.Array, types.Float)
def _index_of(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    lanes = _Lanes(context, builder, signature.args[0], arguments[0])
    value = context.cast(builder, arguments[1], signature.args[1], signature.args[0].dtype)
    everywhere = lanes.everywhere(value)
    found = cgutils.alloca_once_value(builder, lanes.length)
    # From the end to the beginning, so that the lowest is noted last.
    start = builder.sub(lanes.length, index(LANES))
    with cgutils.for_range_slice(builder, start, index(-1), index(-LANES), INDEX, inc=False) as (i, _):
        bits = _bits(builder, builder.fcmp_ordered("==", lanes.load(i), everywhere))
        here = builder.add(i, _first(builder, bits))
        none = builder.icmp_unsigned("==", bits, index(0))
        builder.store(builder.select(none, builder.load(found), here), found)
    return builder.load(found)


@lower_builtin(next_at_most, types.Array, types.Integer, types.Integer, types.Float)
def _next_at_most(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    lanes = _Lanes(context, builder, signature.args[0], arguments[0])
    _, begin, end, limit = arguments
    everywhere = lanes.everywhere(context.cast(builder, limit, signature.args[3], signature.args[0].dtype))
    found = cgutils.alloca_once_value(builder, end)
    # Of the first vector, what lies before `begin` does not count.
    counted = cgutils.alloca_once_value(builder, builder.shl(index(-1), builder.and_(begin, index(LANES - 1))))
    first, last = (builder.udiv(at, index(LANES)) for at in (begin, builder.add(end, index(LANES - 1))))
    with cgutils.for_range(builder, last, first, INDEX) as loop:
        at = builder.mul(loop.index, index(LANES))
        bits = _bits(builder, builder.fcmp_ordered("<=", lanes.load(at), everywhere))
        bits = builder.and_(bits, builder.load(counted))
        builder.store(index(-1), counted)
        with builder.if_then(builder.icmp_unsigned("!=", bits, index(0)), likely=False):
            here = builder.add(at, _first(builder, bits))
            builder.store(builder.select(builder.icmp_signed("<", here, end), here, end), found)
            loop.do_break()
    return builder.load(found)


@lower_builtin(three_products, *(types.Array, types.Integer) * 4, types.Integer)
def _three_products(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    one, *others = (_Lanes(context, builder, signature.args[i], arguments[i], arguments[i + 1]) for i in range(0, 8, 2))
    count = arguments[8]
    # Two vectors at a time, so that one sum does not wait for the other.
    zero = ir.Constant(one.type, [0.0] * LANES)
    sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(2)] for _ in others]
    for pair in sums:
        for total in pair:
            builder.store(zero, total)
    whole = builder.sub(count, builder.and_(count, index(2 * LANES - 1)))
    with cgutils.for_range_slice(builder, index(0), whole, index(2 * LANES), INDEX) as (i, _):
        for number in range(2):
            at = builder.add(i, index(number * LANES))
            values = one.load(at)
            for other, pair in zip(others, sums, strict=True):
                builder.store(plus_product(builder, builder.load(pair[number]), values, other.load(at)), pair[number])
    found = []
    for pair in sums:
        total, half = builder.fadd(*map(builder.load, pair)), LANES // 2
        while half > 0:
            total = builder.fadd(*(_chosen(builder, total, range(at, at + half)) for at in (0, half)))
            half //= 2
        first = builder.extract_element(total, ir.Constant(ir.IntType(32), 0))
        found.append(cgutils.alloca_once(builder, first.type))
        builder.store(first, found[-1])
    with cgutils.for_range_slice(builder, whole, count, index(1), INDEX) as (i, _):
        value = builder.load(builder.gep(one.data, [i]))
        for other, total in zip(others, found, strict=True):
            more = builder.load(builder.gep(other.data, [i]))
            builder.store(plus_product(builder, builder.load(total), value, more), total)
    return context.make_tuple(builder, signature.return_type, [builder.load(total) for total in found])


@lower_builtin(put_distances_to_columns, types.Array, types.Array, types.Array)
def _put_distances_to_columns(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    x, D = (_Lanes(context, builder, signature.args[i], arguments[i]) for i in (0, 2))
    array = context.make_array(signature.args[1])(context, builder, arguments[1])
    n, d = cgutils.unpack_tuple(builder, array.shape, 2)
    # Sums of several vectors stay in registers while one feature after the other is added; then those of one.
    several = 8 // D.alignment * 2
    whole = builder.sub(n, builder.urem(n, index(several * LANES)))
    for begin, end, count in ((index(0), whole, several), (whole, n, 1)):
        with cgutils.for_range_slice(builder, begin, end, index(count * LANES), INDEX) as (i, _):
            sums = [cgutils.alloca_once(builder, D.type) for _ in range(count)]
            for one in sums:
                builder.store(ir.Constant(D.type, [0.0] * LANES), one)
            with cgutils.for_range(builder, d, intp=INDEX) as loop:
                everywhere = D.everywhere(builder.load(builder.gep(x.data, [loop.index])))
                column = builder.gep(array.data, [builder.add(builder.mul(loop.index, n), i)])
                for number, one in enumerate(sums):
                    away = builder.fsub(everywhere, D.vector(column, index(number * LANES)))
                    builder.store(plus_product(builder, builder.load(one), away, away), one)
            for number, one in enumerate(sums):
                D.store(builder.load(one), builder.add(i, index(number * LANES)))
    return context.get_dummy_value()


@lower_builtin(ask_for, types.Array, types.Integer)
def _ask_for(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    _, d = cgutils.unpack_tuple(builder, array.shape, 2)
    row = builder.gep(array.data, [builder.mul(arguments[1], d)])
    number = ir.IntType(32)
    prefetch = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.VoidType(), [row.type, number, number, number]), "llvm.prefetch.p0"
    )
    # To read, into the second cache, since the first is full of prototypes; as data, one cache line after the other.
    how = [ir.Constant(number, option) for option in (0, 2, 1)]
    in_line = index(_CACHE_LINE * 8 // signature.args[0].dtype.bitwidth)
    with cgutils.for_range_slice(builder, index(0), d, in_line, INDEX) as (j, _):
        builder.call(prefetch, [builder.gep(row, [j]), *how])
    return context.get_dummy_value()


class _Lanes:
    """The numbers of an array, from one place on, LANES at a time."""

    def __init__(self, context: Any, builder: ir.IRBuilder, array_type: Any, value: Any, begin: Any = None) -> None:
        array = context.make_array(array_type)(context, builder, value)
        self.builder, self.data = builder, array.data if begin is None else builder.gep(array.data, [begin])
        (self.length,) = cgutils.unpack_tuple(builder, array.shape, 1)
        self.type = ir.VectorType(context.get_data_type(array_type.dtype), LANES)
        self.alignment = array_type.dtype.bitwidth // 8

    def load(self, i: Any) -> Any:
        return self.vector(self.data, i)

    def vector(self, numbers: Any, i: Any) -> Any:
        """LANES numbers that lie elsewhere."""
        found = self.builder.load(self._place(numbers, i))
        found.align = self.alignment
        return found

    def store(self, vector: Any, i: Any) -> None:
        self.builder.store(vector, self._place(self.data, i)).align = self.alignment

    def everywhere(self, number: Any) -> Any:
        """One number in all lanes."""
        none = ir.Constant(self.type, ir.Undefined)
        return _chosen(
            self.builder, self.builder.insert_element(none, number, ir.Constant(ir.IntType(32), 0)), [0] * LANES
        )

    def _place(self, numbers: Any, i: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(numbers, [i]), self.type.as_pointer())


def index(value: int) -> ir.Constant:
    """A number that counts, as LLVM wants it."""
    return ir.Constant(INDEX, value)


def _chosen(builder: ir.IRBuilder, vector: Any, lanes: Iterable[int]) -> Any:
    """Some lanes of a vector."""
    wanted = list(lanes)
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), len(wanted)), wanted))


def _bits(builder: ir.IRBuilder, lanes: Any) -> Any:
    """Which lanes hold, a bit each."""
    return builder.zext(builder.bitcast(lanes, ir.IntType(LANES)), INDEX)


def _first(builder: ir.IRBuilder, bits: Any) -> Any:
    """The lowest bit that is set."""
    return builder.cttz(bits, ir.Constant(ir.IntType(1), 0))


def plus_product(builder: ir.IRBuilder, total: Any, one: Any, other: Any) -> Any:
    """total + one other, rounded once where the processor does so."""
    how = ("contract",)
    return builder.fadd(total, builder.fmul(one, other, flags=how), flags=how)


def _select_less(builder: ir.IRBuilder, a: Any, b: Any, *, otherwise: bool = False) -> Any:
    """In each lane a if a < b, else b; the other one of the two if `otherwise`."""
    less = builder.fcmp_ordered("<", a, b)
    return builder.select(less, b, a) if otherwise else builder.select(less, a, b)
