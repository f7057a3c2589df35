"""LMNN beside pylmnn and metric-learn: the same objective, the same targets, cost and time.

Costs are all computed here, from the learned matrices, with every triple and weights of one half. Times are by the
clock, with as many threads as each library takes.
"""

from __future__ import annotations

import subprocess
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.case import Case, Line, Request, installed, one_row
from benchmarks.environments import CannotBeMade
from benchmarks.measurements import Measurement, Ratio, median, ratio, spread, where
from benchmarks.peak import peak_of
from benchmarks.problems import styles

TARGETS = 3
SMALL = ("iris", "wine", "glass", "vehicle", "wdbc")
# Set, steps allowed and the peers that finish on it: the two made sets by both, the official training parts until they
# converge.
JOBS: dict[str, tuple[int, tuple[str, ...]]] = {
    "made32": (30, ("pylmnn",)),
    "made256": (30, ("pylmnn",)),
    **dict.fromkeys(SMALL, (1000, ("pylmnn", "metric-learn"))),
    "letter": (500, ()),
    "usps": (500, ()),
}
_SCRIPT = Path(__file__).parent / "elsewhere" / "lmnn.py"


def standardised(name: str, quick: bool) -> tuple[np.ndarray, np.ndarray]:
    """Training rows with mean 0 and deviation 1, and codes of their classes."""
    from sklearn.datasets import load_iris, make_classification

    from reproduction.datasets import load

    if name == "made32":
        X, y = make_classification(
            300 if quick else 15000, 32, n_informative=16, n_redundant=8, n_classes=10, n_clusters_per_class=3,
            class_sep=1.5, random_state=0,
        )  # fmt: skip
    elif name == "made256":
        X, y, _, _ = styles(300 if quick else 7291, 10)
    elif name == "iris":
        X, y = load_iris(return_X_y=True)
    else:
        data = load(name)
        keep = slice(None) if data.is_test is None else ~data.is_test
        X, y = data.X[keep], data.y[keep]
    spread_of = X.std(axis=0)
    codes = np.unique(y, return_inverse=True)[1]
    return (X - X.mean(axis=0)) / np.where(spread_of > 0, spread_of, 1.0), codes


def costs(X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], float]:
    """The cost of a matrix on all triples."""
    from protolearn.solvers.triples import Candidates, TripleProblem

    problem = TripleProblem.among_points(X, y, TARGETS).with_targets(np.eye(X.shape[1]))

    def cost(omega: np.ndarray) -> float:
        A, B = problem.mapped(omega)
        return Candidates(problem, omega, 0.0).sums(A, B, A[:, :0], B[:, :0]).cost

    return cost


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
    problem = TripleProblem.among_points(X, y, TARGETS).with_targets(np.eye(X.shape[1]))
    try:
        solve_large_margin(problem, np.eye(X.shape[1]), tol=1e-6, watch=watch)
    except Reached:
        return time.perf_counter() - begin
    return np.inf


def measure(part: str, request: Request) -> list[Measurement]:
    """Ours and the peers in turn."""
    from protolearn import LMNN

    X, y = standardised(part, request.quick)
    steps, peers = JOBS[part]
    steps = min(steps, 5) if request.quick else steps
    cost = costs(X, y)
    path = request.folder / f"metric-{part}.npz"
    np.savez(path, X=X, y=y)
    warnings.filterwarnings("ignore")
    LMNN(TARGETS, max_iter=2).fit(X[::20] if len(X) > 1000 else X, y[::20] if len(X) > 1000 else y)
    found: list[Measurement] = []

    def add(library: str, version: str, repeat: int, **values: float) -> None:
        units = {"time": "s", "time to its cost": "s", "peak": "MB"}
        for name, value in values.items():
            name = name.replace("_", " ")
            found.append(
                one_row(
                    part=part, data=f"{part} {X.shape[0]} x {X.shape[1]}", task=f"LMNN, {steps} steps allowed",
                    library=library, setting="all threads", measure=name, unit=units.get(name, ""), value=value,
                    repeat=repeat, version=version,
                )
            )  # fmt: skip

    for repeat in range(request.repeats):
        begin = time.perf_counter()
        peak, model = peak_of(lambda: LMNN(TARGETS, max_iter=steps).fit(X, y), X.nbytes)
        seconds = time.perf_counter() - begin
        end = cost(model.components_)
        add(
            "protolearn",
            installed("protolearn"),
            repeat,
            time=seconds,
            cost=end,
            steps=model.n_iter_,
            peak=peak / 2**20,
        )
        for library in peers if request.peers is not None else ():
            result = request.folder / f"metric-{part}-{library}.npz"
            try:
                python = request.peers.python("lmnn")
                command = [str(python), str(_SCRIPT), library, str(path), str(steps), str(TARGETS), str(result)]
                subprocess.run(command, check=True, capture_output=True, text=True)
            except CannotBeMade as error:
                request.tell(f"  {library}: {error}")
                peers = ()
                break
            except subprocess.CalledProcessError as error:
                lines = error.stderr.strip().splitlines() or ["no message"]
                request.tell(f"  {library} failed: {lines[-1]}")
                peers = tuple(other for other in peers if other != library)
                continue
            with np.load(result) as stored:
                theirs, reached, n = float(stored["seconds"]), cost(stored["omega"]), float(stored["steps"])
            add(
                library, request.peers.version("lmnn", library), repeat, time=theirs, cost=reached, steps=n,
                time_to_its_cost=seconds_to(X, y, reached),
            )  # fmt: skip
    return found


def ratios(rows: Sequence[Measurement]) -> list[Ratio]:
    """How many times faster, whole and to the peer's cost."""
    found: list[Ratio | None] = []
    for part in JOBS:
        here = where(rows, part=part)
        ours = where(here, library="protolearn", measure="time")
        for library in JOBS[part][1]:
            theirs = where(here, library=library, measure="time")
            if ours and theirs:
                cost = (median(where(here, library=name, measure="cost")) for name in ("protolearn", library))
                note = "cost {:.1f} against {:.1f}".format(*cost)
                wanted = {"least": 4.0} if part.startswith("made") else {}
                found.append(ratio(theirs, ours, f"LMNN, {ours[0].data}", library, note=note, **wanted))
                reach = where(here, library=library, measure="time to its cost")
                found.append(ratio(theirs, reach, f"LMNN, {ours[0].data}", f"{library}, to its cost"))
    return [one for one in found if one is not None]


def lines(rows: Sequence[Measurement]) -> list[Line]:
    """Whole fits of the two large sets for docs/speed.md."""
    found = []
    for one in ratios(rows):
        task, data = one.what.split(", ", 1)
        if data.startswith("made") and not one.against.endswith("cost"):
            found.append(Line(f"{task}, 30 steps", data, "s", one.under, one.over, one.against, one))
    return found


HEADER = ("set", "library", "cost", "steps", "seconds", "peak MB")


def tables(rows: Sequence[Measurement]) -> list[tuple[str, Sequence[str], list[tuple]]]:
    """Every fit."""
    body = []
    for source in dict.fromkeys((row.part, row.library) for row in rows):
        here = where(rows, part=source[0], library=source[1])
        of = {name: where(here, measure=name) for name in ("cost", "steps", "time", "peak")}
        peak = f"{median(of['peak']):.0f}" if of["peak"] else ""
        body.append(
            (
                f"{here[0].data}, {here[0].task.partition(', ')[2]}",
                f"{source[1]} {here[0].version}".strip(),
                f"{median(of['cost']):.1f}",
                f"{median(of['steps']):.0f}",
                spread(of["time"]),
                peak,
            )
        )
    return [("Every fit", HEADER, body)]


CASE = Case(
    name="metric",
    line="LMNN beside metric-learn and pylmnn: cost and time",
    duration="3 minutes; 12 with --peers; most sets need PROTOLEARN_DATA",
    parts={name: partial(measure, name) for name in JOBS},
    ratios=ratios,
    tables=tables,
    lines=lines,
    text="""
    The same objective (3 targets, margin 1, mu one half) on the same standardised data with the same targets; every
    cost is computed by us from the learned matrix with all triples. "To its cost": the peer's time over the time we
    need to a cost that is no higher. Our peak memory is that of the fit with its data, without imports and
    compiling. Times by the clock, each library with the threads it takes.
    """,
)
