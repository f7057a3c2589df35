"""The epochs of `kernels` under the Euclidean distance: the same steps, without calls through functions.

A call of a metric's function costs 25 nanoseconds, three of them a quarter of the time of a sample at 50 prototypes
and 32 features. Prototypes are rows, or columns where that is faster (see `Euclidean.pack`): W is in C's order
or in Fortran's, and each order gets code of its own, which is twice as fast to compile as one for both.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from protolearn.compiled import VECTORISED, Choose, compiled, vector, vectorised
from protolearn.function_arguments import FunctionOf
from protolearn.lanes import ask_for
from protolearn.losses.base import pair_signature, rule_signature
from protolearn.metrics.euclidean import distances_to_columns, distances_to_rows, move
from protolearn.searches import all_below, nearest_of, room_to_search, take_nearest, two_nearest_of
from protolearn.solvers.kernels import in_place_types

# Rows that are copied to one place before they are shown, each asked for so many rows ahead: fetched one by one from
# all over X, each is waited for.
_AT_A_TIME = 32


def _signature(loss: Choose, by_column: bool) -> Choose:
    """What these epochs take, for a kind of loss and an order of W."""
    return lambda number: types.int64(
        *in_place_types(number),
        types.Array(number, 2, "F" if by_column else "C"),  # W
        vector(types.int64),  # labels
        vector(types.int64),  # where each class begins
        types.float64,  # limit
        FunctionOf(loss(number)),
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


def measure(x, W, D):
    """All distances; what is behind the last prototype is no distance, what is behind the last row of W not touched."""
    (distances_to_rows if W.flags.c_contiguous else distances_to_columns)(x, W, D)


@overload(measure, jit_options={"fastmath": set(VECTORISED)})
def _measure(x, W, D):
    # The function itself, not one that calls it: a call within a call takes longer, for numba then counts who uses the
    # arrays, which made a sample at 50 prototypes and 32 features take a third longer.
    return (distances_to_rows if W.layout == "C" else distances_to_columns).function


def _pair_epoch(X, rows, y, share, eta, slope, W, labels, starts, limit, loss, parameters, rates, cap, values):
    """As pair_epoch, for prototypes sorted by class."""
    m = labels.shape[0]
    padded = room_to_search(m, X)
    samples = np.empty((_AT_A_TIME, X.shape[1]), X.dtype)
    codes = np.empty(_AT_A_TIME, np.int64)
    alpha = parameters[1]
    for n in range(rows.shape[0]):
        at = n % _AT_A_TIME
        if at == 0:
            gather(X, y, rows, n, samples, codes)
        if n + _AT_A_TIME < rows.shape[0]:
            ask_for(X, rows[n + _AT_A_TIME])
        x = samples[at]
        k = codes[at]
        measure(x, W, padded)
        for i in range(m, W.shape[0]):
            padded[i] = np.inf
        own, d_own = take_nearest(padded, starts[k], starts[k + 1])
        rival, d_rival = nearest_of(padded)
        # A distance that is missing is infinite, and none is below NaN.
        if not (d_own < limit and d_rival < limit):
            return n
        value, pull, push = loss(d_own, d_rival, slope[n])
        values[n] = value + alpha * d_own
        pull = share[n] * (pull + alpha)
        push *= share[n]
        if pull != 0.0:
            move(x, W, own, X.dtype.type(2.0 * (eta[n] * rates[own]) * pull))
        if push != 0.0:
            move(x, W, rival, X.dtype.type(2.0 * (eta[n] * rates[rival]) * push))
    return rows.shape[0]


def _rule_epoch(X, rows, y, share, eta, slope, W, labels, starts, limit, loss, parameters, rates, cap, values):
    """As rule_epoch."""
    m = labels.shape[0]
    padded = room_to_search(m, X)
    D = padded[:m]
    samples = np.empty((_AT_A_TIME, X.shape[1]), X.dtype)
    codes = np.empty(_AT_A_TIME, np.int64)
    looks_at_second = parameters[2] > 0.0 and m > 1
    for n in range(rows.shape[0]):
        at = n % _AT_A_TIME
        if at == 0:
            gather(X, y, rows, n, samples, codes)
        if n + _AT_A_TIME < rows.shape[0]:
            ask_for(X, rows[n + _AT_A_TIME])
        x = samples[at]
        k = codes[at]
        measure(x, W, padded)
        for i in range(m, W.shape[0]):
            padded[i] = np.inf
        if not all_below(D, limit):
            return n
        if looks_at_second:
            near, d_near, far, d_far = two_nearest_of(padded)
            far_right = labels[far] == k
        else:
            near, d_near = nearest_of(padded)
            far, d_far, far_right = near, X.dtype.type(np.inf), False
        value, pull, push = loss(d_near, d_far, labels[near] == k, far_right, parameters)
        values[n] = value
        for i, c in ((near, pull), (far, push)):
            if c == 0.0:
                continue
            move(x, W, i, X.dtype.type(2.0 * (eta[n] * rates[i]) * (share[n] * c)))
            if cap > 0.0:
                rates[i] = min(rates[i] / (1.0 + rates[i] if c > 0.0 else 1.0 - rates[i]), cap)
    return rows.shape[0]


pair_epoch_by_row = compiled(_signature(pair_signature, False), name="pair_epoch_by_row")(_pair_epoch)
pair_epoch_by_column = compiled(_signature(pair_signature, True), name="pair_epoch_by_column")(_pair_epoch)
rule_epoch_by_row = compiled(_signature(rule_signature, False), name="rule_epoch_by_row")(_rule_epoch)
rule_epoch_by_column = compiled(_signature(rule_signature, True), name="rule_epoch_by_column")(_rule_epoch)
BY_ROW = (pair_epoch_by_row, rule_epoch_by_row)
BY_COLUMN = (pair_epoch_by_column, rule_epoch_by_column)
