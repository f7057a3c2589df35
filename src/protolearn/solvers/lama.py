"""The rules of LaMaLVQ between two metric solves: prototypes and matrix moved by targets and invaders, in batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protolearn.core.registry import Registry
from protolearn.solvers.large_margin import project
from protolearn.solvers.triples import Candidates, TripleProblem, squared_distances

# Under batch_step="damped" the pushes on a prototype weigh at most half as much as its pulls.
_MOST_PUSH = 0.5
_BATCH_NUMBERS = 1 << 21

UPDATES = Registry("update")


@dataclass(frozen=True)
class Perimeters:
    """Targets and invaders of each centre: 1, -1 or 0 for each point, (n_centres, n_points)."""

    sign: np.ndarray

    @property
    def n_invaders(self) -> int:
        """Invaders of all centres together."""
        return int(np.sum(self.sign < 0))


def perimeters(problem: TripleProblem, omega: np.ndarray) -> Perimeters:
    """Targets (3) and invaders (5), the points of another class with D_l <= max_j D_j + margin."""
    A, B = problem.mapped(omega)
    sign = np.zeros((len(A), len(B)), dtype=np.int8)
    size = max(_BATCH_NUMBERS // len(B), 1)
    for start in range(0, len(A), size):
        rows = np.arange(start, min(start + size, len(A)))
        D = squared_distances(A[rows], B)
        targets = problem.targets[rows]
        at = rows[:, None] - start
        distance = np.where(targets >= 0, D[at, targets], -np.inf)
        other = problem.centre_labels[rows][:, None] != problem.point_labels
        sign[rows] = -(other & ((distance.max(axis=1) + problem.margin)[:, None] >= D)).astype(np.int8)
        sign[np.broadcast_to(rows[:, None], targets.shape)[targets >= 0], targets[targets >= 0]] = 1
    return Perimeters(sign)


def lama_moves(problem: TripleProblem, omega: np.ndarray, *, damped: bool = False) -> np.ndarray:
    """What (15) adds to the centres, over eta:

        2 Lambda [ sum_targets (x - w) - sum_invaders (x - w) ]

    Targets and invaders count once each, which is not the gradient of (13). The distance of w to the data grows by
    the factor 1 + 2 eta (invaders - targets) where invaders outnumber targets: that is how prototypes leave the data.
    damped : divide by the number of targets, and weigh the invaders down to half the weight of the targets where they
        have more: the factor is then below 1 for any number of invaders.
    """
    sign = perimeters(problem, omega).sign.astype(np.float64)
    if damped:
        pulls, pushes = np.sum(sign > 0, axis=1), np.sum(sign < 0, axis=1)
        share = np.minimum(1.0, _MOST_PUSH * pulls / np.maximum(pushes, 1))
        sign = np.where(sign < 0, -share[:, None], sign) / np.maximum(pulls, 1)[:, None]
    mass = sign.sum(axis=1)[:, None]
    return 2.0 * ((sign @ problem.points - mass * problem.centres) @ omega.T) @ omega


def gradient_moves(problem: TripleProblem, omega: np.ndarray, *, damped: bool = False) -> np.ndarray:
    """Minus the gradient of (13) by the centres, over eta: a point weighs as many active triples as it is in.

    damped : divide by the number of terms of the centre, as a mean.
    """
    A, B = problem.mapped(omega)
    rows = Candidates(problem, omega, 0.0).sums(A, B, problem.centres, problem.points).at_centres
    if damped:
        rows = rows / np.maximum(np.abs(perimeters(problem, omega).sign).sum(axis=1), 1)[:, None]
    return -2.0 * (rows @ omega.T) @ omega


UPDATES.add("lama", lama_moves)
UPDATES.add("gradient", gradient_moves)


def matrix_step(problem: TripleProblem, omega: np.ndarray, rate: float) -> np.ndarray:
    """Lambda - rate G / (number of terms), projected: the batch update of the matrix in Table 8, not printed there."""
    A, B = problem.mapped(omega)
    sums = Candidates(problem, omega, 0.0).sums(A, B, problem.centres, problem.points)
    slope = sums.at_points.T @ problem.points + sums.at_centres.T @ problem.centres
    terms = max(sums.n_active + int(np.sum(problem.targets >= 0)), 1)
    factor = project(omega.T @ omega - rate * slope / terms)[1]
    return square(factor, omega.shape[1])


def square(factor: np.ndarray, n_features: int) -> np.ndarray:
    """The symmetric root of factor'factor: one Omega for each Lambda, of full size."""
    values, vectors = np.linalg.eigh(factor.T @ factor)
    if len(values) != n_features:
        raise ValueError(f"A factor with {len(values)} columns does not fit {n_features} features.")
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
