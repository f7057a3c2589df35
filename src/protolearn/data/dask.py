"""Dask: arrays and data frames whose blocks stay on the workers. The only module that imports dask.

Nothing here learns. A `DaskSource` gives the sums and walks of `protolearn.data.BlockSource`, and the solvers do the
rest: each round the function with its prototypes goes to the workers, and sums of their size come back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from protolearn.data.blocks import is_dask
from protolearn.data.samples import Combine
from protolearn.data.training_set import combined

try:
    import dask
    import dask.array as da
    from dask.delayed import Delayed, delayed
except ImportError as error:
    raise ImportError("Dask arrays and data frames need dask: pip install protolearn[dask].") from error

# Results are added up in a tree: no worker and no scheduler holds more than this many at a time.
_FAN_IN = 8


class DaskSource:
    """The blocks of a dask array or data frame with those of its labels and weights."""

    visits = False

    def __init__(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        columns = list(getattr(X, "columns", []))
        named = bool(columns) and all(isinstance(name, str) for name in columns)
        self.feature_names = columns if named else None
        self._X = delayed_rows(X)
        self._y = _beside(X, y, "y", len(self._X))
        none = [None] * len(self._X)
        self._weight = none if sample_weight is None else _beside(X, sample_weight, "sample_weight", len(self._X))

    @property
    def n_chains(self) -> int:
        """One walk for each thread that can work, and never more than there are blocks."""
        return max(min(_n_threads(), len(self._X)), 1)

    def _parts(self) -> Iterator[tuple[int, Any, Any, Any]]:
        for number, parts in enumerate(zip(self._X, self._y, self._weight, strict=True)):
            yield (number, *parts)

    def reduce(self, function: Callable, combine: Combine, finish: Callable[[Any], Any] | None = None) -> Any:
        """`function` of each block on its worker, combined there in a tree; the result comes to the client."""
        task = delayed(function, pure=False, traverse=False)
        values = [delayed(_call, pure=False)(task, *part) for part in self._parts()]
        while len(values) > 1:
            groups = [values[start : start + _FAN_IN] for start in range(0, len(values), _FAN_IN)]
            values = [delayed(combined, pure=False)(group, combine) for group in groups]
        result = values[0] if finish is None else delayed(_call, pure=False)(finish, values[0])
        return result.compute()

    def walk(self, step: Callable[..., Any], state: Any) -> list[Any]:
        """Walks over every n-th block: the state goes from worker to worker, the blocks stay."""
        task = delayed(step, pure=False, traverse=False)
        begin = delayed(state, pure=False, traverse=False)
        ends = [begin] * self.n_chains
        for part in self._parts():
            chain = part[0] % len(ends)
            ends[chain] = delayed(_call, pure=False)(task, ends[chain], *part)
        return list(dask.compute(*ends))

    def per_block(self, function: Callable, *columns: list[Any]) -> list[Delayed]:
        """`function(number, X, y, ...)` of each block, computed now and kept on its worker.

        columns : more lists with one entry a block
        """
        task = delayed(function, pure=False, traverse=False)
        values = [
            delayed(_call, pure=False)(task, *part[:3], *more)
            for part, *more in zip(self._parts(), *columns, strict=True)
        ]
        return list(dask.persist(*values))

    def all_pairs(self, begin: Callable, step: Callable) -> list[Delayed]:
        """For each block `begin(number, X, y)`, then `step(that, number, X, y, other number, X, y)` with every block.

        Computed now and kept on the workers. A block visits each of the others, never the client.
        """
        first, then = (delayed(function, pure=False, traverse=False) for function in (begin, step))
        parts = [part[:3] for part in self._parts()]
        values = []
        for part in parts:
            value = delayed(_call, pure=False)(first, *part)
            for other in parts:
                value = delayed(_call, pure=False)(then, value, *part, *other)
            values.append(value)
        return list(dask.persist(*values))

    def collected(self, values: list[Delayed]) -> list[Any]:
        """Small results, one a block, brought to the client."""
        return list(dask.compute(*values))

    def blocks(self) -> Iterator[tuple[int, Any, Any, Any]]:
        """Not for dask: blocks stay where they are."""
        raise TypeError("Blocks of dask collections do not come to the client.")


def _call(function: Callable, *arguments: Any) -> Any:
    return function(*arguments)


def _n_threads() -> int:
    """Threads of the cluster, or of this machine without one."""
    try:
        from distributed import get_client

        return sum(get_client().nthreads().values())
    except (ImportError, ValueError):
        scheduler = str(dask.config.get("scheduler", "threads"))
        alone = scheduler.startswith(("sync", "single"))
        return 1 if alone else int(dask.config.get("num_workers", None) or os.cpu_count() or 1)


def delayed_rows(X: Any) -> list[Delayed]:
    """The blocks of rows of an array or a data frame."""
    if not hasattr(X, "chunks"):
        return list(X.to_delayed())
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns; got a dask array of {X.ndim} dimensions.")
    return list(whole_rows(X).to_delayed().ravel())


def whole_rows(X: Any) -> Any:
    """A dask array whose blocks hold all columns."""
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _beside(X: Any, column: Any, name: str, n_blocks: int) -> list[Any]:
    """The blocks of a column that stands beside X, divided as X is."""
    if column is None:
        raise ValueError(f"A dask X requires {name} to be passed, but the target {name} is None.")
    lengths: tuple = X.chunks[0] if hasattr(X, "chunks") else (np.nan,)
    if not is_dask(column):
        values = np.asarray(column)
        if np.isnan(lengths).any():
            raise ValueError(
                f"{name} is in memory and the lengths of X's blocks are unknown; give {name} as a dask collection with "
                "the blocks of X, or call X.compute_chunk_sizes() first."
            )
        column = da.from_array(values, chunks=(sum(lengths), *values.shape[1:]))
    if hasattr(column, "chunks"):
        if column.ndim == 2 and column.shape[1] == 1:
            column = column[:, 0]
        if column.ndim != 1:
            raise ValueError(f"{name} must have one column; got a dask array of {column.ndim} dimensions.")
        known = not np.isnan([*lengths, *column.chunks[0]]).any()
        if known and column.chunks[0] != lengths:
            if sum(column.chunks[0]) != sum(lengths):
                raise ValueError(
                    f"X has {sum(lengths)} rows and {name} {sum(column.chunks[0])}; give each row one {name}."
                )
            column = column.rechunk((lengths,))
    blocks = list(column.to_delayed().ravel()) if hasattr(column, "chunks") else list(column.to_delayed())
    if len(blocks) != n_blocks:
        raise ValueError(
            f"X has {n_blocks} blocks and {name} has {len(blocks)}, of unknown lengths; divide both alike, or call "
            "compute_chunk_sizes() on both first."
        )
    return blocks


def by_blocks(function: Callable, X: Any, dtype: Any, n_columns: int | None) -> Any:
    """`function` of each block of X, lazily, as a dask array; `n_columns` of the result, None for a vector.

    The lengths of the blocks of a data frame are unknown until they are computed, and so are those of the result.
    """
    task = delayed(function, pure=False, traverse=False)
    if hasattr(X, "chunks"):
        X = whole_rows(X)
        lengths = X.chunks[0]
        blocks = X.to_delayed().ravel()
    else:
        blocks = X.to_delayed()
        lengths = (np.nan,) * len(blocks)
    tail = () if n_columns is None else (n_columns,)
    parts = [
        da.from_delayed(delayed(_call, pure=False)(task, number, block), shape=(length, *tail), dtype=dtype)
        for number, (block, length) in enumerate(zip(blocks, lengths, strict=True))
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def rows_where(X: Any, masks: list[Delayed], lengths: list[int]) -> Any:
    """The rows of a dask collection where the mask of each block says so, lazily; their number is known."""
    if not hasattr(X, "chunks"):
        import dask.dataframe as dd

        parts = [delayed(_rows_where)(block, mask) for block, mask in zip(X.to_delayed(), masks, strict=True)]
        return dd.from_delayed(parts)
    X = whole_rows(X) if X.ndim == 2 else X
    blocks = X.to_delayed().ravel()
    parts = [
        da.from_delayed(delayed(_rows_where)(block, mask), shape=(length, *X.shape[1:]), dtype=X.dtype)
        for block, mask, length in zip(blocks, masks, lengths, strict=True)
    ]
    return da.concatenate(parts)


def _rows_where(block: Any, mask: np.ndarray) -> Any:
    return block[mask]


def row_numbers(masks: list[Delayed], firsts: list[int], lengths: list[int]) -> Any:
    """The numbers of the rows that masks mark, counted over all blocks, as a dask array."""
    parts = [
        da.from_delayed(delayed(_numbers)(mask, first), shape=(length,), dtype=np.int64)
        for mask, first, length in zip(masks, firsts, lengths, strict=True)
    ]
    return da.concatenate(parts)


def _numbers(mask: np.ndarray, first: int) -> np.ndarray:
    return first + np.flatnonzero(mask)
