"""Data sets of the papers, read from the folder that the environment variable PROTOLEARN_DATA names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

VARIABLE = "PROTOLEARN_DATA"


@dataclass(frozen=True)
class DataSet:
    """Samples and labels; `is_test` marks the official test rows where there is a split."""

    name: str
    X: np.ndarray
    y: np.ndarray
    is_test: np.ndarray | None

    def split(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """X and y of the official training rows, then of the test rows."""
        if self.is_test is None:
            raise ValueError(f"The data set {self.name} has no official split; use cross-validation.")
        train, test = ~self.is_test, self.is_test
        return self.X[train], self.y[train], self.X[test], self.y[test]


def data_folder() -> Path:
    """The folder of the data sets."""
    folder = os.environ.get(VARIABLE)
    if not folder or not Path(folder).is_dir():
        raise FileNotFoundError(
            f"The papers' data sets are read from the folder in {VARIABLE}, which "
            + (f"names {folder!r}, not a folder." if folder else "is not set.")
        )
    return Path(folder)


def load(name: str, dtype: type = np.float64) -> DataSet:
    """One data set by name: `<name>.npz` in the folder or in its subfolder `large`."""
    folder = data_folder()
    for path in (folder / f"{name}.npz", folder / "large" / f"{name}.npz"):
        if path.is_file():
            with np.load(path, allow_pickle=False) as stored:
                is_test = stored["is_test"] if "is_test" in stored.files else None
                return DataSet(name, stored["X"].astype(dtype), stored["y"], is_test)
    raise FileNotFoundError(f"There is no data set {name!r} in the folder that {VARIABLE} names.")
