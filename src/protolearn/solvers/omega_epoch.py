"""The pair epoch of `kernels` under matrix metrics: the same steps, for fewer operations.

`pair_epoch` maps the difference of the sample to each of P prototypes, P n_components d operations a sample. Here the
sample is mapped once for each Omega, and the prototypes are kept mapped: a step changes an Omega by two outer products,
and what it maps to by as many multiples of two vectors.
"""

from __future__ import annotations

import numpy as np
from numba import types

from protolearn.compiled import compiled, vectorised
from protolearn.losses.base import pair_signature
from protolearn.solvers.kernels import epoch_signature, own_and_rival_by_class, room_to_search

# After so many samples the prototypes are mapped anew, before the rounding of the updates adds up.
_MAPPED_ANEW = 128


@vectorised
def multiply(A, x, out):
    """out = A x, four rows at a time so that x is loaded once for them."""
    n, d = A.shape
    i = 0
    while i + 4 <= n:
        a0, a1, a2, a3 = A[i], A[i + 1], A[i + 2], A[i + 3]
        s0 = s1 = s2 = s3 = x.dtype.type(0)
        for j in range(d):
            s0 += a0[j] * x[j]
            s1 += a1[j] * x[j]
            s2 += a2[j] * x[j]
            s3 += a3[j] * x[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
        i += 4
    while i < n:
        a0 = A[i]
        s0 = x.dtype.type(0)
        for j in range(d):
            s0 += a0[j] * x[j]
        out[i] = s0
        i += 1


@vectorised
def multiply_transposed(A, h, out):
    """out = A'h, four rows at a time so that `out` is loaded once for them."""
    n, d = A.shape
    for j in range(d):
        out[j] = 0
    i = 0
    while i + 4 <= n:
        a0, a1, a2, a3 = A[i], A[i + 1], A[i + 2], A[i + 3]
        h0, h1, h2, h3 = h[i], h[i + 1], h[i + 2], h[i + 3]
        for j in range(d):
            out[j] += h0 * a0[j] + h1 * a1[j] + h2 * a2[j] + h3 * a3[j]
        i += 4
    while i < n:
        a0 = A[i]
        h0 = h[i]
        for j in range(d):
            out[j] += h0 * a0[j]
        i += 1


@vectorised
def squared_distance(a, b):
    """|a - b|^2."""
    s = a.dtype.type(0)
    for j in range(a.shape[0]):
        v = a[j] - b[j]
        s += v * v
    return s


@vectorised
def subtract(a, b, out):
    """out = a - b."""
    for j in range(out.shape[0]):
        out[j] = a[j] - b[j]


@vectorised
def move_mapped(W, i, towards, away, factor, mean_weight):
    """m_i += factor Omega'Omega v, never further than the sample is: see `Omega`."""
    length = moved = 0.0
    for j in range(towards.shape[0]):
        length += away[j] * away[j]
        moved += towards[j] * towards[j]
    most = max(1.0, abs(factor) * mean_weight)
    if factor * factor * moved > most * most * length:
        factor = np.sign(factor) * most * np.sqrt(length / moved)
    share = towards.dtype.type(factor)
    for j in range(towards.shape[0]):
        W[i, j] += share * towards[j]


@vectorised
def turn(omega, a, mapped_a, away_a, b, mapped_b, away_b, total):
    """Omega -= a h_a v_a' + b h_b v_b', scaled to trace(Omega'Omega) = total; returns the scale."""
    number = omega.dtype.type
    squares = 0.0
    for r in range(omega.shape[0]):
        row = omega[r]
        p, q = number(a * mapped_a[r]), number(b * mapped_b[r])
        s = number(0)
        for j in range(omega.shape[1]):
            row[j] -= p * away_a[j] + q * away_b[j]
            s += row[j] * row[j]
        squares += s
    if not squares > 0:
        return number(1)
    scale = number(np.sqrt(total / squares))
    for r in range(omega.shape[0]):
        row = omega[r]
        for j in range(omega.shape[1]):
            row[j] *= scale
    return scale


@vectorised
def follow(mapped, i, W, origin, a, mapped_a, away_a, b, mapped_b, away_b, scale):
    """What `turn` makes of Omega (m_i - origin)."""
    p = q = mapped.dtype.type(0)
    for j in range(away_a.shape[0]):
        w = W[i, j] - origin[j]
        p += away_a[j] * w
        q += away_b[j] * w
    p *= mapped.dtype.type(a)
    q *= mapped.dtype.type(b)
    for r in range(mapped_a.shape[0]):
        mapped[i, r] = scale * (mapped[i, r] - p * mapped_a[r] - q * mapped_b[r])


@compiled(lambda number: epoch_signature(number, types.FunctionType(pair_signature(number)), functions=False))
def omega_pair_epoch(
    X, y, share, eta, rho, slope, W, T, slot, labels, starts, work, G, total, limit, loss, parameters, rates, cap,
    values,
):  # fmt: skip
    """As pair_epoch, for prototypes sorted by class; G is not filled, only asked whether Omega is learned.

    h_i = Omega (x - m_i) = Omega (x - o) - Omega (m_i - o),  D_i = |h_i|^2           o the prototypes' mean
    Omega         <- scale (Omega - 2 rho sum c_i h_i v_i')                          own and rival
    Omega (m - o) <- scale (Omega (m - o) - 2 rho sum c_i h_i v_i'(m - o))           for all m that share it
    """
    m = labels.shape[0]
    n_slots, rows, d = T.shape
    padded, folded, groups = room_to_search(m, X)
    D = padded[:m]
    # Few arrays: numba compiles each kind that is made here, and a tenth of a second for each.
    origin, towards, away = np.empty(d, X.dtype), np.empty(d, X.dtype), np.empty((2, d), X.dtype)
    differences, sample, mapped = (
        np.empty((2, rows), X.dtype),
        np.empty((n_slots, rows), X.dtype),
        np.empty((m, rows), X.dtype),
    )
    for j in range(d):
        origin[j] = 0
        for i in range(m):
            origin[j] += W[i, j] / X.dtype.type(m)
    stale = np.empty(m, np.bool_)
    mean_weight = float(work[2 * d + rows])
    learns = G.shape[0] > 0
    alpha = parameters[1]
    for n in range(X.shape[0]):
        for i in range(m):
            if stale[i] or n % _MAPPED_ANEW == 0:
                subtract(W[i], origin, towards)
                multiply(T[slot[i]], towards, mapped[i])
                stale[i] = False
        x = X[n]
        subtract(x, origin, towards)
        for s in range(n_slots):
            multiply(T[s], towards, sample[s])
        for i in range(m):
            D[i] = squared_distance(sample[slot[i]], mapped[i])
        own, rival, d_own, d_rival = own_and_rival_by_class(padded, starts, y[n], folded, groups)
        if own < 0 or rival < 0 or not (d_own < limit and d_rival < limit):
            return n
        value, pull, push = loss(d_own, d_rival, slope[n])
        values[n] = value + alpha * d_own
        pair, pulls = (own, rival), (share[n] * (pull + alpha), share[n] * push)
        if pulls[0] == 0.0 and pulls[1] == 0.0:
            continue
        for p in range(2):
            i = pair[p]
            subtract(x, W[i], away[p])
            subtract(sample[slot[i]], mapped[i], differences[p])
        for p in range(2):
            i = pair[p]
            if pulls[p] != 0.0 and eta[n] > 0.0:
                multiply_transposed(T[slot[i]], differences[p], towards)
                move_mapped(W, i, towards, away[p], 2.0 * (eta[n] * rates[i]) * pulls[p], mean_weight)
                stale[i] = True
        if learns:
            for p in range(2):
                s = slot[pair[p]]
                if p == 1 and s == slot[own]:
                    continue
                pulling = 2.0 * rho[n] * pulls[0] if slot[own] == s else 0.0
                pushing = 2.0 * rho[n] * pulls[1] if slot[rival] == s else 0.0
                scale = turn(T[s], pulling, differences[0], away[0], pushing, differences[1], away[1], total)
                for i in range(m):
                    if slot[i] == s and not stale[i]:
                        follow(
                            mapped, i, W, origin, pulling, differences[0], away[0], pushing, differences[1], away[1],
                            scale,
                        )  # fmt: skip
    return X.shape[0]
