"""Orders in which an epoch presents the rows: a seeded shuffle and, of many rows, one of windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from protolearn.core.jit import lazy_loop

# Up to so many rows are shuffled all together, more in windows of so many at most. With 32 features and 20 prototypes a
# row takes 0.26 us in windows of a set of 100,000 or of a million, and 0.28 us where a million are shuffled together.
_WINDOW = 1 << 16
# Rows that stay together until their window is shuffled: runs of 16 take 0.05 more time, runs of 256 as long as these.
# A window has 1024 of them: where the rows are sorted by class, a class of a fifth has 0.20 +- 0.0125 of it.
_RUN = 1 << 6
_GOLDEN_RATIO = 0.6180339887498949


def index_type(n: int) -> type[np.signedinteger]:
    """The shorter of two types that holds n indices: those of a million rows then take 4 MB, not 8."""
    return np.int32 if n <= np.iinfo(np.int32).max else np.int64


def shuffled(items: np.ndarray, random: np.random.RandomState | None) -> np.ndarray:
    """The items in random order, all orders equally likely; as they are without `random`."""
    if random is None:
        return items
    found = items.copy()
    # Numpy's own shuffle takes five times as long, a twentieth of an epoch with 50 prototypes and 32 features.
    seed = np.uint64(random.randint(1 << 63, dtype=np.int64))
    # Without a compiler, numbers that are meant to overflow say so.
    with np.errstate(over="ignore"):
        shuffle_in_place(found, seed)
    return found


@lazy_loop
def shuffle_in_place(items, seed):
    """Fisher and Yates's shuffle, its random numbers by splitmix64 (Steele, Lea and Flood 2014)."""
    state = seed
    for last in range(items.shape[0] - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
        # The upper 53 bits as a number below 1.
        chosen = np.int64((bits >> np.uint64(11)) * (1.0 / 9007199254740992.0) * (last + 1))
        items[last], items[chosen] = items[chosen], items[last]


def one_window(n_rows: int) -> bool:
    """Whether so many rows are shuffled all together."""
    return n_rows <= _WINDOW


def windows(n_rows: int, random: np.random.RandomState | None) -> Iterator[np.ndarray]:
    """All rows in windows of about one size, each of runs from all over the set; in order without `random`.

    What is kept is an order of the runs, an eighth of a byte a row. The rows of a window are not shuffled yet.
    """
    n_runs = -(-n_rows // _RUN)
    dtype = index_type(n_runs * _RUN)
    runs = shuffled(np.arange(n_runs, dtype=dtype), random)
    for some in np.array_split(runs, -(-n_runs // (_WINDOW // _RUN))):
        rows = (some[:, None] * dtype(_RUN) + np.arange(_RUN, dtype=dtype)).ravel()
        # The last run of the set may be shorter.
        yield rows[rows < n_rows]


def in_parts(orders: Iterable[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """Some orders one after the other, `size` items at a time; the last part has what remains."""
    rest = np.empty(0, dtype=np.int32)
    for order in orders:
        rest = np.concatenate([rest, order])
        whole = len(rest) - len(rest) % size
        for first in range(0, whole, size):
            yield rest[first : first + size]
        rest = rest[whole:]
    if len(rest):
        yield rest


def evenly(n_rows: int, most: int) -> np.ndarray:
    """`most` rows, spread by multiples of the golden ratio so that no pattern that recurs in the set biases them."""
    return (np.arange(most) * _GOLDEN_RATIO % 1.0 * n_rows).astype(index_type(n_rows))
