"""Prototypes brought inside the range of the data, with the borders between the classes left where they are.

Under a distance that all prototypes share, shrinking them all towards a point o that is equally far from each of them
moves no border:

    m_i' = o + (m_i - o) / k      D_i'(x) - D_j'(x) = (D_i(x) - D_j(x)) / k      where D_i(o) is the same for all i

Up to d + 1 prototypes in d features have such points, and the shrinking that needs the smallest k within a box is a
linear programme in u = (k - 1) (o - mean) and k. Where no point is equally far from all, the programme takes one whose
distances differ least; then, and under distances that are not shared, the positions are a start to learn from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from protolearn.core.prototypes import PrototypeSet
from protolearn.metrics import Metric
from protolearn.solvers.base import confined

# What the programme weighs against differing distances: much shrinking a little, moves of the mean less.
_SHRINKING, _MOVING, _MOST_SHRINKING = 1e-3, 1e-5, 1e3
# Distances that differ by less, as a share of their mean, are equal.
_EQUAL = 1e-6
# Numbers of the programme beyond which it takes longer than learning.
_MOST_NUMBERS = 1 << 20


@dataclass(frozen=True)
class Inside:
    """Prototypes inside a box.

    shrunk : k
    exact : whether every decision is the one of before
    """

    prototypes: PrototypeSet
    shrunk: float
    exact: bool


def brought_inside(prototypes: PrototypeSet, metric: Metric, box: np.ndarray) -> Inside:
    """Prototypes inside their box (see `Plan`) that decide as the given ones or nearly so; shrunk where it is one."""
    clipped = confined(prototypes, box)
    if np.array_equal(clipped.positions, prototypes.positions):
        return Inside(prototypes, 1.0, True)
    shared = len(prototypes.theta) == 1 and box.shape[1] == 1
    found = _shrunk(prototypes, metric, box[:, 0]) if shared else None
    return Inside(clipped, 1.0, False) if found is None else found


def _shrunk(prototypes: PrototypeSet, metric: Metric, box: np.ndarray) -> Inside | None:
    """The solution of the programme; None where the distance has another form, or the programme is too large."""
    positions = prototypes.positions.astype(np.float64)
    n, d = positions.shape
    weights, maps = metric.weights(prototypes), metric.maps(prototypes)
    if n * (n + d) > _MOST_NUMBERS:
        return None
    mean = np.clip(positions.mean(axis=0), *box)
    spread = box[1] - box[0]
    moves = spread > 0
    # In units of the range of each feature; a feature with one value has no part in it.
    V = np.where(moves, positions - mean, 0.0)
    if weights is not None:
        pulls = V * weights[0]
    elif maps is not None:
        pulls = (V @ maps[0].T) @ maps[0]
    else:
        return None
    lengths = np.einsum("ij,ij->i", V, pulls)
    unit = lengths.mean() or 1.0
    spread = np.where(moves, spread, 1.0)
    low, high = (box - mean) / spread
    # Variables: u, k, a constant, |u|, how much each distance differs.
    u, shift, differ = sparse.eye(d), sparse.csr_matrix((d, d)), sparse.csr_matrix((d, n))
    nothing = sparse.csr_matrix((d, 1))
    inside = [
        sparse.hstack([u, -high[:, None], nothing, shift, differ]),
        sparse.hstack([-u, low[:, None], nothing, shift, differ]),
        sparse.hstack([u, nothing, nothing, -u, differ]),
        sparse.hstack([-u, nothing, nothing, -u, differ]),
    ]
    # 2 V_i'Lambda u - (k - 1) |V_i|^2 is the same for all i.
    equal = np.c_[2.0 * pulls * spread / unit, -lengths / unit, np.ones(n), np.zeros((n, d))]
    apart = [sparse.hstack([sign * equal, -sparse.eye(n)]) for sign in (1.0, -1.0)]
    relative = V / spread
    limits = np.r_[-relative.max(axis=0), relative.min(axis=0), np.zeros(2 * d), -lengths / unit, lengths / unit]
    cost = np.r_[np.zeros(d), _SHRINKING, 0.0, np.full(d, _MOVING / d), np.full(n, 1.0 / n)]
    bounds = [(None, None)] * d + [(1.0, _MOST_SHRINKING), (None, None)] + [(0.0, None)] * (d + n)
    solved = linprog(cost, A_ub=sparse.vstack([*inside, *apart]).tocsr(), b_ub=limits, bounds=bounds)
    if solved.status != 0:
        return None
    k = float(solved.x[d])
    moved = mean + (V + solved.x[:d] * spread) / k
    found = prototypes.moved(moved.astype(prototypes.positions.dtype), prototypes.theta)
    return Inside(confined(found, box[:, None]), k, bool(solved.x[-n:].mean() < _EQUAL))
