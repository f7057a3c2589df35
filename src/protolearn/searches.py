"""Searches among distances: the nearest, the two nearest, the nearest of one class and of all others.

Compilers do not vectorise a search for the index of a least value; these are written so that they can.
"""

from __future__ import annotations

import numpy as np

from protolearn.compiled import inline, vectorised


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


@vectorised
def all_below(D, limit):
    """Whether every distance is below the limit, and a number."""
    # Compared in the number type of the distances: conversions take as long as all the rest.
    most = D.dtype.type(limit)
    above = 0
    for i in range(D.shape[0]):
        above += not D[i] < most
    return above == 0


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


@inline
def own_and_rival_of_columns(D, begin, count, y, labels, code, d_own, own, d_rival, rival):
    """As `own_and_rival`, for `count` samples from column `begin` of D on, with their distances.

    code : room for their classes
    """
    own[:] = -1
    rival[:] = -1
    d_own[:] = np.inf
    d_rival[:] = np.inf
    for n in range(count):
        code[n] = y[begin + n]
    for i in range(D.shape[0]):
        nearer(D[i, begin : begin + count], code, np.int32(labels[i]), np.int32(i), d_own, own, d_rival, rival)
