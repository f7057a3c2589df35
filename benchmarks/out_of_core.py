"""More data than memory, more than one process: what it costs, and that nothing changes.

python -m benchmarks scale --only mnist,large,file,crossover,allocator,rounds,start,traffic

mnist      L-BFGS on 60,000 x 784: two worker processes against one machine, loss to 1e-6; needs PROTOLEARN_DATA
large      L-BFGS on a generated 5,000,000 x 32: one machine, one worker, two workers; memory of the client
file       a 20 GB memory-mapped file, fitted within 1 GB of resident memory
crossover  seconds of a pass in memory and on two workers, by the number of rows
allocator  the same fit under Dask's settings of the allocator, and under ours
rounds     online by averaged threads: error on test data by the number of threads
start      k-means on a stratified sample against k-means on all rows
traffic    bytes that travel in a round

Workers have one thread, and BLAS one, unless it says otherwise. Each part gives its figures in a sentence,
and whether they are as wanted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

# SCALE_SHARE=0.01 makes everything small: a look at whether it runs.
SHARE = float(os.environ.get("SCALE_SHARE", "1"))
BLOCKS, BLOCK = 50, int(100_000 * SHARE)
ROWS, FEATURES, CLASSES, PER_CLASS = BLOCKS * BLOCK, 32, 5, 4
MEMORY_LIMIT = "600MB"
FILE_ROWS, FILE_FEATURES = int(20_000_000 * SHARE), 256
STRIPES = 100
STRIPE = FILE_ROWS // STRIPES // 40


# Dask makes its workers give freed memory back at once (a trim threshold of 64 kB), so that every temporary array of a
# block is paid for with page faults: half of the time goes into the kernel. These let the allocator keep it.
KEEP_FREED_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(1 << 27), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}


@contextmanager
def cluster(n_workers: int, memory_limit: str | None = None) -> Iterator:
    """Worker processes of one thread each."""
    import dask
    from distributed import Client, LocalCluster

    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with (
        dask.config.set(
            {
                "logging.distributed": "error",
                # A worker's libraries alone take 300 MB: blocks are dropped when they are used, and nothing is spilled.
                "distributed.worker.memory.target": False,
                "distributed.worker.memory.spill": False,
                "distributed.worker.memory.pause": 0.95,
                "distributed.worker.memory.terminate": 0.98,
                "distributed.nanny.pre-spawn-environ": one_thread | KEEP_FREED_MEMORY,
            }
        ),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=memory_limit,
            dashboard_address=None,
        ) as workers,
        Client(workers) as client,
    ):
        yield client


Finding = tuple[str, bool]


class Peak:
    """The largest resident memory of this process while the block runs, above that at its beginning, in MB."""

    def __enter__(self) -> Peak:
        import psutil

        self.process, self.over = psutil.Process(), False
        self.first = self.largest = self.process.memory_info().rss
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()
        return self

    def _look(self) -> None:
        while not self.over:
            self.largest = max(self.largest, self.process.memory_info().rss)
            time.sleep(0.02)

    def __exit__(self, *error: object) -> None:
        self.over = True
        self.thread.join()
        self.growth = (self.largest - self.first) / 1e6


def generated(number: int, rows: int = BLOCK, features: int = FEATURES) -> tuple[np.ndarray, np.ndarray]:
    """One block of five overlapping classes of four clumps each."""
    rng = np.random.default_rng([7, number])
    centres = np.random.default_rng(7).normal(size=(CLASSES, PER_CLASS, features))
    y = rng.integers(0, CLASSES, rows)
    return centres[y, rng.integers(0, PER_CLASS, rows)] + 1.5 * rng.normal(size=(rows, features)), y


def begin(features: int = FEATURES) -> tuple[np.ndarray, np.ndarray]:
    """One start for all, so that all solve the same problem."""
    X, y = generated(0, 20_000, features)
    chosen = [np.flatnonzero(y == code)[:PER_CLASS] for code in range(CLASSES)]
    return X[np.concatenate(chosen)], np.repeat(np.arange(CLASSES), PER_CLASS)


def learner(max_iter: int, init: object):
    """What all parts fit: GLVQ by L-BFGS."""
    from protolearn import GLVQ

    return GLVQ(PER_CLASS, solver="lbfgs", init=init, max_iter=max_iter, tol=0.0)


def write_block(folder: str, number: int) -> None:
    """One block as two files."""
    X, y = generated(number)
    np.save(Path(folder) / f"X{number:03}.npy", X)
    np.save(Path(folder) / f"y{number:03}.npy", y)


def from_files(folder: str, n_blocks: int):
    """The blocks as dask arrays that are read again in every pass: they need no memory between two passes."""
    import dask.array as da
    from dask import delayed

    read = delayed(np.load)
    X = [
        da.from_delayed(read(f"{folder}/X{number:03}.npy"), (BLOCK, FEATURES), dtype=np.float64)
        for number in range(n_blocks)
    ]
    y = [da.from_delayed(read(f"{folder}/y{number:03}.npy"), (BLOCK,), dtype=np.int64) for number in range(n_blocks)]
    return da.concatenate(X), da.concatenate(y)


def in_own_process(code: str, *arguments: str, threads: int = 1, **settings: str) -> list[float]:
    """The numbers that a new process prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    environment |= {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads), **settings}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [float(word) for word in done.stdout.split()]


def mnist(max_iter: int = 15) -> Finding:
    """L-BFGS on MNIST, in memory and on two workers."""
    import dask.array as da

    from protolearn import NearestPrototype
    from reproduction.datasets import load

    X, y, _, _ = load("mnist").split()
    every = round(1 / SHARE)
    X, y = X[::every] / 255.0, y[::every]
    start = NearestPrototype(PER_CLASS, random_state=0).fit(X[::20], y[::20])
    begun = time.perf_counter()
    alone = learner(max_iter, start).fit(X, y)
    seconds = time.perf_counter() - begun
    with cluster(2) as client:
        blocks = client.persist([da.from_array(X, chunks=(10_000, -1)), da.from_array(y, chunks=10_000)])
        learner(1, start).fit(*blocks)
        begun = time.perf_counter()
        together = learner(max_iter, start).fit(*blocks)
        seconds_together = time.perf_counter() - begun
    gap = abs(alone.loss_curve_[-1] - together.loss_curve_[-1])
    text = (
        f"mnist {X.shape[0]} x {X.shape[1]}, {len(start.prototypes_)} prototypes, {max_iter} iterations of L-BFGS: "
        f"loss {alone.loss_curve_[-1]:.9f} in memory, differs by {gap:.1e} on two workers (at most 1e-06 wanted); "
        f"{seconds:.1f} s on one core, {seconds_together:.1f} s on two workers"
    )
    return text, gap <= 1e-6


_IN_MEMORY = """
import sys, time, numpy as np
from benchmarks.out_of_core import begin, learner
folder, n, max_iter = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
X = np.concatenate([np.load(f"{folder}/X{i:03}.npy") for i in range(n)])
y = np.concatenate([np.load(f"{folder}/y{i:03}.npy") for i in range(n)])
learner(1, begin()).fit(X[:10000], y[:10000])
start = time.perf_counter()
model = learner(max_iter, begin()).fit(X, y)
print(f"{model.loss_curve_[-1]:.17g} {time.perf_counter() - start}")
"""


def large(max_iter: int = 10) -> Finding:
    """L-BFGS on five million rows that do not fit into the memory the workers are allowed."""
    n_blocks = BLOCKS
    with tempfile.TemporaryDirectory() as folder:
        with cluster(2) as client:
            client.gather(client.map(partial(write_block, folder), range(n_blocks)))
        loss, seconds = in_own_process(_IN_MEMORY, folder, str(n_blocks), str(max_iter))
        found = {}
        for n_workers in (1, 2):
            with cluster(n_workers, MEMORY_LIMIT):
                blocks = from_files(folder, n_blocks)
                learner(1, begin()).fit(*from_files(folder, 2 * n_workers))
                begun = time.perf_counter()
                with Peak() as peak:
                    model = learner(max_iter, begin()).fit(*blocks)
                found[n_workers] = time.perf_counter() - begun, model.loss_curve_[-1], peak.growth
    size = ROWS * FEATURES * 8 / 1e9
    ratio = found[1][0] / found[2][0]
    gap = max(abs(loss - found[n][1]) for n in found)
    growth = max(found[n][2] for n in found)
    passed = ratio >= 1.6 and gap <= 1e-6 and growth < 100
    text = (
        f"generated {ROWS} x {FEATURES}, {size:.2f} GB, {CLASSES * PER_CLASS} prototypes, {max_iter} iterations of "
        f"L-BFGS, workers limited to {MEMORY_LIMIT} each: loss {loss:.9f} in memory, differs by {gap:.1e} on workers "
        f"(at most 1e-06 wanted); {seconds:.1f} s in memory on one core, {found[1][0]:.1f} s on one worker, "
        f"{found[2][0]:.1f} s on two: {ratio:.2f} times as fast (at least 1.6 wanted); the client grew by "
        f"{growth:.0f} MB (below 100 wanted)"
    )
    return text, passed


_FIT_FILE = """
import sys, time, numpy as np
from benchmarks.out_of_core import FILE_ROWS, FILE_FEATURES, file_labels
from protolearn import GLVQ
X = np.memmap(sys.argv[1], dtype=np.float32, mode="r", shape=(FILE_ROWS, FILE_FEATURES))
y = file_labels()
start = time.perf_counter()
model = GLVQ(1, solver="lbfgs", max_iter=2, tol=0.0).fit(X, y)
seconds = time.perf_counter() - start
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, int(peak) / 1e3, model.loss_curve_[0], model.loss_curve_[-1])
"""


def file_labels() -> np.ndarray:
    """Labels of the file's rows: true ones where it holds data, random ones in its holes."""
    y = np.random.default_rng(1).integers(0, CLASSES, FILE_ROWS).astype(np.int8)
    for stripe in range(STRIPES):
        first = stripe * (FILE_ROWS // STRIPES)
        y[first : first + STRIPE] = generated(stripe, STRIPE, FILE_FEATURES)[1]
    return y


def file() -> Finding:
    """A file of 20 GB, of which one row in 40 is written and the rest are holes that read as zeros."""
    size = FILE_ROWS * FILE_FEATURES * 4 / 1e9
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.bin"
        X = np.memmap(path, dtype=np.float32, mode="w+", shape=(FILE_ROWS, FILE_FEATURES))
        for stripe in range(STRIPES):
            first = stripe * (FILE_ROWS // STRIPES)
            X[first : first + STRIPE] = generated(stripe, STRIPE, FILE_FEATURES)[0]
        X.flush()
        del X
        seconds, peak, first_loss, loss = in_own_process(_FIT_FILE, str(path), threads=2)
    text = (
        f"memory-mapped file of {size:.1f} GB, {FILE_ROWS} x {FILE_FEATURES} float32, {CLASSES} prototypes: start and "
        f"2 iterations of L-BFGS in {seconds:.0f} s, resident memory {peak:.0f} MB at most (below 1000 wanted), "
        f"labels included; loss {first_loss:.4f} to {loss:.4f}"
    )
    return text, peak < 1000


_PASSES = """
import sys, time, numpy as np
from benchmarks.out_of_core import begin, generated, learner
X, y = generated(0, int(sys.argv[1]))
learner(1, begin()).fit(X[:10000], y[:10000])
begun = time.perf_counter()
learner(int(sys.argv[2]), begin()).fit(X, y)
print(time.perf_counter() - begun)
"""


def crossover(max_iter: int = 10) -> Finding:
    """Seconds of the same fit in memory and on two workers that hold the data, by the number of rows."""
    import dask.array as da

    sizes = [int(rows * SHARE) for rows in (10_000, 100_000, 300_000, 1_000_000)]
    lines = [
        f"{'rows':>9}  {'one thread':>10}  {'two threads':>11}  {'two workers':>11}   seconds of {max_iter} iterations"
    ]
    with cluster(2) as client:
        client.run(generated, 0, 1000)
        for rows in sizes:
            memory = [in_own_process(_PASSES, str(rows), str(max_iter), threads=n)[0] for n in (1, 2)]
            blocks = max(2, min(rows // 50_000, 20))
            lengths = tuple(len(part) for part in np.array_split(np.arange(rows), blocks))
            parts = [client.submit(generated, number, n, pure=False) for number, n in enumerate(lengths)]
            X, y = (
                da.concatenate([
                    da.from_delayed(_item(part, which), (n, FEATURES)[: 2 - which], dtype=kind)
                    for part, n in zip(parts, lengths, strict=True)
                ])
                for which, kind in ((0, np.float64), (1, np.int64))
            )  # fmt: skip
            X, y = client.persist([X, y])
            learner(1, begin()).fit(X, y)
            begun = time.perf_counter()
            learner(max_iter, begin()).fit(X, y)
            seconds = time.perf_counter() - begun
            lines.append(f"{rows:>9}  {memory[0]:>10.2f}  {memory[1]:>11.2f}  {seconds:>11.2f}")
            del X, y, parts
    return "\n".join(lines), True


def allocator(max_iter: int = 10) -> Finding:
    """The same fit in memory under the settings of the allocator that Dask gives its workers, and under ours."""
    rows = int(1_000_000 * SHARE)
    given: dict[str, dict[str, str]] = {
        "the system's own": {},
        "Dask's": {"MALLOC_TRIM_THRESHOLD_": "65536"},
        "those of docs/scale.md": KEEP_FREED_MEMORY,
    }
    seconds = [
        f"{in_own_process(_PASSES, str(rows), str(max_iter), **settings)[0]:.1f} s with {name}"
        for name, settings in given.items()
    ]
    text = f"settings of the allocator, {rows} x {FEATURES}, {max_iter} iterations: {', '.join(seconds)}"
    return text, True


def _item(part: object, which: int):
    from dask import delayed

    return delayed(lambda pair: pair[which])(part)


def rounds(n_seeds: int = 5, epochs: int = 10) -> Finding:
    """Errors of online GLVQ on test rows: one machine, blocks in turn, and the mean over 2 to 16 threads."""
    import dask
    import dask.array as da
    from sklearn.preprocessing import StandardScaler

    from protolearn import GLVQ
    from protolearn.data import Blocks
    from reproduction.datasets import load

    lines = []
    for name, per_class in (("letter", 5), ("satimage", 5), ("pendigits", 3)):
        X, y, X_test, y_test = load(name).split()
        scale = StandardScaler().fit(X)
        X, X_test = scale.transform(X), scale.transform(X_test)
        errors: dict[str, list[float]] = {}
        for seed in range(n_seeds):
            order = np.random.default_rng(seed).permutation(len(y))
            size = -(-len(y) // 16)
            in_turn = Blocks.of_arrays(X[order], y[order], rows=size)
            given: dict[str, tuple] = {"one machine": (X[order], y[order]), "16 blocks in turn": (in_turn,)}
            arrays = da.from_array(X[order], chunks=(size, -1)), da.from_array(y[order], chunks=size)
            for threads in (2, 4, 8, 16):
                given[f"mean over {threads} threads"] = arrays
            for kind, data in given.items():
                n = int(kind.split()[2]) if kind.startswith("mean") else None
                with dask.config.set(num_workers=n, scheduler="threads"):
                    model = GLVQ(per_class, max_iter=epochs, random_state=seed).fit(*data)
                errors.setdefault(kind, []).append(100 * (1 - model.score(X_test, y_test)))
        found = "; ".join(f"{kind} {np.mean(v):.2f} ({np.std(v):.2f})" for kind, v in errors.items())
        lines.append(f"rounds, {name}, {len(y)} rows, {epochs} epochs, test error in % over {n_seeds} seeds: {found}")
    return "\n".join(lines), True


def start(max_iter: int = 20) -> Finding:
    """Where k-means on a sample begins, and where L-BFGS ends from there."""
    from protolearn import GLVQ
    from protolearn.data import Blocks
    from reproduction.datasets import load

    X, y, X_test, y_test = load("mnist").split()
    every = round(1 / SHARE)
    X, y, X_test = X[::every] / 255.0, y[::every], X_test / 255.0
    lines = []
    for name, data in (("all 60000 rows", (X, y)), ("stratified sample", (Blocks.of_arrays(X, y),))):
        begun = time.perf_counter()
        first = GLVQ(PER_CLASS, solver="lbfgs", max_iter=1, random_state=0).fit(*data)
        seconds = time.perf_counter() - begun
        ends = [GLVQ(PER_CLASS, solver="lbfgs", max_iter=max_iter, random_state=seed).fit(*data) for seed in range(3)]
        losses = [model.loss_curve_[-1] for model in ends]
        errors = [100 * (1 - model.score(X_test, y_test)) for model in ends]
        lines.append(
            f"k-means on {name}, mnist: loss after one iteration {first.loss_curve_[0]:.4f} in {seconds:.1f} s, after "
            f"{max_iter} {np.mean(losses):.4f} ({np.std(losses):.4f}), test error {np.mean(errors):.2f} "
            f"({np.std(errors):.2f}) % over 3 seeds"
        )
    return "\n".join(lines), True


def traffic() -> Finding:
    """Bytes of what goes to a worker and comes back in a round, and the speed of one core on a block."""
    import cloudpickle

    from protolearn.data import TrainingSet
    from protolearn.losses import LOSSES
    from protolearn.metrics import METRICS
    from protolearn.solvers import Objective, batch

    lines = []
    for features, n_prototypes, dtype in ((32, 20, np.float64), (256, 100, np.float32), (784, 100, np.float32)):
        X, y = generated(0, 100_000, features)
        data = TrainingSet(X.astype(dtype), y, None, CLASSES)
        labels = np.arange(n_prototypes) % CLASSES
        metric = METRICS["euclidean"]
        prototypes = metric.start(X[:n_prototypes], labels, data)
        task = partial(batch.value_and_gradient, prototypes, Objective(LOSSES["glvq"](), metric, 1.0))
        result = data.reduce(task, n_prototypes)
        begun = time.perf_counter()
        for _ in range(3):
            data.reduce(task, n_prototypes)
        seconds = (time.perf_counter() - begun) / 3
        rate = len(y) / seconds
        lines.append(
            f"traffic, {features} features, {n_prototypes} prototypes, {np.dtype(dtype)}: "
            f"{len(cloudpickle.dumps(task)) / 1e3:.0f} kB to a worker, {len(cloudpickle.dumps(result)) / 1e3:.0f} kB "
            f"back; one core sums {rate / 1e6:.2f} million rows a second ({4e-9 * rate * features * n_prototypes:.0f} "
            "GFLOP/s)"
        )
    return "\n".join(lines), True


PARTS = {part.__name__: part for part in (mnist, large, file, crossover, allocator, rounds, start, traffic)}
