"""`python -m benchmarks large`: AutoPrototypes on large tables, beside k-NN by an index.

On each table AutoPrototypes with members=1 finds its prototypes by itself; k-NN stores all training rows in an index
of faiss: flat (exact), IVF and HNSW (approximate), k = 1 and k = 5. The rows: accuracy on the same test rows, bytes,
rows a second on one thread, seconds to learn. What AutoPrototypes tried on the way are rows too ("race").
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.accuracy.tables import Table
from benchmarks.accuracy.tables import load as load_table
from protolearn import AutoPrototypes
from protolearn.compare.rows import Row, RowFile
from protolearn.core.threads import one_thread
from protolearn.data.containers import rows_of
from protolearn.tables import Preparation
from reproduction.report import table

COLUMNS: dict[str, Any] = {
    "table": str, "rows": int, "columns": int, "classes": int, "test_rows": int, "model": str, "numbers": int,
    "accuracy": float, "bytes": int, "rows_a_second": float, "seconds": float,
}  # fmt: skip
TEST_ROWS = 10_000
# Lists that an inverted file looks into, and candidates that a graph keeps: from fast to nearly exact.
PROBES, EFFORTS = (1, 8), (16, 64)


def _letter() -> tuple[Any, np.ndarray]:
    return load_table(Table("letter", "papers", "letter"))


def _mnist() -> tuple[Any, np.ndarray]:
    from reproduction.datasets import load

    found = load("mnist")
    return np.asarray(found.X, dtype=np.float32), np.asarray(found.y).astype(str)


def _fars() -> tuple[Any, np.ndarray]:
    return load_table(Table("fars", "common", "fars"))


def _covertype() -> tuple[Any, np.ndarray]:
    from sklearn.datasets import fetch_covtype

    X, y = fetch_covtype(return_X_y=True)
    return X.astype(np.float32), y.astype(str)


TABLES = {"letter": _letter, "mnist": _mnist, "fars": _fars, "covertype": _covertype}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="python -m benchmarks large", description=__doc__)
    found.add_argument("--tables", nargs="+", choices=TABLES, default=["letter", "mnist", "fars"], metavar="NAME")
    found.add_argument("--most-rows", type=int, metavar="N", help="a stratified part of larger tables")
    found.add_argument("--time-limit", type=float, metavar="S", help="seconds after which AutoPrototypes begins no fit")
    found.add_argument("--out", type=Path, default=Path("benchmark-results"), metavar="DIR", help="folder of the rows")
    found.add_argument("--docs", type=Path, metavar="DIR", help="folder of the docs, for evidence/large.md")
    found.add_argument("--show", action="store_true", help="measure nothing: the page from the rows that are there")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Make the rows of the tables that are missing, then the page."""
    options = parser().parse_args(arguments)
    file = RowFile(options.out / "large.csv", COLUMNS, {"test_rows": TEST_ROWS}, resume=True)
    done = {row["table"] for row in file.rows()}
    for name in options.tables:
        if name in done or options.show:
            continue
        try:
            X, y = TABLES[name]()
        except OSError as error:
            print(f"{name}: cannot be read here ({error})", file=sys.stderr)
            continue
        if options.most_rows is not None and options.most_rows < len(y):
            part, _ = train_test_split(np.arange(len(y)), train_size=options.most_rows, stratify=y, random_state=0)
            X, y = rows_of(X, part), y[part]
        for row in measured(name, X, y, options.time_limit):
            file.append(row)
            print(f"{name}, {row['model']}: {row['accuracy']:.4f}, {row['bytes']:,} bytes", flush=True)
    if options.docs is not None:
        (options.docs / "evidence" / "large.md").write_text(page(file.rows()), encoding="utf-8")
    return 0


def measured(name: str, X: Any, y: np.ndarray, time_limit: float | None = None) -> list[Row]:
    """All models of one table."""
    n_test = min(TEST_ROWS, len(y) // 5)
    train, test = train_test_split(np.arange(len(y)), test_size=n_test, stratify=y, random_state=0)
    X_train, y_train, X_test, y_test = rows_of(X, train), y[train], rows_of(X, test), y[test]
    what = {"table": name, "rows": len(train), "columns": X.shape[1], "classes": len(set(y)), "test_rows": n_test}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = _ours(X_train, y_train, X_test, y_test, time_limit)
        return [what | row for row in ours + _indices(X_train, y_train, X_test, y_test)]


def _ours(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray, time_limit: float | None) -> list[Row]:
    begin = time.process_time()
    model = AutoPrototypes(members=1, time_limit=time_limit, random_state=0, verbose=1).fit(X, y)
    seconds = time.process_time() - begin
    rate, predicted = _rate(model.predict, X_test)
    found = [
        {
            "model": "AutoPrototypes", "numbers": model.n_numbers_, "accuracy": float(np.mean(predicted == y_test)),
            "bytes": model.size_bytes_, "rows_a_second": rate, "seconds": seconds,
        }
    ]  # fmt: skip
    tried = model.cv_results_
    most = max(tried["folds"])
    for j in np.argsort(tried["numbers"]):
        if tried["folds"][j] == most:
            found.append(
                {
                    "model": f"race: {tried['candidate'][j]}, {tried['prototypes'][j]} a class",
                    "numbers": tried["numbers"][j], "accuracy": tried["accuracy"][j], "bytes": tried["bytes"][j],
                    "rows_a_second": np.nan, "seconds": tried["seconds"][j],
                }
            )  # fmt: skip
    return found


def _indices(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> list[Row]:
    """k-NN by faiss on scaled columns; pixels as they are, which suits them better."""
    import faiss

    faiss.omp_set_num_threads(1)
    if isinstance(X, pd.DataFrame):
        prepared = Preparation(scaling="standard").fit(X)
        X, X_test = prepared.transform(X), prepared.transform(X_test)
    X, X_test = (np.ascontiguousarray(part, dtype=np.float32) for part in (X, X_test))
    d = X.shape[1]
    classes, codes = np.unique(y, return_inverse=True)
    found = []
    n_lists = int(4 * np.sqrt(len(X)))
    coarse = faiss.IndexFlatL2(d)
    for title, index, settings in (
        ("flat", faiss.IndexFlatL2(d), [("", {})]),
        ("IVF", faiss.IndexIVFFlat(coarse, d, n_lists), [(f", {n} of {n_lists} lists", {"nprobe": n}) for n in PROBES]),
        ("HNSW", faiss.IndexHNSWFlat(d, 32), [(f", effort {n}", {"efSearch": n}) for n in EFFORTS]),
    ):
        begin = time.process_time()
        if not index.is_trained:
            index.train(X)
        index.add(X)
        seconds = time.process_time() - begin
        n_bytes = len(faiss.serialize_index(index))
        for text, values in settings:
            for key, value in values.items():
                setattr(index.hnsw if key == "efSearch" else index, key, value)
            for k in (1, 5):
                rate, near = _rate(lambda rows, index=index, k=k: index.search(rows, k)[1], X_test)
                votes = np.stack([(codes[near] == code).sum(axis=1) for code in range(len(classes))], axis=1)
                found.append(
                    {
                        "model": f"{k}-NN, {title}{text}", "numbers": X.size,
                        "accuracy": float(np.mean(classes[votes.argmax(axis=1)] == y_test)), "bytes": n_bytes,
                        "rows_a_second": rate, "seconds": seconds,
                    }
                )  # fmt: skip
    return found


def _rate(function: Any, X: Any) -> tuple[float, np.ndarray]:
    """Rows a second by the better of two calls, and what the function answers."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        answer = function(X)
        times.append(time.process_time() - begin)
    return len(X) / max(min(times), 1e-9), answer


HEADER = ("model", "test accuracy, %", "numbers", "megabytes", "thousand rows a second", "seconds to learn")


def page(rows: list[Row]) -> str:
    """docs/evidence/large.md."""
    pieces = [
        "# Large tables",
        "Can prototypes stand for tens of thousands of rows? `AutoPrototypes(members=1)` finds their number by itself; "
        "beside the prototypes stands k-NN on all training rows, by an exact and two approximate indices of faiss.",
    ]
    for name in dict.fromkeys(row["table"] for row in rows):
        part = [row for row in rows if row["table"] == name]
        first = part[0]
        models = [row for row in part if not row["model"].startswith("race: ")]
        race = [row for row in part if row["model"].startswith("race: ")]
        pieces += [
            f"## {name}: {first['rows']:,} rows, {first['columns']} columns, {first['classes']} classes",
            _summary(models, race),
            table(HEADER, [_line(row) for row in models]),
            "What AutoPrototypes tried, by held-out rows of the training part "
            f"({first['test_rows']:,} other rows are the test):",
            table(
                ("candidate", "held-out accuracy, %", "numbers"),
                [
                    (row["model"].removeprefix("race: "), f"{100 * row['accuracy']:.2f}", f"{row['numbers']:,}")
                    for row in race
                ],
            ),
        ]  # fmt: skip
    pieces.append(
        "One thread throughout; seconds are processor time, and of AutoPrototypes the whole race, which ended after 15 "
        "minutes by the clock at the latest. Bytes of prototypes are four a number, of an index those that faiss "
        "writes. k-NN gets scaled numbers, and texts as indicator columns. The command of this page: "
        "`python -m benchmarks large --time-limit 900 --docs docs`."
    )
    return "\n\n".join(pieces) + "\n"


def _line(row: Row) -> tuple[str, ...]:
    return (
        row["model"], f"{100 * row['accuracy']:.2f}", f"{row['numbers']:,}", f"{row['bytes'] / 1e6:.3g}",
        f"{row['rows_a_second'] / 1000:.3g}", f"{row['seconds']:.0f}",
    )  # fmt: skip


def _summary(models: list[Row], race: list[Row]) -> str:
    """Ours beside exact 1-NN, and the smallest that the race found to be as accurate."""
    ours, exact = models[0], next(row for row in models if row["model"] == "1-NN, flat")
    points = 100 * (ours["accuracy"] - exact["accuracy"])
    told = f"{abs(points):.1f} points {'above' if points >= 0 else 'BELOW'} 1-NN on all rows"
    text = f"Prototypes: {told}, in 1/{exact['numbers'] / ours['numbers']:.0f} of the numbers."
    enough = [row for row in race if row["accuracy"] >= exact["accuracy"]]
    if enough:
        least = min(enough, key=lambda row: row["numbers"])
        text += (
            f" The smallest set tried that is as accurate as 1-NN ({100 * least['accuracy']:.1f} % of held-out rows) "
            f"has {least['numbers']:,} numbers, 1/{exact['numbers'] / least['numbers']:.0f}; `max_bytes` asks for it."
        )
    return text
