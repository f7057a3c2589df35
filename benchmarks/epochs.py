"""Speed of an online LOGM epoch beside one-thread sgemm.

Counts 3 N P d operations an epoch (a difference, a product and a sum for each feature of each prototype), in turn with
numpy's matrix product, both in the processor time of one thread, so that what else the machine does counts little.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import scipy.linalg  # noqa: F401  its BLAS, which compiled loops use, is limited to one thread with the others
from threadpoolctl import threadpool_limits

from benchmarks.case import Request, one_row
from benchmarks.measurements import Measurement, Ratio, ratio, spread, where

# rows, features, classes, prototypes a class, the least share of sgemm's speed
SIZES = [(7291, 256, 10, 20, 0.60), (7291, 256, 10, 100, 0.8), (15000, 16, 26, 15, 0.30)]
QUICK = [(300, 16, 3, 5, 0.0)]


def sgemm_gflops(size: int = 2000) -> float:
    """GFLOP/s of one float32 matrix product."""
    A = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
    begin = time.thread_time()
    A @ A
    return 2 * size**3 / (time.thread_time() - begin) / 1e9


def epoch_gflops(n: int, d: int, n_classes: int, per_class: int, epochs: int = 10) -> float:
    """GFLOP/s of an online LOGM epoch in float32 at the paper's rate and slope, shuffling and gathering included.

    Classes overlap (centres and noise both have variance 1) and prototypes start on samples, so that steps are as long
    as at the start of a real fit.
    """
    from protolearn.core.schedules import linear
    from protolearn.data import TrainingSet
    from protolearn.losses import LOSSES
    from protolearn.metrics import METRICS
    from protolearn.solvers import SOLVERS, Objective, Plan

    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    X = (rng.normal(size=(n_classes, d))[y] + rng.normal(size=(n, d))).astype(np.float32)
    data = TrainingSet(X, y, None, n_classes)
    labels = np.repeat(np.arange(n_classes), per_class)
    metric, loss = METRICS["euclidean"], LOSSES["logm"]()
    start = metric.start(np.concatenate([X[y == k][:per_class] for k in range(n_classes)]), labels, data)
    scale = float(metric.distances(X[-1000:], start).min(axis=1).mean())
    plan = Plan(epochs, loss.rate_unit(scale), 0.0, linear, np.random.RandomState(0), scale=scale)
    objective = Objective(loss, metric, slope=loss.default_slope(scale))
    data.content_order  # noqa: B018  once a fit, not once an epoch
    begin = time.thread_time()
    SOLVERS["online"](start, data, objective, plan)
    return epochs * 3 * n * len(labels) * d / (time.thread_time() - begin) / 1e9


def measure(part: str, request: Request) -> list[Measurement]:
    """Epoch and product in turn."""
    found = []
    with threadpool_limits(1):
        for n, d, n_classes, per_class, _ in QUICK if request.quick else SIZES:
            data = f"{n} x {d}, {n_classes * per_class} prototypes"
            epochs = 2 if request.quick else 10
            epoch_gflops(n, d, n_classes, per_class, epochs=1)
            for repeat in range(request.repeats):
                for library, task, value in (
                    ("protolearn", "LOGM epoch", epoch_gflops(n, d, n_classes, per_class, epochs)),
                    ("numpy", "sgemm", sgemm_gflops(200 if request.quick else 2000)),
                ):
                    found.append(
                        one_row(
                            part=part, data=data, task=task, library=library, setting="float32, 1 thread",
                            measure="speed", unit="GFLOP/s", value=value, repeat=repeat,
                        )
                    )  # fmt: skip
    return found


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """The epoch's share of sgemm's speed."""
    wanted = {f"{n} x {d}, {k * per_class} prototypes": least for n, d, k, per_class, least in SIZES}
    found = []
    for data in dict.fromkeys(row.data for row in where(rows, task="LOGM epoch")):
        here = where(rows, data=data, measure="speed")
        one = ratio(
            where(here, task="LOGM epoch"),
            where(here, task="sgemm"),
            f"LOGM epoch, {data}, float32",
            "sgemm 2000 x 2000, 1 thread",
            least=wanted.get(data),
        )
        if one is not None:
            found.append(one)
    return found


HEADER = ("task", "data", "setting", "GFLOP/s")


def table_rows(rows: Sequence[Measurement]) -> list[tuple]:
    """One row for each size and side."""
    here = [row for row in rows if row.part == "epochs"]
    sources = dict.fromkeys((row.task, row.data, row.setting) for row in here)
    return [(*source, spread(where(here, task=source[0], data=source[1]))) for source in sources]
