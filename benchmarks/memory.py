"""Memory: the most that a fit holds, with its data, beyond what imports and compiling left behind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.case import Case, Request, installed, one_row
from benchmarks.measurements import Measurement, Ratio, median, ratio, spread, where
from benchmarks.workers import last_line

ROWS, FEATURES = 200_000, 64

CODE = """
import numpy as np, protolearn
from benchmarks.peak import peak_of
rng = np.random.default_rng(0)
y = rng.integers(0, 4, {n})
X = rng.standard_normal(({n}, {d}), dtype=np.float32)
X[:, 0] += y
small = slice(0, 2000)
make = lambda: protolearn.{call}
make().fit(X[small], y[small])
print(peak_of(lambda: make().fit(X, y), X.nbytes)[0], X.nbytes)
"""
FITS = [
    "LOGM(5, max_iter=2)",
    "LOGM(5, max_iter=2, init='random')",
    "LOGM(5, max_iter=2, metric='local_relevance')",
    "LOGM(5, max_iter=2, solver='lbfgs')",
    "LOGM(5, max_iter=2, solver='adam')",
    "LOGM(5, max_iter=2, solver='gradient', metric='omega')",
    "RSLVQ(5, max_iter=2)",
    "LVQ1(5, max_iter=2)",
    "GMLVQ(1, max_iter=2, n_components=4)",
    "NearestPrototype(5, init='balance')",
]


def peaks(part: str, request: Request) -> list[Measurement]:
    """Each fit in a process of its own."""
    n = 20_000 if request.quick else ROWS
    found = []
    for call in FITS[:1] if request.quick else FITS:
        code = CODE.format(n=n, d=FEATURES, call=call)
        for repeat in range(request.repeats):
            peak, size = (int(word) for word in last_line(code).split())
            for measure, value in (("peak", peak), ("data", size)):
                found.append(
                    one_row(
                        part=part, data=f"{n} x {FEATURES} float32", task=call, setting="fit", measure=measure,
                        unit="MB", value=value / 1e6, repeat=repeat, version=installed("protolearn"),
                    )
                )  # fmt: skip
    return found


def _allowed(rows: Sequence[Measurement], task: str) -> float:
    return 3 * median(where(rows, task=task, measure="data")) + 50


def _tasks(rows: Sequence[Measurement]) -> list[str]:
    return list(dict.fromkeys(row.task for row in rows))


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """Peak, data included, against three times the data and 50 MB."""
    found = []
    for task in _tasks(rows):
        peak = where(rows, task=task, measure="peak")
        allowed = [one_row(measure="", unit="MB", value=_allowed(rows, task), repeat=row.repeat) for row in peak]
        found.append(ratio(peak, allowed, f"{task}, {peak[0].data}", "3 X + 50 MB", most=1.0))
    return [one for one in found if one is not None]


def tables(rows: Sequence[Measurement]) -> list[tuple[str, Sequence[str], list[tuple]]]:
    """Megabytes."""
    body = [
        (
            f"`{task}`",
            spread(where(rows, task=task, measure="peak")),
            f"{median(where(rows, task=task, measure='data')):.0f}",
        )
        for task in _tasks(rows)
    ]
    return [("Megabytes", ("fit", "peak, data included", "data"), body)]


CASE = Case(
    name="memory",
    line="memory: the most that a fit holds beside three times its data and 50 MB",
    duration="1 minute",
    parts={"peaks": partial(peaks, "peaks")},
    ratios=ratios,
    tables=tables,
    text="Peak of resident memory during the fit, in a process that has compiled before (Linux only).",
)
