"""Reducers beside imbalanced-learn's: seconds and peak memory. On request the tables of docs/reduction.md.

Each job runs in a process of its own; it is first run on a few rows, so that compiling is not counted (its time is in
the column "first call"). The peak is what the call holds at most, with the data, beyond imports and compiled code.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Case, Line, Request, installed, one_row
from benchmarks.measurements import Measurement, Ratio, median, number, ratio, spread, where
from benchmarks.peak import peak_of
from benchmarks.workers import last_line, so_many

_WARM_UP_ROWS = 400
# Ours and the reference, in turn; a reducer without a reference stands alone.
PAIRS = {
    "letter": [
        ("WilsonEditing(3)", "imblearn ENN"),
        ("HartCondensing()", "imblearn CNN"),
        ("ChenCondensing(10)", None),
        ("MixtGauss(10)", None),
    ],
    "mnist": [("WilsonEditing(3)", "imblearn ENN"), ("HartCondensing()", None)],
}
TIMES_AS_FAST = {("letter", "HartCondensing()"): 20.0, ("mnist", "WilsonEditing(3)"): 1.0}


def training_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Training rows in float32 and labels as whole numbers."""
    from reproduction.datasets import load

    if name == "iris":
        from sklearn.datasets import load_iris

        X, y = load_iris(return_X_y=True)
        return X.astype(np.float32), y
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
        "time": seconds,
        "first call": first,
        "kept": len(kept),
        "rows": len(y),
        "peak": peak / 2**20,
        "data": X.nbytes / 2**20,
    }


UNITS = {"time": "s", "first call": "s", "peak": "MB", "data": "MB"}
_JOB = "import json, sys; from benchmarks.reduction import run; print(json.dumps(run(*sys.argv[1:])))"


def measure(part: str, request: Request) -> list[Measurement]:
    """Each pair in turn, each job in a process of its own."""
    name = "iris" if request.quick else part
    found = []
    for pair in PAIRS[part][:1] if request.quick else PAIRS[part]:
        for repeat in range(request.repeats):
            for method in filter(None, pair):
                result = json.loads(last_line(_JOB, name, method, threads=request.threads))
                library = "imbalanced-learn" if method.startswith("imblearn") else "protolearn"
                for measured, value in result.items():
                    found.append(
                        one_row(
                            part=part, data=f"{name} {result['rows']} rows", task=method, library=library,
                            setting=f"float32, {so_many(request.threads)}", measure=measured,
                            unit=UNITS.get(measured, ""), value=float(value), repeat=repeat, version=installed(library),
                        )
                    )  # fmt: skip
    return found


def compared(part: str, request: Request) -> list[Measurement]:
    """The tables of docs/reduction.md: how accurate each choice is, and what imbalanced-learn keeps."""
    from benchmarks.reduction_compared import write_tables

    write_tables(Path("docs"), quick=request.quick)
    return []


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """Time of the reference to ours, and our peak to what is allowed."""
    found: list[Ratio | None] = []
    for part, pairs in PAIRS.items():
        here = where(rows, part=part)
        for ours, reference in pairs:
            mine = where(here, task=ours)
            if not mine:
                continue
            title = f"{ours}, {mine[0].data}"
            theirs = where(here, task=reference, measure="time")
            wanted = {"least": TIMES_AS_FAST[part, ours]} if (part, ours) in TIMES_AS_FAST else {}
            found.append(ratio(theirs, where(mine, measure="time"), title, f"{reference}, time", **wanted))
            allowed = [
                one_row(measure="", unit="MB", value=3 * row.value + 200, repeat=row.repeat)
                for row in where(mine, measure="data")
            ]
            peak = where(mine, measure="peak")
            found.append(ratio(peak, allowed, f"{title}, peak", "3 X + 200 MB", most=1.0))
    return [one for one in found if one is not None]


def lines(rows: Sequence[Measurement]) -> list[Line]:
    """Times for docs/speed.md."""
    found = []
    for one in ratios(rows):
        if one.against.endswith(", time"):
            task, data = one.what.split(", ", 1)
            found.append(Line(task, data, "s", one.under, one.over, one.against.removesuffix(", time"), one))
    return found


HEADER = ("set", "method", "kept", "seconds", "first call", "peak MB")


def tables(rows: Sequence[Measurement]) -> list[tuple[str, Sequence[str], list[tuple]]]:
    """Every job."""
    body = []
    for source in dict.fromkeys((row.part, row.data, row.task) for row in rows):
        here = where(rows, part=source[0], task=source[2])
        of = {name: where(here, measure=name) for name in ("kept", "time", "first call", "peak")}
        body.append(
            (
                source[1],
                source[2],
                f"{median(of['kept']):.0f}",
                spread(of["time"]),
                number(median(of["first call"])),
                f"{median(of['peak']):.0f}",
            )
        )
    return [("Every job", HEADER, body)]


CASE = Case(
    name="reduction",
    line="reducers beside imbalanced-learn's on letter and MNIST (on request the tables of docs/reduction.md)",
    duration="12 minutes, 3 of them without MNIST; needs PROTOLEARN_DATA",
    parts={**{name: partial(measure, name) for name in PAIRS}, "compared": partial(compared, "compared")},
    on_request=("compared",),
    ratios=ratios,
    tables=tables,
    lines=lines,
    text="""
    Both in turn, each in a process of its own, after a first call on a few rows that compiles. The peak holds the
    data and leaves out imports and compiled code. imbalanced-learn's CNN is another rule than Hart's
    ([reduction](../reduction.md)) and keeps other rows.
    """,
    packages=("imbalanced-learn",),
)
