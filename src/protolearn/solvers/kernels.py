"""The compiled loops: they know neither the loss nor the metric, both come in as functions.

One epoch kernel serves all losses of a kind under all metrics, so numba compiles it once for each number type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from protolearn.compiled import compiled, inline, matrix, stack, vector, vectorised
from protolearn.losses.base import field_signature, pair_signature, rule_signature
from protolearn.metrics.base import fill_signature, finish_signature, step_signature


@inline
def own_and_rival(D, labels, k):
    """Indices of the nearest prototype of class k and of the nearest other one; -1 where there is none."""
    own = rival = -1
    d_own = d_rival = np.inf
    for i in range(D.shape[0]):
        if labels[i] == k:
            if D[i] < d_own:
                d_own = D[i]
                own = i
        elif D[i] < d_rival:
            d_rival = D[i]
            rival = i
    return own, rival


# Prototypes from which a vectorised search for the nearest rival pays.
_WORTH_FOLDING = 32


def class_starts(labels: np.ndarray, n_classes: int = 0) -> np.ndarray:
    """Where the prototypes of each class begin, and the end of the last; empty where they are not sorted by class.

    n_classes : how many there are, where the last ones may have no prototype
    """
    if (np.diff(labels) < 0).any():
        return np.empty(0, dtype=np.int64)
    return np.searchsorted(labels, np.arange(max(labels[-1] + 1, n_classes) + 1)).astype(np.int64)


def searched_by_class(labels: np.ndarray, n_classes: int = 0) -> np.ndarray:
    """`class_starts` where looking class by class pays, else nothing."""
    return class_starts(labels, n_classes) if len(labels) >= _WORTH_FOLDING else np.empty(0, dtype=np.int64)


@inline
def least_of_four(a, b, c, d):
    """The least of four numbers; a NaN may be passed over."""
    a = a if a < b else b
    c = c if c < d else d
    return a if a < c else c


@vectorised
def fold(values, out):
    """out[i] = the least of values[i], values[i + q], values[i + 2 q], values[i + 3 q]; q the length of out."""
    q = out.shape[0]
    for i in range(q):
        out[i] = least_of_four(values[i], values[i + q], values[i + 2 * q], values[i + 3 * q])


@inline
def least(values):
    """The least of all, in two chains so that one does not wait for the other."""
    last = values.shape[0] - 1
    a = b = values[last]
    for i in range(0, last, 2):
        a = values[i] if values[i] < a else a
        b = values[i + 1] if values[i + 1] < b else b
    return a if a < b else b


@inline
def room_to_search(n_prototypes, X):
    """Room for distances, padded with infinity to a multiple of 16, and for the two folds that a search makes."""
    q = (n_prototypes + 15) // 16
    padded = np.empty(16 * q, X.dtype)
    # By a loop: np.full takes a quarter of a second to compile.
    for i in range(16 * q):
        padded[i] = np.inf
    return padded, np.empty(4 * q, X.dtype), np.empty(q, X.dtype)


@vectorised
def nearest_of(D, folded, groups):
    """Index and distance of the nearest, the lowest index on a tie; D is padded with infinity to 16 len(groups).

    A compiler does not vectorise a search for the index of a least value, so two folds first find the value. The loops
    are those of `fold` and `least`, not calls of them: a function that calls another with its arrays first counts one
    more user of each, which takes as long as the search among 50.
    """
    q = folded.shape[0]
    for i in range(q):
        folded[i] = least_of_four(D[i], D[i + q], D[i + 2 * q], D[i + 3 * q])
    q = groups.shape[0]
    for i in range(q):
        groups[i] = least_of_four(folded[i], folded[i + q], folded[i + 2 * q], folded[i + 3 * q])
    # In two chains, so that one does not wait for the other.
    a = b = groups[q - 1]
    for i in range(0, q - 1, 2):
        a = groups[i] if groups[i] < a else a
        b = groups[i + 1] if groups[i + 1] < b else b
    d = a if a < b else b
    # The lowest index of the value, without a branch that depends on the numbers.
    last = np.int32(D.shape[0])
    found = last
    for i in range(D.shape[0]):
        candidate = np.int32(i) if D[i] == d else last
        found = candidate if candidate < found else found
    return np.int64(found), d


@vectorised
def two_nearest_of(D, firsts, seconds, groups, others):
    """As `nearest_of`, of the nearest and the second nearest: index and distance of each.

    The folds keep the two least values, so that one search does for both. `firsts` and `seconds` have a quarter of
    the length of D, `groups` and `others` a quarter of that.
    """
    q = firsts.shape[0]
    for i in range(q):
        a, b, c, d = D[i], D[i + q], D[i + 2 * q], D[i + 3 * q]
        low, high = (a, b) if a < b else (b, a)
        lower, higher = (c, d) if c < d else (d, c)
        firsts[i] = low if low < lower else lower
        middle = lower if low < lower else low
        top = high if high < higher else higher
        seconds[i] = middle if middle < top else top
    q = groups.shape[0]
    for i in range(q):
        first, second = firsts[i], seconds[i]
        for k in range(1, 4):
            other, next_to_it = firsts[i + k * q], seconds[i + k * q]
            middle = other if first < other else first
            first = first if first < other else other
            second = second if second < next_to_it else next_to_it
            second = second if second < middle else middle
        groups[i], others[i] = first, second
    first, second = groups[0], others[0]
    for i in range(1, q):
        middle = groups[i] if first < groups[i] else first
        first = first if first < groups[i] else groups[i]
        second = second if second < others[i] else others[i]
        second = second if second < middle else middle
    last = np.int32(D.shape[0])
    near = last
    for i in range(D.shape[0]):
        candidate = np.int32(i) if D[i] == first else last
        near = candidate if candidate < near else near
    far = last
    for i in range(D.shape[0]):
        candidate = np.int32(i) if D[i] == second and np.int32(i) != near else last
        far = candidate if candidate < far else far
    return np.int64(near), first, np.int64(far), second


@inline
def take_nearest(D, begin, end):
    """Index and distance of the nearest of some, all of which are infinitely far afterwards; -1 where there is none."""
    nearest = -1
    d = D.dtype.type(np.inf)
    for i in range(begin, end):
        nearest = i if D[i] < d else nearest
        d = D[i] if D[i] < d else d
        D[i] = np.inf
    return nearest, d


def epoch_signature(number: Any, loss: Any, *, functions: bool = True) -> Any:
    """What an epoch takes, with the type of its loss; `functions` of the metric, where it is not built in."""
    of_metric = (fill_signature(number), step_signature(number), finish_signature(number)) if functions else ()
    return types.int64(
        matrix(number),  # X
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
        vector(number),  # work
        stack(number),  # G
        types.float64,  # total
        types.float64,  # limit
        *(types.FunctionType(signature) for signature in of_metric),
        loss,
        vector(types.float64),  # parameters
        vector(types.float64),  # rate of each prototype
        types.float64,  # cap of these rates, 0 where they are fixed
        vector(types.float64),  # values
    )


def in_place_types(number: Any) -> tuple[Any, ...]:
    """What the epochs that read the rows of X where they are take first."""
    return (
        matrix(number),  # X
        vector(types.int64),  # row of X of each presentation
        vector(types.int64),  # y
        vector(types.float64),  # share of a step
        vector(types.float64),  # eta of each presentation
        vector(types.float64),  # slope of each presentation
    )


@compiled(lambda number: epoch_signature(number, types.FunctionType(pair_signature(number))))
def pair_epoch(
    X, y, share, eta, rho, slope, W, T, slot, labels, starts, work, G, total, limit, fill, step, finish, loss,
    parameters, rates, cap, values,
):  # fmt: skip
    """Show the rows of X one after the other to a loss of own and rival; returns how many were shown.

    Fewer than all means that a distance was no longer finite or passed `limit`: learning has diverged.
    """
    padded, folded, groups = room_to_search(labels.shape[0], X)
    D = padded[: labels.shape[0]]
    chosen = np.empty(2, np.int64)
    pulls = np.empty(2, np.float64)
    etas = np.empty(2, np.float64)
    alpha = parameters[1]
    for n in range(X.shape[0]):
        x = X[n]
        fill(x, W, T, slot, work, padded)
        for i in range(labels.shape[0], padded.shape[0]):
            padded[i] = np.inf
        if starts.shape[0] > 0:
            own, d_own = take_nearest(padded, starts[y[n]], starts[y[n] + 1])
            rival, d_rival = nearest_of(padded, folded, groups)
        else:
            own, rival = own_and_rival(D, labels, y[n])
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
            step(x, W, T, slot, chosen[:1], pulls[:1], etas[:1], G, work)
        elif pull == 0.0:
            step(x, W, T, slot, chosen[1:], pulls[1:], etas[1:], G, work)
        else:
            step(x, W, T, slot, chosen, pulls, etas, G, work)
        if G.shape[0] > 0:
            finish(T, slot[own], rho[n], total, G)
            if slot[rival] != slot[own]:
                finish(T, slot[rival], rho[n], total, G)
    return X.shape[0]


@compiled(lambda number: epoch_signature(number, types.FunctionType(field_signature(number))))
def field_epoch(
    X, y, share, eta, rho, slope, W, T, slot, labels, starts, work, G, total, limit, fill, step, finish, loss,
    parameters, rates, cap, values,
):  # fmt: skip
    """As pair_epoch, for a loss or rule of the distances to all prototypes."""
    padded = np.full((labels.shape[0] + 15) // 16 * 16, np.inf, X.dtype)
    D = padded[: labels.shape[0]]
    C = np.empty(labels.shape[0], np.float64)
    chosen = np.empty(labels.shape[0], np.int64)
    pulls = np.empty(labels.shape[0], np.float64)
    etas = np.empty(labels.shape[0], np.float64)
    touched = np.zeros(T.shape[0], np.bool_)
    for n in range(X.shape[0]):
        x = X[n]
        fill(x, W, T, slot, work, padded)
        if not all_below(D, limit):
            return n
        parameters[0] = slope[n]
        values[n] = loss(D, labels, y[n], parameters, C)
        count = 0
        for i in range(D.shape[0]):
            if C[i] != 0.0:
                chosen[count], pulls[count], etas[count] = i, share[n] * C[i], eta[n] * rates[i]
                count += 1
        if count == 0:
            continue
        step(x, W, T, slot, chosen[:count], pulls[:count], etas[:count], G, work)
        if G.shape[0] > 0:
            for p in range(count):
                touched[slot[chosen[p]]] = True
            for s in range(T.shape[0]):
                if touched[s]:
                    finish(T, s, rho[n], total, G)
                    touched[s] = False
    return X.shape[0]


@vectorised
def all_below(D, limit):
    """Whether every distance is below the limit, and a number."""
    # Compared in the number type of the distances: conversions take as long as all the rest.
    most = D.dtype.type(limit)
    above = 0
    for i in range(D.shape[0]):
        above += not D[i] < most
    return above == 0


@compiled(lambda number: epoch_signature(number, types.FunctionType(rule_signature(number))))
def rule_epoch(
    X, y, share, eta, rho, slope, W, T, slot, labels, starts, work, G, total, limit, fill, step, finish, loss,
    parameters, rates, cap, values,
):  # fmt: skip
    """As pair_epoch, for a rule of the two nearest prototypes, whatever their classes."""
    m = labels.shape[0]
    padded, folded, groups = room_to_search(m, X)
    seconds, others = np.empty_like(folded), np.empty_like(groups)
    D = padded[:m]
    chosen = np.empty(2, np.int64)
    pulls = np.empty(2, np.float64)
    etas = np.empty(2, np.float64)
    for n in range(X.shape[0]):
        x = X[n]
        fill(x, W, T, slot, work, padded)
        for i in range(m, padded.shape[0]):
            padded[i] = np.inf
        if not all_below(D, limit):
            return n
        if parameters[2] > 0.0 and m > 1:
            near, d_near, far, d_far = two_nearest_of(padded, folded, seconds, groups, others)
            far_right = labels[far] == y[n]
        else:
            near, d_near = nearest_of(padded, folded, groups)
            far, d_far, far_right = near, X.dtype.type(np.inf), False
        value, pull, push = loss(d_near, d_far, labels[near] == y[n], far_right, parameters)
        values[n] = value
        count = 0
        for i, c in ((near, pull), (far, push)):
            if c != 0.0:
                chosen[count], pulls[count], etas[count] = i, share[n] * c, eta[n] * rates[i]
                count += 1
        if count == 0:
            continue
        if count == 2:
            step(x, W, T, slot, chosen, pulls, etas, G, work)
        else:
            step(x, W, T, slot, chosen[:1], pulls[:1], etas[:1], G, work)
        if cap > 0.0:
            for p in range(count):
                i = chosen[p]
                rates[i] = min(rates[i] / (1.0 + rates[i] if pulls[p] > 0.0 else 1.0 - rates[i]), cap)
        if G.shape[0] > 0:
            finish(T, slot[chosen[0]], rho[n], total, G)
            if count == 2 and slot[chosen[1]] != slot[chosen[0]]:
                finish(T, slot[chosen[1]], rho[n], total, G)
    return X.shape[0]


# Samples whose nearest distances so far stay in the first-level cache.
_AT_A_TIME = 512


@vectorised
def nearer(distances, y, label, i, d_own, own, d_rival, rival):
    """Note prototype i where it is the nearest so far of some samples, own or rival.

    Runs across the samples, so that a compiler vectorises it: a search in each row takes four times as long.
    """
    inf = distances.dtype.type(np.inf)
    for n in range(distances.shape[0]):
        mine = y[n] == label
        d = distances[n] if mine else inf
        e = inf if mine else distances[n]
        own[n] = i if d < d_own[n] else own[n]
        d_own[n] = d if d < d_own[n] else d_own[n]
        rival[n] = i if e < d_rival[n] else rival[n]
        d_rival[n] = e if e < d_rival[n] else d_rival[n]


@compiled(
    lambda number: types.float64(
        matrix(number),  # D, one prototype a row
        vector(types.int64),  # y
        vector(types.float64),  # weight
        vector(types.int64),  # labels
        types.FunctionType(pair_signature(number)),
        vector(types.float64),  # parameters
        matrix(types.int32),  # own and rival of each sample
        matrix(number),  # weight times d loss / d d_own and d loss / d d_rival
    )
)
def pair_block(D, y, weight, labels, loss, parameters, pairs, pulls):
    """Weighted sum of the losses of a block of samples, with the two coefficients of each beside their prototypes.

    NaN where D is not finite.
    """
    alpha = parameters[1]
    value_sum = 0.0
    own = np.empty(_AT_A_TIME, np.int32)
    rival = np.empty(_AT_A_TIME, np.int32)
    code = np.empty(_AT_A_TIME, np.int32)
    d_own = np.empty(_AT_A_TIME, D.dtype)
    d_rival = np.empty(_AT_A_TIME, D.dtype)
    for begin in range(0, D.shape[1], _AT_A_TIME):
        count = min(_AT_A_TIME, D.shape[1] - begin)
        own[:] = -1
        rival[:] = -1
        d_own[:] = np.inf
        d_rival[:] = np.inf
        for n in range(count):
            code[n] = y[begin + n]
        for i in range(D.shape[0]):
            nearer(D[i, begin : begin + count], code, np.int32(labels[i]), np.int32(i), d_own, own, d_rival, rival)
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


@compiled(
    lambda number: types.float64(
        matrix(number),  # D
        vector(types.int64),  # y
        vector(types.float64),  # weight
        vector(types.int64),  # labels
        types.FunctionType(field_signature(number)),
        vector(types.float64),  # parameters
        matrix(number),  # C
    )
)
def field_block(D, y, weight, labels, loss, parameters, C):
    """Weighted sum of the losses of a block of samples, C filled with weight times d loss / d D."""
    row = np.empty(D.shape[1], np.float64)
    value_sum = 0.0
    for n in range(D.shape[0]):
        value_sum += weight[n] * loss(D[n], labels, y[n], parameters, row)
        for i in range(D.shape[1]):
            C[n, i] = weight[n] * row[i]
    return value_sum


@compiled(
    lambda number: types.UniTuple(types.float64, 2)(
        matrix(number),  # X
        vector(types.int64),  # y
        vector(types.float64),  # weight
        matrix(number),  # W
        stack(number),  # T
        vector(types.int64),  # slot
        vector(types.int64),  # labels
        vector(number),  # work
        types.FunctionType(fill_signature(number)),
        types.FunctionType(pair_signature(number)),
        vector(types.float64),  # parameters
        matrix(types.int32),  # own and rival of each row
        matrix(number),  # weight times d loss / d d_own and d loss / d d_rival
    )
)
def pair_rows(X, y, weight, W, T, slot, labels, work, fill, loss, parameters, pairs, pulls):
    """Weighted sums of the losses and of the 1-NN errors; the two coefficients of each row beside their prototypes.

    Both are NaN where a distance is not finite. Nothing of the size rows times prototypes is kept.
    """
    padded = np.empty((labels.shape[0] + 15) // 16 * 16, X.dtype)
    D = padded[: labels.shape[0]]
    alpha = parameters[1]
    value_sum = errors = 0.0
    for n in range(X.shape[0]):
        fill(X[n], W, T, slot, work, padded)
        own, rival = own_and_rival(D, labels, y[n])
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
