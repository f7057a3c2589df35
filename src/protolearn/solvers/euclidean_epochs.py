"""The epochs of `kernels` under the Euclidean distance: the same steps, without calls through functions.

A call of a metric's function costs 25 nanoseconds, three of them a quarter of the time of a sample at 50 prototypes
and 32 features. Prototypes are rows, or columns where that is faster (see `Euclidean.pack`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from protolearn.compiled import compiled, inline, vector, vectorised
from protolearn.losses.base import pair_signature, rule_signature
from protolearn.metrics.euclidean import distances_to_columns, distances_to_rows, move_column, move_row
from protolearn.solvers.kernels import (
    all_below,
    in_place_types,
    nearest_of,
    own_and_rival_by_class,
    room_to_search,
)

# Rows that are copied to one place before they are shown: fetched one by one from all over X, each is waited for.
_AT_A_TIME = 32


def euclidean_signature(number: Any, loss: Any) -> Any:
    """What these epochs take, with the type of the loss."""
    return types.int64(
        *in_place_types(number),
        types.boolean,  # whether a prototype is a column of W
        vector(types.int64),  # labels
        vector(types.int64),  # where each class begins
        types.float64,  # limit
        types.FunctionType(loss),
        vector(types.float64),  # parameters
        vector(types.float64),  # rate of each prototype
        types.float64,  # cap of these rates, 0 where they are fixed
        vector(types.float64),  # values
    )


@vectorised
def gather(X, y, rows, begin, samples, codes):
    """The next rows and their classes, as many as there is room for."""
    for m in range(min(codes.shape[0], rows.shape[0] - begin)):
        n = rows[begin + m]
        codes[m] = y[n]
        for j in range(X.shape[1]):
            samples[m, j] = X[n, j]


@inline
def measure(x, W, by_column, n_prototypes, D):
    """All distances, infinite behind the last prototype."""
    if by_column:
        distances_to_columns(x, W, D)
        for i in range(n_prototypes, D.shape[0]):
            D[i] = np.inf
    else:
        distances_to_rows(x, W, D)


@inline
def move(x, W, by_column, i, share):
    """m_i += share (x - m_i)."""
    if by_column:
        move_column(x, W, i, x.dtype.type(share))
    else:
        move_row(x, W, i, x.dtype.type(share))


@compiled(lambda number: euclidean_signature(number, pair_signature(number)))
def euclidean_pair_epoch(
    X, rows, y, share, eta, slope, W, by_column, labels, starts, limit, loss, parameters, rates, cap, values
):
    """As pair_epoch, for prototypes sorted by class."""
    m = labels.shape[0]
    padded, folded, groups = room_to_search(m, X)
    samples = np.empty((_AT_A_TIME, X.shape[1]), X.dtype)
    codes = np.empty(_AT_A_TIME, np.int64)
    alpha = parameters[1]
    for n in range(rows.shape[0]):
        if n % _AT_A_TIME == 0:
            gather(X, y, rows, n, samples, codes)
        x, k = samples[n % _AT_A_TIME], codes[n % _AT_A_TIME]
        measure(x, W, by_column, m, padded)
        own, rival, d_own, d_rival = own_and_rival_by_class(padded, starts, k, folded, groups)
        if own < 0 or rival < 0 or not (d_own < limit and d_rival < limit):
            return n
        value, pull, push = loss(d_own, d_rival, slope[n])
        values[n] = value + alpha * d_own
        pull = share[n] * (pull + alpha)
        push *= share[n]
        if pull != 0.0:
            move(x, W, by_column, own, 2.0 * (eta[n] * rates[own]) * pull)
        if push != 0.0:
            move(x, W, by_column, rival, 2.0 * (eta[n] * rates[rival]) * push)
    return rows.shape[0]


@compiled(lambda number: euclidean_signature(number, rule_signature(number)))
def euclidean_rule_epoch(
    X, rows, y, share, eta, slope, W, by_column, labels, starts, limit, loss, parameters, rates, cap, values
):
    """As rule_epoch."""
    m = labels.shape[0]
    padded, folded, groups = room_to_search(m, X)
    D = padded[:m]
    samples = np.empty((_AT_A_TIME, X.shape[1]), X.dtype)
    codes = np.empty(_AT_A_TIME, np.int64)
    looks_at_second = parameters[2] > 0.0 and m > 1
    for n in range(rows.shape[0]):
        if n % _AT_A_TIME == 0:
            gather(X, y, rows, n, samples, codes)
        x, k = samples[n % _AT_A_TIME], codes[n % _AT_A_TIME]
        measure(x, W, by_column, m, padded)
        if not all_below(D, limit):
            return n
        near, d_near = nearest_of(padded, folded, groups)
        far, d_far, far_right = near, X.dtype.type(np.inf), False
        if looks_at_second:
            D[near] = np.inf
            far, d_far = nearest_of(padded, folded, groups)
            far_right = labels[far] == k
        value, pull, push = loss(d_near, d_far, labels[near] == k, far_right, parameters)
        values[n] = value
        for i, c in ((near, pull), (far, push)):
            if c == 0.0:
                continue
            move(x, W, by_column, i, 2.0 * (eta[n] * rates[i]) * (share[n] * c))
            if cap > 0.0:
                rates[i] = min(rates[i] / (1.0 + rates[i] if c > 0.0 else 1.0 - rates[i]), cap)
    return rows.shape[0]
