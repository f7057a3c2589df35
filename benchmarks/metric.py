"""Metric learning beside the peers: the same objective, the same targets, cost and time.

    python benchmarks/metric.py data FOLDER                  standardised training sets as npz files
    python benchmarks/metric.py peer NAME FOLDER SET STEPS   pylmnn or metric_learn, in an environment they run in
    python benchmarks/metric.py ours FOLDER SET STEPS        our LMNN beside the peers' files: cost, time, memory

pylmnn 1.6.4 and metric-learn 0.7.0 need Python 3.11, scikit-learn 1.5.2, numpy 1.23.5 and scipy 1.10.1; `peer` uses
nothing else. Costs are all computed here, from the learned matrices, with every triple and weights of one half. Times
are processor seconds, because a shared machine tells nothing by the clock.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import types
import warnings
from pathlib import Path

import numpy as np

K = 3
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
    begin = time.process_time()
    model.fit(stored["X"], stored["y"])
    seconds = time.process_time() - begin
    np.savez(
        folder / f"{name}-{which}-{steps}.npz",
        omega=model.components_,
        seconds=seconds,
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        steps=model.n_iter_,
    )
    print(which, name, f"{seconds:.2f} s", model.n_iter_, "steps", flush=True)


def run_ours(folder: Path, name: str, steps: int) -> None:
    """Fit ours twice, the first time to compile, and print it beside the peers."""
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
    begin, clock = time.process_time(), time.perf_counter()
    model = LMNN(K, max_iter=steps).fit(X, y)
    seconds, clock = time.process_time() - begin, time.perf_counter() - clock
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = f"{X.shape[0]} x {X.shape[1]}"
    found = f"{cost(model.components_):.1f} | {model.n_iter_} | {seconds:.2f} | {megabytes:.0f}"
    print(f"| {name} {size} | ours ({clock:.1f} s by the clock) | {found} | | |", flush=True)
    for path in sorted(folder.glob(f"{name}-*.npz")):
        peer = np.load(path)
        theirs, aim = float(peer["seconds"]), cost(peer["omega"])
        reached = seconds_to(X, y, aim)
        found = f"{aim:.1f} | {int(peer['steps'])} | {theirs:.2f} | {float(peer['megabytes']):.0f}"
        print(
            f"| | {path.stem[len(name) + 1 :]} | {found} | {theirs / seconds:.1f} | {theirs / reached:.1f} |",
            flush=True,
        )


def seconds_to(X: np.ndarray, y: np.ndarray, aim: float) -> float:
    """How long ours takes, targets included, until an exact search finds a cost no higher than `aim`."""
    from protolearn.solvers.large_margin import solve_large_margin
    from protolearn.solvers.triples import TripleProblem

    class Reached(Exception):
        pass

    def watch(step: int, cost: float) -> None:
        if cost <= aim:
            raise Reached

    begin = time.process_time()
    problem = TripleProblem.among_points(X, y, K).with_targets(np.eye(X.shape[1]))
    try:
        solve_large_margin(problem, np.eye(X.shape[1]), tol=1e-6, watch=watch)
    except Reached:
        return time.process_time() - begin
    return np.inf


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("data", "peer", "ours"))
    parser.add_argument("rest", nargs="+")
    options = parser.parse_args()
    if options.action == "data":
        write_data(Path(options.rest[0]))
    elif options.action == "peer":
        which, folder, name, steps = options.rest
        run_peer(which, Path(folder), name, int(steps))
    else:
        folder, name, steps = options.rest
        run_ours(Path(folder), name, int(steps))


if __name__ == "__main__":
    main()
