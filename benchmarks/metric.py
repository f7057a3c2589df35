"""Metric learning beside the peers: the same objective, the same targets, cost and time.

    python -m benchmarks.metric data FOLDER                  standardised training sets as npz files
    python -m benchmarks.metric peers FOLDER PYTHON          pylmnn and metric_learn, by an interpreter that has them
    python -m benchmarks.metric ours FOLDER [--docs docs]    our LMNN beside the peers' files: cost, time, memory

pylmnn 1.6.4 and metric-learn 0.7.0 need Python 3.11, scikit-learn 1.5.2, numpy 1.23.5 and scipy 1.10.1. Costs are all
computed here, from the learned matrices, with every triple and weights of one half. Times are by the clock, with as
many threads as each library takes: run both on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import types
import warnings
from pathlib import Path

import numpy as np

K = 3
SMALL = ("iris", "wine", "glass", "vehicle", "wdbc")
# Set and allowed steps: the two made sets by both, the two official training parts until they converge.
JOBS = [("made_32", 30), ("made_256", 30), *((name, 1000) for name in SMALL), ("letter", 500), ("usps", 500)]
HEADER = ("set", "solver (steps allowed)", "cost", "steps", "seconds", "peak MB", "x faster", "x faster to its cost")
SETS = ("iris", "wine", "glass", "vehicle", "wdbc", "segment", "usps", "letter", "made_32", "made_256")


def made_256() -> tuple[np.ndarray, np.ndarray]:
    """7291 x 256: forty styles in a space of 24 dimensions, bent into 256."""
    random = np.random.RandomState(7)
    spread = random.randn(24, 256) / np.sqrt(24)
    styles = (random.randn(10, 24) * 0.5)[:, None, :] + random.randn(10, 4, 24) * 0.95
    y, style = random.randint(0, 10, 7291), random.randint(0, 4, 7291)
    hidden = styles[y, style] + random.randn(7291, 24) * 0.95 * np.linspace(1.6, 0.4, 24)
    return np.tanh(hidden @ spread) + 0.25 * random.randn(7291, 256), y


def write_data(folder: Path) -> None:
    """One npz file a set."""
    from sklearn.datasets import make_classification

    from protolearn.experiments.datasets import load

    folder.mkdir(parents=True, exist_ok=True)
    for name in SETS:
        if name == "made_32":
            X, y = make_classification(
                15000, 32, n_informative=16, n_redundant=8, n_classes=10, n_clusters_per_class=3, class_sep=1.5,
                random_state=0,
            )  # fmt: skip
        elif name == "made_256":
            X, y = made_256()
        else:
            data = load(name)
            keep = slice(None) if data.is_test is None else ~data.is_test
            X, y = data.X[keep], data.y[keep]
        spread = X.std(axis=0)
        codes = np.unique(y, return_inverse=True)[1]
        np.savez(folder / f"{name}.npz", X=(X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), y=codes)


def run_peer(which: str, folder: Path, name: str, steps: int) -> None:
    """Fit a peer and store its matrix."""
    warnings.filterwarnings("ignore")
    stored = np.load(folder / f"{name}.npz")
    if which == "pylmnn":
        # It imports GPyOpt, for a search over settings that is not used here.
        methods = types.ModuleType("GPyOpt.methods")
        methods.BayesianOptimization = None
        sys.modules["GPyOpt"], sys.modules["GPyOpt.methods"] = types.ModuleType("GPyOpt"), methods
        from pylmnn import LargeMarginNearestNeighbor

        model = LargeMarginNearestNeighbor(n_neighbors=K, max_iter=steps, init="identity", random_state=0)
    else:
        from metric_learn import LMNN

        model = LMNN(n_neighbors=K, max_iter=steps, init="identity", random_state=0)
    begin = time.perf_counter()
    model.fit(stored["X"], stored["y"])
    seconds = time.perf_counter() - begin
    found = folder / f"{name}-{which}-{steps}.npz"
    np.savez(found, omega=model.components_, seconds=seconds, steps=model.n_iter_)
    print(which, name, f"{seconds:.2f} s", model.n_iter_, "steps", flush=True)


def run_peers(folder: Path, python: str) -> None:
    """Every peer on every set it is compared on, each in a process of its own."""
    jobs = [("pylmnn", name, steps) for name, steps in JOBS[: 2 + len(SMALL)]]
    jobs += [("metric_learn", name, 1000) for name in SMALL]
    for which, name, steps in jobs:
        subprocess.run([python, __file__, "peer", str(folder), which, name, str(steps)], check=True)


def run_ours(folder: Path, name: str, steps: int) -> list[tuple]:
    """Fit ours twice, the first time to compile; its row of the table and those of the peers."""
    from benchmarks.memory import peak_of
    from protolearn import LMNN
    from protolearn.solvers.triples import Candidates, TripleProblem

    stored = np.load(folder / f"{name}.npz")
    X, y = stored["X"], stored["y"]
    problem = TripleProblem.among_points(X, y, K).with_targets(np.eye(X.shape[1]))

    def cost(omega: np.ndarray) -> float:
        A, B = problem.mapped(omega)
        return Candidates(problem, omega, 0.0).sums(A, B, A[:, :0], B[:, :0]).cost

    warnings.filterwarnings("ignore")
    LMNN(K, max_iter=2).fit(X[::20], y[::20])
    begin = time.perf_counter()
    peak, model = peak_of(lambda: LMNN(K, max_iter=steps).fit(X, y), X.nbytes)
    seconds = time.perf_counter() - begin
    size = f"{name} {X.shape[0]} x {X.shape[1]}"
    end = f"{cost(model.components_):.1f}"
    rows = [(size, f"ours ({steps})", end, str(model.n_iter_), f"{seconds:.2f}", f"{peak / 2**20:.0f}", "", "")]
    for path in sorted(folder.glob(f"{name}-*-{steps}.npz")):
        peer = np.load(path)
        theirs, aim = float(peer["seconds"]), cost(peer["omega"])
        which = path.stem[len(name) + 1 : -len(str(steps)) - 1]
        ratios = f"{theirs / seconds:.1f}", f"{theirs / seconds_to(X, y, aim):.1f}"
        rows.append(("", f"{which} ({steps})", f"{aim:.1f}", str(int(peer["steps"])), f"{theirs:.2f}", "", *ratios))
    for row in rows:
        print(*row, sep=" | ", flush=True)
    return rows


def report(folder: Path, docs: Path | None) -> None:
    """Ours on every set beside the peers, into the documentation where it is wanted."""
    from protolearn.experiments.report import provenance, table, write_section

    rows = [row for name, steps in JOBS for row in run_ours(folder, name, steps)]
    if docs is None:
        return
    text = (
        "## LMNN beside metric-learn and pylmnn\n\n"
        "The same objective (3 targets, margin 1, mu one half) on the same standardised data with the same targets; "
        "every cost is computed by us from the learned matrix with all triples. Seconds by the clock on two cores. "
        '"x faster to its cost": the peer\'s time over the time we need to a cost that is no higher. The peers ran in '
        "Python 3.11 with scikit-learn 1.5.2, numpy 1.23.5 and scipy 1.10.1, metric-learn 0.7.0 and pylmnn 1.6.4. Our "
        "peak memory is that of the fit with its data, without imports and compiling.\n\n"
        f"{table(HEADER, rows)}\n\n"
        f"{provenance('python -m benchmarks.metric')}"
    )
    write_section(docs / "fidelity.md", "lmnn-peers", text)


def seconds_to(X: np.ndarray, y: np.ndarray, aim: float) -> float:
    """How long ours takes, targets included, until an exact search finds a cost no higher than `aim`."""
    from protolearn.solvers.large_margin import solve_large_margin
    from protolearn.solvers.triples import TripleProblem

    class Reached(Exception):
        pass

    def watch(step: int, cost: float) -> None:
        if cost <= aim:
            raise Reached

    begin = time.perf_counter()
    problem = TripleProblem.among_points(X, y, K).with_targets(np.eye(X.shape[1]))
    try:
        solve_large_margin(problem, np.eye(X.shape[1]), tol=1e-6, watch=watch)
    except Reached:
        return time.perf_counter() - begin
    return np.inf


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("data", "peers", "peer", "ours"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--docs", type=Path, help="folder of fidelity.md, to write the table into it")
    options = parser.parse_args()
    if options.action == "data":
        write_data(options.folder)
    elif options.action == "peers":
        run_peers(options.folder, *options.rest)
    elif options.action == "peer":
        which, name, steps = options.rest
        run_peer(which, options.folder, name, int(steps))
    else:
        report(options.folder, options.docs)


if __name__ == "__main__":
    main()
