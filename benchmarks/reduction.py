"""Speed and memory of the reducers beside imbalanced-learn's, in one run on one machine.

    PROTOLEARN_DATA=<folder> python -m benchmarks.reduction [--quick] [--docs docs]

Each job runs in a process of its own; it is first run on a few rows, so that compiling is not counted (its time is in
the column "first call"). The peak is what the call holds at most, with the data, beyond imports and compiled code.
Prints the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import peak_of
from protolearn.experiments.datasets import load
from protolearn.experiments.report import provenance, table, write_section

_WARM_UP_ROWS = 400
HEADER = ("set", "rows", "method", "kept", "seconds", "time", "first call", "peak MB", "3 X + 200 MB")


def training_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Training rows in float32 and labels as whole numbers."""
    data = load(name, np.float32)
    rows = slice(None) if data.is_test is None else ~data.is_test
    return data.X[rows], np.unique(data.y[rows], return_inverse=True)[1]


def makers() -> dict[str, Callable[[], Any]]:
    """The methods by name, imported on use: a job loads one library only."""

    def ours(name: str, **settings: Any) -> Callable[[], Any]:
        def make() -> Any:
            import protolearn

            return getattr(protolearn, name)(**settings)

        return make

    def peer(name: str, **settings: Any) -> Callable[[], Any]:
        def make() -> Any:
            from imblearn import under_sampling

            return getattr(under_sampling, name)(**settings)

        return make

    return {
        "WilsonEditing(3)": ours("WilsonEditing", n_neighbors=3),
        "imblearn ENN": peer("EditedNearestNeighbours", n_neighbors=3, kind_sel="mode", sampling_strategy="all"),
        "HartCondensing()": ours("HartCondensing"),
        "imblearn CNN": peer("CondensedNearestNeighbour", sampling_strategy="all", random_state=0),
        "ChenCondensing(10)": ours("ChenCondensing", n_prototypes=10),
        "MixtGauss(10)": ours("MixtGauss", n_prototypes=10, random_state=0),
    }


JOBS = [
    ("letter", "HartCondensing()", None),
    ("letter", "WilsonEditing(3)", None),
    ("letter", "imblearn ENN", "WilsonEditing(3)"),
    ("letter", "ChenCondensing(10)", None),
    ("letter", "MixtGauss(10)", None),
    ("mnist", "WilsonEditing(3)", None),
    ("letter", "imblearn CNN", "HartCondensing()"),
    ("mnist", "imblearn ENN", "WilsonEditing(3)"),
    ("mnist", "HartCondensing()", None),
]


def run(name: str, method: str) -> dict[str, float]:
    """One job: seconds, kept rows, peak memory."""
    X, y = training_set(name)
    rng = np.random.default_rng(0)
    few = np.sort(rng.choice(len(y), size=min(_WARM_UP_ROWS, len(y)), replace=False))
    # Every class with at least two rows: imbalanced-learn and the mixtures need them.
    few = few[np.isin(y[few], np.flatnonzero(np.bincount(y[few]) > 1))]
    reducer = makers()[method]()
    begin = time.perf_counter()
    reducer.fit_resample(X[few], y[few])
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    peak, (kept, _) = peak_of(lambda: reducer.fit_resample(X, y), X.nbytes)
    seconds = time.perf_counter() - begin
    return {
        "first": first,
        "seconds": seconds,
        "kept": len(kept),
        "rows": len(y),
        "peak": peak / 2**20,
        "data": X.nbytes / 2**20,
    }


def main() -> None:
    """Run all jobs one after the other and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out MNIST")
    parser.add_argument("--docs", type=Path, help="folder of reduction.md, to write the table into it")
    parser.add_argument("--job", nargs=2, metavar=("SET", "METHOD"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(run(*options.job)))
        return
    results: dict[tuple[str, str], dict[str, float]] = {}
    rows = []
    for name, method, rival in JOBS:
        if options.quick and name == "mnist":
            continue
        print(f"{name}: {method} ...", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.reduction", "--job", name, method],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ,
        )
        result = results[name, method] = json.loads(done.stdout)
        ratio = "" if rival is None else f"{result['seconds'] / results[name, rival]['seconds']:.1f} x {rival}"
        limit = 3 * result["data"] + 200
        rows.append(
            (
                name,
                f"{result['rows']:.0f}",
                method,
                f"{result['kept']:.0f}",
                f"{result['seconds']:.2f}",
                ratio,
                f"{result['first']:.2f}",
                f"{result['peak']:.0f}",
                f"{limit:.0f}",
            )
        )
        write(rows, options.docs)


def write(rows: list[tuple], docs: Path | None) -> None:
    """Print the last row, and the table so far into the docs: a run that is cut short leaves what it measured."""
    print(*rows[-1], sep=" | ", flush=True)
    if docs is not None:
        made = f"{provenance('python -m benchmarks.reduction')} imbalanced-learn {version('imbalanced-learn')}."
        write_section(docs / "reduction.md", "speed", f"{made}\n\n{table(HEADER, rows)}")


if __name__ == "__main__":
    main()
