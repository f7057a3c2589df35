"""Start-up: importing the package, the first fit of every estimator, compiling everything, one row of a saved model."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial

import protolearn
from benchmarks.case import Case, Request, installed, one_row
from benchmarks.measurements import Measurement, Ratio, median, ratio, spread, where
from benchmarks.workers import environment, last_line

IMPORT_SECONDS, COLD_SECONDS, COMPILE_SECONDS, ROW_SECONDS = 0.2, 5.0, 40.0, 0.3

IMPORT = """
import time, {before}
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
# A few functions in place of the command, where it has to be quick.
PART_OF_THE_COMMAND = "from protolearn.cli.compile import every_task\nfor task in every_task()[-3:]: task()"
SAVED = """
import sys
from sklearn.datasets import load_iris
from protolearn import GMLVQ, save
from protolearn.export import export_python
model = GMLVQ(2, max_iter=5).fit(*load_iris(return_X_y=True))
save(model, sys.argv[1] + "/saved.json")
export_python(model, sys.argv[1] + "/exported.py")
print("saved")
"""
FIRST_ROW = """
import sys, time, {before}
sys.path.insert(0, sys.argv[1])
begin = time.perf_counter()
{first}
print(time.perf_counter() - begin)
"""
OF_SAVED = "import protolearn; protolearn.load(sys.argv[1] + '/saved.json').row_classifier()([5.1, 3.5, 1.4, 0.2])"
OF_EXPORTED = "import exported; exported.predict([5.1, 3.5, 1.4, 0.2])"

# Each takes seconds to a minute.
_COLD_REPEATS = 3
# The settings of the rows.
COLD, WARM, LATER = "empty cache", "warm", "a later fit"
EXPORTED = "first row of a model exported to Python"
BEYOND_NUMPY, BEYOND_SKLEARN = "beyond NumPy", "beyond NumPy and scikit-learn's neighbours"


def _output(code: str, cache: str, *arguments: str) -> list[float]:
    """The numbers that a new process prints in its last line."""
    return [float(word) for word in last_line(code, *arguments, NUMBA_CACHE_DIR=cache).split()]


def _row(part: str, task: str, setting: str, value: float, repeat: int = 0) -> Measurement:
    return one_row(
        part=part, data="iris 150 x 4", task=task, setting=setting, measure="time", unit="s", value=value,
        repeat=repeat, version=installed("protolearn"),
    )  # fmt: skip


def importing(part: str, request: Request) -> list[Measurement]:
    """Beyond scikit-learn, which a user has loaded anyway, and with it."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for setting, before in ((BEYOND_SKLEARN, "sklearn.neighbors"), (BEYOND_NUMPY, "numpy")):
            code = IMPORT.format(before=before)
            _output(code, cache)
            rows += [_row(part, "import", setting, _output(code, cache)[0], r) for r in range(request.repeats)]
    return rows


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
    """All functions in both number types, by the command."""
    command = ["-c", PART_OF_THE_COMMAND] if request.quick else ["-m", "protolearn.cli", "compile"]
    rows = []
    for repeat in range(min(request.repeats, _COLD_REPEATS)):
        with tempfile.TemporaryDirectory() as cache:
            begin = time.perf_counter()
            subprocess.run(
                [sys.executable, *command], env=environment(NUMBA_CACHE_DIR=cache), check=True, capture_output=True
            )
            rows.append(_row(part, "protolearn compile", COLD, time.perf_counter() - begin, repeat))
    return rows


def first_row(part: str, request: Request) -> list[Measurement]:
    """From the file of a model to the class of one row, in a new process."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        last_line(SAVED, folder, NUMBA_CACHE_DIR=folder)
        for task, setting, before, first in (
            ("first row of a saved model", BEYOND_SKLEARN, "sklearn.neighbors", OF_SAVED),
            ("first row of a saved model", BEYOND_NUMPY, "numpy", OF_SAVED),
            (EXPORTED, BEYOND_NUMPY, "numpy", OF_EXPORTED),
        ):
            code = FIRST_ROW.format(before=before, first=first)
            _output(code, folder, folder)
            for repeat in range(request.repeats):
                rows.append(_row(part, task, setting, _output(code, folder, folder)[0], repeat))
    return rows


def _against(
    rows: Sequence[Measurement], limit: float, what: str, most: float | None = 1.0, note: str = ""
) -> Ratio | None:
    budget = [one_row(measure="", unit="s", value=limit, repeat=row.repeat) for row in rows]
    return ratio(rows, budget, what, f"{limit:g} s", most=most, note=f"{median(rows):.2f} s{note}")


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """Share of the time that is allowed: import, a first row, all compiling, the slowest estimator."""
    found = []
    others = [row for row in rows if row.part in ("import", "first-row")]
    for task, setting in dict.fromkeys((row.task, row.setting) for row in others):
        here = where(others, task=task, setting=setting)
        limit = IMPORT_SECONDS if task == "import" else ROW_SECONDS
        # Nothing that is a classifier of scikit-learn is there before scikit-learn is imported.
        most = None if setting == BEYOND_NUMPY and task != EXPORTED else 1.0
        found.append(_against(here, limit, f"{task}, {setting}", most))
    compiling = where(rows, part="compile")
    found.append(_against(compiling, COMPILE_SECONDS, "`protolearn compile`, one process, empty cache"))
    fits = [row for row in where(rows, setting=COLD) if row.part in protolearn.__all__]
    if fits:
        slowest = max(dict.fromkeys(row.task for row in fits), key=lambda name: median(where(fits, task=name)))
        later = where(rows, part=slowest, setting=LATER)
        note = f", of which {median(later):.2f} s is training (a later fit)" if later else ""
        what = f"slowest first fit, {COLD}: {slowest}"
        found.append(_against(where(fits, task=slowest), COLD_SECONDS, what, note=note))
    return [one for one in found if one is not None]


def _fits(rows: Sequence[Measurement], setting: str) -> dict[str, list[Measurement]]:
    names = [name for name in protolearn.__all__ if where(rows, part=name)]
    return {name: where(rows, part=name, setting=setting) for name in names}


def tables(rows: Sequence[Measurement]) -> list[tuple[str, Sequence[str], list[tuple]]]:
    """Every estimator, then what is not a fit."""
    cold, warm, later = (_fits(rows, setting) for setting in (COLD, WARM, LATER))
    body = [(name, spread(cold[name]), spread(warm[name]), spread(later[name])) for name in cold]
    others = [row for row in rows if row.part not in cold]
    sources = dict.fromkeys((row.task, row.setting) for row in others)
    more = [(*source, spread(where(others, task=source[0], setting=source[1]))) for source in sources]
    return [
        (
            "First fit on iris in a new process, defaults, without imports, and a later fit in the same process",
            ("estimator", "empty cache, s", "warm, s", "a later fit, s"),
            body,
        ),
        ("In a new process", ("what", "counted", "seconds"), more),
    ]


CASE = Case(
    name="start",
    line="start-up: import, the first fit of every estimator with an empty and a warm compile cache, all compiling",
    duration="10 minutes",
    parts={
        "import": partial(importing, "import"),
        "compile": partial(everything, "compile"),
        "first-row": partial(first_row, "first-row"),
        **{name: partial(first_fit, name) for name in protolearn.__all__},
    },
    ratios=ratios,
    tables=tables,
    text="""
    Each figure is from a process of its own. With an empty cache numba has compiled nothing yet, as on a new machine;
    every later process is warm. A later fit in the same process shows how much of a first fit is training.
    """,
)
