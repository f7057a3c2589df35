"""Rows of the training set as the solvers read them: in memory, or in blocks that live elsewhere."""

from protolearn.data.blocked import BlockedSet, BlockSource, blocked_set
from protolearn.data.blocks import Blocks, is_dask, is_large
from protolearn.data.orders import index_type, shuffled
from protolearn.data.parquet import ParquetBlocks
from protolearn.data.samples import Samples
from protolearn.data.training_set import (
    TrainingSet,
    batch_rows,
    class_codes,
    dense_rows,
    row_batches,
    row_slices,
    working_dtype,
)

__all__ = [
    "BlockSource",
    "BlockedSet",
    "Blocks",
    "ParquetBlocks",
    "Samples",
    "TrainingSet",
    "batch_rows",
    "blocked_set",
    "class_codes",
    "dense_rows",
    "index_type",
    "is_dask",
    "is_large",
    "row_batches",
    "row_slices",
    "shuffled",
    "working_dtype",
]
