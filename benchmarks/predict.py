"""Prediction: many rows beside faiss, scikit-learn and the peers, and one row at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Case, Line, Request, installed, one_row
from benchmarks.environments import CannotBeMade
from benchmarks.measurements import Measurement, Ratio, median, number, ratio, spread, where
from benchmarks.peers import Rival, interpreter
from benchmarks.workers import NoAnswer, so_many, workers

ROWS, FEATURES, PROTOTYPES = 1_000_000, 64, 100
# The peers are slow: a number of rows that takes them seconds.
PEER_ROWS = 20_000
SINGLE_CALLS = 2000

REFERENCES = [
    Rival("protolearn", "NearestPrototype", "NearestPrototype, float32", package="protolearn"),
    Rival("faiss", "IndexFlatL2", "IndexFlatL2, float32", package="faiss-cpu"),
    Rival("scikit-learn", "argmin", "pairwise_distances_argmin, float32", package="scikit-learn"),
    Rival("protolearn", "GMLVQ", "GMLVQ, float32", package="protolearn"),
    Rival("protolearn", "projected", "projection by hand, then NearestPrototype, float32", package="protolearn"),
]
PEERS = [
    Rival("protolearn", "NearestPrototype", "NearestPrototype", package="protolearn"),
    Rival("protolearn", "GMLVQ", "GMLVQ", package="protolearn"),
    Rival("sklvq", "GLVQ", "GLVQ", "sklearn-1.5", "sklvq", {"solver": "sgd", "step": 0.1}),
    Rival("sklvq", "GMLVQ", "GMLVQ", "sklearn-1.5", "sklvq", {"solver": "sgd", "step": [0.1, 0.01]}),
    Rival("sklearn-lvq", "GlvqModel", "GLVQ", "sklearn-1.5", "sklearn-lvq"),
    Rival("sklearn-lvq", "GmlvqModel", "GMLVQ", "sklearn-1.5", "sklearn-lvq"),
    Rival("prototorch", "GLVQ", "GLVQ", "prototorch", "prototorch-models", {"dtype": "float32"}),
    Rival("prototorch", "GMLVQ", "GMLVQ", "prototorch", "prototorch-models", {"dtype": "float32"}),
]


def stored(folder: Path, rows: int, dtype: str) -> Path:
    """Random rows and prototypes; the answers by float64 are the labels of the test rows."""
    path = folder / f"predict-{rows}-{dtype}.npz"
    if not path.exists():
        rng = np.random.default_rng(0)
        W = rng.standard_normal((PROTOTYPES, FEATURES), dtype=np.float32)
        X = rng.standard_normal((rows, FEATURES), dtype=np.float32)
        W, X = W.astype(dtype), X.astype(dtype)
        L = np.repeat(np.arange(10), PROTOTYPES // 10)
        exact = W.astype(np.float64)
        blocks = np.array_split(X, max(1, rows // 5000))
        nearest = np.concatenate([((exact**2).sum(axis=1) - 2 * block @ exact.T).argmin(axis=1) for block in blocks])
        few = slice(0, min(rows, 1000))
        # Training rows only because a fit wants some: ten a class, each beside its prototype.
        np.savez(path, X=X[few], y=np.arange(len(X[few])) % 10, X_test=X, y_test=L[nearest], W=W, L=L)
    return path


def many(part: str, request: Request) -> list[Measurement]:
    """A million rows by one and by two threads."""
    rows = 20_000 if request.quick else ROWS
    path = stored(request.folder, rows, "float32")
    threads = int(part.partition("-")[2])
    return _in_turn(part, request, REFERENCES, path, rows, threads, "float32", warm_up=2)


def beside_peers(part: str, request: Request) -> list[Measurement]:
    """Fewer rows, in float64, by the peers too."""
    rows = 500 if request.quick else PEER_ROWS
    path = stored(request.folder, rows, "float64")
    return _in_turn(part, request, PEERS, path, rows, request.threads, "float64", warm_up=1)


def _in_turn(
    part: str,
    request: Request,
    rivals: Sequence[Rival],
    path: Path,
    rows: int,
    threads: int,
    dtype: str,
    warm_up: int,
) -> list[Measurement]:
    jobs, taken = [], []
    for rival in rivals:
        if rival.environment is not None and request.peers is None:
            continue
        try:
            python = interpreter(rival, request)
        except CannotBeMade as error:
            request.tell(f"  {rival.library}: {error}")
            continue
        if rival.library == "faiss" and not installed("faiss-cpu"):
            request.tell("  faiss is not installed; pip install protolearn[bench] brings it")
            continue
        taken.append(rival)
        jobs.append(
            ({"library": rival.library, "model": rival.model, "data": str(path), "dtype": dtype, **rival.job}, python)
        )
    found = []
    with workers(jobs, threads) as started:
        running = list(zip(taken, started, strict=True))
        for repeat in range(-warm_up, request.repeats):
            for rival, worker in list(running):
                try:
                    answer = worker.ask(4 * request.seconds, do="predict")
                except NoAnswer as error:
                    request.tell(f"  {error}")
                    running.remove((rival, worker))
                    continue
                if repeat < 0:
                    continue
                version = installed(rival.package)
                if rival.environment is not None and request.peers is not None:
                    version = request.peers.version(rival.environment, rival.package)
                what = {
                    "part": part,
                    "data": f"{rows} x {FEATURES}, {PROTOTYPES} prototypes",
                    "task": rival.setting,
                    "library": rival.library,
                    "setting": so_many(threads),
                    "repeat": repeat,
                    "version": version,
                }
                found.append(one_row(**what, measure="speed", unit="rows/s", value=answer["rows"] / answer["seconds"]))
                found.append(one_row(**what, measure="same as float64 argmin", unit="", value=answer["same"]))
    return found


def single(part: str, request: Request) -> list[Measurement]:
    """One row at a time: the function of one row and predict, in turn."""
    from protolearn import GMLVQ, NearestPrototype

    rng = np.random.default_rng(0)
    W, L = rng.normal(size=(PROTOTYPES, FEATURES)), np.repeat(np.arange(10), PROTOTYPES // 10)
    calls = 50 if request.quick else SINGLE_CALLS
    X = rng.normal(size=(calls, FEATURES))
    found = []
    for model in (NearestPrototype(init=(W, L)).fit(W, L), GMLVQ(10, init=(W, L), max_iter=1).fit(W, L)):
        name = type(model).__name__
        ways: dict[str, Any] = {
            f"{name}.row_classifier()": model.row_classifier(),
            f"{name}.predict": lambda row, model=model: model.predict(row[None]),
        }
        for repeat in range(-1, request.repeats):
            for way, call in ways.items():
                begin = time.perf_counter()
                for row in X:
                    call(row)
                each = 1e6 * (time.perf_counter() - begin) / calls
                if repeat >= 0:
                    found.append(
                        one_row(
                            part=part, data=f"1 x {FEATURES}, {PROTOTYPES} prototypes", task=way, setting="float64",
                            measure="time", unit="us", value=each, repeat=repeat, version=installed("protolearn"),
                        )
                    )  # fmt: skip
    return found


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """Ours against faiss and scikit-learn, the matrix metric against none, and single rows against 20 us."""
    found: list[Ratio | None] = []
    for part in ("threads-1", "threads-2"):
        here = where(rows, part=part, measure="speed")
        if not here:
            continue

        def speed(task: str, here: list[Measurement] = here) -> list[Measurement]:
            return where(here, task=task)

        size = f"{here[0].data}, {here[0].setting}"
        ours = speed(REFERENCES[0].setting)
        found.append(ratio(ours, speed(REFERENCES[1].setting), f"predict, {size}", "faiss IndexFlatL2", least=1.0))
        other = "scikit-learn pairwise_distances_argmin"
        found.append(ratio(ours, speed(REFERENCES[2].setting), f"predict, {size}", other, least=2.0))
        matrix, projected = speed(REFERENCES[3].setting), speed(REFERENCES[4].setting)
        note = "time: times as long"
        found.append(ratio(ours, matrix, f"GMLVQ, {size}", "NearestPrototype", most=1.3, note=note))
        found.append(ratio(projected, matrix, f"GMLVQ, {size}", REFERENCES[4].setting, most=1.3, note=note))
    here = where(rows, part="peers", measure="speed")
    for kind in ("GLVQ", "GMLVQ"):
        ours = where(here, library="protolearn", task="GMLVQ" if kind == "GMLVQ" else "NearestPrototype")
        for library in dict.fromkeys(row.library for row in here if row.library != "protolearn"):
            what = f"{kind} predict, {here[0].data}"
            found.append(ratio(ours, where(here, library=library, task=kind), what, f"{library} {kind}"))
    for task in dict.fromkeys(row.task for row in where(rows, part="single")):
        calls = where(rows, part="single", task=task)
        budget = [one_row(**{"measure": "time", "unit": "us", "value": 20.0, "repeat": row.repeat}) for row in calls]
        most = 1.0 if "row_classifier" in task else None
        note = f"{number(median(calls))} us a row"
        found.append(ratio(calls, budget, f"{task}, time of one row", "20 us", most=most, note=note))
    return [one for one in found if one is not None]


def lines(rows: Sequence[Measurement]) -> list[Line]:
    """Many rows beside faiss for docs/speed.md."""
    found = []
    for one in ratios(rows):
        if one.against == "faiss IndexFlatL2":
            data, _, threads = one.what.removeprefix("predict, ").rpartition(", ")
            speeds = one.over / 1e6, one.under / 1e6
            found.append(Line(f"predict, {threads}", data, "M rows/s", *speeds, one.against, one))
    return found


HEADER = ("data", "library", "what", "threads", "thousand rows a second", "same answers")


def tables(rows: Sequence[Measurement]) -> list[tuple[str, Sequence[str], list[tuple]]]:
    """Rows a second."""
    body = []
    for part in ("threads-1", "threads-2", "peers"):
        for task, library in dict.fromkeys((row.task, row.library) for row in where(rows, part=part)):
            here = where(rows, part=part, task=task, library=library)
            speeds = [one_row(measure="", unit="", value=row.value / 1e3) for row in where(here, measure="speed")]
            # Trained models and other metrics answer otherwise, rightly.
            same = median(where(here, measure="same as float64 argmin"))
            exact = "GMLVQ" not in task and "by hand" not in task and library != "prototorch"
            body.append(
                (
                    here[0].data,
                    f"{library} {here[0].version}".strip(),
                    task,
                    here[0].setting,
                    spread(speeds),
                    f"{same:.4%}" if exact else "",
                )
            )
    one_by_one = where(rows, part="single")
    single_rows = [
        (one_by_one[0].data, task, spread(where(one_by_one, task=task)))
        for task in dict.fromkeys(row.task for row in one_by_one)
    ]
    return [
        ("Rows a second", HEADER, body),
        ("One row at a time", ("data", "call", "microseconds a row"), single_rows),
    ]


CASE = Case(
    name="predict",
    line="prediction: a million rows beside faiss and scikit-learn, the peers' rows a second, one row at a time",
    duration="2 minutes; 5 with --peers",
    parts={
        "threads-1": partial(many, "threads-1"),
        "threads-2": partial(many, "threads-2"),
        "peers": partial(beside_peers, "peers"),
        "single": partial(single, "single"),
    },
    ratios=ratios,
    tables=tables,
    lines=lines,
    text="""
    Each library in a process of its own, held to the same number of threads and asked in turn; ours with all of
    scikit-learn's checks of the input. GMLVQ against the same kernel without a matrix, and against the projection
    of the rows by hand followed by it. `row_classifier()` returns a function of one row.
    """,
    packages=("faiss-cpu",),
)
