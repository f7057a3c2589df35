"""Rows of the training set as the solvers read them: in batches that fit in cache, whatever they are stored in.

Dense, sparse, read-only and memory-mapped matrices all reach the compiled code as small dense batches of one number
type. That keeps one kernel per number type and memory that does not grow with the number of rows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from protolearn.core.threads import in_threads, one_blas_thread, threads_for, worth_threads
from protolearn.data.orders import in_parts, index_type, one_window, shuffled, windows
from protolearn.data.presentations import Presentations
from protolearn.data.ranges import column_extremes
from protolearn.data.samples import Batch, Combine, OfBatch, Samples

# A batch of rows and the distances to some hundred prototypes stay in a 1 MB second-level cache together.
_BATCH_BYTES = 1 << 19
_MOST_BATCH_ROWS = 8192
# Sums over batches spend their time in matrix products, which like long batches, and in passes, which like short ones.
_REDUCED_BYTES, _REDUCED_ROWS = 1 << 22, 4096
# Into how many parts a sum over batches is divided at most, whatever the number of threads.
_RUNS = 16
# Squares of float32 numbers outside these bounds overflow or vanish; they are computed in float64.
_FLOAT32_SMALLEST, _FLOAT32_LARGEST = 1e-15, 1e15
# Beside a column so many times as wide as the middle one, the squares of the others are rounding errors of float32.
_FLOAT32_WIDEST = 300


def batch_rows(n_columns: int, itemsize: int, n_bytes: int = _BATCH_BYTES, most: int = _MOST_BATCH_ROWS) -> int:
    """How many rows make a batch of about `n_bytes`, `most` at most."""
    return min(max(n_bytes // max(n_columns * itemsize, 1), 64), most)


def class_codes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes and the place of each label among them, without an order of all labels."""
    classes = np.unique(y)
    return classes, np.searchsorted(classes, y)


def dense_rows(X: Any, rows: Any, dtype: Any) -> np.ndarray:
    """The chosen rows (indices or a slice) as one contiguous dense batch."""
    if sparse.issparse(X):
        chosen = X[rows].toarray()
    elif isinstance(rows, slice):
        chosen = X[rows]
    else:
        # Half the time of X[rows] where rows are short.
        chosen = np.take(X, rows, axis=0)
    return np.ascontiguousarray(chosen, dtype=dtype)


def _slices(n_rows: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def row_slices(
    n_rows: int, n_columns: int, itemsize: int, n_bytes: int = _BATCH_BYTES, most: int = _MOST_BATCH_ROWS
) -> list[slice]:
    """All rows in order, in batches; `n_columns` is the widest matrix the caller makes for a row."""
    size = batch_rows(n_columns, itemsize, n_bytes, most)
    return _slices(n_rows, size)


def even_slices(n_rows: int, most: int, times: int) -> list[slice]:
    """All rows in order, in batches of about one size, `most` rows at most; how many is a multiple of `times`.

    So that threads that share them end together.
    """
    count = max(times * -(-n_rows // (times * most)), 1)
    size = max(-(-n_rows // count), 1)
    return _slices(n_rows, size)


def row_batches(X: Any, n_columns: int, dtype: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """The batches of `row_slices` with their rows."""
    for rows in row_slices(X.shape[0], max(n_columns, X.shape[1]), np.dtype(dtype).itemsize):
        yield rows, dense_rows(X, rows, dtype)


def working_dtype(X: Any) -> np.dtype:
    """The number type to compute in: that of X, but float64 where squares of float32 would lose too many digits."""
    if X.dtype != np.float32 or not X.shape[0]:
        return np.dtype(X.dtype if X.dtype == np.float32 else np.float64)
    return dtype_for(X.dtype, *column_extremes(X))


def largest_number(X: Any) -> float:
    """The largest absolute value of a dense or sparse matrix."""
    values = X.data if sparse.issparse(X) else X
    return max(abs(float(values.max(initial=0))), abs(float(values.min(initial=0))))


def dtype_for(dtype: np.dtype, low: np.ndarray, high: np.ndarray) -> np.dtype:
    """The number type to compute in, for numbers of a type with the least and the largest of each column."""
    if dtype != np.float32:
        return np.dtype(np.float64)
    largest = max(-low.min(initial=0), high.max(initial=0))
    safe = largest == 0 or _FLOAT32_SMALLEST < largest < _FLOAT32_LARGEST
    return np.dtype(np.float32 if safe and not _widest_dominates(high - low) else np.float64)


def _widest_dominates(ranges: np.ndarray) -> bool:
    """Whether float32 loses the squares of most columns beside that of the widest."""
    ranges = ranges[ranges > 0]
    if not len(ranges) or ranges.max() <= _FLOAT32_WIDEST * ranges.min():
        return False
    return bool(ranges.max() > _FLOAT32_WIDEST * np.median(ranges))


def combined(values: Iterable[Any], combine: Combine) -> Any:
    """The sum of all that are not None."""
    total = None
    for value in values:
        if value is not None:
            total = value if total is None else combine(total, value)
    return total


@dataclass(frozen=True)
class TrainingSet(Samples):
    """Validated samples in memory, their class codes and weights.

    X : dense or CSR matrix
    y : class codes 0 to n_classes - 1
    weight : positive weights, or None where all are 1
    n_classes : number of classes, some of which may have no sample in a block of a stream
    number_type : the number type to compute in, None to find it from X
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    n_classes: int
    number_type: np.dtype | None = None

    @cached_property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        """The number type to compute in."""
        return working_dtype(self.X) if self.number_type is None else self.number_type

    @property
    def input_dtype(self) -> np.dtype:  # type: ignore[override]
        """The number type of the rows as they are stored."""
        return self.X.dtype

    @property
    def n_samples(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns."""
        return self.X.shape[1]

    @cached_property
    def total_weight(self) -> float:  # type: ignore[override]
        """Sum of the weights."""
        return float(self.n_samples if self.weight is None else self.weight.sum())

    def rows(self, rows: Any) -> np.ndarray:
        """The chosen rows as a dense batch."""
        return dense_rows(self.X, rows, self.dtype)

    def weights(self, rows: Any) -> np.ndarray:
        """The weights of the chosen rows."""
        return np.ones(len(self.y[rows])) if self.weight is None else self.weight[rows]

    def batches_in_order(self, n_columns: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """X, y and weights of all rows in order, batch by batch."""
        for rows, batch in row_batches(self.X, n_columns, self.dtype):
            yield batch, self.y[rows], self.weights(rows)

    def reduce(
        self, function: OfBatch, n_columns: int, combine: Combine = operator.add, work: float | None = None
    ) -> Any:
        """The sum over batches of rows of what `function` makes of each; None is left out.

        Batches are summed in their order within runs of them, and the runs in theirs. Threads take whole runs, so the
        result does not depend on how many threads there are.
        """
        width = max(n_columns, self.n_features)
        total = self.n_samples * (self.n_features * width if work is None else work)
        size = batch_rows(width, self.dtype.itemsize, _REDUCED_BYTES, _REDUCED_ROWS)
        batches = even_slices(self.n_samples, size, 2 if worth_threads(total) else 1)
        threads = min(threads_for(total), len(batches))

        def of_run(run: list[slice]) -> Any:
            return combined((function(self.rows(rows), self.y[rows], self.weights(rows)) for rows in run), combine)

        length = -(-len(batches) // _RUNS)
        runs = [batches[first : first + length] for first in range(0, len(batches), length)]
        with one_blas_thread():
            return combined(in_threads(of_run, runs, threads), combine)

    def walk(self, step: Callable[[Any, TrainingSet, int], Any], state: Any) -> list[Any]:
        """One walk over one block: all rows."""
        return [step(state, self, 0)]

    def on_sample(self, function: Callable[[TrainingSet], Any], least_rows: int = 0) -> Any:
        """What `function` makes of all rows."""
        return function(self)

    def chosen(self, rows: np.ndarray) -> TrainingSet:
        """The rows at some indices, or where a mask says so."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        weight = None if self.weight is None else self.weight[rows]
        return TrainingSet(self.X[rows], self.y[rows], weight, self.n_classes, self.number_type)

    def split(self, share: float, random: np.random.RandomState) -> tuple[TrainingSet, TrainingSet]:
        """The rows without a random share of each class, and that share; a class never loses its last row."""
        held = np.zeros(self.n_samples, dtype=bool)
        for code in range(self.n_classes):
            rows = self.class_rows(code)
            n = min(int(np.ceil(share * len(rows))), len(rows) - 1)
            held[random.choice(rows, n, replace=False)] = True
        return self.chosen(~held), self.chosen(held)

    def windows(self, random: np.random.RandomState | None) -> Iterator[np.ndarray]:
        """The rows of an epoch in windows that are to be shuffled; without `random`, as they stand.

        Up to 65,536 rows are one window, in content order. More are not sorted, which takes 12 bytes a row: their
        windows hold runs of rows from all over the set. Rows sorted by class are still mixed, but an epoch depends on
        where the rows stand.
        """
        if not one_window(self.n_samples):
            yield from windows(self.n_samples, random)
        else:
            yield np.arange(self.n_samples) if random is None else self.content_order

    def batches(self, batch_size: int, random: np.random.RandomState | None) -> Iterator[Batch]:
        """Rows in mini-batches, window by window, shuffled or as they stand."""
        orders = (shuffled(rows, random) for rows in self.windows(random))
        for rows in in_parts(orders, batch_size):
            yield Batch(self.rows(rows), self.y[rows], self.weights(rows))

    @cached_property
    def class_counts(self) -> np.ndarray:  # type: ignore[override]
        """Rows of each class, not weighted."""
        return np.bincount(self.y, minlength=self.n_classes)

    @cached_property
    def content_order(self) -> np.ndarray:
        """The rows in an order that depends on what they hold, not on where they stand.

        A seeded shuffle of this order makes an online fit of one window (`windows`) independent of the order of the
        rows in the file, and makes a row of weight 2 the same as that row twice. Each row's bits are hashed by a
        multiply-and-add in 64 bits (equal rows get equal keys; others collide with a chance of 2^-64 a pair).
        """
        n = self.n_samples
        # Keys without their lowest bits, which hold the row instead: sorted in place, a million in 0.55 of the time and
        # with 12 bytes each, where keys with an order beside them take 16.
        place_bits = np.uint64(max(n - 1, 1).bit_length())
        places = (np.uint64(1) << place_bits) - np.uint64(1)
        packed = np.empty(n, dtype=np.uint64)
        for rows, batch in row_batches(self.X, self.n_features, self.dtype):
            packed[rows] = self._content_keys(batch, self.y[rows]) & ~places
            packed[rows] |= np.arange(rows.start, rows.stop, dtype=np.uint64)
        packed.sort()
        order = np.empty(n, dtype=index_type(n))
        np.bitwise_and(packed, places, out=order, casting="unsafe")
        packed >>= place_bits
        tied = packed[1:] == packed[:-1]
        if tied.any():
            self._order_tied(order, tied)
        return order

    @cached_property
    def _hash_factors(self) -> np.ndarray:
        """An odd number for each feature."""
        rng = np.random.default_rng(0)
        return rng.integers(1, 2**63, size=self.n_features, dtype=np.uint64) * np.uint64(2) + np.uint64(1)

    def _content_keys(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """A hash of the bits of each row of a dense batch and of its class."""
        bits = np.uint32 if self.dtype == np.float32 else np.uint64
        # Adding zero turns -0.0 into 0.0, which equals it but has other bits.
        hashed = np.einsum("ij,j->i", (X + 0).view(bits).astype(np.uint64), self._hash_factors)
        hashed ^= (y.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        # The low bits of a product depend on the low bits of its factors only: fold the high half into them.
        hashed ^= hashed >> np.uint64(32)
        hashed *= np.uint64(0xD6E8FEB86659FD93)
        hashed ^= hashed >> np.uint64(32)
        return hashed

    def _second_keys(self, X: np.ndarray) -> np.ndarray:
        """Another hash of the bits of each row, all of which count alike.

        Whole numbers in float64 end in zeros, and a product keeps no more than what lies before them: one in 2^12 pairs
        of such rows has the same first key.
        """
        mixed = (X + 0).view(np.uint32 if self.dtype == np.float32 else np.uint64).astype(np.uint64)
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
        return np.einsum("ij,j->i", mixed, self._hash_factors)

    def _order_tied(self, order: np.ndarray, tied: np.ndarray) -> None:
        """Sort what has the same leading bits of its key by the whole key, then by the second; then rows are equal.

        tied : whether a place in the order has the leading bits of the place after it
        """
        among = np.flatnonzero(np.append(tied, False) | np.append(False, tied))
        group = np.cumsum(~np.append(False, tied)[among])
        rows = order[among]
        keys, second = np.empty(len(among), dtype=np.uint64), np.empty(len(among), dtype=np.uint64)
        for part in row_slices(len(among), self.n_features, self.dtype.itemsize):
            X, y = self.rows(rows[part]), self.y[rows[part]]
            keys[part], second[part] = self._content_keys(X, y), self._second_keys(X)
        order[among] = rows[np.lexsort((second, keys, group))]

    def class_rows(self, code: int) -> np.ndarray:
        """The rows of one class, in content order."""
        return self.content_order[self.y[self.content_order] == code]

    def presentations(self, random: np.random.RandomState | None) -> Presentations:
        """What epochs of an online method show, in random order or, without `random`, as the rows stand."""
        return Presentations(self, random)
