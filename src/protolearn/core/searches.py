"""Searches among distances: the nearest, the two nearest, the nearest of one class and of all others.

Compilers do not vectorise a search for the index of a least value. The searches here keep a least value and its index
for each of 16 lanes, and compare the lanes at the end.
"""

from __future__ import annotations

import numpy as np

from protolearn.core.jit import helper, vectorised

# Distances that a search compares at a time.
LANES = 16
# Prototypes from which a search class by class pays.
_SEARCH_BY_CLASS_FROM = 32


@helper
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


def class_starts(labels: np.ndarray, n_classes: int = 0) -> np.ndarray:
    """Where the prototypes of each class begin, and the end of the last; empty where they are not sorted by class.

    n_classes : how many there are, where the last ones may have no prototype
    """
    if (np.diff(labels) < 0).any():
        return np.empty(0, dtype=np.int64)
    return np.searchsorted(labels, np.arange(max(labels[-1] + 1, n_classes) + 1)).astype(np.int64)


def searched_by_class(labels: np.ndarray, n_classes: int = 0) -> np.ndarray:
    """`class_starts` where looking class by class pays, else nothing."""
    return class_starts(labels, n_classes) if len(labels) >= _SEARCH_BY_CLASS_FROM else np.empty(0, dtype=np.int64)


@helper
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


@helper
def least(values):
    """The least of all, in two chains so that one does not wait for the other."""
    last = values.shape[0] - 1
    a = b = values[last]
    for i in range(0, last, 2):
        a = values[i] if values[i] < a else a
        b = values[i + 1] if values[i + 1] < b else b
    return a if a < b else b


@helper
def padded_distances(n_prototypes, X):
    """Room for distances, padded with infinity to a multiple of LANES."""
    padded = np.empty(LANES * ((n_prototypes + LANES - 1) // LANES), X.dtype)
    # By a loop: np.full takes a quarter of a second to compile.
    for i in range(padded.shape[0]):
        padded[i] = np.inf
    return padded


@helper
def search_room(X):
    """Scratch space of a search: values and indices of the lanes, nearest and second nearest."""
    return np.empty((2, LANES), X.dtype), np.empty((2, LANES), np.int32)


@vectorised
def search_lanes(D, values, indices):
    """The nearest and the second nearest of each lane; D is padded with infinity to a multiple of LANES."""
    for lane in range(LANES):
        values[0, lane] = values[1, lane] = np.inf
        indices[0, lane] = indices[1, lane] = lane
    for begin in range(0, D.shape[0], LANES):
        for lane in range(LANES):
            d, i = D[begin + lane], np.int32(begin + lane)
            first, second = values[0, lane], values[1, lane]
            at_first, at_second = indices[0, lane], indices[1, lane]
            is_first, is_second = d < first, d < second
            values[1, lane] = first if is_first else (d if is_second else second)
            indices[1, lane] = at_first if is_first else (i if is_second else at_second)
            values[0, lane] = d if is_first else first
            indices[0, lane] = i if is_first else at_first


@vectorised
def search_lanes_for_nearest(D, values, indices):
    """As `search_lanes`, the nearest of each lane alone."""
    for lane in range(LANES):
        values[0, lane], indices[0, lane] = np.inf, lane
    for begin in range(0, D.shape[0], LANES):
        for lane in range(LANES):
            d, first, at_first = D[begin + lane], values[0, lane], indices[0, lane]
            values[0, lane] = d if d < first else first
            indices[0, lane] = np.int32(begin + lane) if d < first else at_first


@helper
def best_lane(values, indices):
    """The lane with the least first value, and of equal ones with the lowest index."""
    best = 0
    for lane in range(1, LANES):
        d, least = values[0, lane], values[0, best]
        if d < least or (d == least and indices[0, lane] < indices[0, best]):
            best = lane
    return best


@helper
def nearest_of(D, values, indices):
    """Index and distance of the nearest, the lowest index on a tie; D is padded with infinity.

    values, indices : see `search_room`
    """
    search_lanes_for_nearest(D, values, indices)
    lane = best_lane(values, indices)
    return np.int64(indices[0, lane]), values[0, lane]


@helper
def two_nearest_of(D, values, indices):
    """As `nearest_of`, of the nearest and the second nearest: index and distance of each."""
    search_lanes(D, values, indices)
    lane = best_lane(values, indices)
    near, d_near = np.int64(indices[0, lane]), values[0, lane]
    values[0, lane], indices[0, lane] = values[1, lane], indices[1, lane]
    lane = best_lane(values, indices)
    return near, d_near, np.int64(indices[0, lane]), values[0, lane]


@helper
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
    # Noted, not counted: LLVM widens each part of a count to 64 bits.
    above = np.int32(0)
    for i in range(D.shape[0]):
        above = above if D[i] < most else np.int32(1)
    return above == 0


@vectorised
def note_own_and_rival(distances, y, label, i, d_own, own, d_rival, rival):
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


@helper
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
        note_own_and_rival(
            D[i, begin : begin + count], code, np.int32(labels[i]), np.int32(i), d_own, own, d_rival, rival
        )
