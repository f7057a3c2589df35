"""Tiles in registers: what compiled functions do is what the plain functions say."""

import os
import subprocess
import sys

import numpy as np
import pytest
from llvmlite import binding
from numba import types

from protolearn import tiles
from protolearn.compiled import compiled, matrix, vector
from protolearn.tiles import (
    FEW_ROWS,
    ROWS,
    add_forms,
    add_multiple,
    add_narrow_product,
    add_product,
    lanes_of,
    put_columns,
    put_distances,
    put_few_distances,
    put_multiple,
    put_product,
    put_product_of_pairs,
    room_for,
    width_of,
)

NUMBERS = [np.dtype(np.float32), np.dtype(np.float64)]


@compiled(lambda number: types.void(vector(number), vector(number), types.int64, vector(number)))
def add_one_product(A, B, count, C):
    add_product(A, 3, ROWS + 2, B, 5, width_of(B), count, C, 1, 2 * width_of(C))


@compiled(lambda number: types.void(vector(number), vector(number), types.int64, vector(number)))
def add_one_narrow_product(A, B, count, C):
    add_narrow_product(A, 3, ROWS + 2, B, 5, width_of(B), count, C, 1, 2 * width_of(C))


@compiled(lambda number: types.void(vector(number), vector(number), types.int64, vector(number)))
def put_one_product(A, B, count, C):
    put_product(A, 3, ROWS + 2, B, 5, width_of(B) + 3, count, C, 1, 2 * width_of(C))


@compiled(lambda number: types.void(vector(types.int32), vector(types.int32), types.int64, vector(types.int32)))
def put_one_product_of_pairs(A, B, count, C):
    put_product_of_pairs(A, 3, ROWS + 2, B, 5, width_of(B) + 3, count, C, 1, 2 * width_of(C))


@compiled(lambda number: types.void(vector(number), vector(number), types.int64, vector(number)))
def add_one_form(A, panel, count, forms):
    add_forms(A, 3, panel, 1, count, forms, 2)


@compiled(lambda number: types.void(vector(number), types.float64, vector(number)))
def put_one_multiple(A, factor, B):
    put_multiple(A, 3, B.dtype.type(factor), B, 5)


@compiled(lambda number: types.void(vector(number), types.float64, vector(number)))
def add_one_multiple(A, factor, B):
    add_multiple(A, 3, B.dtype.type(factor), B, 5)


@compiled(lambda number: types.void(vector(number), vector(types.int64), vector(number)))
def put_some_columns(A, starts, panel):
    put_columns(A, starts, 1, 2, panel, 3, width_of(panel))


@compiled(lambda number: types.int64(types.int64, vector(number)))
def address_of_room(size, X):
    room = room_for(size, X)
    room[:] = 0
    return room.ctypes.data + room.shape[0] - size


def random(size, dtype, seed=0):
    return np.random.default_rng(seed).normal(size=size).astype(dtype)


def alike(function, dtype, *arguments):
    """Compiled and as Python, each in its own copy of the last argument, which is returned."""
    found = [arguments[-1].copy() for _ in range(2)]
    function.of(dtype)(*arguments[:-1], found[0])
    function.function(*arguments[:-1], found[1])
    np.testing.assert_allclose(*found, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-4 * dtype.itemsize)
    return found[0]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("count", [0, 1, 7, 40])
@pytest.mark.parametrize(("add", "columns_of"), [(add_one_product, width_of), (add_one_narrow_product, lanes_of)])
def test_a_product_is_added_to_a_tile_and_to_nothing_else(add, columns_of, count, dtype):
    width, columns = (of(np.empty(0, dtype)) for of in (width_of, columns_of))
    A, B = random(3 + 40 * (ROWS + 2), dtype), random(5 + 40 * width, dtype, 1)
    before = random(1 + 2 * width * ROWS, dtype, 2)
    after = alike(add, dtype, A, B, count, before)
    left, right = A[3:].reshape(40, ROWS + 2)[:count, :ROWS], B[5:].reshape(40, width)[:count, :columns]
    expected = before.astype(np.float64)
    expected[1:].reshape(ROWS, 2 * width)[:, :columns] += left.T @ right
    np.testing.assert_allclose(after, expected, rtol=1e-4, atol=1e-4)
    outside = np.ones(len(before), dtype=bool)
    outside[1:].reshape(ROWS, 2 * width)[:, :columns] = False
    np.testing.assert_array_equal(after[outside], before[outside])


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("count", [0, 1, 40])
def test_a_product_is_put_in_place_of_a_tile_and_of_nothing_else(count, dtype):
    """With rows of the second matrix that lie apart."""
    width = width_of(np.empty(0, dtype))
    A, B = random(3 + 40 * (ROWS + 2), dtype), random(5 + 40 * (width + 3), dtype, 1)
    before = random(1 + 2 * width * ROWS, dtype, 2)
    after = alike(put_one_product, dtype, A, B, count, before)
    left, right = A[3:].reshape(40, ROWS + 2)[:count, :ROWS], B[5:].reshape(40, width + 3)[:count, :width]
    expected = before.astype(np.float64)
    expected[1:].reshape(ROWS, 2 * width)[:, :width] = left.T @ right
    np.testing.assert_allclose(after, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("count", [0, 1, 40])
def test_both_halves_of_integers_are_multiplied(count):
    """Exactly, up to the largest of 16 bits."""
    width = width_of(np.empty(0, np.int32))
    rng = np.random.default_rng(0)
    # 40 pairs of the largest products are 80 * 5000^2, just below 2^31; a single one may be of the largest numbers.
    most = 32767 if count == 1 else 5000
    A, B = (
        rng.choice([-most, -1, 0, 3, most], size=(size, 2)).astype(np.int16).view(np.int32)[:, 0]
        for size in (3 + 40 * (ROWS + 2), 5 + 40 * (width + 3))
    )
    before = rng.integers(-9, 9, 1 + 2 * width * ROWS, dtype=np.int32)
    after = alike(put_one_product_of_pairs, np.dtype(np.float32), A, B, count, before)
    left = A[3:].reshape(40, ROWS + 2)[:count, :ROWS]
    right = B[5:].reshape(40, width + 3)[:count, :width]
    one, other = ((part.astype(np.int16).astype(np.int64), part.astype(np.int64) >> 16) for part in (left, right))
    expected = before.copy()
    expected[1:].reshape(ROWS, 2 * width)[:, :width] = one[0].T @ other[0] + one[1].T @ other[1]
    np.testing.assert_array_equal(after, expected)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("count", [1, 30])
def test_forms_are_products_of_some_rows_of_a_panel_with_all(count, dtype):
    width = width_of(np.empty(0, dtype))
    A, panel = random(3 + 30 * ROWS, dtype), random(30 * width, dtype, 1)
    after = alike(add_one_form, dtype, A, panel, count, random(width + 4, dtype, 2))
    rows = panel.reshape(30, width)
    sums = A[3:].reshape(30, ROWS)[:count].T @ rows[:count]
    expected = random(width + 4, dtype, 2)
    expected[2:-2] += (rows[1 : 1 + ROWS] * sums).sum(axis=0)
    np.testing.assert_allclose(after, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize(("function", "before"), [(put_one_multiple, 0.0), (add_one_multiple, 1.0)])
def test_a_multiple_of_a_part(function, before, dtype):
    width = width_of(np.empty(0, dtype))
    A = random(3 + width, dtype)
    after = alike(function, dtype, A, -2.5, np.ones(width + 6, dtype))
    np.testing.assert_allclose(after[5:-1], before - 2.5 * A[3:], rtol=1e-5, atol=1e-6)
    assert (after[:5] == 1).all()
    assert after[-1] == 1


@pytest.mark.parametrize("dtype", NUMBERS)
def test_a_square_of_rows_as_columns(dtype):
    lanes, width = lanes_of(np.empty(0, dtype)), width_of(np.empty(0, dtype))
    A = random(200, dtype)
    starts = np.append(0, np.random.default_rng(1).integers(0, 200 - lanes - 2, lanes))
    after = alike(put_some_columns, dtype, A, starts, np.zeros(3 + lanes * width, dtype))
    for v in range(lanes):
        begin = starts[1 + v] + 2
        np.testing.assert_array_equal(after[3:].reshape(lanes, width)[:, v], A[begin : begin + lanes])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_room_begins_on_a_cache_line(dtype):
    for size in (1, 33, 1000):
        assert address_of_room.of(dtype)(size, np.empty(0, dtype)) % 64 == 0


def test_the_processor_that_numba_compiles_for_decides(monkeypatch):
    monkeypatch.setattr(tiles._SETTINGS, "CPU_FEATURES", "+sse2,+avx")
    assert tiles._has("avx")
    assert not tiles._has("avx512f")


@compiled(
    lambda number: types.void(matrix(number), vector(number), vector(types.int64), vector(number), matrix(number))
)
def put_some_distances(panel, A, slot, constants, D):
    put_distances(A, 3, panel, 5, panel[1], slot, constants, 2, D, 1, D.shape[1])


@compiled(
    lambda number: types.void(matrix(number), vector(number), vector(types.int64), vector(number), matrix(number))
)
def put_distances_of_few(panel, A, slot, constants, D):
    put_few_distances(A, 3, panel, 5, panel[1], slot, constants, 2, D, 1, D.shape[1])


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize(("put", "n_rows"), [(put_some_distances, ROWS), (put_distances_of_few, FEW_ROWS)])
def test_distances_are_clipped_sums_of_forms_constants_and_products(put, n_rows, dtype):
    width = width_of(np.empty(0, dtype))
    panel, A = random((5, width), dtype), random(3 + 5 * ROWS, dtype, 1)
    panel[:, 4] = np.nan
    slot, constants = np.zeros(2 + ROWS, dtype=np.int64), random(2 + ROWS, dtype, 2)
    after = alike(put, dtype, panel, A, slot, constants, np.full((ROWS, width + 2), 7.0, dtype))
    expected = (A[3:].reshape(5, ROWS).T @ panel + constants[2:, None] + panel[1])[:n_rows]
    measured = after[:n_rows, 1:-1]
    np.testing.assert_allclose(measured, np.where(expected < 0, 0, expected), rtol=1e-4, atol=1e-5)
    assert (measured == 0).any()
    assert np.isnan(measured[:, 4]).all()
    assert (after[:, [0, -1]] == 7.0).all()
    assert (after[n_rows:] == 7.0).all()


_OTHER_SHAPE = """
import numpy as np
from protolearn import LOGM
from protolearn.metrics.quadratic import MatrixDistances
from protolearn.metrics.scatter import scatter_of_entries
from protolearn.solvers import ahead
from protolearn.tiles import width_of

rng = np.random.default_rng(0)
X, maps, W = rng.normal(size=(700, 37)), rng.normal(size=(2, 37, 37)) / 6, rng.normal(size=(5, 37))
slot, matrices = np.arange(5) % 2, maps.transpose(0, 2, 1) @ maps
linear = np.einsum("ijk,ik->ij", matrices[slot], W)
found = MatrixDistances.under(matrices, linear, (linear * W).sum(axis=1), slot).of(X)
expected = [(((X - m) @ maps[s].T) ** 2).sum(axis=1) for m, s in zip(W, slot)]
np.testing.assert_allclose(found, expected, rtol=1e-9)
sums = scatter_of_entries(X, np.arange(700), X[:, 0].copy(), np.array([300, 700]))[:, :37, :37]
for one, rows in zip(sums, (slice(300), slice(300, 700))):
    np.testing.assert_allclose(np.tril(one), np.tril((X[rows] * X[rows, :1]).T @ X[rows]), atol=1e-9)
y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
learned = []
for least in (1, 10**9):
    ahead._LEAST_PROTOTYPES = ahead._LEAST_NUMBERS = least
    model = LOGM(n_prototypes=13, max_iter=3, random_state=0)
    learned.append(model.fit(X, y).prototypes_)
np.testing.assert_allclose(*learned, atol=1e-10)
print(width_of(X))
"""


@pytest.mark.parametrize(
    ("processor", "features", "width"),
    [("generic", "", 8)]
    + ([("haswell", "+avx,+avx2,+fma", 12)] if binding.get_host_cpu_features().get("avx2") else []),
)
def test_tiles_for_other_processors_find_the_same(processor, features, width):
    """Also those whose width does not divide the rows that are measured at a time."""
    environment = {**os.environ, "NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features}
    done = subprocess.run(
        [sys.executable, "-c", _OTHER_SHAPE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == width
