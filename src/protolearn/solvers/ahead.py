"""The online epoch with distances computed ahead: the same steps as `pair_epoch`, for fewer operations.

The products of the next rows with all prototypes come from one matrix product, of integers of 16 bits: twice as many a
second as of float32, and what is lost by rounding is known. From then on they give bounds: a prototype that has not
moved is as far as they say, up to rounding, and one that has moved by delta is nearer by delta at most (the triangle
inequality). A prototype whose bound is above the nearest distance found cannot be the nearest; the others, two to ten a
row, are measured directly, by the difference. So what is chosen and what moves does not depend on the rounding of the
product.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import types

from protolearn.compiled import compiled, inline, matrix, vector, vectorised
from protolearn.function_arguments import FunctionOf
from protolearn.lanes import LANES, ask_for, next_at_most
from protolearn.losses import Loss, PairLoss
from protolearn.losses.base import pair_signature
from protolearn.metrics import Metric
from protolearn.metrics.base import Packed
from protolearn.metrics.euclidean import Euclidean
from protolearn.prototypes import PrototypeSet
from protolearn.searches import class_starts, nearest_of
from protolearn.solvers.kernels import in_place_types
from protolearn.tiles import ROWS, lanes_of, put_columns, put_product_of_pairs, room_for, up_to, width_of

# Where the matrix product pays: 1.0 to 3 times as fast from here on, 0.5 to 1.0 below.
_LEAST_PROTOTYPES = 50
_LEAST_FEATURES = 32
_LEAST_NUMBERS = 12_000
# Rows ahead. With more of them, prototypes move farther and more are measured again; with fewer, what has moved is
# turned to integers more often. From 32 to 256 the time differs by a tenth.
_AHEAD = 64
# The norm of a row as integers: each fits into 16 bits, and a sum of products into 32.
_LARGEST = 32_000


def looks_ahead(loss: Loss, metric: Metric, start: PrototypeSet) -> bool:
    """Whether this kernel serves the problem and pays: a pair loss, the Euclidean distance, prototypes by class."""
    by_class = len(class_starts(start.labels)) > 0
    n, d = start.positions.shape
    large = n >= _LEAST_PROTOTYPES and d >= _LEAST_FEATURES and n * d >= _LEAST_NUMBERS
    return large and by_class and isinstance(loss, PairLoss) and isinstance(metric, Euclidean)


def pack_rows(metric: Metric, prototypes: PrototypeSet) -> Packed:
    """Prototypes as rows, whatever layout the metric prefers for its own loops."""
    theta = prototypes.theta
    return replace(
        metric.pack(prototypes), positions=prototypes.positions.copy(order="C"), unpack=lambda W, T: (W, theta)
    )


@vectorised
def _distance(X, n, W, i):
    total = X.dtype.type(0)
    for j in range(X.shape[1]):
        v = X[n, j] - W[i, j]
        total += v * v
    return total


@vectorised
def _move(X, n, W, i, share):
    for j in range(X.shape[1]):
        W[i, j] += share * (X[n, j] - W[i, j])


@vectorised
def _put_integers(A, n, origin, unit, out, at):
    number = A.dtype.type
    factor = number(1) / unit if unit > 0 else number(0)
    # Above zero, where to cut off is to round down.
    above = number(32768.5)
    for j in range(A.shape[1]):
        out[at, j] = np.int16(np.int32((A[n, j] - origin[0, j]) * factor + above) - np.int32(32768))


@vectorised
def _put_bounds(base, products, m, factor, bounds):
    for i in range(bounds.shape[0]):
        bounds[i] = base[i] + factor * products[m, i]


@inline
def _put_group(pairs, begins, group, panels, width):
    """As many rows of pairs as a vector has lanes, as columns of their panel."""
    lanes, length = lanes_of(panels), pairs.shape[1]
    first = group * lanes
    begin = first // width * width * length + first % width
    for k in range(0, length, lanes):
        put_columns(pairs, begins, first, k, panels, begin + k * width, width)


@compiled(
    lambda number: types.int64(
        *in_place_types(number),
        matrix(number),  # W, the prototypes by class, as rows
        vector(types.int64),  # where each class begins in W
        types.float64,  # limit
        FunctionOf(pair_signature(number)),
        vector(types.float64),  # parameters
        vector(types.float64),  # rate of each prototype
        vector(types.float64),  # values
    )
)
def ahead_epoch(X, rows, y, share, eta, slope, W, starts, limit, loss, parameters, rates, values):
    """As pair_epoch, under the Euclidean distance; returns how many rows were shown before learning diverged.

    With a row x, a prototype at w when the product was made, and moved by at most delta since:

        |x - w|^2 = |x|^2 + |w|^2 - 2 x'w                                     by the product, all centred
        if   |x - w|^2 > r^2 + 2 reach delta + delta^2   and   reach >= r     then its distance is above r

    Up to |x|^2, the left side less the terms in delta is `bounds`. Where the nearest is farther than `reach`, every
    moved prototype is measured, and `reach` grows.

    With integers p of x = u p + e and q of w = v q + f, where no number of e is above u / 2 and none of f above v / 2:

        |x'w - u v p'q| = |e'w + u p'f| <= (u |w| + v (|x| + |e|)) sqrt(d) / 2
    """
    number = X.dtype.type
    n_rows, d = rows.shape[0], X.shape[1]
    n = W.shape[0]
    inf = number(np.inf)
    eps = number(np.finfo(X.dtype).eps)
    root = number(np.sqrt(d))
    # Rounding of the sum and of a direct distance, as a share of the largest squared norms.
    rounding = number(2) * eps * number(d + 8)
    # And of numbers to integers, as a share of the product of the largest norms; a twentieth for what rounds in it.
    to_integers = number(2.1) * root / number(_LARGEST)
    pairs = np.empty(0, np.int32)
    width, lanes = width_of(pairs), lanes_of(pairs)
    n_pairs = (d + 1) // 2
    length = up_to(n_pairs, lanes)
    in_panels = up_to(n, width)
    padded = up_to(in_panels, LANES)
    bounds = np.empty(padded, X.dtype)
    products = np.empty((_AHEAD, padded), np.int32)
    row_integers = np.zeros((_AHEAD, 2 * length), np.int16)
    row_panels = room_for(_AHEAD * length, pairs)
    prototype_integers = np.zeros((in_panels, 2 * length), np.int16)
    prototype_panels = room_for(in_panels * length, pairs)
    stale = np.ones(in_panels // lanes, np.bool_)
    begins = np.arange(max(in_panels, _AHEAD)) * length
    norms = np.empty(_AHEAD, X.dtype)
    factors = np.empty(_AHEAD, X.dtype)
    squared = np.empty(n, X.dtype)
    base = np.full(padded, inf, X.dtype)
    delta = np.empty(n, X.dtype)
    # At first, all prototypes are where they have not been.
    moved = np.arange(max(n, 2 * _AHEAD))
    n_moved = n
    origin = np.zeros((1, d), X.dtype)
    for i in range(n):
        for j in range(d):
            origin[0, j] += W[i, j] / number(n)
    largest = number(0)
    for j in range(d):
        largest = max(largest, abs(origin[0, j]))
    # The farthest prototype from the origin, squared, and the farthest that integers can be.
    farthest = horizon = number(0)
    alpha = parameters[1]
    reach = number(0)
    for begin in range(0, n_rows, _AHEAD):
        for p in range(n_moved):
            i = moved[p]
            squared[i] = _distance(W, i, origin, 0)
            base[i] = squared[i]
            delta[i] = 0
            farthest = max(farthest, squared[i])
        if not farthest <= horizon:
            horizon = number(1.5) * farthest
            n_moved = n
            for i in range(n):
                moved[i] = i
        unit = np.sqrt(horizon) / number(_LARGEST)
        for p in range(n_moved):
            _put_integers(W, moved[p], origin, unit, prototype_integers, moved[p])
            stale[moved[p] // lanes] = True
        for group in range(stale.shape[0]):
            if stale[group]:
                _put_group(prototype_integers.view(np.int32), begins, group, prototype_panels, width)
                stale[group] = False
        count = min(_AHEAD, n_rows - begin)
        for m in range(count):
            row = rows[begin + m]
            norms[m] = _distance(X, row, origin, 0)
            unit_of_row = np.sqrt(norms[m]) / number(_LARGEST)
            factors[m] = number(-2) * unit_of_row * unit
            _put_integers(X, row, origin, unit_of_row, row_integers, m)
        for group in range((count + lanes - 1) // lanes):
            _put_group(row_integers.view(np.int32), begins, group, row_panels, lanes)
        for i in range(0, in_panels, width):
            for m in range(0, count, ROWS):
                panel = m // lanes * lanes * length + m % lanes
                put_product_of_pairs(
                    row_panels, panel, lanes, prototype_panels, i * length, width, n_pairs,
                    products, m * padded + i, padded,
                )  # fmt: skip
        # What the rounding of one step adds to delta: positions are not centred.
        step_rounding = eps * root * (largest + np.sqrt(farthest))
        n_moved = 0
        for m in range(count):
            t = begin + m
            if t + _AHEAD < n_rows:
                ask_for(X, rows[t + _AHEAD])
            row = rows[t]
            k = y[row]
            lo, hi = starts[k], starts[k + 1]
            if lo == hi:
                return t
            norm = norms[m]
            slack = rounding * (norm + farthest) + to_integers * np.sqrt(norm * horizon) - norm
            _put_bounds(base, products, m, factors[m], bounds)
            own = lo
            for i in range(lo + 1, hi):
                own = i if bounds[i] < bounds[own] else own
            d_own = _distance(X, row, W, own)
            bounds[own] = inf
            i = next_at_most(bounds, lo, hi, d_own + slack)
            while i < hi:
                found = _distance(X, row, W, i)
                if found < d_own or (found == d_own and i < own):
                    d_own, own = found, i
                i = next_at_most(bounds, i + 1, hi, d_own + slack)
            for i in range(lo, hi):
                bounds[i] = inf
            rival, bound = nearest_of(bounds)
            if not bound < inf:
                return t
            d_rival = _distance(X, row, W, rival)
            bounds[rival] = inf
            i = next_at_most(bounds, 0, padded, d_rival + slack)
            while i < padded:
                found = _distance(X, row, W, i)
                if found < d_rival or (found == d_rival and i < rival):
                    d_rival, rival = found, i
                i = next_at_most(bounds, i + 1, padded, d_rival + slack)
            r = np.sqrt(max(d_own, d_rival))
            if not r <= reach:
                reach = number(1.2) * r
                for p in range(n_moved):
                    i = moved[p]
                    base[i] = squared[i] - delta[i] * (number(2) * reach + delta[i])
                    found = _distance(X, row, W, i)
                    if lo <= i < hi:
                        if found < d_own or (found == d_own and i < own):
                            d_own, own = found, i
                    elif found < d_rival or (found == d_rival and i < rival):
                        d_rival, rival = found, i
            if not (d_own < limit and d_rival < limit):
                return t
            value, pull, push = loss(d_own, d_rival, slope[t])
            values[t] = value + alpha * d_own
            pull = share[t] * (pull + alpha)
            push *= share[t]
            for i, distance, coefficient in ((own, d_own, pull), (rival, d_rival, push)):
                step = number(2.0 * eta[t] * rates[i] * coefficient)
                if step == 0:
                    continue
                _move(X, row, W, i, step)
                if delta[i] == 0:
                    moved[n_moved] = i
                    n_moved += 1
                way = abs(step) * np.sqrt(distance)
                delta[i] += way + number(1e-5) * way + step_rounding
                base[i] = squared[i] - delta[i] * (number(2) * reach + delta[i])
    return n_rows
