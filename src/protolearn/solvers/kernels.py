"""The compiled loops: they know neither the loss nor the metric, both come in as functions.

One epoch kernel serves all losses of a kind under all metrics, so numba compiles it once for each number type. As
plain Python the same loops run a metric that has no compiled functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.core.jit import function_of, integer_of, kernel, matrix, stack, types, vector, vectorised
from protolearn.core.searches import (
    LANES,
    all_below,
    nearest_of,
    own_and_rival,
    own_and_rival_of_columns,
    pop_nearest,
    two_nearest_of,
)
from protolearn.losses.base import all_prototypes_signature, pair_signature, rule_signature
from protolearn.metrics.base import distances_signature, move_signature, update_signature


def epoch_signature(number: Any, loss: Any, *, functions: bool = True) -> Any:
    """What an epoch takes, with the signature of its loss; `functions` of the metric, where it is not built in."""
    of_metric = (distances_signature(number), move_signature(number), update_signature(number)) if functions else ()
    return types.int64(
        matrix(number),  # X
        vector(types.int64),  # row of X of each presentation
        vector(types.int64),  # y
        vector(types.float64),  # share of a step
        vector(types.float64),  # eta of each presentation
        vector(types.float64),  # rho of each presentation
        vector(types.float64),  # slope of each presentation
        matrix(number),  # W
        stack(number),  # T
        vector(types.int64),  # slot
        vector(types.int64),  # labels
        vector(types.int64),  # where each class begins, or nothing
        vector(number),  # constants
        vector(number),  # room for distances, padded with infinity
        vector(integer_of(number)),  # the same as integers
        stack(number),  # G
        types.float64,  # total
        types.float64,  # limit
        matrix(number),  # least and largest position, or nothing
        *(function_of(signature) for signature in of_metric),
        function_of(loss),
        vector(types.float64),  # parameters
        vector(types.float64),  # rate of each prototype
        types.float64,  # cap of these rates, 0 where they are fixed
        vector(types.float64),  # values
    )


@vectorised
def confine(W, i, box):
    """Move prototype i, a row or a column of W, to the nearest point of its box: least positions, then the largest."""
    d, last = box.shape[1], box.shape[0] // 2 + i
    if W.shape[1] == d:
        for j in range(d):
            W[i, j] = min(max(W[i, j], box[i, j]), box[last, j])
    else:
        for j in range(d):
            W[j, i] = min(max(W[j, i], box[i, j]), box[last, j])


@kernel(lambda number: epoch_signature(number, pair_signature(number)))
def pair_epoch(
    X, rows, y, share, eta, rho, slope, W, T, slot, labels, starts, constants, D, bits, G, total, limit, box,
    distances_to, move, update, loss, parameters, rates, cap, values,
):  # fmt: skip
    """Show rows of X one after the other to a loss of own and rival; returns how many were shown.

    Fewer than all means that a distance was no longer finite or passed `limit`: learning has diverged.
    """
    m = labels.shape[0]
    distances = D[:m]
    chosen = np.empty(2, np.int64)
    pulls = np.empty(2, np.float64)
    etas = np.empty(2, np.float64)
    alpha = parameters[1]
    for n in range(rows.shape[0]):
        x, k = X[rows[n]], y[rows[n]]
        distances_to(x, W, T, slot, constants, D)
        for i in range(m, D.shape[0]):
            D[i] = np.inf
        if starts.shape[0] > 0:
            own, d_own = pop_nearest(D, starts[k], starts[k + 1])
            rival = nearest_of(bits)
            d_rival = D[rival]
        else:
            own, rival = own_and_rival(distances, labels, k)
            d_own, d_rival = D[own], D[rival]
        if own < 0 or rival < 0 or not (d_own < limit and d_rival < limit):
            return n
        value, pull, push = loss(d_own, d_rival, slope[n])
        values[n] = value + alpha * d_own
        pull = share[n] * (pull + alpha)
        push *= share[n]
        if pull == 0.0 and push == 0.0:
            continue
        chosen[0], pulls[0], etas[0] = own, pull, eta[n] * rates[own]
        chosen[1], pulls[1], etas[1] = rival, push, eta[n] * rates[rival]
        if push == 0.0:
            move(x, W, T, slot, chosen[:1], pulls[:1], etas[:1], G, constants)
        elif pull == 0.0:
            move(x, W, T, slot, chosen[1:], pulls[1:], etas[1:], G, constants)
        else:
            move(x, W, T, slot, chosen, pulls, etas, G, constants)
        if box.shape[1] > 0:
            confine(W, own, box)
            confine(W, rival, box)
        if G.shape[0] > 0:
            update(T, slot[own], rho[n], total, G)
            if slot[rival] != slot[own]:
                update(T, slot[rival], rho[n], total, G)
    return rows.shape[0]


@kernel(lambda number: epoch_signature(number, all_prototypes_signature(number)))
def all_prototypes_epoch(
    X, rows, y, share, eta, rho, slope, W, T, slot, labels, starts, constants, D, bits, G, total, limit, box,
    distances_to, move, update, loss, parameters, rates, cap, values,
):  # fmt: skip
    """As pair_epoch, for a loss or rule of the distances to all prototypes."""
    m = labels.shape[0]
    distances = D[:m]
    C = np.empty(labels.shape[0], np.float64)
    chosen = np.empty(labels.shape[0], np.int64)
    pulls = np.empty(labels.shape[0], np.float64)
    etas = np.empty(labels.shape[0], np.float64)
    touched = np.zeros(T.shape[0], np.bool_)
    for n in range(rows.shape[0]):
        x, k = X[rows[n]], y[rows[n]]
        distances_to(x, W, T, slot, constants, D)
        if not all_below(distances, limit):
            return n
        parameters[0] = slope[n]
        values[n] = loss(distances, labels, k, parameters, C)
        count = 0
        for i in range(m):
            if C[i] != 0.0:
                chosen[count], pulls[count], etas[count] = i, share[n] * C[i], eta[n] * rates[i]
                count += 1
        if count == 0:
            continue
        move(x, W, T, slot, chosen[:count], pulls[:count], etas[:count], G, constants)
        if box.shape[1] > 0:
            for p in range(count):
                confine(W, chosen[p], box)
        if G.shape[0] > 0:
            for p in range(count):
                touched[slot[chosen[p]]] = True
            for s in range(T.shape[0]):
                if touched[s]:
                    update(T, s, rho[n], total, G)
                    touched[s] = False
    return rows.shape[0]


@kernel(lambda number: epoch_signature(number, rule_signature(number)))
def rule_epoch(
    X, rows, y, share, eta, rho, slope, W, T, slot, labels, starts, constants, D, bits, G, total, limit, box,
    distances_to, move, update, loss, parameters, rates, cap, values,
):  # fmt: skip
    """As pair_epoch, for a rule of the two nearest prototypes, whatever their classes."""
    m = labels.shape[0]
    distances = D[:m]
    chosen = np.empty(2, np.int64)
    pulls = np.empty(2, np.float64)
    etas = np.empty(2, np.float64)
    for n in range(rows.shape[0]):
        x, k = X[rows[n]], y[rows[n]]
        distances_to(x, W, T, slot, constants, D)
        for i in range(m, D.shape[0]):
            D[i] = np.inf
        if not all_below(distances, limit):
            return n
        if parameters[2] > 0.0 and m > 1:
            near, far = two_nearest_of(bits)
            d_near, d_far = D[near], D[far]
            far_right = labels[far] == k
        else:
            near = nearest_of(bits)
            d_near, far, d_far, far_right = D[near], near, X.dtype.type(np.inf), False
        value, pull, push = loss(d_near, d_far, labels[near] == k, far_right, parameters)
        values[n] = value
        count = 0
        for i, c in ((near, pull), (far, push)):
            if c != 0.0:
                chosen[count], pulls[count], etas[count] = i, share[n] * c, eta[n] * rates[i]
                count += 1
        if count == 0:
            continue
        if count == 2:
            move(x, W, T, slot, chosen, pulls, etas, G, constants)
        else:
            move(x, W, T, slot, chosen[:1], pulls[:1], etas[:1], G, constants)
        if box.shape[1] > 0:
            for p in range(count):
                confine(W, chosen[p], box)
        if cap > 0.0:
            for p in range(count):
                i = chosen[p]
                rates[i] = min(rates[i] / (1.0 + rates[i] if pulls[p] > 0.0 else 1.0 - rates[i]), cap)
        if G.shape[0] > 0:
            update(T, slot[chosen[0]], rho[n], total, G)
            if count == 2 and slot[chosen[1]] != slot[chosen[0]]:
                update(T, slot[chosen[1]], rho[n], total, G)
    return rows.shape[0]


# Samples whose nearest distances so far stay in the first-level cache.
_AT_A_TIME = 512


def pair_batch_signature(number: Any) -> Any:
    """pair_batch(D, y, weight, labels, loss, parameters, pairs, pulls)."""
    return types.float64(
        matrix(number),  # D, one prototype a row
        vector(types.int64),  # y
        vector(types.float64),  # weight
        vector(types.int64),  # labels
        function_of(pair_signature(number)),
        vector(types.float64),  # parameters
        matrix(types.int32),  # own and rival of each sample
        matrix(number),  # weight times d loss / d d_own and d loss / d d_rival
    )


@kernel(pair_batch_signature)
def pair_batch(D, y, weight, labels, loss, parameters, pairs, pulls):
    """Weighted sum of the losses of a batch of samples, with the two coefficients of each beside their prototypes.

    NaN where D is not finite. D may have more columns than there are samples.
    """
    alpha = parameters[1]
    value_sum = 0.0
    own = np.empty(_AT_A_TIME, np.int32)
    rival = np.empty(_AT_A_TIME, np.int32)
    code = np.empty(_AT_A_TIME, np.int32)
    d_own = np.empty(_AT_A_TIME, D.dtype)
    d_rival = np.empty(_AT_A_TIME, D.dtype)
    for begin in range(0, y.shape[0], _AT_A_TIME):
        count = min(_AT_A_TIME, y.shape[0] - begin)
        own_and_rival_of_columns(D, begin, count, y, labels, code, d_own, own, d_rival, rival)
        for n in range(count):
            if own[n] < 0 or rival[n] < 0:
                return np.nan
            value, pull, push = loss(d_own[n], d_rival[n], parameters[0])
            at = begin + n
            value_sum += weight[at] * (value + alpha * d_own[n])
            pairs[at, 0], pairs[at, 1] = own[n], rival[n]
            pulls[at, 0] = weight[at] * (pull + alpha)
            pulls[at, 1] = weight[at] * push
    return value_sum


@kernel(
    lambda number: types.float64(
        matrix(number),  # D
        vector(types.int64),  # y
        vector(types.float64),  # weight
        vector(types.int64),  # labels
        function_of(all_prototypes_signature(number)),
        vector(types.float64),  # parameters
        matrix(number),  # C
    )
)
def all_prototypes_batch(D, y, weight, labels, loss, parameters, C):
    """Weighted sum of the losses of a batch of samples, C filled with weight times d loss / d D."""
    row = np.empty(D.shape[1], np.float64)
    value_sum = 0.0
    for n in range(D.shape[0]):
        value_sum += weight[n] * loss(D[n], labels, y[n], parameters, row)
        for i in range(D.shape[1]):
            C[n, i] = weight[n] * row[i]
    return value_sum


@kernel(
    lambda number: types.UniTuple(types.float64, 2)(
        matrix(number),  # X
        vector(types.int64),  # y
        vector(types.float64),  # weight
        matrix(number),  # W
        stack(number),  # T
        vector(types.int64),  # slot
        vector(types.int64),  # labels
        vector(number),  # constants
        function_of(distances_signature(number)),
        function_of(pair_signature(number)),
        vector(types.float64),  # parameters
        matrix(types.int32),  # own and rival of each row
        matrix(number),  # weight times d loss / d d_own and d loss / d d_rival
    )
)
def pair_rows(X, y, weight, W, T, slot, labels, constants, distances_to, loss, parameters, pairs, pulls):
    """Weighted sums of the losses and of the 1-NN errors; the two coefficients of each row beside their prototypes.

    Both are NaN where a distance is not finite. Nothing of the size rows times prototypes is kept.
    """
    D = np.empty((labels.shape[0] + LANES - 1) // LANES * LANES, X.dtype)
    distances = D[: labels.shape[0]]
    alpha = parameters[1]
    value_sum = errors = 0.0
    for n in range(X.shape[0]):
        distances_to(X[n], W, T, slot, constants, D)
        own, rival = own_and_rival(distances, labels, y[n])
        if own < 0 or rival < 0:
            return np.nan, np.nan
        value, pull, push = loss(D[own], D[rival], parameters[0])
        value_sum += weight[n] * (value + alpha * D[own])
        if D[rival] < D[own] or (D[rival] == D[own] and rival < own):
            errors += weight[n]
        pairs[n, 0], pairs[n, 1] = own, rival
        pulls[n, 0] = weight[n] * (pull + alpha)
        pulls[n, 1] = weight[n] * push
    return value_sum, errors
