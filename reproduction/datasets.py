"""Data sets of the papers: one registry, one loader, every set checked against what the experiments were made with.

A set is read from the folder that the environment variable PROTOLEARN_DATA names (`<name>.npz` there or in its
subfolder `large`), else from scikit-learn, else from an installed package, else from OpenML; `catalogue.py` says which
have it.

What is read must have the rows, features, classes, test rows and checksum of the catalogue. The checksum is taken of X,
y and is_test in fixed form: numbers as little-endian float32 with one zero and one NaN, codes as little-endian int64.
Rounding to float32 is the same on every machine, and forgives the last bit of a double that two readers of decimals
may differ in.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.catalogue import CATALOGUE, Facts
from reproduction.sources import Arrays, NotHere

VARIABLE = "PROTOLEARN_DATA"


@dataclass(frozen=True)
class DataSet:
    """Samples and labels; `is_test` marks the official test rows where there is a split."""

    name: str
    X: Any
    y: np.ndarray
    is_test: np.ndarray | None

    def split(self) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        """X and y of the official training rows, then of the test rows."""
        if self.is_test is None:
            raise ValueError(f"The data set {self.name} has no official split; use cross-validation.")
        train, test = ~self.is_test, self.is_test
        return self.X[train], self.y[train], self.X[test], self.y[test]


def data_folder() -> Path | None:
    """The folder that PROTOLEARN_DATA names, or None where it is not set."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise FileNotFoundError(
            f"The variable {VARIABLE} names {folder!r}, which is not a folder; correct or unset it."
        )
    return Path(folder)


def facts(name: str) -> Facts:
    """What the catalogue says of a data set."""
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name.lower(), CATALOGUE, n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(CATALOGUE)}."
        raise ValueError(f"There is no data set {name!r}; {hint}")
    return CATALOGUE[name]


def load(name: str, dtype: type = np.float64) -> DataSet:
    """One data set by name, checked; `newsgroups` is a sparse matrix made from the raw posts."""
    known = facts(name)
    if name == "newsgroups":
        from reproduction.newsgroups import newsgroups

        return newsgroups(dtype)
    arrays, ordered, where = _read(known)
    _check(known, arrays, ordered, where)
    return DataSet(name, arrays.X.astype(dtype), arrays.y.astype(np.int64), arrays.is_test)


def checksum(X: np.ndarray, y: np.ndarray, is_test: np.ndarray | None, *, ordered: bool = True) -> str:
    """64 bits of the content in fixed form, 16 hexadecimal digits; with `ordered=False` of the rows in any order."""
    values = np.asarray(X, dtype=np.float32) + np.float32(0)
    values[np.isnan(values)] = np.nan
    test = np.zeros(len(y), dtype=bool) if is_test is None else np.asarray(is_test, dtype=bool)
    rows = [
        np.ascontiguousarray(values, dtype="<f4").view(np.uint8).reshape(len(y), -1),
        np.ascontiguousarray(y, dtype="<i8").view(np.uint8).reshape(len(y), -1),
        test.astype(np.uint8)[:, None],
    ]
    if ordered:
        digest = hashlib.blake2b(digest_size=8)
        for part in rows:
            digest.update(part.data)
        return digest.hexdigest()
    lines = np.concatenate(rows, axis=1)
    each = sorted(hashlib.blake2b(line, digest_size=8).digest() for line in lines)
    return hashlib.blake2b(b"".join(each), digest_size=8).hexdigest()


def file_of(name: str) -> Path | None:
    """The file of the set in the folder, or None."""
    folder = data_folder()
    if folder is None:
        return None
    for path in (folder / f"{name}.npz", folder / "large" / f"{name}.npz"):
        if path.is_file():
            return path
    return None


def missing(known: Facts, reasons: list[str], file: str = "") -> FileNotFoundError:
    """Why no source has the set here, and what to do."""
    file = f"{file or known.name}.npz"
    first = f"{file} is not in the folder that {VARIABLE} names" if data_folder() else f"{VARIABLE} is not set"
    return FileNotFoundError(
        f"The data set {known.name!r} cannot be read: {', '.join([first, *reasons])}; put {file} into a folder and "
        f"name it in {VARIABLE}{known.remedy}."
    )


def _read(known: Facts) -> tuple[Arrays, bool, str]:
    """The arrays, whether their rows must be in our order, and where they come from."""
    path = file_of(known.name)
    if path is not None:
        return _stored(path), True, str(path)
    reasons = []
    for source in known.sources:
        try:
            return source.read(), source.ordered, str(source)
        except NotHere as why:
            reasons.append(str(why))
    raise missing(known, reasons)


def _stored(path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return Arrays(stored["X"], stored["y"], stored["is_test"] if "is_test" in stored.files else None)
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"The file {path} is not a data set with X and y ({error}); fetch it anew.") from error


def _check(known: Facts, arrays: Arrays, ordered: bool, where: str) -> None:
    X, y, is_test = arrays
    if X.ndim != 2 or X.shape != (known.n, known.d) or len(y) != known.n:
        raise ValueError(
            f"The data set {known.name!r} from {where} has X of shape {X.shape} and {len(y)} labels where {known.n} "
            f"rows of {known.d} features belong; it is another version of the set."
        )
    codes = np.unique(y)
    if not np.array_equal(codes, np.arange(known.classes)):
        raise ValueError(
            f"The data set {known.name!r} from {where} has {len(codes)} classes, {codes[:5].tolist()} and so on, where "
            f"codes 0 to {known.classes - 1} belong; it is another version of the set."
        )
    n_test = 0 if is_test is None else int(np.sum(is_test))
    if n_test != known.n_test:
        raise ValueError(
            f"The data set {known.name!r} from {where} has {n_test} test rows where {known.n_test} belong; it is "
            "another version of the set."
        )
    if checksum(X, y, is_test) == known.content:
        return
    same_rows = checksum(X, y, is_test, ordered=False) == known.rows
    if same_rows and not ordered:
        warnings.warn(
            f"The rows of {known.name!r} from {where} come in another order than in our runs, so folds differ.",
            UserWarning,
            stacklevel=3,
        )
        return
    what = "its rows in another order" if same_rows else "other values, other codes or another order of columns"
    raise ValueError(
        f"The data set {known.name!r} from {where} has the right size but {what}: it is not what the experiments were "
        "made with; fetch it anew."
    )
