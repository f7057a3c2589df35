"""`python -m benchmarks replacing`: what `compress` makes of tuned models, on the tables of the yardstick.

Each given model has the settings that `python -m benchmarks accuracy` chose for the same table and split, and learns
from the same rows. `compress` replaces the model once within one point of its held-out accuracy, and within 1, 5 and
20 % of the bytes of k-NN's training rows (4 bytes a number); both sides are measured on the test rows.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.accuracy import methods, tables
from benchmarks.accuracy.run import COLUMNS as YARDSTICK
from protolearn import compress
from protolearn.compare.rows import Row, RowFile, read_rows
from protolearn.core.threads import one_thread
from reproduction.report import table

GIVEN = ("k-NN", "RBF SVM", "random forest", "CatBoost")
SHARES = (0.01, 0.05, 0.2)
MAX_LOSS = 0.01
COLUMNS: dict[str, Any] = {
    "table": str, "split": int, "given": str, "asked": str, "given_accuracy": float, "small_accuracy": float,
    "given_bytes": int, "small_bytes": int, "knn_bytes": int, "within": lambda text: text == "True", "seconds": float,
    "error": str,
}  # fmt: skip
WITHIN_LOSS = f"within {100 * MAX_LOSS:g} point"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="python -m benchmarks replacing", description=__doc__)
    found.add_argument("--split", type=int, default=0, metavar="S", help="which split of each table (default 0)")
    found.add_argument("--tables", nargs="+", choices=tables.TABLES, metavar="NAME", help="default: those never seen")
    found.add_argument("--out", type=Path, default=Path("benchmark-results"), metavar="DIR", help="folder of the rows")
    found.add_argument(
        "--yardstick", type=Path, default=Path("benchmarks/results/accuracy.csv"), metavar="FILE",
        help="rows of `python -m benchmarks accuracy`, which hold the settings of the given models",
    )  # fmt: skip
    return found


def main(arguments: list[str] | None = None) -> int:
    """Make the rows that are missing, then print the table."""
    options = parser().parse_args(arguments)
    settings = {
        (row["table"], row["method"]): ast.literal_eval(row["settings"])
        for row in read_rows(options.yardstick, YARDSTICK)
        if row["split"] == options.split and row["settings"]
    }
    file = RowFile(options.out / "replacing.csv", COLUMNS, {"shares": list(SHARES), "max_loss": MAX_LOSS}, resume=True)
    done = {(row["table"], row["split"], row["given"]) for row in file.rows()}
    try:
        for name in options.tables or [one.name for one in tables.NEVER_SEEN]:
            given = [one for one in GIVEN if (name, options.split, one) not in done and (name, one) in settings]
            if given:
                rows = _replaced(name, options.split, {one: settings[name, one] for one in given})
                for row in rows:
                    file.append(row)
                print(f"{name}: {len(rows)} rows", flush=True)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on with the tables that are missing.", file=sys.stderr)
        return 1
    for line in [HEADER, *lines(file.rows())]:
        print("  ".join(f"{cell:>14}" for cell in line))
    return 0


def _replaced(name: str, split: int, given: dict[str, dict[str, Any]]) -> list[Row]:
    """The rows of one table: within bytes the small models are the same for all given ones, and are made once."""
    X, y = tables.load(tables.TABLES[name])
    train, test = tables.split(y, split)
    X_train, y_train = X.iloc[train].reset_index(drop=True), y[train]
    X_test, y_test = X.iloc[test].reset_index(drop=True), y[test]
    n_bytes = 4 * X_train.size
    rows: list[Row] = []
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small: dict[str, Row] = {}
        for one, settings in given.items():
            model = methods.BY_NAME[one].make(settings, split).fit(X_train, y_train)
            accuracy = float(np.mean(np.asarray(model.predict(X_test)).astype(str).ravel() == y_test))
            asked: dict[str, dict[str, Any]] = {WITHIN_LOSS: {"max_loss": MAX_LOSS}}
            asked |= {f"{100 * share:g} % of k-NN": {"max_bytes": int(share * n_bytes)} for share in SHARES}
            for text, limit in asked.items():
                if text not in small or text == WITHIN_LOSS:
                    small[text] = _small(model, X_train, y_train, X_test, y_test, limit, split)
                rows.append(
                    {
                        "table": name, "split": split, "given": one, "asked": text, "given_accuracy": accuracy,
                        "given_bytes": methods.bytes_of(model), "knn_bytes": n_bytes, **small[text],
                    }
                )  # fmt: skip
    return rows


def _small(
    model: Any, X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame, y_test: np.ndarray, limit: dict, seed: int
) -> Row:
    begin = time.process_time()
    try:
        small = compress(model, X, y, random_state=seed, verbose=0, **limit)
    except ValueError as error:
        # Bytes below one prototype a class: the user is told, and nothing is replaced.
        return {
            "small_accuracy": float("nan"), "small_bytes": 0, "within": False, "seconds": float("nan"),
            "error": str(error).splitlines()[0][:200],
        }  # fmt: skip
    return {
        "small_accuracy": float(np.mean(small.predict(X_test) == y_test)), "small_bytes": small.size_bytes_,
        "within": small.compression_.within, "seconds": time.process_time() - begin, "error": "",
    }  # fmt: skip


HEADER = (
    "given model", "asked for", "given, %", "small, %", "within 0.5 points", "within 1 point", "bytes, given",
    "bytes, small", "cannot",
)  # fmt: skip


def lines(rows: list[Row]) -> list[tuple[str, ...]]:
    """One line for each given model and limit, over the tables where something was found."""
    found = []
    for given in GIVEN:
        for asked in dict.fromkeys(row["asked"] for row in rows):
            part = [row for row in rows if (row["given"], row["asked"]) == (given, asked)]
            made = [row for row in part if not row["error"]]
            if not made:
                continue
            lost = np.array([row["given_accuracy"] - row["small_accuracy"] for row in made])
            found.append(
                (
                    given, asked, f"{100 * np.mean([row['given_accuracy'] for row in made]):.2f}",
                    f"{100 * np.mean([row['small_accuracy'] for row in made]):.2f}",
                    f"{np.sum(lost <= 0.005)} of {len(made)}", f"{np.sum(lost <= 0.01)} of {len(made)}",
                    f"{np.median([row['given_bytes'] for row in made]):,.0f}",
                    f"{np.median([row['small_bytes'] for row in made]):,.0f}", str(len(part) - len(made)),
                )
            )  # fmt: skip
    return found


def section(rows: list[Row]) -> list[str]:
    """What docs/accuracy.md says of it."""
    if not rows:
        return []
    n_tables = len({row["table"] for row in rows})
    return [
        "## A given model, replaced",
        f"`compress` gets the tuned model of the same split of {n_tables} of these tables: once with the default, at "
        "most one point below the given model on held-out rows, and once with bytes alone: a share of what k-NN stores "
        "(4 bytes a number of its training rows). The table counts the test sets on which the small model is at most "
        'half a point and at most one point below the given one; "cannot" counts tables where the bytes do not hold '
        "one prototype a class.",
        table(HEADER, lines(rows)),
        "`python -m benchmarks replacing` makes these rows. With true labels the bytes alone decide what is learned, "
        "whatever the given model is.",
    ]
