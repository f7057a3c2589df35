"""The same training in every library: one start, the same prototypes and epochs, whole fits in turn."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.case import Line, Request, installed
from benchmarks.environments import CannotBeMade
from benchmarks.measurements import Measurement, Ratio, median, ratio, spread, where
from benchmarks.problems import PROBLEMS, store
from benchmarks.workers import NoAnswer, Worker, so_many

EPOCHS, PER_CLASS = 30, 5
# Where EPOCHS would take too long, the time of fewer is scaled: as many as take so long.
_SCALED_SECONDS = 6.0
# What takes so many times as long as the fastest of its side is repeated for so many seconds, not five times: a peer
# that can only lose for fewer, ours for more, because the fastest that is as accurate counts.
_NO_CONTENDER, _ITS_SECONDS, _OUR_SECONDS = 2.0, 6.0, 30.0
# A measurement is the mean of as many fits as take so long. A core that has rested runs a tenth slower for the first
# half second (ours of GMLVQ on usps: 1.36 and 1.28 us, then 1.22), which a peer's fit of seconds does not notice. Of
# online fits, which draw at random, more: on made32 the accuracy of LVQ3 differs by 0.002 from draw to draw.
_TOGETHER_SECONDS, _OF_RANDOM_FITS = 1.0, 1.5
# Imports and data, on a machine that may be busy.
_LOADING_SECONDS = 180.0
# Epochs after which everything that a fit needs has been compiled: L-BFGS remembers nothing in its first.
_FIRST_EPOCHS = 3
# Test accuracies that differ by less count as equal: means over seeds differ by 0.002 from run to run.
_AS_ACCURATE = 0.0025


@dataclass(frozen=True)
class Rival:
    """A library's way to train a method.

    environment : where the library is; None is ours
    rows : training rows where all would take too long; time is linear in them
    by_sample : goes from sample to sample, which a second thread cannot help
    """

    library: str
    model: str
    setting: str
    environment: str | None = None
    package: str = ""
    job: dict[str, Any] = field(default_factory=dict)
    rows: int | None = None
    by_sample: bool = False


# Settings of ours that a reader has to know.
_SAID = {"slope": "slope {:g}", "scope": "a matrix a {}", "n_components": "{} components"}


def _ours(model: str, *solvers: str, **settings: Any) -> list[Rival]:
    """Ours by each solver, in both number types."""
    named = "".join(f", {_SAID[name].format(value)}" for name, value in settings.items() if name in _SAID)
    return [
        Rival(
            "protolearn",
            model,
            f"{solver}{named}, {dtype}",
            package="protolearn",
            job={"settings": settings if solver == "online" else {**settings, "solver": solver}, "dtype": dtype},
            by_sample=solver == "online",
        )
        for solver in solvers
        for dtype in ("float64", "float32")
    ]


def _sklvq(model: str, step: Any, said: str = "", **settings: Any) -> list[Rival]:
    by_solver = {
        f"sgd, batches of 128{said}, float64": {"solver": "sgd", "step": step, "settings": settings},
        f"L-BFGS{said}, float64": {"solver": "limited-memory-bfgs", "settings": settings},
    }
    return [Rival("sklvq", model, setting, "sklearn-1.5", "sklvq", job) for setting, job in by_solver.items()]


def _sklearn_lvq(model: str, said: str = "", **more: Any) -> Rival:
    return Rival("sklearn-lvq", model, f"L-BFGS{said}, float64", "sklearn-1.5", "sklearn-lvq", **more)


def _prototorch(model: str, said: str = "", **settings: Any) -> Rival:
    job = {"settings": settings, "dtype": "float32"}
    return Rival("prototorch", model, f"Adam, batches of 128{said}, float32", "prototorch", "prototorch-models", job)


def _r(model: str, **settings: float) -> Rival:
    return Rival("R class", model, "online, float64", job={"settings": settings}, by_sample=True)


# What is wanted over the fastest peer; then ours and the peers.
METHODS: dict[str, tuple[float | None, list[Rival]]] = {
    "GLVQ": (
        10.0,
        [
            *_ours("GLVQ", "online", "lbfgs"),
            *_sklvq("GLVQ", 0.1),
            _sklearn_lvq("GlvqModel"),
            _prototorch("GLVQ"),
        ],
    ),
    "GMLVQ": (
        15.0,
        [
            *_ours("GMLVQ", "online", "adam", "lbfgs"),
            *_sklvq("GMLVQ", [0.1, 0.01]),
            _sklearn_lvq("GmlvqModel"),
            _prototorch("GMLVQ"),
        ],
    ),
    "LGMLVQ": (
        15.0,
        [
            *_ours("LGMLVQ", "online", "adam", "lbfgs", scope="prototype"),
            # The slope that sklvq is given: with 50 matrices the default of 10 fits the training set too closely.
            *_ours("LGMLVQ", "lbfgs", scope="prototype", slope=2.0),
            # One matrix a class is our default; prototorch has none.
            *_ours("LGMLVQ", "lbfgs", scope="class"),
            *_sklvq("LGMLVQ", [0.1, 0.01]),
            *_sklvq("LGMLVQ", [0.1, 0.01], ", a matrix a class", relevance_localization="class"),
            _sklearn_lvq("LgmlvqModel"),
            _sklearn_lvq("LgmlvqModel", ", a matrix a class", job={"settings": {"classwise": True}}),
            _prototorch("LGMLVQ"),
        ],
    ),
    # Maps to 16 numbers. The fastest of the peers has them too.
    "GMLVQ16": (
        None,
        [
            *_ours("GMLVQ", "online", "lbfgs", n_components=16),
            _prototorch("GMLVQ", ", 16 components", latent_dim=16),
        ],
    ),
    "LGMLVQ16": (
        None,
        [
            *_ours("LGMLVQ", "lbfgs", scope="class", n_components=16),
            *_ours("LGMLVQ", "lbfgs", scope="prototype", slope=2.0, n_components=16),
            _prototorch("LGMLVQ", ", 16 components", latent_dim=16),
        ],
    ),
    "RSLVQ": (
        20.0,
        [
            *_ours("RSLVQ", "online", "adam", "lbfgs"),
            # 31 ms an epoch and sample in a loop of Python: a minute for 60 rows and 30 epochs.
            _sklearn_lvq("RslvqModel", job={"settings": {"sigma": 1.0}}, rows=150),
            # Its default variance of 1 underflows on 64 standardised features.
            _prototorch("RSLVQ", variance=10.0),
        ],
    ),
    "LVQ1": (4.0, [*_ours("LVQ1", "online"), _r("lvq1", alpha=0.05)]),
    "LVQ3": (
        4.0,
        [
            *_ours("LVQ3", "online", learning_rate=0.02, epsilon=0.1),
            _r("lvq3", alpha=0.02, win=0.3, epsilon=0.1),
        ],
    ),
}
NAMES = [f"{method}-{problem}" for method in METHODS for problem in PROBLEMS]


def interpreter(rival: Rival, request: Request) -> Path | str:
    """The Python that has the library."""
    if rival.environment is None:
        return sys.executable
    assert request.peers is not None
    return request.peers.python(rival.environment)


@dataclass(frozen=True)
class Entry:
    """A rival that runs: on how many threads, with how many rows, for how many epochs, how often.

    each : roughly the seconds of an epoch
    """

    rival: Rival
    worker: Worker
    threads: int
    rows: int
    epochs: int
    each: float
    repeats: int = 1


def compare(part: str, request: Request) -> list[Measurement]:
    """One method on one data set: ours and every peer in turn, those that may win on several threads too."""
    method, _, problem = part.partition("-")
    data, n, path = store(problem, request.folder, PER_CLASS, request.quick)
    epochs = 3 if request.quick else EPOCHS
    found: list[Measurement] = []

    def row(
        rival: Rival, threads: int, measure: str, unit: str, value: float, repeat: int, version: str, note: str
    ) -> Measurement:
        setting = f"{rival.setting}, {so_many(threads)}"
        return Measurement(part, data, method, rival.library, setting, measure, unit, value, repeat, version, note)

    def failed(rival: Rival, threads: int, error: Exception) -> None:
        request.tell(f"  {rival.library}: {error}")
        found.append(row(rival, threads, "no result", "", 0.0, 0, _version(rival, request), str(error)))

    with ExitStack() as running:

        def started(rival: Rival, threads: int, rows: int | None) -> Worker:
            job = {"library": rival.library, "model": rival.model, "data": str(path), "rows": rows, **rival.job}
            worker = Worker(job, interpreter(rival, request), threads)
            running.callback(worker.close)
            return worker

        entries = []
        for rival in METHODS[method][1]:
            if rival.environment is not None and request.peers is None:
                continue
            rows = rival.rows if rival.rows and rival.rows < n else None
            try:
                worker = started(rival, request.threads, rows)
                plan = _plan(rival, worker, request, epochs)
                entries.append(Entry(rival, worker, request.threads, rows or n, *plan))
            except (CannotBeMade, NoAnswer) as error:
                failed(rival, request.threads, error)
        entries = _with_repeats(entries, request.repeats)
        for entry in [entry for entry in entries if _gains_from_threads(entry, request)]:
            rows = entry.rows if entry.rows < n else None
            threads = os.cpu_count() or 1
            try:
                worker = started(entry.rival, threads, rows)
                worker.ask(_LOADING_SECONDS, do="load")
                worker.ask(_LOADING_SECONDS, do="fit", epochs=_FIRST_EPOCHS)
                entries.append(replace(entry, worker=worker, threads=threads))
            except NoAnswer as error:
                failed(entry.rival, threads, error)
        for repeat in range(request.repeats):
            for entry in list(entries):
                if repeat >= entry.repeats:
                    continue
                together = _OF_RANDOM_FITS if entry.rival.by_sample else _TOGETHER_SECONDS
                together = 0.0 if request.quick else together
                try:
                    answer = entry.worker.ask(10 * request.seconds, do="fit", epochs=entry.epochs, seconds=together)
                except NoAnswer as error:
                    failed(entry.rival, entry.threads, error)
                    entries.remove(entry)
                    continue
                note = [f"{answer['epochs']} of {epochs} epochs"] if answer["epochs"] < epochs else []
                note += [f"{entry.rows} of {n} rows"] if entry.rows < n else []
                values = {
                    ("fit", "s"): answer["seconds"],
                    ("epochs", ""): answer["epochs"],
                    ("per epoch and sample", "us"): 1e6 * answer["seconds"] / answer["epochs"] / entry.rows,
                    ("test accuracy", ""): answer["accuracy"],
                }
                version = answer.get("version") or _version(entry.rival, request)
                found += [
                    row(entry.rival, entry.threads, *name, value, repeat, version, ", ".join(note))
                    for name, value in values.items()
                ]
    return found


def _with_repeats(entries: Sequence[Entry], repeats: int) -> list[Entry]:
    """How often each is measured: those of ours and of the peers that may be the fastest as often as asked for."""

    def so_often(entry: Entry) -> int:
        ours = entry.rival.library == "protolearn"
        side = [other.each / other.rows for other in entries if (other.rival.library == "protolearn") == ours]
        if entry.each / entry.rows <= _NO_CONTENDER * min(side):
            return repeats
        seconds = _OUR_SECONDS if ours else _ITS_SECONDS
        return max(1, min(repeats, int(seconds / (entry.each * entry.epochs))))

    return [replace(entry, repeats=so_often(entry)) for entry in entries]


def _gains_from_threads(entry: Entry, request: Request) -> bool:
    """Whether it is also measured on all cores: what works in batches and may be the fastest."""
    return (
        request.all_cores
        and not entry.rival.by_sample
        and entry.repeats == request.repeats
        and entry.threads < (os.cpu_count() or 1)
    )


def _version(rival: Rival, request: Request) -> str:
    if rival.environment is None:
        return installed(rival.package)
    return request.peers.version(rival.environment, rival.package) if request.peers is not None else ""


def _plan(rival: Rival, worker: Worker, request: Request, epochs: int) -> tuple[int, float]:
    """How many epochs a fit is given and how long each takes; our first fit compiles what it needs."""
    worker.ask(_LOADING_SECONDS, do="load")
    compiles = rival.library == "protolearn"
    most = 2 * request.seconds
    first = {"timeout": _LOADING_SECONDS, "epochs": _FIRST_EPOCHS} if compiles else {"timeout": most, "epochs": 1}
    each = worker.ask(do="fit", **first)["seconds"]
    if compiles or each < request.seconds / 6:
        each = one = worker.ask(most, do="fit", epochs=1)["seconds"]
        if one * epochs > request.seconds:
            # Without what a fit costs before its first epoch.
            each = max((worker.ask(most, do="fit", epochs=3)["seconds"] - one) / 2, one / 10)
    if each * epochs > request.seconds:
        epochs = max(1, min(epochs, int(_SCALED_SECONDS / each)))
    return epochs, each


def _of(rows: Sequence[Measurement], library: str, setting: str, measure: str) -> list[Measurement]:
    return where(rows, library=library, setting=setting, measure=measure)


def _sources(rows: Sequence[Measurement]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row.library, row.setting) for row in rows))


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """Ours against a peer for each method and data set, by the time of an epoch and sample.

    Against each peer counts the fastest of ours that is as accurate, or where none is our most accurate one; then the
    peer against which the least is gained. So a fast peer counts, and also one that is slower and more accurate.
    """
    found = []
    for part in NAMES:
        here = where(rows, part=part)
        sources = [source for source in _sources(here) if _of(here, *source, "fit")]
        ours = [source for source in sources if source[0] == "protolearn"]
        theirs = [source for source in sources if source[0] != "protolearn"]
        if not ours or not theirs:
            continue
        each = {source: median(_of(here, *source, "per epoch and sample")) for source in sources}
        right = {source: median(_of(here, *source, "test accuracy")) for source in sources}

        def chosen(peer: tuple[str, str], among: list, each: dict = each, right: dict = right) -> tuple[str, str]:
            as_good = [source for source in among if right[source] >= right[peer] - _AS_ACCURATE]
            return min(as_good, key=each.__getitem__) if as_good else max(among, key=right.__getitem__)

        against = min(theirs, key=lambda peer: each[peer] / each[chosen(peer, ours)])
        mine = chosen(against, ours)
        shorter = _of(here, *against, "fit")[0].note
        accuracy = f"{right[mine]:.3f} against {right[against]:.3f}"
        note = f"test accuracy {accuracy}" + (f" ({shorter})" if shorter else "")
        alike = [source for source in ours if ("float32" in source[1]) == ("float32" in against[1])]
        if alike and mine not in alike:
            other = chosen(against, alike)
            note += f"; {each[against] / each[other]:.3g} in its number type ({other[1]})"
        one = ratio(
            _of(here, *against, "per epoch and sample"),
            _of(here, *mine, "per epoch and sample"),
            f"{here[0].task}, {here[0].data}, {mine[1]}",
            f"{against[0]}, {against[1]}",
            least=METHODS[here[0].task][0],
            accuracy=accuracy,
            note=note,
            holds=right[mine] >= right[against] - _AS_ACCURATE,
        )
        if one is not None:
            found.append(one)
    return found


def lines(rows: Sequence[Measurement]) -> list[Line]:
    """The same as lines of docs/speed.md."""
    found = []
    for one in ratios(rows):
        task, data, setting = one.what.split(", ", 2)
        other, way = one.against.split(", ", 1)
        found.append(Line(task, data, "µs", one.under, one.over, other, one, setting, way))
    return found


HEADER = (
    "method",
    "data",
    "library",
    "setting",
    "us an epoch and sample",
    "fit, s",
    "test accuracy",
    "repeats",
    "note",
)


def table_rows(rows: Sequence[Measurement]) -> list[tuple]:
    """One row for each way to train each method on each data set."""
    found = []
    for part in NAMES:
        here = where(rows, part=part)
        for source in _sources(here):
            fits = _of(here, *source, "fit")
            if not fits:
                failed = _of(here, *source, "no result")[0]
                library = f"{source[0]} {failed.version}".strip()
                found.append((here[0].task, here[0].data, library, source[1], "", "", "", 0, failed.note))
                continue
            library = f"{source[0]} {fits[0].version}".strip()
            each = spread(_of(here, *source, "per epoch and sample"))
            accuracy = f"{median(_of(here, *source, 'test accuracy')):.4f}"
            first = (here[0].task, here[0].data, library, source[1], each)
            found.append((*first, f"{median(fits):.3g}", accuracy, len(fits), fits[0].note))
    return found
