"""From maps Omega to what distances need of Lambda = Omega'Omega, and from sums over the samples back to the maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from protolearn.compiled import (
    VECTORISED,
    compiled,
    constant_matrix,
    constant_stack,
    inline,
    matrix,
    stack,
    vector,
    vectorised,
)
from protolearn.metrics.quadratic import MatrixDistances, fill_panel, put_linear, put_triangle, room_for_tiles
from protolearn.metrics.scatter import add_products, fill_panels, multiplied_at_a_time
from protolearn.partner import in_pieces, run_pieces, types_in_pieces, worth_a_partner
from protolearn.prototypes import PrototypeSet
from protolearn.tiles import ROWS, lanes_of, put_columns, put_product, room_for, up_to, width_of


def matrix_distances(prototypes: PrototypeSet) -> MatrixDistances:
    """D_i = x' Lambda x - 2 (Lambda m_i)'x + m_i' Lambda m_i, x and m_i from `prototypes.centring`."""
    W, theta, slot = prototypes.centring[1], prototypes.theta, prototypes.slot
    n_slots, _, d = theta.shape
    dtype = theta.dtype
    found = MatrixDistances(
        matrices=np.empty((n_slots, d, length_of_row(W)), dtype),
        linear=np.empty((len(W), d), dtype),
        constants=np.empty(len(W), dtype),
        slot=slot,
        tiles=room_for_tiles(n_slots, len(W), d, dtype),
    )
    arguments = theta, W, slot, found.matrices, found.linear, found.constants, found.tiles
    in_pieces(fill_distances_of_map, distances_of_maps, dtype, arguments, n_slots, theta.size * (d // 2))
    return found


def _types_of_distances(number: Any) -> Any:
    return types.void(
        constant_stack(number),  # theta
        constant_matrix(number),  # W
        vector(types.int64),  # slot
        stack(number),  # Lambda
        matrix(number),  # Lambda m of each prototype m
        vector(number),  # m'Lambda m
        vector(number),  # tiles
        types.int64,  # the slot
    )


@compiled(_types_of_distances, fastmath=VECTORISED)
def fill_distances_of_map(theta, W, slot, matrices, linear, constants, tiles, s):
    """Lambda of a slot, and what of it concerns its prototypes."""
    n_rows, d, size = theta.shape[1], W.shape[1], up_to(W.shape[1], width_of(W))
    sums = np.empty((1, size, size), W.dtype)
    most = multiplied_at_a_time(sums)
    panels, as_they_are, rows = room_for(most * size, W), np.empty(0, W.dtype), numbered(n_rows)
    members, positions = np.empty(W.shape[0], np.int64), np.empty(W.shape, W.dtype)
    products = room_for_products(W.shape[0], W)
    for r in range(size):
        for j in range(size):
            sums[0, r, j] = 0
    omega = theta[s]
    for first in range(0, n_rows, most):
        last = min(first + most, n_rows)
        fill_panels(omega, rows, as_they_are, first, last, panels)
        add_products(panels, panels, last - first, sums, 0)
    complete(sums, matrices[s])
    put_triangle(matrices[s], d, s, tiles)
    count = take_members(W, slot, s, members, positions)
    put_products(positions, count, matrices[s], products)
    put_rows(products, members, count, linear)
    for k in range(count):
        constant = W.dtype.type(0)
        for j in range(d):
            constant += positions[k, j] * products[k, j]
        constants[members[k]] = constant
        put_linear(linear, members[k], theta.shape[0], tiles)


@compiled(lambda number: types_in_pieces(_types_of_distances(number)))
def distances_of_maps(fill, theta, W, slot, matrices, linear, constants, tiles, n_slots, box):
    """`fill_distances_of_map` for each slot."""
    run_pieces(box, fill, n_slots, theta, W, slot, matrices, linear, constants, tiles)


@inline
def numbered(n):
    """0 to n - 1."""
    found = np.empty(n, np.int64)
    for i in range(n):
        found[i] = i
    return found


def gradient_of_sums(
    prototypes: PrototypeSet, first: np.ndarray, mass: np.ndarray, scatter: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of c dD/dm for each prototype, and of c dD/dOmega = 2 c Omega v v', v = x - m, for each slot.

    first, mass : sums of c x and of c for each prototype, x and m from `prototypes.centring`
    scatter : sums of c x x' for each slot, as `metrics.scatter` has them
    """
    theta, W, slot = prototypes.theta, prototypes.centring[1], prototypes.slot
    matrices = prototypes.derived(matrix_distances).matrices
    dtype = theta.dtype
    first, mass = first.astype(np.float64, copy=False), mass.astype(np.float64, copy=False)
    scatter = np.ascontiguousarray(scatter, dtype=dtype)
    by_positions, by_theta = np.empty(W.shape, dtype=dtype), np.empty_like(theta)
    multiply_adds = scatter.size * theta.shape[1]
    # Parts of one slot, for a partner who would have none otherwise; what both do takes a third of what they share.
    n_parts = 2 if len(theta) == 1 and worth_a_partner(multiply_adds) else 1
    arguments = first, mass, scatter, W, theta, matrices, slot, by_positions, by_theta, n_parts
    in_pieces(fill_gradient, gradient_of_maps, dtype, arguments, n_parts * len(theta), multiply_adds)
    return by_positions, by_theta


def _types_of_gradient(number: Any) -> Any:
    return types.void(
        matrix(types.float64),  # sums of c x
        vector(types.float64),  # sums of c
        stack(number),  # sums of c x x'
        constant_matrix(number),  # W
        constant_stack(number),  # theta
        stack(number),  # Lambda
        vector(types.int64),  # slot
        matrix(number),  # by the positions
        stack(number),  # by theta
        types.int64,  # how many parts a slot has
        types.int64,  # the part, those of one slot after the other
    )


@compiled(_types_of_gradient)
def fill_gradient(first, mass, scatter, W, theta, matrices, slot, by_positions, by_theta, n_parts, piece):
    """The gradient of a slot and of its prototypes, or a part of their rows.

    The sum of c v v' is that of c x x', less x m' + m x' of each prototype m with x the sum of c (x - m / 2).
    """
    s, part = piece // n_parts, piece % n_parts
    n_prototypes, d, size, width = W.shape[0], W.shape[1], scatter.shape[1], width_of(W)
    mixed, away = np.empty(W.shape, W.dtype), np.empty(W.shape, W.dtype)
    n_rows, positions = theta.shape[1], np.empty(W.shape, W.dtype)
    some, products = np.empty((width, d), W.dtype), room_for_products(width, W)
    of_positions, of_mixed = room_for(n_prototypes * size, W), room_for(n_prototypes * size, W)
    sums, whole = np.empty((1, size, size), W.dtype), np.empty((d, length_of_row(W)), W.dtype)
    members, rows = np.empty(n_prototypes, np.int64), numbered(max(n_prototypes, n_rows))
    as_they_are = np.empty(0, W.dtype)
    count = take_members(W, slot, s, members, positions)
    take_sums(first, mass, members, count, positions, mixed, away)
    fill_panels(positions, rows, as_they_are, 0, count, of_positions)
    fill_panels(mixed, rows, as_they_are, 0, count, of_mixed)
    put_twice(scatter[s], sums[0])
    add_products(of_positions, of_mixed, count, sums, 0)
    add_products(of_mixed, of_positions, count, sums, 0)
    complete(sums, whole)
    # So few rows at a time that their products stay in the first-level cache. Copies: of an array that is not written
    # to, numba would compile all of it once more.
    for begin in range(part * width, n_rows, n_parts * width):
        n = min(width, n_rows - begin)
        put_rows(theta[s, begin : begin + n], rows, n, some)
        put_products(some, n, whole, products)
        put_rows(products, rows[begin:], n, by_theta[s])
    for begin in range(part * width, count, n_parts * width):
        n = min(width, count - begin)
        put_products(away[begin:], n, matrices[s], products)
        put_rows(products, members[begin:], n, by_positions)


@compiled(lambda number: types_in_pieces(_types_of_gradient(number)))
def gradient_of_maps(
    fill, first, mass, scatter, W, theta, matrices, slot, by_positions, by_theta, n_parts, n_pieces, box
):
    """`fill_gradient` for each part of each slot."""
    run_pieces(box, fill, n_pieces, first, mass, scatter, W, theta, matrices, slot, by_positions, by_theta, n_parts)


@inline
def take_members(W, slot, s, members, positions):
    """The prototypes of a slot, with their positions one below the other; how many there are."""
    count = 0
    for i in range(W.shape[0]):
        if slot[i] == s:
            members[count] = i
            for j in range(W.shape[1]):
                positions[count, j] = W[i, j]
            count += 1
    return count


@inline
def take_sums(first, mass, members, count, positions, mixed, away):
    """Minus twice the sums of c (x - m / 2) and of c (x - m) of some prototypes m."""
    for k in range(count):
        i = members[k]
        for j in range(positions.shape[1]):
            mixed[k, j] = -2.0 * (first[i, j] - 0.5 * mass[i] * positions[k, j])
            away[k, j] = -2.0 * (first[i, j] - mass[i] * positions[k, j])


@inline
def put_rows(rows, members, count, out):
    """Each of the first rows where its number says."""
    for k in range(count):
        # Read once: for all that LLVM knows, what is written could change it.
        i = members[k]
        for j in range(out.shape[1]):
            out[i, j] = rows[k, j]


@inline
def length_of_row(X):
    """Numbers of a row of a matrix for `put_products`.

    A cache line more than the tiles need: rows whose lengths are powers of two would all lie in the same few places of
    the first-level cache.
    """
    return up_to(X.shape[1], width_of(X)) + lanes_of(X)


@inline
def room_for_products(most, X):
    """Where `put_products` puts so many rows."""
    return np.empty((up_to(most, width_of(X)), up_to(X.shape[1], width_of(X))), X.dtype)


@inline
def put_products(X, count, matrix, out):
    """The first rows of X times a matrix whose rows are filled up with zeros."""
    d, row, size, width = X.shape[1], matrix.shape[1], out.shape[1], width_of(X)
    panel, starts = room_for(d * width, X), np.empty(width, np.int64)
    for i in range(0, count, width):
        for v in range(width):
            # Behind the last row that one again.
            starts[v] = min(i + v, count - 1) * d
        fill_panel(X, starts, panel)
        for first in range(0, size, width):
            for r in range(0, min(width, count - i), ROWS):
                put_product(panel, r, width, matrix, first, row, d, out, (i + r) * size + first, size)


@vectorised
def put_twice(one, out):
    """out = 2 one."""
    two = out.dtype.type(2)
    for r in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[r, j] = two * one[r, j]


@inline
def complete(lower, out):
    """A symmetric matrix, of which the lower triangle is read: all rows, then squares of them turned over."""
    d, row, size, lanes = out.shape[0], out.shape[1], lower.shape[1], lanes_of(out)
    starts = np.empty(lanes, np.int64)
    for r in range(d):
        for j in range(d):
            out[r, j] = lower[0, r, j]
        for j in range(d, row):
            out[r, j] = 0
    for first in range(0, d, lanes):
        end = min(first + lanes, d)
        turned = first if end == first + lanes else 0
        for v in range(lanes):
            starts[v] = (first + v) * size
        for last in range(0, turned, lanes):
            put_columns(lower, starts, 0, last, out, last * row + first, row)
        for r in range(first, end):
            for j in range(turned, r):
                out[j, r] = lower[0, r, j]
