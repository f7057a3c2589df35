"""Triples of centre, target and invader: found in chunks, counted by compiled loops, summed by matrix products.

LMNN and both versions of LaMaLVQ are one problem. A centre a_i pulls its targets b_j, k points of its own class, and
pushes every point b_l of another class that is not a margin further away than a target:

    cost = pull sum_ij D_ij + push sum_ijl [margin + D_ij - D_il]_+          LaMaLVQ (2), (13), (14), (16)

LMNN: centres and points are the samples. Pattern version: centres are prototypes, points are samples. Prototype
version: both are prototypes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from protolearn.core.jit import lazy_loop, vectorised
from protolearn.core.threads import in_threads

# A block of distances that stays in a second-level cache while it is searched.
_BLOCK_NUMBERS, _BLOCK_COLUMNS = 1 << 18, 1 << 10
# Candidates that are kept between two searches: 8 bytes each. Beyond that each evaluation searches again.
_MOST_CANDIDATES = 1 << 25
# float32 distances by |a|^2 - 2 a'b + |b|^2 are wrong by some 1e-7 of |a|^2 + |b|^2: look that much further.
_ROUNDING = 4e-6
# Squared lengths up to which they stay finite in float32.
_FLOAT32_LARGEST = 1e30
# A thread pays from so many multiply-adds of a search or a product, or so many numbers of the candidate pairs, on.
_SEARCH_FOR_A_THREAD, _PRODUCT_FOR_A_THREAD, _SUMS_FOR_A_THREAD = 5e7, 5e7, 2e6


@dataclass(frozen=True)
class TripleProblem:
    """Centres, points and targets of a large margin problem.

    centres, points : (n_centres, d) and (n_points, d), float64 (or `in_float32`); points sorted by label, both moved
        so that the mean of the points is the origin, because |a|^2 - 2 a'b + |b|^2 loses digits far from it
    centre_labels, point_labels : class codes
    targets : (n_centres, k) rows of points; -1 fills a row whose class has fewer than k; empty before they are found
    margin, pull, push : kappa, 1 - mu and mu of the thesis
    own : (n_centres,) the row of points that is the centre itself, -1 where there is none
    threads : how many the sums and searches may use
    """

    centres: np.ndarray
    points: np.ndarray
    centre_labels: np.ndarray
    point_labels: np.ndarray
    own: np.ndarray
    n_neighbors: int
    margin: float = 1.0
    pull: float = 0.5
    push: float = 0.5
    targets: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    threads: int = 1

    @classmethod
    def among_points(cls, X: np.ndarray, labels: np.ndarray, n_neighbors: int, **numbers: Any) -> TripleProblem:
        """Every point is a centre too: LMNN (2), and the prototype version (14)."""
        order = np.argsort(labels, kind="stable")
        X, labels = X[order].astype(np.float64), labels[order]
        X -= X.mean(axis=0)
        return cls(X, X, labels, labels, np.arange(len(X)), n_neighbors, **numbers)

    @classmethod
    def around_centres(
        cls,
        centres: np.ndarray,
        centre_labels: np.ndarray,
        X: np.ndarray,
        labels: np.ndarray,
        n_neighbors: int,
        own: np.ndarray | None = None,
        **numbers: Any,
    ) -> TripleProblem:
        """Centres apart from the points: the pattern version (13); or some of the points, the rows `own` of X."""
        order = np.argsort(labels, kind="stable")
        points = X[order].astype(np.float64)
        origin = points.mean(axis=0)
        points -= origin
        own = np.full(len(centres), -1) if own is None else np.argsort(order)[own]
        centres = centres.astype(np.float64) - origin
        return cls(centres, points, centre_labels, labels[order], own, n_neighbors, **numbers)

    @cached_property
    def class_bounds(self) -> dict[int, tuple[int, int]]:
        """First and last row, exclusive, of the points of each class."""
        codes, first = np.unique(self.point_labels, return_index=True)
        ends = [*first[1:], len(self.point_labels)]
        return {int(code): (int(a), int(b)) for code, a, b in zip(codes, first, ends, strict=True)}

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.points.shape[1]

    def under(self, frame: np.ndarray) -> TripleProblem:
        """The same problem in the coordinates x frame."""
        points = self.points @ frame
        centres = points if self.centres is self.points else self.centres @ frame
        return replace(self, centres=centres, points=points)

    def in_float32(self) -> TripleProblem:
        """The same problem with half the digits."""
        points = self.points.astype(np.float32)
        return replace(self, centres=points if self.mutual else self.centres.astype(np.float32), points=points)

    def mapped(self, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres and points after the map."""
        Z = self._by_rows(self.points, omega)
        return (Z if self.mutual else self._by_rows(self.centres, omega)), Z

    def _by_rows(self, X: np.ndarray, omega: np.ndarray) -> np.ndarray:
        omega = omega.astype(X.dtype, copy=False)
        threads = self.threads_for(X.size * len(omega), _PRODUCT_FOR_A_THREAD)
        if threads == 1:
            return X @ omega.T
        Z = np.empty((len(X), len(omega)), dtype=X.dtype)
        parts = row_parts(len(X), threads)
        in_threads(lambda rows: np.matmul(X[rows], omega.T, out=Z[rows]), parts, len(parts))
        return Z

    def outer_sum(self, U: np.ndarray, X: np.ndarray) -> np.ndarray:
        """U' X."""
        threads = self.threads_for(X.size * U.shape[1], _PRODUCT_FOR_A_THREAD)
        if threads == 1:
            return U.T @ X
        parts = row_parts(len(X), threads)
        return sum(in_threads(lambda rows: U[rows].T @ X[rows], parts, len(parts)))

    def threads_for(self, work: float, worth: float) -> int:
        """Threads for so much work, one for each `worth` of it."""
        return 1 if work < 2 * worth else int(min(work // worth, self.threads))

    def with_targets(self, omega: np.ndarray) -> TripleProblem:
        """The same problem with the k nearest points of each centre's class as its targets, the lowest row on a tie.

        For fixed prototypes that never raises the cost: the k nearest make each pull, and with it each hinge,
        as small as it can be.
        """
        A, B = self.mapped(omega)
        targets = np.full((len(A), self.n_neighbors), -1, dtype=np.int64)
        for rows, low, high in self._same_class_chunks():
            D = squared_distances(A[rows], B[low:high])
            own = self.own[rows] - low
            D[own >= 0, own[own >= 0]] = np.inf
            k = min(self.n_neighbors, high - low - int(own[0] >= 0))
            if k > 0:
                targets[rows, :k] = low + _smallest(D, k)
        return replace(self, targets=targets)

    def _same_class_chunks(self) -> Iterator[tuple[np.ndarray, int, int]]:
        for code, (low, high) in self.class_bounds.items():
            members = np.flatnonzero(self.centre_labels == code)
            size = max(_BLOCK_NUMBERS // (high - low), 16)
            for start in range(0, len(members), size):
                yield members[start : start + size], low, high

    @property
    def mutual(self) -> bool:
        """Every point is a centre too: one distance serves both ends of a pair."""
        return self.centres is self.points

    @cached_property
    def other_class_chunks(self) -> list[tuple[np.ndarray, slice]]:
        """Blocks of centres of one class by points of others; of a mutual problem, each pair once."""
        n, found = len(self.points), []
        for code in np.unique(self.centre_labels):
            low, high = self.class_bounds.get(int(code), (0, 0))
            members = np.flatnonzero(self.centre_labels == code)
            for first, end in ((high, n),) if self.mutual else ((0, low), (high, n)):
                width = min(_BLOCK_COLUMNS, max(end - first, 1))
                height = max(_BLOCK_NUMBERS // width, 1)
                for start in range(0, len(members), height):
                    for column in range(first, end, width):
                        found.append((members[start : start + height], slice(column, min(column + width, end))))
        return found


def row_parts(n: int, parts: int) -> list[slice]:
    """The rows in so many runs of about one length."""
    return [slice(a, b) for a, b in pairwise(n * part // parts for part in range(parts + 1))]


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """|a|^2 - 2 a'b + |b|^2."""
    D = A @ B.T
    D *= -2
    D += np.einsum("ij,ij->i", A, A)[:, None]
    D += np.einsum("ij,ij->i", B, B)
    return D


def _smallest(D: np.ndarray, k: int) -> np.ndarray:
    """Columns of the k smallest entries of each row, in rising order, the lower column on a tie."""
    if k < D.shape[1]:
        found = np.sort(np.argpartition(D, k - 1, axis=1)[:, :k], axis=1)
    else:
        found = np.tile(np.arange(k), (len(D), 1))
    order = np.argsort(np.take_along_axis(D, found, axis=1), axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)


@dataclass
class Sums:
    """Cost, cost with the smoothed hinge, number of active triples, and the sums that the gradient is made of.

    With u the rows that were passed as U: at_centres[i] = sum c (u_i - u_b), at_points[b] = -sum c (u_i - u_b), so that
    sum c (u_i - u_b)(x_i - x_b)' = at_centres' centres + at_points' points: two matrix products.
    """

    cost: float
    smooth_cost: float
    n_active: int
    at_centres: np.ndarray
    at_points: np.ndarray


class Candidates:
    """Pairs of centre and point that may be active: all within (1 + reach) of the perimeter when they were searched.

    Sums at the metric they were searched with are exact; at another metric they leave out what was out of reach.
    """

    def __init__(self, problem: TripleProblem, omega: np.ndarray, reach: float) -> None:
        self.problem = problem
        self.mapped = problem.mapped(omega)
        self.pairs: list[np.ndarray] | None = []
        self.n_pairs = 0
        for found in _search(problem, *self.mapped, reach):
            self.n_pairs += len(found)
            if self.n_pairs > _MOST_CANDIDATES:
                self.pairs = None
                break
            self.pairs.append(found)
        if self.pairs:
            pairs = np.concatenate(self.pairs)
            parts = problem.threads_for(self.n_pairs * problem.n_features, _SUMS_FOR_A_THREAD)
            self.pairs = np.array_split(pairs, parts)

    def sums(self, A: np.ndarray, B: np.ndarray, UA: np.ndarray, UB: np.ndarray, smooth: float = 0.0) -> Sums:
        """Sums over the candidates, with distances between rows of A and B and outer rows UA and UB."""
        problem = self.problem
        edges, furthest, cost = target_edges(A, B, problem.targets, problem.margin)

        def part(pairs: np.ndarray) -> tuple:
            at_points = np.zeros(UB.shape, UB.dtype)
            at_centres = at_points if problem.mutual else np.zeros(UA.shape, UA.dtype)
            weights = np.zeros(problem.targets.shape)
            found = push_sums(
                A, B, UA, UB, pairs, problem.mutual, edges, furthest, problem.push, smooth,
                weights, at_centres, at_points,
            )  # fmt: skip
            return (*found, weights, at_centres, at_points)

        parts: Iterator[tuple] = (
            map(part, _search(problem, A, B, 0.0))
            if self.pairs is None
            else iter(in_threads(part, self.pairs, max(len(self.pairs), 1)))
        )
        nothing = np.empty((0, 2), dtype=np.int32)
        push, saved, n_active, weights, at_centres, at_points = next(parts, None) or part(nothing)
        for push_part, saved_part, active_part, weights_part, centres_part, points_part in parts:
            push, saved, n_active = push + push_part, saved + saved_part, n_active + active_part
            weights += weights_part
            at_points += points_part
            if not problem.mutual:
                at_centres += centres_part
        weights += problem.pull
        pull_sums(UA, UB, problem.targets, weights, at_centres, at_points)
        cost = problem.pull * cost + push
        return Sums(cost, cost - saved, n_active, at_centres, at_points)


def _search(problem: TripleProblem, A: np.ndarray, B: np.ndarray, reach: float) -> Iterator[np.ndarray]:
    """Pairs (centre, point) within the perimeter, D_il < (1 + reach) (max_j D_ij + margin) (5), block by block.

    A mutual pair is listed once, where either end is within the perimeter of the other.
    """
    furthest = target_edges(A, B, problem.targets, problem.margin)[1] * (1.0 + reach)
    a2, b2 = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
    largest = max(a2.max(initial=0.0), b2.max(initial=0.0))
    number: Any = np.float32 if largest < _FLOAT32_LARGEST else np.float64
    A32, B32 = A.astype(number, copy=False), B.astype(number, copy=False)
    # D < furthest, written for the matrix product alone: a'b > (a2 - furthest) / 2 + b2 / 2, less the rounding.
    rounding = _ROUNDING * (a2 + largest)
    limit = ((a2 - furthest - rounding) / 2).astype(number)
    half = (b2 / 2).astype(number)

    def inside(block: tuple) -> np.ndarray:
        rows, columns = block
        product = A32[rows] @ B32[columns].T
        arguments = (product, rows, columns.start, limit, half, problem.mutual)
        pairs = np.empty((1 << 12, 2), dtype=np.int32)
        count = list_inside(*arguments, pairs)
        if count > len(pairs):
            pairs = np.empty((count, 2), dtype=np.int32)
            list_inside(*arguments, pairs)
        return pairs[:count].copy()

    threads = problem.threads_for(float(len(A)) * len(B) * A.shape[1], _SEARCH_FOR_A_THREAD)
    blocks = problem.other_class_chunks
    # A few blocks at a time, so that a search with too many pairs can end early.
    for first in range(0, len(blocks), 64):
        yield from in_threads(inside, blocks[first : first + 64], threads)


@lazy_loop
def list_inside(product, rows, low, limit, half, mutual, pairs):
    """Write the pairs whose product lies above the limit of one end; returns their number, written or not.

    Hits are rare: columns are first tested 64 at a time, without a branch.
    """
    n, m = product.shape
    count = 0
    bound = np.empty(64, dtype=product.dtype)
    for r in range(n):
        i = rows[r]
        limit_i = limit[i]
        half_i = half[i] if mutual else limit_i
        for start in range(0, m, 64):
            size = min(64, m - start)
            if mutual:
                for c in range(size):
                    bound[c] = min(limit_i + half[low + start + c], limit[low + start + c] + half_i)
            else:
                for c in range(size):
                    bound[c] = limit_i + half[low + start + c]
            hits = np.int32(0)
            for c in range(size):
                hits += np.int32(product[r, start + c] > bound[c])
            if hits == 0:
                continue
            for c in range(size):
                if product[r, start + c] > bound[c]:
                    if count < pairs.shape[0]:
                        pairs[count, 0] = i
                        pairs[count, 1] = low + start + c
                    count += 1
    return count


@lazy_loop
def target_edges(A, B, targets, margin):
    """Distance to each target plus the margin, -inf where there is none; the largest of each centre; their sum."""
    n, k = targets.shape
    d = A.shape[1]
    edges, furthest = np.full((n, k), -np.inf), np.full(n, -np.inf)
    total = 0.0
    for i in range(n):
        for t in range(k):
            j = targets[i, t]
            if j >= 0:
                s = A.dtype.type(0)
                for f in range(d):
                    v = A[i, f] - B[j, f]
                    s += v * v
                edges[i, t] = s + margin
                furthest[i] = max(furthest[i], edges[i, t])
                total += s
    return edges, furthest, total


@vectorised
def one_centre(i, s, edges, push, smooth, weights):
    """Hinges of one centre and one point at distance s: cost, what the rounded hinge saves, slope, number."""
    cost = saved = total = 0.0
    active = 0
    for t in range(edges.shape[1]):
        z = edges[i, t] - s
        if z > 0:
            slope = 1.0
            if z < smooth:
                slope = z / smooth
                saved += push * z * (1.0 - 0.5 * slope)
            else:
                saved += push * 0.5 * smooth
            cost += push * z
            weights[i, t] += push * slope
            total += push * slope
            active += 1
    return cost, saved, total, active


@lazy_loop
def push_sums(A, B, UA, UB, pairs, mutual, edges, furthest, push, smooth, weights, at_centres, at_points):
    """Push cost, saving of the rounded hinge and number of active triples; adds to the weights of the targets too.

    A hinge at exactly 0 is not active. With smooth > 0 the hinge is z^2 / (2 smooth) below z = smooth and
    z - smooth / 2 above: its slope min(z / smooth, 1) has no jump.
    """
    d, du = A.shape[1], UA.shape[1]
    cost = saved = 0.0
    n_active = 0
    for p in range(pairs.shape[0]):
        i, b = pairs[p, 0], pairs[p, 1]
        reach = furthest[i]
        if mutual:
            reach = max(reach, furthest[b])
        s = 0.0
        f = 0
        while f < d and s < reach:
            stop = min(f + 32, d)
            part = A.dtype.type(0)
            for g in range(f, stop):
                v = A[i, g] - B[b, g]
                part += v * v
            s += part
            f = stop
        if s >= reach:
            continue
        more, less, total, active = one_centre(i, s, edges, push, smooth, weights)
        cost += more
        saved += less
        n_active += active
        if mutual:
            more, less, slope, active = one_centre(b, s, edges, push, smooth, weights)
            cost += more
            saved += less
            n_active += active
            total += slope
        share = UA.dtype.type(total)
        for g in range(du):
            v = share * (UA[i, g] - UB[b, g])
            at_centres[i, g] -= v
            at_points[b, g] += v
    return cost, saved, n_active


@lazy_loop
def pull_sums(UA, UB, targets, weights, at_centres, at_points):
    """Add the rows of the targets."""
    for i in range(targets.shape[0]):
        for t in range(targets.shape[1]):
            j = targets[i, t]
            if j >= 0:
                weight = UA.dtype.type(weights[i, t])
                for g in range(UA.shape[1]):
                    v = weight * (UA[i, g] - UB[j, g])
                    at_centres[i, g] += v
                    at_points[j, g] -= v
