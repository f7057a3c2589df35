"""Growth: time and memory beyond the data by the number of rows; on request what does not fit into memory."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial

from benchmarks.case import Case, Request, installed, one_row
from benchmarks.measurements import Measurement, Ratio, median, number, spread, where
from benchmarks.workers import last_line, so_many

FEATURES, CLASSES = 32, 5
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_SIZES = (1000, 3000, 10_000)
MOST_TIME = 10.5
# Every row has a label beside it, as a code of 8 bytes: what a fit reads, what predict returns.
LABEL = 8
# Constant, up to what the allocator keeps: a share of the data.
MOST_MEMORY = 0.02

# What glibc frees it may keep and use again, which no peak then shows: blocks of 64 kB and more go back at once.
GIVES_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}

CODE = """
import json, time, warnings, numpy as np, protolearn
from benchmarks.peak import peak_of
warnings.simplefilter("ignore")
sizes, repeats = {sizes}, {repeats}
rng = np.random.default_rng(0)
y = rng.integers(0, {classes}, sizes[-1]).astype(np.int8)
X = rng.standard_normal((sizes[-1], {features}), dtype=np.float32)
X += rng.standard_normal(({classes}, {features}), dtype=np.float32)[y]
fitted = protolearn.GLVQ(4, max_iter=1, random_state=0).fit(X[:2000], y[:2000])
call = lambda n: {call}
call(sizes[0] if {memory} else sizes[-1])
found = []
for repeat in range(repeats):
    for n in sizes:
        begin = time.perf_counter()
        call(n)
        found.append((n, repeat, "time", time.perf_counter() - begin))
for n in sizes if {memory} else ():
    found.append((n, 0, "memory", peak_of(lambda: call(n), 0)[0] / 1e6))
print(json.dumps(found))
"""
# Prototypes are given: the iterations of k-means depend on the data, not on their number alone.
START = "init=(X[:20], np.arange(20) % {classes})".replace("{classes}", str(CLASSES))
TASKS = {
    "fit-GLVQ-online": f"protolearn.GLVQ(4, max_iter=5, random_state=0, {START}).fit(X[:n], y[:n])",
    "fit-LOGM-online": f"protolearn.LOGM(4, max_iter=5, random_state=0, {START}).fit(X[:n], y[:n])",
    "fit-GLVQ-lbfgs": f"protolearn.GLVQ(4, solver='lbfgs', max_iter=10, tol=0.0, {START}).fit(X[:n], y[:n])",
    "predict": "fitted.predict(X[:n])",
}
OUT_OF_CORE = ("mnist", "large", "file", "crossover", "allocator", "rounds", "start", "traffic")


def growth(part: str, request: Request) -> list[Measurement]:
    """One task at every size in turn, in a process of its own, and its memory in another one."""
    sizes = QUICK_SIZES if request.quick else SIZES
    found = []
    for repeats, memory, environment in ((request.repeats, False, {}), (0, True, GIVES_BACK)):
        code = CODE
        for name, value in (
            ("sizes", sizes), ("repeats", repeats), ("memory", memory), ("classes", CLASSES), ("features", FEATURES),
            ("call", TASKS[part]),
        ):  # fmt: skip
            code = code.replace(f"{{{name}}}", str(value))
        found += json.loads(last_line(code, threads=request.threads, **environment))
    return [
        one_row(
            part=part, data=f"{n} x {FEATURES}", task=part, setting=f"float32, {so_many(request.threads)}",
            measure=measure, unit="s" if measure == "time" else "MB", value=value, repeat=repeat,
            version=installed("protolearn"),
        )
        for n, repeat, measure, value in found
    ]  # fmt: skip


def out_of_core(part: str, request: Request) -> list[Measurement]:
    """One of the pieces of out_of_core.py: its sentence, and whether it is as wanted."""
    if request.quick:
        os.environ["SCALE_SHARE"] = "0.01"
    from benchmarks.out_of_core import PARTS

    text, passed = PARTS[part]()
    print(text, flush=True)
    return [
        one_row(
            part=part, task=part, measure="as wanted", unit="", value=float(passed), note=text,
            version=installed("protolearn"),
        )
    ]  # fmt: skip


def _size(row: Measurement) -> int:
    return int(row.data.split()[0])


def _by_size(rows: Sequence[Measurement], part: str, measure: str) -> dict[int, list[Measurement]]:
    found: dict[int, list[Measurement]] = {}
    for row in where(rows, part=part, measure=measure):
        found.setdefault(_size(row), []).append(row)
    return dict(sorted(found.items()))


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """Ten times the rows, how many times the time; and how memory beyond the data grows, as a share of the data."""
    found = []
    for part in TASKS:
        times = _by_size(rows, part, "time")
        for n in times:
            if 10 * n in times:
                many = {row.repeat: row.value for row in times[10 * n]}
                pairs = [many[row.repeat] / row.value for row in times[n] if row.repeat in many]
                middle = median(times[10 * n]) / median(times[n])
                what = f"{part}, {10 * n} rows"
                found.append(
                    Ratio(what, f"{n} rows", middle, min(pairs), max(pairs), len(pairs), most=MOST_TIME, note="time")
                )
        memory = _by_size(rows, part, "memory")
        if len(memory) > 1:
            # Of the two largest: what is there once, such as a block of rows, small data does not fill.
            few, many = sorted(memory)[-2:]
            each = 1e6 * (median(memory[many]) - median(memory[few])) / (many - few)
            share = (each - LABEL) / (4 * FEATURES)
            what = f"{part}, bytes a row that memory grows by beyond the data and a label, {few} to {many} rows"
            against = f"{4 * FEATURES} bytes of a row"
            note = f"{each:.1f} bytes a row with the label"
            found.append(Ratio(what, against, share, share, share, 1, most=MOST_MEMORY, note=note))
    return found


HEADER = ("task", "rows", "time, s", "us a row", "memory beyond the data, MB")


def tables(rows: Sequence[Measurement]) -> list[tuple[str, Sequence[str], list[tuple]]]:
    """Every size, then what was asked for beyond."""
    body = []
    for part in TASKS:
        memory = _by_size(rows, part, "memory")
        for n, times in _by_size(rows, part, "time").items():
            each = 1e6 * median(times) / n
            body.append((part, n, spread(times), number(each), f"{median(memory.get(n, [])):.1f}"))
    more = [
        (row.part, row.note.replace("\n", "<br>"), "yes" if row.value else "**no**")
        for row in rows
        if row.part in OUT_OF_CORE
    ]
    return [
        ("By the number of rows", HEADER, body),
        ("More data than memory, more than one process", ("part", "found", "as wanted"), more),
    ]


CASE = Case(
    name="scale",
    line="growth: time and memory beyond the data from 10,000 to a million rows (on request: more data than memory)",
    duration="2 minutes; an hour with everything on request",
    parts={
        **{name: partial(growth, name) for name in TASKS},
        **{name: partial(out_of_core, name) for name in OUT_OF_CORE},
    },
    on_request=OUT_OF_CORE,
    ratios=ratios,
    tables=tables,
    text="""
    float32 rows of 32 features, 20 prototypes from a given start, 5 epochs online or 10 iterations of L-BFGS.
    Memory is the peak memory of the process during the call above what it held before, the data not counted, in a
    process whose allocator gives everything back. Up to 65,536 rows an online fit sorts them once by what they hold, so
    that it does not depend on where they stand, and shuffles them all together: 12 bytes a row. More are shuffled in
    windows of 65,536 rows, runs of 64 from all over the data; what is kept then is an order of the runs, an eighth of a
    byte a row, and no window is larger than the caches.
    """,
)
