"""`python -m benchmarks accuracy`: one row a table, split and method in a CSV file; a run that was stopped goes on."""

from __future__ import annotations

import argparse
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.accuracy import methods, tables
from protolearn.compare.rows import RowFile, read_rows
from protolearn.core.threads import one_thread

COLUMNS: dict[str, Any] = {
    "table": str, "seen": lambda text: text == "True", "rows": int, "columns": int, "classes": int, "split": int,
    "method": str, "version": str, "accuracy": float, "balanced": float, "log_loss": float, "ece": float, "auc": float,
    "bytes": int, "numbers": int, "microseconds": float, "seconds": float, "configurations": int, "settings": str,
    "error": str,
}  # fmt: skip
EMPTY = {
    "accuracy": float("nan"), "balanced": float("nan"), "log_loss": float("nan"), "ece": float("nan"),
    "auc": float("nan"), "bytes": 0, "numbers": 0, "microseconds": float("nan"), "seconds": float("nan"),
    "configurations": 0, "settings": "",
}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="python -m benchmarks accuracy", description=__doc__)
    found.add_argument("--splits", type=int, default=10, metavar="S", help="splits of each table (default 10)")
    found.add_argument("--tables", nargs="+", choices=tables.TABLES, metavar="NAME", help="some of the tables")
    found.add_argument("--methods", nargs="+", choices=methods.BY_NAME, metavar="NAME", help="some of the methods")
    found.add_argument("--out", type=Path, default=Path("benchmark-results"), metavar="DIR", help="folder of the rows")
    found.add_argument("--docs", type=Path, metavar="DIR", help="folder of the docs, for accuracy.md and its pictures")
    found.add_argument("--show", action="store_true", help="measure nothing: the page from the rows that are there")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Make the rows that are missing, then the page."""
    from benchmarks.accuracy import page, replacing

    options = parser().parse_args(arguments)
    settings = {
        "train_rows": tables.TRAIN_ROWS, "test_rows": tables.TEST_ROWS, "configurations": methods.CONFIGURATIONS,
        "seconds": methods.SECONDS, "folds": methods.FOLDS,
    }  # fmt: skip
    file = RowFile(options.out / "accuracy.csv", COLUMNS, settings, resume=True)
    interrupted = False
    if not options.show:
        try:
            _fill(file, options)
        except KeyboardInterrupt:
            print("interrupted; the same command goes on with the rows that are missing.", file=sys.stderr)
            interrupted = True
    rows = file.rows()
    if not rows:
        parser().error(f"{file.path} holds no rows; run without --show first.")
    print(page.text_table(rows))
    if options.docs is not None:
        beside = options.out / "replacing.csv"
        page.write(options.docs, rows, read_rows(beside, replacing.COLUMNS) if beside.exists() else ())
    return int(interrupted)


def _fill(file: RowFile, options: argparse.Namespace) -> None:
    done = {(row["table"], row["split"], row["method"]) for row in file.rows()}
    for number in range(options.splits):
        for name in options.tables or tables.TABLES:
            wanted = [one for one in options.methods or methods.BY_NAME if (name, number, one) not in done]
            if not wanted:
                continue
            table = tables.TABLES[name]
            X, y = tables.load(table)
            train, test = tables.split(y, number)
            X_train, X_test = X.iloc[train].reset_index(drop=True), X.iloc[test].reset_index(drop=True)
            for one in wanted:
                begin = time.perf_counter()
                method = methods.BY_NAME[one]
                row = {
                    "table": name, "seen": table.seen, "rows": len(train), "columns": X.shape[1],
                    "classes": len(set(y[train])), "split": number, "method": one, "version": version(method.package),
                    "error": "", **EMPTY,
                }  # fmt: skip
                try:
                    with one_thread():
                        row |= methods.outcome(method, X_train, y[train], X_test, y[test], number)
                except Exception as error:
                    # A method that fails on a table keeps its row, and the page says so.
                    row["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
                file.append(row)
                told = row["error"] or f"{row['accuracy']:.3f}, {row['configurations']} configurations"
                print(f"{name}, split {number}, {one}: {told}, {time.perf_counter() - begin:.0f} s", flush=True)
