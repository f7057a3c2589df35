"""Speed of the online epoch beside one-thread sgemm, start-up time, and peak memory of a fit.

python -m benchmarks.online [speed] [start] [memory]

Speed counts 3 N P d operations an epoch (a difference, a product and a sum for each feature of each prototype), and
times it in turn with numpy's sgemm, both in the processor time of one thread, so that what else the machine does counts
little. Start and memory run in processes
of their own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from threadpoolctl import threadpool_limits

REPEATS = 5
# rows, features, classes, prototypes a class, the least share of sgemm's speed
CASES = [(7291, 256, 10, 20, 0.40), (7291, 256, 10, 100, 0.40), (15000, 16, 26, 15, 0.20)]
MEMORY_ROWS, MEMORY_FEATURES = 200_000, 64


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
    from protolearn.data import TrainingSet
    from protolearn.losses import LOSSES
    from protolearn.metrics import METRICS
    from protolearn.schedules import linear
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


def speed() -> bool:
    """Ratios of the epoch to sgemm."""
    passed = True
    with threadpool_limits(1):
        for n, d, n_classes, per_class, least in CASES:
            epoch_gflops(n, d, n_classes, per_class, epochs=1)
            pairs = [(epoch_gflops(n, d, n_classes, per_class), sgemm_gflops()) for _ in range(REPEATS)]
            ratios = [ours / reference for ours, reference in pairs]
            ratio = statistics.median(ratios)
            passed &= ratio >= least
            print(
                f"online LOGM, {n} x {d}, {n_classes * per_class} prototypes, float32: {ratio:.2f} of sgemm "
                f"({min(ratios):.2f} to {max(ratios):.2f}; at least {least:.2f} wanted), medians "
                f"{statistics.median(p[0] for p in pairs):.0f} and {statistics.median(p[1] for p in pairs):.0f} GFLOP/s"
            )
    return passed


def _seconds(code: str, cache: str) -> float:
    """What a new process measures: the code prints seconds."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


IMPORT = """
import time, sklearn.neighbors, numba
begin = time.perf_counter(); import protolearn; print(time.perf_counter() - begin)
"""
FIRST_FIT = """
import time, protolearn
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
begin = time.perf_counter(); protolearn.{name}().fit(X, y); print(time.perf_counter() - begin)
"""


def start(names: tuple[str, ...] = ("LOGM",)) -> bool:
    """Import beyond scikit-learn and numba; first fit with an empty and with a warm compile cache."""
    with tempfile.TemporaryDirectory() as cache:
        imported = statistics.median(_seconds(IMPORT, cache) for _ in range(REPEATS))
        print(f"import protolearn beyond sklearn.neighbors and numba: {imported:.2f} s (at most 0.3 wanted)")
        passed = imported <= 0.3
        for name in names:
            code = FIRST_FIT.format(name=name)
            cold = _seconds(code, cache)
            warm = statistics.median(_seconds(code, cache) for _ in range(REPEATS))
            passed &= cold <= 8 and warm <= 0.5
            print(f"first {name}().fit(iris): {cold:.2f} s, empty cache (at most 8); {warm:.2f} s, warm (at most 0.5)")
    return passed


MEMORY = """
import numpy as np, protolearn
from benchmarks.memory import peak_of
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


def memory() -> bool:
    """Peak memory of a fit, X included, against 3 X + 50 MB."""
    passed = True
    for call in FITS:
        code = MEMORY.format(n=MEMORY_ROWS, d=MEMORY_FEATURES, call=call)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        peak, size = (int(number) for number in done.stdout.split()[-2:])
        limit = 3 * size + 50e6
        passed &= peak < limit
        print(f"{call:58} peak {peak / 1e6:6.0f} MB with X ({size / 1e6:.0f} MB), {peak / limit:.2f} of 3 X + 50 MB")
    return passed


def main() -> int:
    """Run the chosen parts, all by default; 1 where a wanted figure is missed."""
    parts = {"speed": speed, "start": start, "memory": memory}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(parts))
    chosen = parser.parse_args().parts or list(parts)
    unknown = set(chosen) - set(parts)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; choose from {', '.join(parts)}")
    results = [parts[name]() for name in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
