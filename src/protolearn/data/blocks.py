"""Blocks that come to this process one at a time: from any re-iterable, from a memory-mapped file."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from protolearn.data.samples import Combine
from protolearn.data.training_set import combined

# A memory-mapped matrix of at least this size is read in blocks; a smaller one as any other array.
LARGE_BYTES = 1 << 28
_BLOCK_BYTES = 1 << 25


class Blocks:
    """Samples in blocks of which one at a time is in memory: `model.fit(Blocks(parts))`.

    parts : a list of blocks, any other object that can be iterated over again and again, or a function that makes a new
        iterator. A block is a pair (X, y) or a triple (X, y, sample_weight); X is dense, sparse or a data frame.
        For `predict` a block may be X alone.

    Every pass of a solver goes over the blocks once: lbfgs and gradient make one or two passes an iteration, online and
    adam one an epoch. Online methods read the blocks in their order, and shuffle the rows of each: rows sorted by class
    should be shuffled before.

    Examples
    --------
    >>> import numpy as np
    >>> from protolearn import GLVQ
    >>> from protolearn.data import Blocks
    >>> def parts():
    ...     for seed in range(5):
    ...         rng = np.random.default_rng(seed)
    ...         y = rng.integers(0, 2, 1000)
    ...         yield rng.normal(size=(1000, 3)) + 2 * y[:, None], y
    >>> model = GLVQ(solver="lbfgs", max_iter=20).fit(Blocks(parts))
    >>> round(model.score(Blocks(parts)), 2)
    0.95
    """

    n_chains = 1
    visits = True
    feature_names: list[str] | None = None

    def __init__(self, parts: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        if not callable(parts) and not isinstance(parts, Iterable):
            raise TypeError(f"Blocks needs something to iterate over, or a function that makes it; got {parts!r:.80}.")
        if isinstance(parts, Iterator):
            raise ValueError(
                "Blocks are read more than once, and an iterator only once; pass the function that makes it, or a list."
            )
        self.parts = parts
        first = next(self._stored(), None)
        columns = getattr(first[0] if isinstance(first, tuple) else first, "columns", None)
        if columns is not None and all(isinstance(name, str) for name in columns):
            self.feature_names = list(columns)

    @classmethod
    def of_arrays(cls, X: Any, y: Any = None, sample_weight: Any = None, *, rows: int | None = None) -> Blocks:
        """Blocks of `rows` rows of arrays that may be memory-mapped; None: of about 32 MB."""
        return cls(_Slices(X, y, sample_weight, rows))

    def _stored(self) -> Iterator[Any]:
        return iter(self.parts() if callable(self.parts) else self.parts)

    def blocks(self) -> Iterator[tuple[int, Any, Any, Any]]:
        """Number, X, y and weights of each block."""
        empty = True
        for number, block in enumerate(self._stored()):
            empty = False
            if not isinstance(block, tuple) or len(block) not in (2, 3):
                raise ValueError(f"Block {number} is not a pair (X, y) or a triple (X, y, sample_weight); make it one.")
            yield (number, *block, *([None] * (3 - len(block))))
        if empty:
            raise ValueError("There are no blocks; an iterator that was used up gives none, so pass a function.")

    def rows(self) -> Iterator[tuple[int, Any]]:
        """Number and X of each block."""
        for number, block in enumerate(self._stored()):
            yield number, block[0] if isinstance(block, tuple) else block

    def reduce(self, function: Callable, combine: Combine, finish: Callable[[Any], Any] | None = None) -> Any:
        """`function` of each block, combined; None is left out."""
        total = combined((function(*block) for block in self.blocks()), combine)
        return total if finish is None else finish(total)

    def walk(self, step: Callable[..., Any], state: Any) -> list[Any]:
        """One walk over all blocks."""
        for block in self.blocks():
            state = step(state, *block)
        return [state]


class _Slices:
    """Slices of arrays, again and again; pages of a mapped file are given back when a slice is done."""

    def __init__(self, X: Any, y: Any, weight: Any, rows: int | None) -> None:
        n = X.shape[0]
        self.X = X
        self.y, self.weight = (None if part is None else _one_each(name, part, n) for name, part in
                               (("y", y), ("sample_weight", weight)))  # fmt: skip
        itemsize = getattr(X, "dtype", np.dtype(np.float64)).itemsize
        self.size = rows or max(_BLOCK_BYTES // max(itemsize * X.shape[1], 1), 1)

    def __iter__(self) -> Iterator[Any]:
        give_back = _page_releaser(self.X)
        for start in range(0, self.X.shape[0], self.size):
            rows = slice(start, start + self.size)
            block = np.asarray(self.X[rows]) if isinstance(self.X, np.memmap) else self.X[rows]
            if self.y is None:
                yield block
            else:
                yield (block, self.y[rows]) if self.weight is None else (block, self.y[rows], self.weight[rows])
            give_back()


def _one_each(name: str, values: Any, n: int) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.shape != (n,):
        raise ValueError(f"{name} must hold one value for each of the {n} rows of X; got {values.shape}.")
    return values


def _page_releaser(X: Any) -> Callable[[], None]:
    """What drops the pages of X's file that were read: they would count as memory of this process until it ends.

    Pages of a copy-on-write map hold changes that are nowhere else, and stay.
    """
    root = X
    while isinstance(getattr(root, "base", None), np.ndarray):
        root = root.base
    file = getattr(root, "base", None)
    if isinstance(file, mmap.mmap) and hasattr(file, "madvise") and getattr(X, "mode", "c") != "c":
        return lambda: file.madvise(mmap.MADV_DONTNEED)
    return lambda: None


def is_large(X: Any) -> bool:
    """Whether X is a memory-mapped matrix that should be read in blocks."""
    return isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes >= LARGE_BYTES


def is_dask(X: Any) -> bool:
    """Whether X is a dask array, data frame or column; dask itself need not be there to ask."""
    # Before 2025 data frames came from the package dask_expr.
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")
