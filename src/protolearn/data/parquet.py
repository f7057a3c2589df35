"""Blocks of Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from protolearn.core.parameters import check_count
from protolearn.data.blocks import Blocks


class ParquetBlocks(Blocks):
    """Rows of one or more Parquet files, some thousand at a time: `model.fit(ParquetBlocks("folder", "label"))`.

    files : a file, a folder (its `*.parquet` files by name), or a list of files
    target : the column of the labels; None where there are none, for `predict`
    columns : the columns of X; None takes all others
    weight : the column of the weights, if any
    rows : rows of a block
    """

    def __init__(
        self,
        files: str | Path | Iterable[str | Path],
        target: str | None = None,
        *,
        columns: Iterable[str] | None = None,
        weight: str | None = None,
        rows: int = 65536,
    ) -> None:
        check_count("rows", rows)
        if isinstance(files, str | Path):
            path = Path(files)
            files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        self.files = [Path(file) for file in files]
        if not self.files:
            raise ValueError("There are no Parquet files to read; name a file, or a folder that holds *.parquet.")
        self.target, self.weight, self.size = target, weight, rows
        known = list(_parquet().read_schema(self.files[0]).names)
        self.columns = [name for name in known if name not in (target, weight)] if columns is None else list(columns)
        missing = [name for name in (*self.columns, target, weight) if name is not None and name not in known]
        if missing:
            raise ValueError(f"{self.files[0].name} has no column {missing[0]!r}; it has {', '.join(known)}.")
        super().__init__(self._read)
        self.feature_names = list(self.columns)

    def _read(self) -> Iterator[Any]:
        parquet = _parquet()
        extra = [name for name in (self.target, self.weight) if name is not None]
        for path in self.files:
            with parquet.ParquetFile(path) as file:
                missing = [name for name in (*self.columns, *extra) if name not in file.schema_arrow.names]
                if missing:
                    raise ValueError(f"{path.name} has no column {missing[0]!r}, which {self.files[0].name} has.")
                for batch in file.iter_batches(batch_size=self.size, columns=[*self.columns, *extra]):
                    X = np.column_stack([batch.column(name).to_numpy(zero_copy_only=False) for name in self.columns])
                    if self.target is None:
                        yield X
                    else:
                        names = [self.target] + ([] if self.weight is None else [self.weight])
                        yield (X, *(batch.column(name).to_numpy(zero_copy_only=False) for name in names))


def _parquet() -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ImportError("Reading Parquet files needs pyarrow: pip install protolearn[parquet].") from error
    return parquet
