"""The pair epoch of `kernels` under matrix metrics: the same steps, for fewer operations.

`pair_epoch` maps the difference of the sample to each of P prototypes, P n_components d operations a sample. Here the
sample is mapped once for each Omega, and the prototypes are kept mapped: a step changes an Omega by two outer products,
and what it maps to by as many multiples of two vectors.

Whole fits by `pair_epoch` take 2.4 to 4 times as long for GMLVQ on digits (10 and 50 prototypes), 3 times as long on
15,000 rows of 32 features, and 1.4 times for LGMLVQ on digits with a matrix a class.
"""

from __future__ import annotations

import numpy as np

from protolearn.core.jit import kernel, vectorised
from protolearn.core.searches import nearest_of, pop_nearest
from protolearn.losses.base import pair_signature
from protolearn.solvers.kernels import confine, epoch_signature

# After so many samples the prototypes are mapped anew, before the rounding of the updates adds up.
_MAPPED_ANEW = 128


# Matrices and an index, not rows as arrays of their own: numba counts who uses an array, and within a branch or a loop
# that costs as much as the few numbers of a row.
@vectorised
def multiply(T, s, x, out, o):
    """out[o] = T[s] x, four rows at a time so that x is loaded once for them."""
    _, n, d = T.shape
    i = 0
    while i + 4 <= n:
        s0 = s1 = s2 = s3 = x.dtype.type(0)
        for j in range(d):
            s0 += T[s, i, j] * x[j]
            s1 += T[s, i + 1, j] * x[j]
            s2 += T[s, i + 2, j] * x[j]
            s3 += T[s, i + 3, j] * x[j]
        out[o, i], out[o, i + 1], out[o, i + 2], out[o, i + 3] = s0, s1, s2, s3
        i += 4
    while i < n:
        s0 = x.dtype.type(0)
        for j in range(d):
            s0 += T[s, i, j] * x[j]
        out[o, i] = s0
        i += 1


@vectorised
def multiply_transposed(T, s, h, p, out):
    """out = T[s]'h[p], four rows at a time so that `out` is loaded once for them."""
    _, n, d = T.shape
    for j in range(d):
        out[j] = 0
    i = 0
    while i + 4 <= n:
        h0, h1, h2, h3 = h[p, i], h[p, i + 1], h[p, i + 2], h[p, i + 3]
        for j in range(d):
            out[j] += h0 * T[s, i, j] + h1 * T[s, i + 1, j] + h2 * T[s, i + 2, j] + h3 * T[s, i + 3, j]
        i += 4
    while i < n:
        h0 = h[p, i]
        for j in range(d):
            out[j] += h0 * T[s, i, j]
        i += 1


@vectorised
def distances_after(sample, slot, mapped, D):
    """D_i = |sample of the slot of i - mapped_i|^2."""
    for i in range(slot.shape[0]):
        s = slot[i]
        total = sample.dtype.type(0)
        for r in range(mapped.shape[1]):
            v = sample[s, r] - mapped[i, r]
            total += v * v
        D[i] = total


@vectorised
def subtract(A, i, b, out):
    """out = A_i - b."""
    for j in range(out.shape[0]):
        out[j] = A[i, j] - b[j]


@vectorised
def subtract_rows(A, i, B, k, out, p):
    """out[p] = A_i - B_k."""
    for j in range(out.shape[1]):
        out[p, j] = A[i, j] - B[k, j]


@vectorised
def move_mapped(W, i, towards, away, p, factor, mean_weight):
    """m_i += factor Omega'Omega v, never further than the sample is: see `Omega`; v is away[p]."""
    length = moved = 0.0
    for j in range(towards.shape[0]):
        length += away[p, j] * away[p, j]
        moved += towards[j] * towards[j]
    most = max(1.0, abs(factor) * mean_weight)
    if factor * factor * moved > most * most * length:
        factor = np.sign(factor) * most * np.sqrt(length / moved)
    share = towards.dtype.type(factor)
    for j in range(towards.shape[0]):
        W[i, j] += share * towards[j]


@vectorised
def update_omega(T, s, a, b, differences, away, total):
    """Omega -= a h_0 v_0' + b h_1 v_1', scaled to trace(Omega'Omega) = total, of 0 not at all; returns the scale.

    Omega is T[s], h the differences after the map, v those before.
    """
    _, rows, d = T.shape
    number = T.dtype.type
    squares = 0.0
    for r in range(rows):
        p, q = number(a * differences[0, r]), number(b * differences[1, r])
        total_of_row = number(0)
        for j in range(d):
            T[s, r, j] -= p * away[0, j] + q * away[1, j]
            total_of_row += T[s, r, j] * T[s, r, j]
        squares += total_of_row
    if not (squares > 0 and total > 0):
        return number(1)
    scale = number(np.sqrt(total / squares))
    for r in range(rows):
        for j in range(d):
            T[s, r, j] *= scale
    return scale


@vectorised
def update_mapped_prototypes(mapped, slot, s, stale, W, origin, a, b, differences, away, scale):
    """Omega (m_i - origin) after `update_omega`, for all m_i under that Omega that are not to be mapped anew."""
    number = mapped.dtype.type
    for i in range(slot.shape[0]):
        if slot[i] != s or stale[i]:
            continue
        p = q = number(0)
        for j in range(W.shape[1]):
            w = W[i, j] - origin[j]
            p += away[0, j] * w
            q += away[1, j] * w
        p *= number(a)
        q *= number(b)
        for r in range(mapped.shape[1]):
            mapped[i, r] = scale * (mapped[i, r] - p * differences[0, r] - q * differences[1, r])


@kernel(lambda number: epoch_signature(number, pair_signature(number), functions=False))
def omega_pair_epoch(
    X, rows, y, share, eta, rho, slope, W, T, slot, labels, starts, constants, D, bits, G, total, limit, box, loss,
    parameters, rates, cap, values,
):  # fmt: skip
    """As pair_epoch, for prototypes sorted by class; G is not filled, only asked whether Omega is learned.

    h_i = Omega (x - m_i) = Omega (x - o) - Omega (m_i - o),  D_i = |h_i|^2           o the prototypes' mean
    Omega         <- scale (Omega - 2 rho sum c_i h_i v_i')                          own and rival
    Omega (m - o) <- scale (Omega (m - o) - 2 rho sum c_i h_i v_i'(m - o))           for all m that share it
    """
    m = labels.shape[0]
    n_slots, n_components, d = T.shape
    # Few arrays: numba compiles each kind that is made here, and a tenth of a second for each.
    origin, towards, away = np.empty(d, X.dtype), np.empty(d, X.dtype), np.empty((2, d), X.dtype)
    differences, sample, mapped = (
        np.empty((2, n_components), X.dtype),
        np.empty((n_slots, n_components), X.dtype),
        np.empty((m, n_components), X.dtype),
    )
    for j in range(d):
        origin[j] = 0
        for i in range(m):
            origin[j] += W[i, j] / X.dtype.type(m)
    stale = np.empty(m, np.bool_)
    mean_weight = float(constants[2 * d + n_components])
    learns = G.shape[0] > 0
    alpha = parameters[1]
    for n in range(rows.shape[0]):
        at, k = rows[n], y[rows[n]]
        for i in range(m):
            if stale[i] or n % _MAPPED_ANEW == 0:
                subtract(W, i, origin, towards)
                multiply(T, slot[i], towards, mapped, i)
                stale[i] = False
        subtract(X, at, origin, towards)
        for s in range(n_slots):
            multiply(T, s, towards, sample, s)
        distances_after(sample, slot, mapped, D)
        own, d_own = pop_nearest(D, starts[k], starts[k + 1])
        rival = nearest_of(bits)
        d_rival = D[rival]
        if not (d_own < limit and d_rival < limit):
            return n
        value, pull, push = loss(d_own, d_rival, slope[n])
        values[n] = value + alpha * d_own
        pair, pulls = (own, rival), (share[n] * (pull + alpha), share[n] * push)
        if pulls[0] == 0.0 and pulls[1] == 0.0:
            continue
        for p in range(2):
            i = pair[p]
            subtract_rows(X, at, W, i, away, p)
            subtract_rows(sample, slot[i], mapped, i, differences, p)
        for p in range(2):
            i = pair[p]
            if pulls[p] != 0.0 and eta[n] > 0.0:
                multiply_transposed(T, slot[i], differences, p, towards)
                move_mapped(W, i, towards, away, p, 2.0 * (eta[n] * rates[i]) * pulls[p], mean_weight)
                if box.shape[1] > 0:
                    confine(W, i, box)
                stale[i] = True
        if learns:
            for p in range(2):
                s = slot[pair[p]]
                if p == 1 and s == slot[own]:
                    continue
                pulling = 2.0 * rho[n] * pulls[0] if slot[own] == s else 0.0
                pushing = 2.0 * rho[n] * pulls[1] if slot[rival] == s else 0.0
                scale = update_omega(T, s, pulling, pushing, differences, away, total)
                update_mapped_prototypes(mapped, slot, s, stale, W, origin, pulling, pushing, differences, away, scale)
    return rows.shape[0]
