"""Products of matrices in tiles that fit into a processor's registers, for sums that BLAS has no function for.

Of a symmetric matrix one triangle is enough: x'Sx and sums of c x x' take half of the operations of a product. BLAS's
functions for triangles run at two thirds of the speed of its products, at half of it where matrices are small, and
leave rows in memory that are read once more. Here a tile of ROWS times `width_of` sums stays in registers while it is
added up, and what is wanted of it is taken from there, at the speed of a large product of BLAS.

The numbers come in panels, so that they are read in the order in which they lie: `width_of` numbers of a row, or one
number of as many rows, side by side. Arrays are of any number of dimensions, and places count their numbers in C's
order. Called without a compiler, these are the plain functions that explain them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config, types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from protolearn.compiled import inline
from protolearn.lanes import INDEX, index, plus_product

_SETTINGS: Any = config


def _has(feature: str) -> bool:
    """Whether numba compiles for a processor that has it."""
    if _SETTINGS.CPU_FEATURES is not None:
        return f"+{feature}" in _SETTINGS.CPU_FEATURES
    return binding.get_host_cpu_features().get(feature, False)


# The shape of a tile: rows, bytes of a vector, vectors side by side. The sums, one row of vectors and one number fit
# into 32 registers of 64 bytes, 16 of 32 or 32 of 16; a processor with fewer takes longer and finds the same.
ROWS, _VECTOR, _ACROSS = (8, 64, 2) if _has("avx512f") else (4, 32, 3) if _has("avx") else (4, 16, 4)
# Rows of the last tile of some prototypes, where no more are left: it takes half of the time.
FEW_ROWS = ROWS // 2
# The instruction that multiplies pairs of 16-bit integers and adds the two products.
_PAIRS = (
    {64: "llvm.x86.avx512.pmaddw.d.512", 32: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.sse2.pmadd.wd"}[_VECTOR]
    if _has({64: "avx512bw", 32: "avx2", 16: "sse2"}[_VECTOR])
    else None
)
# Where arrays should begin: a vector that crosses two lines of the cache takes two loads.
_CACHE_LINE = 64


@inline
def up_to(n, multiple):
    """The least multiple that is not less than n."""
    return (n + multiple - 1) // multiple * multiple


@inline
def width_of(X):
    """Numbers of a panel side by side."""
    return _VECTOR * _ACROSS // X.itemsize


@inline
def room_for(size, X):
    """Memory for so many numbers, from the beginning of a cache line on."""
    memory = np.empty(size + _CACHE_LINE // X.itemsize, X.dtype)
    first = (-address_of(memory) % _CACHE_LINE) // X.itemsize
    return memory[first : first + size]


def address_of(X):
    """Where the numbers of X begin."""
    return X.ctypes.data


@type_callable(address_of)
def _type_of_address_of(context: Any) -> Callable:
    return lambda X: types.int64


@lower_builtin(address_of, types.Array)
def _address_of(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.ptrtoint(array.data, INDEX)


def add_product(A, a, step, B, b, next_one, count, C, c, row):
    """C[c + r row + v] += the sum over k < count of A[a + k step + r] B[b + k next_one + v], r < ROWS, v < width."""
    _taken(C, c, row, ROWS, width_of(B))[:] += _product(A, a, step, B, b, next_one, count)


def add_narrow_product(A, a, step, B, b, next_one, count, C, c, row):
    """As `add_product`, v < `lanes_of`: where a tile crosses the diagonal and no more of it is wanted."""
    lanes = lanes_of(B)
    _taken(C, c, row, ROWS, lanes)[:] += _product(A, a, step, B, b, next_one, count)[:, :lanes]


def put_product(A, a, step, B, b, next_one, count, C, c, row):
    """C[c + r row + v] = the sum of `add_product`."""
    _taken(C, c, row, ROWS, width_of(B))[:] = _product(A, a, step, B, b, next_one, count)


def put_product_of_pairs(A, a, step, B, b, next_one, count, C, c, row):
    """As `put_product`, of 32-bit integers that are two of 16 bits each: the products of both are added."""
    left, right = _taken(A, a, step, count, ROWS), _taken(B, b, next_one, count, width_of(B))
    # A number of 32 bits is its upper half, with its sign, and 65536ths.
    halves = [(one.astype(np.int16).astype(np.int32), one >> 16) for one in (left, right)]
    _taken(C, c, row, ROWS, width_of(B))[:] = sum(one.T @ other for one, other in zip(*halves, strict=True))


def _product(A: np.ndarray, a: int, step: int, B: np.ndarray, b: int, next_one: int, count: int) -> np.ndarray:
    return _taken(A, a, step, count, ROWS).T @ _taken(B, b, next_one, count, width_of(B))


def add_forms(A, a, panel, at, count, forms, f):
    """forms[f + v] += the sum over r < ROWS of panel[at + r, v] times that over k < count of A[a, k, r] panel[k, v]."""
    width = width_of(panel)
    sums = _taken(A, a, ROWS, count, ROWS).T @ _taken(panel, 0, width, count, width)
    forms[f : f + width] += (_taken(panel, at * width, width, ROWS, width) * sums).sum(axis=0)


def put_distances(A, a, panel, count, forms, slot, constants, i, D, at, row):
    """D[at + r row + v] = constants[i + r] + forms[slot[i + r] width + v] + the sum of `add_product`, with a panel.

    Rounding below zero is clipped; NaN stays NaN.
    """
    _put_distances_of_rows(ROWS, A, a, panel, count, forms, slot, constants, i, D, at, row)


def put_few_distances(A, a, panel, count, forms, slot, constants, i, D, at, row):
    """As `put_distances`, r < FEW_ROWS."""
    _put_distances_of_rows(FEW_ROWS, A, a, panel, count, forms, slot, constants, i, D, at, row)


def _put_distances_of_rows(n_rows, A, a, panel, count, forms, slot, constants, i, D, at, row):
    width = width_of(panel)
    sums = _taken(A, a, ROWS, count, ROWS).T @ _taken(panel, 0, width, count, width)
    for r in range(n_rows):
        begin = slot[i + r] * width
        distances = sums[r] + (forms[begin : begin + width] + constants[i + r])
        _taken(D, at + r * row, 0, 1, width)[0] = np.where(distances < 0, 0, distances)


def put_multiple(A, a, factor, B, b):
    """B[b + v] = factor A[a + v], v < width."""
    B[b : b + width_of(B)] = factor * A.reshape(-1)[a : a + width_of(B)]


def add_multiple(A, a, factor, B, b):
    """B[b + v] += factor A[a + v], v < width."""
    _taken(B, b, 0, 1, width_of(B))[0] += factor * A.reshape(-1)[a : a + width_of(B)]


def put_columns(A, starts, s, a, B, b, row):
    """B[b + j row + v] = A[starts[s + v] + a + j] for v, j < `lanes_of`: a square of some rows as columns."""
    lanes = lanes_of(A)
    for v in range(lanes):
        begin = starts[s + v] + a
        _taken(B, b + v, row, lanes, 1)[:, 0] = A.reshape(-1)[begin : begin + lanes]


def _taken(A: np.ndarray, begin: int, step: int, count: int, length: int) -> np.ndarray:
    """So many numbers of A at each of some places, as a matrix."""
    numbers = A.reshape(-1)[begin:]
    return np.lib.stride_tricks.as_strided(numbers, (count, length), (step * A.itemsize, A.itemsize))


@inline
def lanes_of(X):
    """Numbers of a vector."""
    return _VECTOR // X.itemsize


@type_callable(add_product)
@type_callable(add_narrow_product)
@type_callable(put_product)
@type_callable(put_product_of_pairs)
def _type_of_product(context: Any) -> Callable:
    return lambda A, a, step, B, b, next_one, count, C, c, row: types.none


@type_callable(add_forms)
def _type_of_add_forms(context: Any) -> Callable:
    return lambda A, a, panel, at, count, forms, f: types.none


@type_callable(put_distances)
@type_callable(put_few_distances)
def _type_of_put_distances(context: Any) -> Callable:
    return lambda A, a, panel, count, forms, slot, constants, i, D, at, row: types.none


@type_callable(put_multiple)
def _type_of_put_multiple(context: Any) -> Callable:
    return lambda A, a, factor, B, b: types.none


@type_callable(add_multiple)
def _type_of_add_multiple(context: Any) -> Callable:
    return lambda A, a, factor, B, b: types.none


@type_callable(put_columns)
def _type_of_put_columns(context: Any) -> Callable:
    return lambda A, starts, s, a, B, b, row: types.none


_A, _N = types.Array, types.Integer


@lower_builtin(add_product, _A, _N, _N, _A, _N, _N, _N, _A, _N, _N)
def _add_product(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    for vectors, more, C, at in _products(context, builder, signature, arguments):
        vectors.store(builder.fadd(vectors.load(C, at), more), C, at)
    return context.get_dummy_value()


@lower_builtin(add_narrow_product, _A, _N, _N, _A, _N, _N, _N, _A, _N, _N)
def _add_narrow_product(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    for vectors, more, C, at in _products(context, builder, signature, arguments, across=1):
        vectors.store(builder.fadd(vectors.load(C, at), more), C, at)
    return context.get_dummy_value()


@lower_builtin(put_product, _A, _N, _N, _A, _N, _N, _N, _A, _N, _N)
def _put_product(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    for vectors, sums, C, at in _products(context, builder, signature, arguments):
        vectors.store(sums, C, at)
    return context.get_dummy_value()


@lower_builtin(put_product_of_pairs, _A, _N, _N, _A, _N, _N, _N, _A, _N, _N)
def _put_product_of_pairs(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    for vectors, sums, C, at in _products(context, builder, signature, arguments, _plus_products_of_pairs):
        vectors.store(sums, C, at)
    return context.get_dummy_value()


def _plus_products_of_pairs(builder: ir.IRBuilder, total: Any, one: Any, other: Any) -> Any:
    """total + the products of the lower and of the upper halves of 32-bit integers."""
    lanes = total.type.count
    if _PAIRS is not None:
        halves = ir.VectorType(ir.IntType(16), 2 * lanes)
        multiply = cgutils.get_or_insert_function(builder.module, ir.FunctionType(total.type, [halves] * 2), _PAIRS)
        return builder.add(total, builder.call(multiply, [builder.bitcast(x, halves) for x in (one, other)]))
    bits = ir.Constant(total.type, [16] * lanes)
    lower = builder.mul(*(builder.ashr(builder.shl(x, bits), bits) for x in (one, other)))
    return builder.add(total, builder.add(lower, builder.mul(*(builder.ashr(x, bits) for x in (one, other)))))


def _products(
    context: Any,
    builder: ir.IRBuilder,
    signature: Any,
    arguments: Any,
    plus: Callable = plus_product,
    across: int = _ACROSS,
) -> Iterator[tuple[Any, ...]]:
    """Each vector of the sums, and where its place in C is."""
    vectors = _Vectors(context, builder, signature.args[0].dtype)
    A, B, C = (vectors.numbers(signature.args[i], arguments[i]) for i in (0, 3, 7))
    _, a, step, _, b, next_one, count, _, c, row = arguments
    for r, sums in enumerate(vectors.tile(A, a, step, B, b, next_one, count, plus, across=across)):
        begin = builder.add(c, builder.mul(row, index(r)))
        for v, one in enumerate(sums):
            yield vectors, one, C, builder.add(begin, index(v * vectors.lanes))


@lower_builtin(add_forms, _A, _N, _A, _N, _N, _A, _N)
def _add_forms(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    vectors = _Vectors(context, builder, signature.args[0].dtype)
    A, panel, forms = (vectors.numbers(signature.args[i], arguments[i]) for i in (0, 2, 5))
    _, a, _, at, count, _, f = arguments
    tile = vectors.tile(A, a, index(ROWS), panel, index(0), index(vectors.width), count)
    for v in range(_ACROSS):
        place = builder.add(f, index(v * vectors.lanes))
        form = vectors.load(forms, place)
        for r, sums in enumerate(tile):
            row = builder.mul(builder.add(at, index(r)), index(vectors.width))
            of_row = vectors.load(panel, builder.add(row, index(v * vectors.lanes)))
            form = plus_product(builder, form, of_row, sums[v])
        vectors.store(form, forms, place)
    return context.get_dummy_value()


@lower_builtin(put_distances, _A, _N, _A, _N, _A, _A, _A, _N, _A, _N, _N)
def _put_distances(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    return _put_distances_to_rows(ROWS, context, builder, signature, arguments)


@lower_builtin(put_few_distances, _A, _N, _A, _N, _A, _A, _A, _N, _A, _N, _N)
def _put_few_distances(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    return _put_distances_to_rows(FEW_ROWS, context, builder, signature, arguments)


def _put_distances_to_rows(n_rows: int, context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    vectors = _Vectors(context, builder, signature.args[0].dtype)
    A, panel, forms, slot, constants, D = (vectors.numbers(signature.args[i], arguments[i]) for i in (0, 2, 4, 5, 6, 8))
    _, a, _, count, _, _, _, i, _, at, row = arguments
    zero = ir.Constant(vectors.type, [0.0] * vectors.lanes)
    tile = vectors.tile(A, a, index(ROWS), panel, index(0), index(vectors.width), count, n_rows=n_rows)
    for r, sums in enumerate(tile):
        place = builder.add(i, index(r))
        constant = vectors.spread(builder.load(builder.gep(constants, [place])))
        form = builder.mul(builder.load(builder.gep(slot, [place])), index(vectors.width))
        begin = builder.add(at, builder.mul(row, index(r)))
        for v, products in enumerate(sums):
            after = index(v * vectors.lanes)
            rest = builder.fadd(vectors.load(forms, builder.add(form, after)), constant)
            distance = builder.fadd(products, rest)
            below = builder.fcmp_ordered("<", distance, zero)
            vectors.store(builder.select(below, zero, distance), D, builder.add(begin, after))
    return context.get_dummy_value()


@lower_builtin(put_multiple, _A, _N, types.Float, _A, _N)
def _put_multiple(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    for vectors, multiple, B, at in _multiples(context, builder, signature, arguments):
        vectors.store(builder.fmul(*multiple), B, at)
    return context.get_dummy_value()


@lower_builtin(add_multiple, _A, _N, types.Float, _A, _N)
def _add_multiple(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    for vectors, multiple, B, at in _multiples(context, builder, signature, arguments):
        vectors.store(plus_product(builder, vectors.load(B, at), *multiple), B, at)
    return context.get_dummy_value()


def _multiples(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Iterator[tuple[Any, ...]]:
    """The factor and each vector of a part of A, and where its place in B is."""
    vectors = _Vectors(context, builder, signature.args[0].dtype)
    A, B = (vectors.numbers(signature.args[i], arguments[i]) for i in (0, 3))
    _, a, factor, _, b = arguments
    everywhere = vectors.spread(context.cast(builder, factor, signature.args[2], signature.args[0].dtype))
    for v in range(_ACROSS):
        at = index(v * vectors.lanes)
        yield vectors, (everywhere, vectors.load(A, builder.add(a, at))), B, builder.add(b, at)


@lower_builtin(put_columns, _A, _A, _N, _N, _A, _N, _N)
def _put_columns(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    vectors = _Vectors(context, builder, signature.args[0].dtype)
    A, starts, B = (vectors.numbers(signature.args[i], arguments[i]) for i in (0, 1, 4))
    _, _, s, a, _, b, row = arguments
    lanes = vectors.lanes
    square = []
    for v in range(lanes):
        begin = builder.load(builder.gep(starts, [builder.add(s, index(v))]))
        square.append(vectors.load(A, builder.add(begin, a)))
    # Quarters change places, then the quarters of these, down to single numbers.
    half = lanes // 2
    while half > 0:
        for i in range(lanes):
            if not i & half:
                one, other = square[i], square[i + half]
                square[i] = vectors.mixed(one, other, [j - half + lanes if j & half else j for j in range(lanes)])
                square[i + half] = vectors.mixed(
                    one, other, [j + lanes if j & half else j + half for j in range(lanes)]
                )
        half //= 2
    for j, column in enumerate(square):
        vectors.store(column, B, builder.add(b, builder.mul(row, index(j))))
    return context.get_dummy_value()


class _Vectors:
    """Instructions for vectors of one number type."""

    def __init__(self, context: Any, builder: ir.IRBuilder, number: Any) -> None:
        self.context, self.builder = context, builder
        self.bytes = number.bitwidth // 8
        self.lanes = _VECTOR // self.bytes
        self.width = _ACROSS * self.lanes
        self.type = ir.VectorType(context.get_data_type(number), self.lanes)

    def numbers(self, array_type: Any, array: Any) -> Any:
        """Where the numbers of an array begin."""
        return self.context.make_array(array_type)(self.context, self.builder, array).data

    def load(self, numbers: Any, at: Any) -> Any:
        found = self.builder.load(self._place(numbers, at))
        found.align = self.bytes
        return found

    def store(self, vector: Any, numbers: Any, at: Any) -> None:
        self.builder.store(vector, self._place(numbers, at)).align = self.bytes

    def _place(self, numbers: Any, at: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(numbers, [at]), self.type.as_pointer())

    def mixed(self, one: Any, other: Any, lanes: list[int]) -> Any:
        """Some lanes of two vectors."""
        return self.builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), lanes))

    def spread(self, number: Any) -> Any:
        """One number in all lanes."""
        none = ir.Constant(self.type, ir.Undefined)
        return self.mixed(self.builder.insert_element(none, number, index(0)), none, [0] * self.lanes)

    def tile(
        self,
        A: Any,
        a: Any,
        step: Any,
        B: Any,
        b: Any,
        next_one: Any,
        count: Any,
        plus: Callable = plus_product,
        n_rows: int = ROWS,
        across: int = _ACROSS,
    ) -> list[list[Any]]:
        """The sums of `add_product`, or of some rows and vectors, in registers; `plus` adds a product to a sum."""
        builder = self.builder
        zero = ir.Constant(self.type, None)
        # Variables in memory, which LLVM turns into registers.
        tile = [[cgutils.alloca_once(builder, self.type) for _ in range(across)] for _ in range(n_rows)]
        for sums in tile:
            for one in sums:
                builder.store(zero, one)
        with cgutils.for_range(builder, count, intp=INDEX) as loop:
            left, right = builder.mul(loop.index, step), builder.mul(loop.index, next_one)
            begin = builder.add(b, right)
            row = [self.load(B, builder.add(begin, index(v * self.lanes))) for v in range(across)]
            for r, sums in enumerate(tile):
                at = builder.add(builder.add(a, left), index(r))
                number = self.spread(builder.load(builder.gep(A, [at])))
                for one, vector in zip(sums, row, strict=True):
                    builder.store(plus(builder, builder.load(one), number, vector), one)
        return [[builder.load(one) for one in sums] for sums in tile]
