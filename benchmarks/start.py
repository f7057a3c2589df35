"""Start-up: importing the package, the first fit of every estimator, and compiling everything there is."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import protolearn
from benchmarks.case import Case, Request, installed, one_row
from benchmarks.drawing import draw_bars
from benchmarks.measurements import Measurement, Ratio, median, ratio, spread, where
from benchmarks.workers import last_line

IMPORT_SECONDS, COLD_SECONDS, WARM_SECONDS, COMPILE_SECONDS = 0.3, 8.0, 0.5, 60.0

IMPORT = """
import time, sklearn.neighbors, numba
begin = time.perf_counter(); import protolearn; protolearn.LOGM; print(time.perf_counter() - begin)
"""
FIRST_FIT = """
import time, warnings
from sklearn.datasets import load_iris
from protolearn import {name}
warnings.simplefilter("ignore")
X, y = load_iris(return_X_y=True)
begin = time.perf_counter(); {name}().fit(X, y); print(time.perf_counter() - begin)
"""
# Every compiled function by its signature in both number types, then a fit of every estimator in both, for helpers that
# are compiled where they are first called. Numba announces what it compiles; one at a time, so that seconds add up.
EVERYTHING = """
import importlib, pkgutil, sys, warnings, numpy as np, protolearn
from numba.core import event
from sklearn.datasets import load_iris
from protolearn.compiled import Compiled
warnings.simplefilter("ignore")
found, seen = [], set()
for module in pkgutil.walk_packages(protolearn.__path__, "protolearn."):
    if module.name.endswith("__main__"):
        continue
    names = vars(importlib.import_module(module.name))
    for value in list(names.values()):
        inner = list(vars(value).values()) if isinstance(value, type) else []
        for one in [value, *inner]:
            if isinstance(one, Compiled) and id(one) not in seen:
                seen.add(id(one))
                found.append(one)
found = found[:{most}]
X, y = load_iris(return_X_y=True)
with event.install_recorder("numba:compiler_lock") as recorder:
    for one in found:
        for dtype in (np.float32, np.float64):
            one.of(dtype)
    for name in {names}:
        for dtype in (np.float32, np.float64):
            model = getattr(protolearn, name)()
            if "max_iter" in model.get_params():
                model.set_params(max_iter=1)
            model.fit(X.astype(dtype), y)
depth, begun, seconds = 0, 0.0, 0.0
for moment, one in recorder.buffer:
    if one.is_start:
        begun = moment if depth == 0 else begun
        depth += 1
    else:
        depth -= 1
        seconds += moment - begun if depth == 0 else 0.0
print(len(found), seconds)
"""


def _output(code: str, cache: str) -> list[float]:
    """The numbers that a new process prints in its last line."""
    return [float(word) for word in last_line(code, NUMBA_CACHE_DIR=cache).split()]


def _row(part: str, task: str, setting: str, value: float, repeat: int = 0) -> Measurement:
    return one_row(
        part=part, data="iris 150 x 4", task=task, setting=setting, measure="time", unit="s", value=value,
        repeat=repeat, version=installed("protolearn"),
    )  # fmt: skip


def importing(part: str, request: Request) -> list[Measurement]:
    """Beyond scikit-learn and numba, which a user has loaded anyway."""
    with tempfile.TemporaryDirectory() as cache:
        _output(IMPORT, cache)
        return [_row(part, "import", "", _output(IMPORT, cache)[0], repeat) for repeat in range(request.repeats)]


def first_fit(name: str, request: Request) -> list[Measurement]:
    """Of an estimator with its defaults: once with an empty compile cache, then with a full one."""
    code = FIRST_FIT.format(name=name)
    with tempfile.TemporaryDirectory() as cache:
        rows = [_row(name, name, "empty cache", _output(code, cache)[0])]
        return rows + [_row(name, name, "warm", _output(code, cache)[0], repeat) for repeat in range(request.repeats)]


def everything(part: str, request: Request) -> list[Measurement]:
    """Seconds that numba compiles, for all functions in both number types."""
    names = [] if request.quick else list(protolearn.__all__)
    with tempfile.TemporaryDirectory() as cache:
        code = EVERYTHING.replace("{names}", repr(names)).replace("{most}", "3" if request.quick else "None")
        n, seconds = _output(code, cache)
    return [_row(part, f"compile {n:.0f} functions, float32 and float64", "empty cache", seconds)]


def _against(rows: Sequence[Measurement], limit: float, what: str) -> Ratio | None:
    budget = [one_row(measure="", unit="s", value=limit, repeat=row.repeat) for row in rows]
    return ratio(rows, budget, what, f"{limit:g} s", most=1.0, note=f"{median(rows):.2f} s")


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """Share of the time that is allowed: import, all compiling, and the slowest estimator cold and warm."""
    found = [_against(where(rows, part="import"), IMPORT_SECONDS, "import beyond sklearn.neighbors and numba")]
    found.append(_against(where(rows, part="compile"), COMPILE_SECONDS, "compile every function, empty cache"))
    for setting, limit in (("empty cache", COLD_SECONDS), ("warm", WARM_SECONDS)):
        fits = [row for row in where(rows, setting=setting) if row.part in protolearn.__all__]
        if fits:
            slowest = max(dict.fromkeys(row.task for row in fits), key=lambda name: median(where(fits, task=name)))
            what = f"slowest first fit, {setting}: {slowest}"
            found.append(_against(where(fits, task=slowest), limit, what))
    return [one for one in found if one is not None]


def _fits(rows: Sequence[Measurement]) -> dict[str, tuple[float, list[Measurement]]]:
    names = [name for name in protolearn.__all__ if where(rows, part=name)]
    return {
        name: (median(where(rows, part=name, setting="empty cache")), where(rows, part=name, setting="warm"))
        for name in names
    }


def tables(rows: Sequence[Measurement]) -> list[tuple[str, Sequence[str], list[tuple]]]:
    """Every estimator."""
    body = [(name, f"{cold:.2f}", spread(warm)) for name, (cold, warm) in _fits(rows).items()]
    return [
        (
            "First fit on iris in a new process, defaults, without imports",
            ("estimator", "empty cache, s", "warm, s"),
            body,
        )
    ]


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """A pair of bars for each estimator."""
    fits = _fits(rows)
    series = {
        "empty cache": [cold for cold, _ in fits.values()],
        "warm": [median(warm) for _, warm in fits.values()],
    }
    limits = {
        f"wanted, empty cache: {COLD_SECONDS:g} s": COLD_SECONDS,
        f"wanted, warm: {WARM_SECONDS:g} s": WARM_SECONDS,
    }
    draw_bars(list(fits), series, path, "seconds of the first fit, iris", limits, logarithmic=True)


CASE = Case(
    name="start",
    line="start-up: import, the first fit of every estimator with an empty and a warm compile cache, all compiling",
    duration="8 minutes",
    parts={
        "import": partial(importing, "import"),
        "compile": partial(everything, "compile"),
        **{name: partial(first_fit, name) for name in protolearn.__all__},
    },
    ratios=ratios,
    tables=tables,
    draw=draw,
    text="""
    Each figure from a process of its own. A cold start is the first use on a machine, when nothing has been
    compiled; a warm one is every later process. The ratio is the share of the time that is allowed.
    """,
)
