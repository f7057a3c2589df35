"""The k nearest other samples of each sample, exactly, without an N x N matrix.

Few features: scikit-learn's k-d tree. Sparse: scikit-learn's brute force. Otherwise block by block on BLAS, in the
number type of the data: the matrix of distances is symmetric, so only half of its blocks are computed, and each keeps a
few candidates more than wanted for its rows and for its columns. The candidates are then measured again in float64. A
row whose last candidate lies so near that rounding could hide a nearer sample is searched anew, one difference at a
time, so that the result does not depend on the number type. Equal distances: the lower index is nearer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import KDTree, NearestNeighbors

from protolearn.core.jit import VECTORISED, constant_matrix, helper, kernel, matrix, types, vector
from protolearn.core.threads import no_threads_in_forks
from protolearn.data import working_dtype

# With more features scikit-learn leaves its trees too.
TREE_MOST_FEATURES = 15
# 16 MB of distances a block in float32: large enough for BLAS, small beside the data.
_BLOCK = 2048
_SPARE_CANDIDATES = 8
_TIED_ROWS_AT_ONCE = 64


def nearest_others(X: Any, n_neighbors: int) -> np.ndarray:
    """Indices of the `n_neighbors` nearest other rows of each row, nearest first, (n_samples, n_neighbors)."""
    n_samples, n_features = X.shape
    if not 1 <= n_neighbors < n_samples:
        raise ValueError(f"Each of {n_samples} samples has {n_samples - 1} others; ask for 1 to {n_samples - 1}.")
    if sparse.issparse(X):
        found = nearest_rows(X, X, n_neighbors + 1)
        return without_self(found, n_neighbors)
    if n_features <= TREE_MOST_FEATURES:
        return _by_tree(X, n_neighbors)
    return _by_blocks(np.ascontiguousarray(X, dtype=working_dtype(X)), n_neighbors)


def nearest_rows(X: Any, Z: Any, n_neighbors: int) -> np.ndarray:
    """Indices of the rows of X that are nearest to each row of Z, by scikit-learn's search."""
    X, Z = X.astype(working_dtype(X), copy=False), Z.astype(working_dtype(Z), copy=False)
    with no_threads_in_forks():
        return NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(Z, return_distance=False)


def without_self(found: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Columns of neighbours without the row itself, or without the last one where a twin took its place."""
    others = found != np.arange(len(found))[:, None]
    others[others.all(axis=1), -1] = False
    return found[others].reshape(len(found), -1)[:, :n_neighbors]


def _by_tree(X: np.ndarray, k: int) -> np.ndarray:
    X = np.asarray(X, dtype=np.float64)
    tree = KDTree(X)
    wanted = min(k + 2, len(X))
    distance, found = tree.query(X, k=wanted)
    result = without_self(found, k)
    last = np.inf if wanted == k + 1 else distance[:, -1]
    # Self counts: the k-th other is column k. Equal distances within, or across the end, are put in order of index.
    tied = (np.diff(distance[:, : k + 1], axis=1) == 0).any(axis=1) | (distance[:, k] == last)
    rows = np.flatnonzero(tied)
    for start in range(0, len(rows), _TIED_ROWS_AT_ONCE):
        block = rows[start : start + _TIED_ROWS_AT_ONCE]
        within = np.nextafter(distance[block, k], np.inf)
        near, gaps = tree.query_radius(X[block], r=within, return_distance=True)
        for row, candidates, gap in zip(block, near, gaps, strict=True):
            order = np.lexsort((candidates, gap))
            ordered = candidates[order]
            result[row] = ordered[ordered != row][:k]
    return result


def _by_blocks(X: np.ndarray, k: int) -> np.ndarray:
    n, d = X.shape
    n_candidates = min(k + _SPARE_CANDIDATES, n - 1)
    near = np.full((n, n_candidates), np.inf, dtype=X.dtype)
    index = np.full((n, n_candidates), -1, dtype=np.int64)
    # Far from the origin |x|^2 - 2 x'z + |z|^2 loses its digits.
    origin = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    norms = np.empty(n)
    starts = range(0, n, _BLOCK)
    for start in starts:
        block = X[start : start + _BLOCK] - origin
        norms[start : start + _BLOCK] = np.einsum("ij,ij->i", block, block, dtype=np.float64)
    squares = norms.astype(X.dtype)
    offer = offer_candidates.of(X.dtype)
    for start in starts:
        rows = slice(start, start + _BLOCK)
        block = X[rows] - origin
        for other in range(start, n, _BLOCK):
            columns = slice(other, other + _BLOCK)
            products = block @ (X[columns] - origin).T
            offer(products, squares[rows], squares[columns], start, other, near, index)
    exact, result = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
    measure_candidates.of(X.dtype)(X, index, exact, result)
    if n_candidates < n - 1:
        # Whatever is not among the candidates and could be nearer has a norm below `reach`: the triangle inequality.
        reach = np.sqrt(norms) + np.sqrt(exact[:, -1])
        slack = (d + 16) * np.finfo(X.dtype).eps / 2 * (norms + reach**2)
        doubtful = np.flatnonzero(~(near[:, -1] - slack > exact[:, -1]))
        if len(doubtful):
            search_rows.of(X.dtype)(X, doubtful, exact, result)
    return result


@helper
def insert(distances, indices, distance, index):
    """Put a neighbour into a list in order of distance, then index; the last one falls out."""
    p = distances.shape[0] - 1
    if not (distance < distances[p] or (distance == distances[p] and index < indices[p])):
        return
    while p > 0 and (distance < distances[p - 1] or (distance == distances[p - 1] and index < indices[p - 1])):
        distances[p] = distances[p - 1]
        indices[p] = indices[p - 1]
        p -= 1
    distances[p] = distance
    indices[p] = index


def _offer_signature(number: Any) -> Any:
    return types.void(
        matrix(number),
        vector(number),
        vector(number),
        types.int64,
        types.int64,
        matrix(number),
        types.Array(types.int64, 2, "C"),
    )


@kernel(_offer_signature)
def offer_candidates(products, row_squares, column_squares, first_row, first_column, near, index):
    """Offer the samples of a block of inner products to each other as neighbours; on the diagonal, each pair once.

    Nearly all are too far for both lists: a strip of columns is passed over with one test that the compiler vectorises.
    """
    n_rows, n_columns = products.shape
    last = near.shape[1] - 1
    strip = 64
    limits = np.empty(n_columns, products.dtype)
    for j in range(n_columns):
        limits[j] = near[first_column + j, last]
    two = products.dtype.type(2)
    for i in range(n_rows):
        row = first_row + i
        begin = i + 1 if first_row == first_column else 0
        while begin < n_columns:
            end = min(begin + strip, n_columns)
            limit = near[row, last]
            hits = 0
            for j in range(begin, end):
                distance = row_squares[i] + column_squares[j] - two * products[i, j]
                hits += (distance < limit) | (distance < limits[j])
            if hits > 0:
                for j in range(begin, end):
                    distance = row_squares[i] + column_squares[j] - two * products[i, j]
                    if distance < near[row, last]:
                        insert(near[row], index[row], distance, first_column + j)
                    if distance < near[first_column + j, last]:
                        insert(near[first_column + j], index[first_column + j], distance, row)
                    limits[j] = near[first_column + j, last]
            begin = end


def _exact_signature(number: Any) -> Any:
    return types.void(
        constant_matrix(number),
        types.Array(types.int64, 2, "C"),
        matrix(types.float64),
        types.Array(types.int64, 2, "C"),
    )


@helper
def squared_distance(a, b):
    """Squared distance in float64."""
    total = 0.0
    for j in range(a.shape[0]):
        difference = np.float64(a[j]) - np.float64(b[j])
        total += difference * difference
    return total


@kernel(_exact_signature, fastmath=VECTORISED)
def measure_candidates(X, index, exact, result):
    """Put the nearest of each row's candidates in order, by distances in float64."""
    for i in range(X.shape[0]):
        exact[i, :] = np.inf
        result[i, :] = X.shape[0]
        for c in range(index.shape[1]):
            other = index[i, c]
            if other >= 0:
                insert(exact[i], result[i], squared_distance(X[i], X[other]), other)


def _search_signature(number: Any) -> Any:
    return types.void(
        constant_matrix(number), vector(types.int64), matrix(types.float64), types.Array(types.int64, 2, "C")
    )


@kernel(_search_signature, fastmath=VECTORISED)
def search_rows(X, rows, exact, result):
    """The nearest others of some rows, by distances in float64 to every sample."""
    for r in range(rows.shape[0]):
        i = rows[r]
        exact[i, :] = np.inf
        result[i, :] = X.shape[0]
        for other in range(X.shape[0]):
            if other != i:
                insert(exact[i], result[i], squared_distance(X[i], X[other]), other)
