"""Searches among distances: the nearest, the two nearest, the nearest of one class and of all others.

Compilers vectorise a search for a least integer, but not one for a least float. Squared distances are not negative, and
the bits of floats that are not negative are ordered as the floats are: searches read the distances as integers.
"""

from __future__ import annotations

import numpy as np

from protolearn.core.jit import helper, vectorised

# Room for distances is a multiple of so many, which the widest vectors hold.
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


def room_for_distances(n_prototypes: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Room for distances, padded with infinity to a multiple of LANES, as floats and as integers."""
    D = np.full(LANES * -(-n_prototypes // LANES), np.inf, dtype=dtype)
    return D, D.view(np.int32 if D.itemsize == 4 else np.int64)


@helper
def nearest_of(bits):
    """Index of the nearest, the lowest on a tie; a distance that is no number is farther than all others."""
    least = bits[0]
    for i in range(bits.shape[0]):
        least = bits[i] if bits[i] < least else least
    i = 0
    while bits[i] != least:
        i += 1
    return i


@helper
def two_nearest_of(bits):
    """Indices of the nearest and of the second nearest."""
    near = nearest_of(bits)
    nearest = bits[near]
    # Farther than all that is left, which is infinity at most or no number.
    bits[near] = np.iinfo(bits.dtype).max
    far = nearest_of(bits)
    bits[near] = nearest
    return near, far


@helper
def pop_nearest(D, begin, end):
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
