"""What the LaMaLVQ thesis reports of each experiment, each as a test on mean curves over the folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# "Much the same", in points of error.
_SAME = 0.02


def _start(results: Any, letter: str, name: str, k: int) -> float:
    return float(results.mean(letter, name, k, "start_error"))


def _errors(results: Any, letter: str, name: str, k: int) -> np.ndarray:
    return results.mean(letter, name, k, "error")


def _last(results: Any, letter: str, name: str, k: int) -> float:
    return float(_errors(results, letter, name, k)[-1])


def _percent(*values: float) -> str:
    return ", ".join(f"{100 * value:.1f} %" for value in values)


def letter_gets_lost(letter: str) -> Callable:
    """Letter worsens with k and nears 100 % at 50."""

    def check(results: Any) -> tuple[bool, str]:
        few, many = _last(results, letter, "letter", 5), _last(results, letter, "letter", 50)
        start = _start(results, letter, "letter", 5)
        return start < few < many and many > 0.85, f"start {_percent(start)}; k = 5, 50: {_percent(few, many)}"

    return check


def better_then_worse(results: Any) -> tuple[bool, str]:
    """Wine improves at first, then worsens."""
    found = []
    for k in (5, 50):
        curve = np.concatenate([[_start(results, "A", "wine", k)], _errors(results, "A", "wine", k)])
        found.append((curve[0], curve.min(), curve[-1]))
    holds = all(first > lowest + 1e-3 and last > lowest + 0.005 for first, lowest, last in found)
    return holds, "; ".join(f"k = {k}: {_percent(*one)}" for k, one in zip((5, 50), found, strict=True))


def change(letter: str, name: str, k: int, direction: str) -> Callable:
    """Error at the end against the start: better, worse or same."""

    def check(results: Any) -> tuple[bool, str]:
        start, last = _start(results, letter, name, k), _last(results, letter, name, k)
        holds = {"better": last < start - 0.005, "worse": last > start + 0.005, "same": abs(last - start) < 2 * _SAME}
        return holds[direction], f"{_percent(start)} to {_percent(last)}"

    return check


def all_change(letter: str, names: tuple[str, ...], k: int, direction: str) -> Callable:
    """The same change on several sets."""

    def check(results: Any) -> tuple[bool, str]:
        found = [change(letter, name, k, direction)(results) for name in names]
        return all(one for one, _ in found), "; ".join(f"{n}: {f}" for n, (_, f) in zip(names, found, strict=True))

    return check


def modes_agree(results: Any) -> tuple[bool, str]:
    """Single and consecutive mode end within two points of each other."""
    gaps = {
        f"{name} k = {k}": _last(results, "A consecutive", name, k) - _last(results, "A", name, k)
        for name in ("iris", "wine", "letter")
        for k in (5, 50)
    }
    listed = ", ".join(f"{key}: {100 * gap:+.1f}" for key, gap in gaps.items())
    return all(abs(gap) < 2 * _SAME for gap in gaps.values()), f"points: {listed}"


def test_mirrors_training(results: Any) -> tuple[bool, str]:
    """Test error within five points of the training error."""
    gaps = [
        float(results.mean("A", name, k, "test_error")) - _last(results, "A", name, k)
        for name in ("iris", "wine", "letter")
        for k in (5, 50)
    ]
    return max(np.abs(gaps)) < 0.05, "test minus training, points: " + ", ".join(f"{100 * gap:+.1f}" for gap in gaps)


def solves_raise_their_cost(results: Any) -> tuple[bool, str]:
    """Some solves end at a higher cost than they started from."""
    raised = [
        np.mean(one["cost"] > one["cost_before"] * (1 + 1e-9))
        for name in ("iris", "wine", "letter")
        for k in (5, 50)
        for one in results.runs("A", name, k)
    ]
    return max(raised) > 0, f"{100 * np.mean(raised):.1f} % of the solves raised the cost"


def norm_grows(letter: str, name: str, k: int, factor: float, *, above: bool = True) -> Callable:
    """The mean prototype norm passes (or stays below) a multiple of its start."""

    def check(results: Any) -> tuple[bool, str]:
        ratio = float(results.mean(letter, name, k, "norm")[-1] / results.mean(letter, name, k, "start_norm"))
        return (ratio > factor) == above, f"{ratio:.3g} times the norm at the start"

    return check


def cost_falls(letter: str, k: int) -> Callable:
    """The cost of the last round lies below that of the first, on every set; and how many rounds raise it."""

    def check(results: Any) -> tuple[bool, str]:
        found, holds = [], True
        for name in ("iris", "wine", "letter"):
            cost = results.mean(letter, name, k, "cost")
            rises = np.mean(np.diff(cost) > 0)
            holds &= bool(cost[-1] < cost[0] and rises < 0.2)
            found.append(f"{name}: {cost[0]:.3g} to {cost[-1]:.3g}, {100 * rises:.0f} % of rounds rise")
        return holds, "; ".join(found)

    return check


def worse_than(letter: str, other: str, k: int) -> Callable:
    """Ends with a higher error than another experiment on at least two sets of three."""

    def check(results: Any) -> tuple[bool, str]:
        names = ("iris", "wine", "letter")
        pairs = [(_last(results, letter, name, k), _last(results, other, name, k)) for name in names]
        listed = "; ".join(
            f"{name}: {_percent(a)} against {_percent(b)}" for name, (a, b) in zip(names, pairs, strict=True)
        )
        return sum(a > b for a, b in pairs) >= 2, listed

    return check


def last_solve_helps(name: str, k: int, helps: bool) -> Callable:
    """Enhanced LVQ: the error after the one solve against the start."""

    def check(results: Any) -> tuple[bool, str]:
        start = _start(results, "D", name, k)
        before = float(results.mean("D", name, k, "error_before")[-1])
        after = _last(results, "D", name, k)
        return (
            after < start - 0.005
        ) == helps, f"start {_percent(start)}, before the solve {_percent(before)}, after {_percent(after)}"

    return check


def spikes(results: Any) -> tuple[bool, str]:
    """Wine: the error rises at most solves and falls again before the next."""
    found = []
    for k in (5, 50):
        up = np.mean([np.mean(one["error"] > one["error_before"]) for one in results.runs("E", "wine", k)])
        down = np.mean([np.mean(one["error_before"][1:] < one["error"][:-1]) for one in results.runs("E", "wine", k)])
        found.append((up, down))
    listed = "; ".join(
        f"k = {k}: up at {_percent(a)} of solves, down in {_percent(b)} of rounds"
        for k, (a, b) in zip((5, 50), found, strict=True)
    )
    return all(up > 0.5 and down > 0.5 for up, down in found), listed


def slightly_above_twenty(results: Any) -> tuple[bool, str]:
    """Letter at k = 50: training error near 20 %."""
    last = _last(results, "E", "letter", 50)
    return 0.15 < last < 0.27, _percent(last)


def cost_falls_error_rises(results: Any) -> tuple[bool, str]:
    """Wine at k = 1: solves lower the cost and raise the error."""
    both = np.mean(
        [
            np.mean((one["cost"] < one["cost_before"]) & (one["error"] > one["error_before"]))
            for one in results.runs("E", "wine", 1)
        ]
    )
    return both > 0.5, f"{_percent(both)} of the solves"


def cost_stands_still(results: Any) -> tuple[bool, str]:
    """Prototype version, k = 1: the cost hardly changes over the rounds."""
    ratios = {}
    for name in ("iris", "wine", "letter"):
        cost = results.mean("F", name, 1, "cost")
        ratios[name] = cost.max() / max(cost.min(), 1e-300)
    return max(ratios.values()) < 1.5, "largest over smallest cost: " + ", ".join(
        f"{n} {r:.3g}" for n, r in ratios.items()
    )


def dominant_diagonal(results: Any) -> tuple[bool, str]:
    """Where the error improved, the diagonal of the mean matrix outweighs the rest."""
    shares = {}
    for name in ("iris", "wine", "letter"):
        for k in (1, 5):
            if _last(results, "F", name, k) < _start(results, "F", name, k) - 0.005:
                matrix = np.abs(results.mean("F", name, k, "matrix"))
                d = len(matrix)
                off = (matrix.sum() - np.trace(matrix)) / (d * d - d)
                shares[f"{name} k = {k}"] = np.trace(matrix) / d / max(off, 1e-300)
    listed = ", ".join(f"{key}: {value:.2g}" for key, value in shares.items())
    return bool(shares) and min(shares.values()) > 2, f"mean diagonal over mean off-diagonal entry: {listed}"


def gain_vanishes(results: Any) -> tuple[bool, str]:
    """G ends worse than F on all sets at k = 1."""
    names = ("iris", "wine", "letter")
    pairs = [(_last(results, "G", name, 1), _last(results, "F", name, 1)) for name in names]
    listed = "; ".join(f"{n}: {_percent(g)} against {_percent(f)}" for n, (g, f) in zip(names, pairs, strict=True))
    return all(g > f for g, f in pairs), listed


BOTH, ALL = ("iris", "wine"), ("iris", "wine", "letter")
FINDINGS: list[tuple[str, str, Callable]] = [
    ("A, 2", "test error mirrors the training error", test_mirrors_training),
    ("A, 2", "Letter worsens, the more so with more targets, to nearly 100 % at k = 50", letter_gets_lost("A")),
    ("A, 2", "Wine improves first, then worsens", better_then_worse),
    ("A, 2", "Iris changes little at k = 5", change("A", "iris", 5, "same")),
    ("A, 2", "Iris improves at k = 50 (all points are targets)", change("A", "iris", 50, "better")),
    ("A, 3", "the consecutive mode gives about the same", modes_agree),
    ("A, 4", "a solve does not in general lower the cost, since targets change", solves_raise_their_cost),
    ("A, 5", "Letter's norm extremely high at k = 50", norm_grows("A", "letter", 50, 10)),
    ("A, 5", "Wine's norm exceptionally high at k = 5", norm_grows("A", "wine", 5, 3)),
    ("B, 7", "Wine improves at k = 50", change("B", "wine", 50, "better")),
    ("B, 7", "Iris gets worse at k = 5", change("B", "iris", 5, "worse")),
    ("B, 7", "Letter worsens with more targets, towards 100 %", letter_gets_lost("B")),
    ("B, 8", "cost falls steadily at k = 5", cost_falls("B", 5)),
    ("B, 9", "Letter's norm extremely large at k = 50", norm_grows("B", "letter", 50, 10)),
    ("C, 10", "no improvement; worse than with the metric solve (A), k = 50", worse_than("C", "A", 50)),
    ("C, 12", "cost smooth at k = 1", cost_falls("C", 1)),
    ("D, 13", "Wine improves at k = 50", last_solve_helps("wine", 50, True)),
    ("D, 13", "Iris improves at k = 50", last_solve_helps("iris", 50, True)),
    ("D, 13", "Letter does not improve at k = 50", last_solve_helps("letter", 50, False)),
    ("E, 14", "Wine's error spikes up just after a solve, then recovers", spikes),
    ("E, 14", "Iris benefits at k = 5", change("E", "iris", 5, "better")),
    ("E, 14", "Wine and Letter deteriorate at k = 5", all_change("E", ("wine", "letter"), 5, "worse")),
    ("E, 14", "all three improve at k = 50", all_change("E", ALL, 50, "better")),
    ("E, 14", "Letter slightly above 20 % at k = 50", slightly_above_twenty),
    ("E, 15", "Wine at k = 1: the cost drops at a solve while the error rises", cost_falls_error_rises),
    ("E, 16", "Wine's norm very high", norm_grows("E", "wine", 5, 3)),
    ("E, 16", "Letter's norm small", norm_grows("E", "letter", 50, 3, above=False)),
    ("F, 18", "all three improve at k = 1", all_change("F", ALL, 1, "better")),
    ("F, 18", "Iris and Wine get worse at k = 5", all_change("F", BOTH, 5, "worse")),
    ("F, 18", "Letter keeps its improvement at k = 5", change("F", "letter", 5, "better")),
    ("F, 19", "cost does not visibly change at k = 1", cost_stands_still),
    ("F, 21", "what improves has a metric with a dominant diagonal", dominant_diagonal),
    ("G, 22", "most of the gain of F vanishes with the batch update", gain_vanishes),
]  # fmt: skip
