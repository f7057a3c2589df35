"""Tables from files: CSV, TSV, Parquet, ARFF, libsvm and npz, compressed or not, or from standard input.

Every file that is not what it should be ends in one sentence (`TableError`) that names the file, the cause and the
remedy.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from protolearn.tables.kinds import Remark, dates_as_days
from protolearn.tables.spelling import DATE
from protolearn.tables.text import TableError, parse_text

if TYPE_CHECKING:
    import polars as pl

Tell = Callable[[Remark], None]
FORMATS = ("csv", "tsv", "parquet", "arff", "libsvm", "npz")
TARGET = "target"
"""Name of the label column of formats that have no names: libsvm and npz."""

_SUFFIXES = {"txt": "csv", "tab": "tsv", "pq": "parquet", "svm": "libsvm", "svmlight": "libsvm"}
_OTHERS = ("xls", "xlsx", "ods", "json", "feather", "arrow", "mat", "h5", "pkl", "zip")
_COMPRESSED = {"gz": "gz", "bz2": "bz2", "xz": "xz", "zst": "zst"}
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
# A dense table of this many numbers takes 4 GB.
_MOST_NUMBERS = 500_000_000
# Tables shrink by compression to a half or to a fiftieth; what unpacks to more is made to fill memory, or rare.
_UNPACKED_ALWAYS, _UNPACKED_TIMES, _UNPACKED_MOST = 16 << 20, 50, 2 << 30


def read_table(
    path: str | Path,
    *,
    format: str | None = None,
    header: bool = True,
    texts: Collection[str] = (),
    columns: Collection[str] = (),
    spelled: Mapping[str, str] | None = None,
    tell: Callable[[Remark], None] = lambda remark: None,
) -> pl.DataFrame:
    """Read a table.

    Parameters
    ----------
    path : file, or "-" for standard input
    format : one of `FORMATS`; None goes by the name of the file and by what it holds
    header : whether the first line of a CSV or TSV file names the columns; else they are column_1, column_2, ...
    texts : columns of a CSV or TSV file that stay texts even where all of them spell numbers
    columns : columns of which a libsvm file, which leaves out zeros, may leave out all
    spelled : of columns of a CSV or TSV file the form in which their texts spell numbers, as a remark on the training
        set says it; other columns, and those that have another form here, are read as their texts say
    tell : called with a remark, whose text is a sentence, for each column that is not read as it stands: decimal
        commas, dates, texts that spell numbers in nearly all rows

    Returns
    -------
    table : polars data frame; libsvm and npz have their labels in the column "target"

    Raises
    ------
    TableError
        Where the file is not what it should be.
    """
    name = "standard input" if str(path) == "-" else str(path)
    polars = _polars()
    data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    data = _decompressed(data, name)
    if not data.strip():
        raise TableError(f"{name} is empty; give a file with a header line and rows.")
    kind = format or _format_of(Path(name).name, data)
    try:
        frame = _READERS[kind](polars, data, name, header, texts, spelled or {}, tell)
    except (TableError, ImportError, MemoryError):
        raise
    except BaseException as error:
        # Panics of polars are no Exceptions; libraries say with many kinds that a file is broken.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise TableError(f"{name} cannot be read as {kind}: {reason:.160}") from None
    if not frame.width or not frame.height:
        raise TableError(f"{name} has no rows; give a file with a header line and rows.")
    if kind == "libsvm":
        left_out = [column for column in columns if column not in frame.columns and column != TARGET]
        return frame.with_columns(polars.lit(0.0).alias(column) for column in left_out)
    return frame


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise TableError('Reading tables needs polars; install it: pip install "protolearn[cli]"') from None
    return polars


def _decompressed(data: bytes, name: str) -> bytes:
    kind = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
    claimed = _COMPRESSED.get(Path(name).suffix.lstrip(".").lower())
    if kind is None and claimed is not None and data:
        raise TableError(f"{name} is not compressed as its name says; rename it, or compress it again.")
    try:
        if kind is None:
            return data
        limit = _most_unpacked(data)
        unpacked = _UNPACKERS[kind](BytesIO(data)).read(limit + 1)
    except TableError:
        raise
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise TableError(f"{name} is damaged: it cannot be decompressed ({error}); fetch it again.") from None
    _check_unpacked(len(unpacked), limit, name)
    return unpacked


def _most_unpacked(data: bytes) -> int:
    """How many bytes a compressed file may unpack to."""
    return min(_usually_unpacked(data), _UNPACKED_MOST)


def _usually_unpacked(data: bytes) -> int:
    return max(_UNPACKED_TIMES * len(data), _UNPACKED_ALWAYS)


def _check_unpacked(n_bytes: int, limit: int, name: str, remedy: str = "unpack it first") -> None:
    if n_bytes > limit:
        raise TableError(
            f"{name} unpacks to more than {limit >> 20} MB; {remedy}, look whether it is what you expect, and give the "
            "unpacked file."
        )


def _zstd_stream(file: BytesIO) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise TableError("Reading .zst files needs pyarrow: pip install pyarrow; or compress by gzip.") from None
    return pyarrow.CompressedInputStream(file, "zstd")


_UNPACKERS: dict[str, Callable[[BytesIO], Any]] = {
    "gz": gzip.open,
    "bz2": bz2.open,
    "xz": lzma.open,
    "zst": _zstd_stream,
}


def _format_of(name: str, data: bytes) -> str:
    """By the last part of the name that says something, else by the first bytes."""
    parts = [part.lower() for part in name.split(".")[1:] if part.lower() not in _COMPRESSED]
    if parts:
        suffix = _SUFFIXES.get(parts[-1], parts[-1])
        if suffix in FORMATS:
            return suffix
        if suffix in _OTHERS:
            raise TableError(f"{name} is in a format that is not read here; save it as {', '.join(FORMATS)}.")
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"PK\x03\x04"):
        return "npz"
    start = data[:4096].lstrip()
    if re.match(rb"(%[^\n]*\n\s*)*@relation", start, re.IGNORECASE):
        return "arff"
    first = start.splitlines()[0]
    if re.fullmatch(rb"[-+.\deE]+( +\d+:[-+.\deEinfa]+)+\s*(#.*)?", first):
        return "libsvm"
    return "tsv" if b"\t" in first and b"," not in first else "csv"


def _parquet(
    polars: Any, data: bytes, name: str, header: bool, texts: Collection[str], spelled: Mapping[str, str], tell: Tell
) -> Any:
    # Rows that are all alike take no room in the file, and eight bytes a value in memory: look at the metadata first.
    shape = (
        polars.scan_parquet(BytesIO(data)).select(polars.len()).collect().item(),
        len(polars.read_parquet_schema(BytesIO(data))),
    )
    _check_size(shape, name)
    _check_unpacked(8 * shape[0] * shape[1], _usually_unpacked(data), name, "write it as CSV first")
    frame = polars.read_parquet(data)
    days = {column.name: found for column in frame if (found := dates_as_days(column)) is not None}
    for column in days:
        tell(Remark(column, "is read as dates, as days since 1970-01-01", DATE))
    return frame.with_columns(found.alias(column) for column, found in days.items())


def _arff(polars: Any, data: bytes, name: str, *_: Any) -> Any:
    from io import StringIO

    from scipy.io import arff

    rows, meta = arff.loadarff(StringIO(data.decode("utf-8")))
    columns = {}
    for column in meta.names():
        values = rows[column]
        if meta[column][0] == "nominal":
            found = [value.decode("utf-8") for value in values.tolist()]
            columns[column] = polars.Series([None if value == "?" else value for value in found], dtype=polars.String)
        else:
            columns[column] = values
    return polars.DataFrame(columns)


def _libsvm(polars: Any, data: bytes, name: str, *_: Any) -> Any:
    from sklearn.datasets import load_svmlight_file

    # Indices as they stand in the file, whether they begin at 0 or at 1: the same feature keeps its name in every file.
    X, y = load_svmlight_file(BytesIO(data), zero_based=True)
    _check_size(X.shape, name)
    first = 0 if X.shape[1] and X[:, [0]].nnz else 1
    dense = X.toarray()
    columns = {f"f{j}": dense[:, j] for j in range(first, X.shape[1])}
    return polars.DataFrame({TARGET: _labels(y), **columns})


def _npz(polars: Any, data: bytes, name: str, *_: Any) -> Any:
    with zipfile.ZipFile(BytesIO(data)) as parts:
        _check_unpacked(sum(part.file_size for part in parts.infolist()), _most_unpacked(data), name)
    with np.load(BytesIO(data), allow_pickle=False) as file:
        arrays = dict(file)
    if "X" not in arrays:
        raise TableError(
            f"{name} has no array X (it has {', '.join(arrays) or 'none'}); save it by np.savez(file, X=..., y=...)."
        )
    X = arrays["X"]
    if X.ndim < 2 or X.dtype.kind not in "fiub":
        raise TableError(f"X of {name} must hold numbers, one row a sample; it has shape {X.shape} and type {X.dtype}.")
    _check_size(X.shape, name)
    X = X.reshape(len(X), -1)
    names = arrays.get("feature_names", np.array([f"f{j}" for j in range(X.shape[1])]))
    if names.shape != (X.shape[1],):
        raise TableError(f"feature_names of {name} must hold {X.shape[1]} names, one a column of X.")
    columns: dict[str, Any] = {str(column): np.ascontiguousarray(X[:, j]) for j, column in enumerate(names)}
    if "y" in arrays:
        if arrays["y"].shape != (len(X),):
            raise TableError(f"y of {name} must hold one label for each of the {len(X)} rows of X.")
        columns = {TARGET: _labels(arrays["y"]), **columns}
    return polars.DataFrame(columns)


def _labels(y: np.ndarray) -> np.ndarray:
    """Whole numbers as such: libsvm writes 1 as 1.0."""
    whole = y.dtype.kind == "f" and np.isfinite(y).all() and np.array_equal(y, np.rint(y)) and np.abs(y).max() < 2**53
    return y.astype(np.int64) if whole else y


def _check_size(shape: tuple[int, ...], name: str) -> None:
    if np.prod([float(n) for n in shape]) > _MOST_NUMBERS:
        raise TableError(f"{name} has {shape[0]} rows and {shape[1]} columns, too many for memory; take part of it.")


_READERS: dict[str, Any] = {
    "csv": partial(parse_text, (",", ";", "\t", "|")),
    "tsv": partial(parse_text, ("\t",)),
    "parquet": _parquet,
    "arff": _arff,
    "libsvm": _libsvm,
    "npz": _npz,
}
