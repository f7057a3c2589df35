"""The online epoch with distances computed ahead: the same steps as `pair_epoch`, for fewer operations.

The products of the next rows with all prototypes come from one matrix product. From then on they give bounds: a
prototype that has not moved is as far as they say, up to rounding, and one that has moved by delta is nearer by delta
at most (the triangle inequality). A prototype whose bound is above the nearest distance found cannot be the nearest;
the others, two to ten a row, are measured directly, by the difference. So what is chosen and what moves does not depend
on the rounding of the product.
"""

from __future__ import annotations

import numpy as np

from protolearn.core.jit import helper, kernel, vectorised
from protolearn.core.searches import fold, least
from protolearn.losses.base import pair_signature
from protolearn.solvers.kernels import confine, epoch_signature

# Where the matrix product pays. Whole fits of LOGM on one thread take so many times as long without it: MNIST (20,000
# rows) with 1000 prototypes 1.9, with 400 1.5; USPS with 1000 1.5, with 200 1.1; 64 features and 1300 prototypes 1.3.
_LEAST_PROTOTYPES = 100
_LEAST_NUMBERS = 250_000
# Rows ahead: at first and at most so many that their distances to all prototypes stay in the second-level cache.
_LEAST_AHEAD, _MOST_AHEAD = 32, 256
_NUMBERS_AHEAD = 1 << 18


def pays_ahead(n_prototypes: int, n_features: int) -> bool:
    """Whether distances ahead pay for so many prototypes."""
    return n_prototypes >= _LEAST_PROTOTYPES and n_prototypes * n_features >= _LEAST_NUMBERS


@helper
def _rows_ahead(n_prototypes):
    """The most rows whose distances are computed ahead."""
    return min(max(_NUMBERS_AHEAD // n_prototypes, _LEAST_AHEAD), _MOST_AHEAD)


@vectorised
def _distance(X, n, W, i):
    total = X.dtype.type(0)
    for j in range(X.shape[1]):
        v = X[n, j] - W[i, j]
        total += v * v
    return total


@vectorised
def _squared_norm(X, n):
    total = X.dtype.type(0)
    for j in range(X.shape[1]):
        total += X[n, j] * X[n, j]
    return total


@vectorised
def _move(X, n, W, i, share):
    for j in range(X.shape[1]):
        W[i, j] += share * (X[n, j] - W[i, j])


@vectorised
def _shift(A, first, count, origin, factor, out, at):
    for i in range(count):
        for j in range(A.shape[1]):
            out[at + i, j] = factor * (A[first + i, j] - origin[j])


@vectorised
def _add(base, products, n, bounds):
    for i in range(bounds.shape[0]):
        bounds[i] = base[i] + products[n, i]


@kernel(lambda number: epoch_signature(number, pair_signature(number), functions=False))
def ahead_epoch(
    X, rows, y, share, eta, rho, slope, W, T, slot, labels, starts, constants, D, bits, G, total, limit, box, loss,
    parameters, rates, cap, values,
):  # fmt: skip
    """As pair_epoch, under the Euclidean distance; returns how many rows were shown before learning diverged.

    With a row x, a prototype at w when the product was made, and moved by at most delta since:

        |x - w|^2 = |x|^2 + |w|^2 - 2 x'w                                     by the product, all centred
        if   |x - w|^2 > r^2 + 2 reach delta + delta^2   and   reach >= r     then its distance is above r

    Up to |x|^2, the left side less the terms in delta is `bounds`. Where the nearest is farther than `reach`, every
    moved prototype is measured, and `reach` grows.
    """
    number = X.dtype.type
    n_rows, d = rows.shape[0], X.shape[1]
    n = labels.shape[0]
    most_ahead = _rows_ahead(n)
    inf = number(np.inf)
    eps = number(np.finfo(X.dtype).eps)
    # Rounding of the product and of a direct distance, as a share of the largest squared norms.
    rounding = number(2) * eps * number(d + 8)
    root = number(np.sqrt(d))
    # Prototypes are D to a multiple of 16, in 16 strands of length q: groups[g] is the least of g, g + q, ...
    q = (n + 15) // 16
    bounds = np.empty(16 * q, X.dtype)
    folded = np.empty(4 * q, X.dtype)
    groups = np.empty(q, X.dtype)
    products = np.empty((most_ahead, 16 * q), X.dtype)
    centred_rows = np.empty((most_ahead, d), X.dtype)
    centred_twice = np.zeros((16 * q, d), X.dtype)
    squared = np.empty(n, X.dtype)
    base = np.full(16 * q, inf, X.dtype)
    delta = np.empty(n, X.dtype)
    moved = np.empty(2 * most_ahead, np.int64)
    origin = np.zeros(d, X.dtype)
    for i in range(n):
        for j in range(d):
            origin[j] += W[i, j] / number(n)
    largest = number(0)
    for j in range(d):
        largest = max(largest, abs(origin[j]))
    _shift(W, 0, n, origin, number(-2), centred_twice, 0)
    farthest = number(0)
    for i in range(n):
        squared[i] = number(0.25) * _squared_norm(centred_twice, i)
        base[i] = squared[i]
        delta[i] = 0
        farthest = max(farthest, squared[i])
    alpha = parameters[1]
    reach = number(0)
    ahead = most_ahead
    begin = 0
    while begin < n_rows:
        count = min(ahead, n_rows - begin)
        for m in range(count):
            _shift(X, rows[begin + m], 1, origin, number(1), centred_rows, m)
        np.dot(centred_rows[:count], centred_twice.T, products[:count])
        # What the rounding of one step adds to delta: positions are not centred.
        step_rounding = eps * root * (largest + np.sqrt(farthest))
        n_moved = 0
        measured = 0
        for m in range(count):
            t = begin + m
            row = rows[t]
            k = y[row]
            lo, hi = starts[k], starts[k + 1]
            if lo == hi:
                return t
            norm = _squared_norm(centred_rows, m)
            slack = rounding * (norm + farthest) - norm
            own = lo
            nearest = base[lo] + products[m, lo]
            for i in range(lo + 1, hi):
                bound = base[i] + products[m, i]
                own, nearest = (i, bound) if bound < nearest else (own, nearest)
            d_own = _distance(X, row, W, own)
            first = own
            for i in range(lo, hi):
                if base[i] + products[m, i] <= d_own + slack and i != first:
                    found = _distance(X, row, W, i)
                    measured += 1
                    if found < d_own or (found == d_own and i < own):
                        d_own, own = found, i
            _add(base, products, m, bounds)
            for i in range(lo, hi):
                bounds[i] = inf
            fold(bounds, folded)
            fold(folded, groups)
            nearest = least(groups)
            if not nearest < inf:
                return t
            rival = 0
            while groups[rival] != nearest:
                rival += 1
            while bounds[rival] != nearest:
                rival += q
            d_rival = _distance(X, row, W, rival)
            bounds[rival] = inf
            for group in range(q):
                if groups[group] <= d_rival + slack:
                    for i in range(group, 16 * q, q):
                        if bounds[i] <= d_rival + slack:
                            found = _distance(X, row, W, i)
                            measured += 1
                            if found < d_rival or (found == d_rival and i < rival):
                                d_rival, rival = found, i
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
                if box.shape[1] > 0:
                    # From within a box, never further than without it.
                    confine(W, i, box)
                if delta[i] == 0:
                    moved[n_moved] = i
                    n_moved += 1
                length = abs(step) * np.sqrt(distance)
                delta[i] += length + number(1e-5) * length + step_rounding
                base[i] = squared[i] - delta[i] * (number(2) * reach + delta[i])
        for p in range(n_moved):
            i = moved[p]
            _shift(W, i, 1, origin, number(-2), centred_twice, i)
            squared[i] = number(0.25) * _squared_norm(centred_twice, i)
            base[i] = squared[i]
            delta[i] = 0
            farthest = max(farthest, squared[i])
        begin += count
        # Distances measured again for nothing cost about (20 + d / 10) ns each, the product about n d ns a batch:
        # more rows ahead where the product is dearer, fewer where the measuring is.
        again = (20.0 + 0.1 * d) * measured / count
        product = float(n * d) / ahead
        if again > 2.0 * product:
            ahead = max(ahead // 2, min(_LEAST_AHEAD, most_ahead))
        elif again < 0.5 * product:
            ahead = min(ahead * 2, most_ahead)
    return n_rows
