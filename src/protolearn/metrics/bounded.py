"""The nearest own and the nearest rival under many matrices, without most of the distances.

    |Omega v|^2 >= |U' Omega v|^2       for any U with orthonormal columns

U spans Omega A, with A the leading principal axes of the data: a map to a few numbers that keeps most of the distance,
and bounds it from below for an eighth of its operations. A sample is measured with the matrices that the bounds do not
rule out: of ten matrices of 256 features, one a class, with 2.3 to 3.1 of them on USPS, where two is the least.
"""

from __future__ import annotations

import numpy as np
from numba import types

from protolearn.compiled import VECTORISED, compiled, constant_matrix, inline, matrix, vector, vectorised
from protolearn.data.kept_rows import KeptRows
from protolearn.metrics.quadratic import add_forms_of_panel, fill_panel, put_zeros, size_of_triangle
from protolearn.metrics.thin_maps import fill_distances, mapped_positions
from protolearn.prototypes import PrototypeSet
from protolearn.searches import own_and_rival_of_columns
from protolearn.tiles import ROWS, room_for, up_to, width_of

# Numbers that the bounding maps have: a sixteenth of the features, but not fewer than these.
_SHARE, _FEWEST = 16, 8
# Matrices, features and their product from which bounds take less time than they save: with 10 matrices of 64 features
# the distances take as long with them as without, with 50 three fifths of the time, with 10 of 256 half of it.
_LEAST_MATRICES, _LEAST_FEATURES, _LEAST_ROWS = 4, 48, 1000
# What keeps directions stable that hardly differ; it makes the bounds lower, never higher.
_RIDGE = 1e-4
# A bound rules out what it is above by so much: more than is rounded.
_SLACK = 1e-3
# The first rows of a block show how much the bounds leave; where it is more than this share, everything is measured.
_TRIED, _TOO_MUCH = 256, 0.6


def pays(theta: np.ndarray) -> bool:
    """Whether there are enough matrices of enough features."""
    n_matrices, _, d = theta.shape
    return n_matrices >= _LEAST_MATRICES and d >= _LEAST_FEATURES and n_matrices * d >= _LEAST_ROWS


def bounding(prototypes: PrototypeSet, kept: KeptRows) -> PrototypeSet | None:
    """The same prototypes under maps U' Omega, whose distances are lower bounds; None where Omega has no such maps.

    With S = (Omega A)'(Omega A) and L L' = S + ridge, U = Omega A / L' has orthonormal columns, or a little shorter.
    """
    theta = prototypes.theta
    axes = kept.axes(max(theta.shape[2] // _SHARE, _FEWEST)).astype(theta.dtype)
    spanned = theta @ axes
    squares = (spanned.transpose(0, 2, 1) @ spanned).astype(np.float64)
    ridge = _RIDGE * np.trace(squares, axis1=1, axis2=2) / squares.shape[1]
    if not (np.isfinite(squares).all() and (ridge > 0).all()):
        return None
    squares += ridge[:, None, None] * np.eye(squares.shape[1])
    to_orthonormal = np.linalg.inv(np.linalg.cholesky(squares)).astype(theta.dtype)
    found = prototypes.moved(prototypes.positions, to_orthonormal @ (spanned.transpose(0, 2, 1) @ theta))
    # All blocks read them.
    found.derived(mapped_positions)
    return found


def distances_of_nearest(
    X: np.ndarray,
    y: np.ndarray,
    columns: np.ndarray,
    products: np.ndarray,
    constants: np.ndarray,
    tiles: np.ndarray,
    bounds: PrototypeSet,
) -> np.ndarray | None:
    """D_i = x'Sx - 2 products_i + constants_i of the nearest, one prototype a row.

    In place of the others stand their bounds. None where these leave so much that everything is measured in less time.

    columns : the samples X once more
    products : (Lambda m_i)'x
    tiles : coefficients of each S, as `MatrixDistances` has them
    bounds : what `bounding` gave
    """
    D = np.empty(products.shape, dtype=X.dtype)
    measure = measure_what_is_left.of(X.dtype)
    tried = min(_TRIED, len(X))
    for begin, end in ((0, tried), (tried, len(X))):
        fill_distances(columns, bounds, begin, end, D)
        measured = measure(
            X, y, begin, end, bounds.labels, bounds.slot, products, constants, tiles, len(bounds.theta), D
        )  # fmt: skip
        if begin == 0 and measured > _TOO_MUCH * len(bounds.theta) * tried:
            return None
    return D


@compiled(
    lambda number: types.int64(
        constant_matrix(number),  # X
        vector(types.int64),  # y
        types.int64,  # begin
        types.int64,  # end
        vector(types.int64),  # labels
        vector(types.int64),  # slot
        matrix(number),  # products, one prototype a row
        vector(number),  # constants
        vector(number),  # tiles
        types.int64,  # n_matrices
        matrix(number),  # D, one prototype a row: bounds
    ),
    fastmath=VECTORISED,
)
def measure_what_is_left(X, y, begin, end, labels, slot, products, constants, tiles, n_matrices, D):
    """Put distances in place of the bounds that do not rule them out; how many forms of a row were taken.

    First those of the two that seem nearest by their bounds, own and rival. Then all whose bounds are below these two.
    """
    count = end - begin
    code, own, rival = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    d_own, d_rival = np.empty(count, D.dtype), np.empty(count, D.dtype)
    own_and_rival_of_columns(D, begin, count, y, labels, code, d_own, own, d_rival, rival)
    to_slots(own, slot)
    to_slots(rival, slot)
    # From here on what was measured. Nothing is below NaN, so that then everything is measured.
    d_own[:] = np.inf
    d_rival[:] = np.inf
    left, measured = np.empty(count, np.uint8), np.zeros((n_matrices, count), np.uint8)
    d, width = X.shape[1], width_of(X)
    rows, starts = np.empty(count, np.int64), np.empty(width, np.int64)
    panel, forms = room_for(up_to(d, ROWS) * width, X), room_for(width, X)
    put_zeros(panel, d * width)
    total = 0
    for turn in range(2):
        for s in range(n_matrices):
            if turn == 0:
                mark_either(own, rival, np.int32(s), left)
            else:
                left[:] = 0
                for i in range(labels.shape[0]):
                    if slot[i] == s:
                        mark_not_above(D[i, begin:end], code, np.int32(labels[i]), d_own, d_rival, left)
            found = take_marked(left, measured[s], rows)
            total += found
            for first in range(0, found, width):
                some = rows[first : min(first + width, found)]
                for v in range(width):
                    # Behind the last row that one again.
                    starts[v] = (begin + some[min(v, some.shape[0] - 1)]) * d
                fill_panel(X, starts, panel)
                put_zeros(forms, 0)
                add_forms_of_panel(tiles, s * size_of_triangle(d), 1, d, panel, forms)
                for i in range(labels.shape[0]):
                    if slot[i] == s:
                        label = np.int32(labels[i])
                        put_distances(
                            forms, products[i], constants[i], begin, some, code, label, d_own, d_rival, D[i]
                        )  # fmt: skip
    return total


@inline
def to_slots(prototypes, slot):
    """The slots of some prototypes, in their place; none (-1) stays none."""
    for n in range(prototypes.shape[0]):
        if prototypes[n] >= 0:
            prototypes[n] = slot[prototypes[n]]


@vectorised
def mark_either(one, other, s, marks):
    """1 where either is s, else 0."""
    for n in range(marks.shape[0]):
        marks[n] = (one[n] == s) | (other[n] == s)


@vectorised
def mark_not_above(bounds, code, label, d_own, d_rival, marks):
    """1 also where a bound for a prototype of class `label` is not clearly above the nearest that was measured."""
    factor = bounds.dtype.type(1.0 + _SLACK)
    for n in range(marks.shape[0]):
        limit = d_own[n] if code[n] == label else d_rival[n]
        marks[n] |= not bounds[n] > factor * limit


@inline
def take_marked(marks, taken, rows):
    """The places that are marked and were not taken before, which they are from now on; how many."""
    found = 0
    for n in range(marks.shape[0]):
        # Without a branch that depends on the marks.
        rows[found] = n
        found += marks[n] & (1 - taken[n])
        taken[n] |= marks[n]
    return found


@inline
def put_distances(forms, products, constant, begin, rows, code, label, d_own, d_rival, D):
    """form - 2 product + constant of some samples, rounding below zero clipped, as `MatrixDistances` has it.

    label : the class of the prototype; d_own, d_rival : the least distances so far to those of the samples' classes and
        to others
    """
    number = D.dtype.type
    for r in range(rows.shape[0]):
        n = rows[r]
        d = (number(-2) * products[begin + n] + constant) + forms[r]
        d = number(0) if d < number(0) else d
        D[begin + n] = d
        if code[n] == label:
            d_own[n] = d if d < d_own[n] else d_own[n]
        else:
            d_rival[n] = d if d < d_rival[n] else d_rival[n]
