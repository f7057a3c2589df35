"""Start-up: importing the package, the first fit of every estimator, and compiling everything there is."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import protolearn
from benchmarks.case import Case, Request, installed, one_row
from benchmarks.drawing import draw_bars
from benchmarks.measurements import Measurement, Ratio, median, ratio, spread, where
from benchmarks.workers import environment, last_line

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
def fit():
    begin = time.perf_counter(); {name}().fit(X, y); return time.perf_counter() - begin
print(fit(), fit())
"""
# Numba announces what it compiles; in one process one at a time, so that seconds add up.
EVERYTHING = """
from numba.core import event
from protolearn.compiling import compile_everything, every_compiled
functions = every_compiled(){some}
with event.install_recorder("numba:compiler_lock") as recorder:
    compile_everything(1, functions=functions, estimators={estimators})
depth, begun, seconds = 0, 0.0, 0.0
for moment, one in recorder.buffer:
    if one.is_start:
        begun = moment if depth == 0 else begun
        depth += 1
    else:
        depth -= 1
        seconds += moment - begun if depth == 0 else 0.0
print(len(functions), seconds)
"""
# A few functions in place of the command, where it has to be quick.
PART_OF_THE_COMMAND = """
from protolearn.compiling import compile_everything, every_compiled
compile_everything(2, functions=every_compiled(){some}, estimators={estimators})
"""

# Each takes seconds to a minute.
_COLD_REPEATS = 3
# The settings of the rows.
COLD, WARM, LATER, BY_COMMAND = "empty cache", "warm", "a later fit", "two processes, empty cache"


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
    """Of an estimator with its defaults: with an empty compile cache, then with a full one, and a later fit."""
    code = FIRST_FIT.format(name=name)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(min(request.repeats, _COLD_REPEATS)):
            cache = f"{folder}/{repeat}"
            rows.append(_row(name, name, COLD, _output(code, cache)[0], repeat))
        for repeat in range(request.repeats):
            first, later = _output(code, cache)
            rows += [_row(name, name, WARM, first, repeat), _row(name, name, LATER, later, repeat)]
    return rows


def everything(part: str, request: Request) -> list[Measurement]:
    """All functions in both number types: seconds that numba compiles in one process, and the command by the clock."""
    chosen = {"some": "[-3:]", "estimators": "[]"} if request.quick else {"some": "", "estimators": "None"}
    with tempfile.TemporaryDirectory() as cache:
        n, seconds = _output(EVERYTHING.format(**chosen), cache)
    command = ["-m", "protolearn.cli", "compile", "--jobs", "2"]
    if request.quick:
        command = ["-c", PART_OF_THE_COMMAND.format(**chosen)]
    what = f"compile {n:.0f} functions, float32 and float64"
    rows = [_row(part, what, COLD, seconds)]
    for repeat in range(min(request.repeats, _COLD_REPEATS)):
        with tempfile.TemporaryDirectory() as cache:
            begin = time.perf_counter()
            subprocess.run([sys.executable, *command], env=environment(NUMBA_CACHE_DIR=cache), check=True)
            rows.append(_row(part, what, BY_COMMAND, time.perf_counter() - begin, repeat))
    return rows


def _against(
    rows: Sequence[Measurement], limit: float, what: str, most: float | None = 1.0, note: str = ""
) -> Ratio | None:
    budget = [one_row(measure="", unit="s", value=limit, repeat=row.repeat) for row in rows]
    return ratio(rows, budget, what, f"{limit:g} s", most=most, note=f"{median(rows):.2f} s{note}")


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """Share of the time that is allowed: import, all compiling, and the slowest estimator cold and warm."""
    found = [_against(where(rows, part="import"), IMPORT_SECONDS, "import beyond sklearn.neighbors and numba")]
    for setting, what, most in (
        (BY_COMMAND, "compile every function by `protolearn compile`, two processes, empty cache", 1.0),
        (COLD, "compile every function in one process, the seconds that numba compiles, empty cache", None),
    ):
        found.append(_against(where(rows, part="compile", setting=setting), COMPILE_SECONDS, what, most))
    for setting, limit in ((COLD, COLD_SECONDS), (WARM, WARM_SECONDS)):
        fits = [row for row in where(rows, setting=setting) if row.part in protolearn.__all__]
        if fits:
            slowest = max(dict.fromkeys(row.task for row in fits), key=lambda name: median(where(fits, task=name)))
            later = where(rows, part=slowest, setting=LATER)
            note = f", of which {median(later):.2f} s is training (a later fit)" if setting == WARM and later else ""
            what = f"slowest first fit, {setting}: {slowest}"
            found.append(_against(where(fits, task=slowest), limit, what, note=note))
    return [one for one in found if one is not None]


def _fits(rows: Sequence[Measurement], setting: str) -> dict[str, list[Measurement]]:
    names = [name for name in protolearn.__all__ if where(rows, part=name)]
    return {name: where(rows, part=name, setting=setting) for name in names}


def tables(rows: Sequence[Measurement]) -> list[tuple[str, Sequence[str], list[tuple]]]:
    """Every estimator."""
    cold, warm, later = (_fits(rows, setting) for setting in (COLD, WARM, LATER))
    body = [(name, spread(cold[name]), spread(warm[name]), spread(later[name])) for name in cold]
    return [
        (
            "First fit on iris in a new process, defaults, without imports, and a later fit in the same process",
            ("estimator", "empty cache, s", "warm, s", "a later fit, s"),
            body,
        )
    ]


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Bars for each estimator."""
    fits = {setting: _fits(rows, setting) for setting in (COLD, WARM, LATER)}
    series = {
        setting: [median(one) for one in found.values()] for setting, found in fits.items() if any(found.values())
    }
    limits = {
        f"wanted, empty cache: {COLD_SECONDS:g} s": COLD_SECONDS,
        f"wanted, warm: {WARM_SECONDS:g} s": WARM_SECONDS,
    }
    draw_bars(list(fits[COLD]), series, path, "seconds of a fit, iris", limits, logarithmic=True)


CASE = Case(
    name="start",
    line="start-up: import, the first fit of every estimator with an empty and a warm compile cache, all compiling",
    duration="25 minutes",
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
    compiled; a warm one is every later process. A later fit in the same process shows how much of it is
    training. The ratio is the share of the time that is allowed. On the EPYC all estimators were measured,
    on the Xeon five of them, one of them the slowest, and with older code: LaMaLVQ's warm start was at its
    limit there, 0.47 to 0.53 s from one quarter of an hour to the next, more than half of it training.
    """,
)
