"""The settings of the seven LaMaLVQ experiments, and their curves and matrices, read from rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# Data set -> what a row costs beside the others.
SETS = {"iris": 1.0, "wine": 3.0, "letter": 20.0}
CURVES = ("error_before", "error", "cost_before", "cost", "norm")


def method_of(experiment: str, k: int) -> str:
    """The name of a row's method: the experiment's letter and the number of targets."""
    return f"{experiment}, k = {k}"


@dataclass(frozen=True)
class Setup:
    """Settings of one table of the thesis; the numbers of targets are those of its figures."""

    title: str
    targets: tuple[int, ...]
    settings: dict[str, Any]


SETUPS = {
    "A": Setup("pattern version, batch update", (5, 50), {"update": "lama"}),
    "A consecutive": Setup(
        "pattern version, batch update, consecutive", (5, 50), {"update": "lama", "mode": "consecutive"}
    ),
    "B": Setup("pure LVQ, batch update", (5, 50), {"update": "lama", "mode": None}),
    "C": Setup(
        "pure LVQ, batch update of prototypes and matrix",
        (1, 5, 50),
        {"update": "lama", "mode": None, "matrix_update": "batch"},
    ),
    "D": Setup("enhanced LVQ: one solve at the end", (5, 50), {"update": "lama", "rounds": 1, "epochs": 600}),
    "E": Setup("pattern version, generalized update", (1, 5, 50), {"update": "glvq"}),
    "F": Setup("prototype version, generalized update", (1, 5), {"update": "glvq", "version": "prototype"}),
    "G": Setup("prototype version, batch update", (1, 5), {"update": "lama", "version": "prototype"}),
}
METHODS = {method_of(letter, k): (letter, k) for letter, setup in SETUPS.items() for k in setup.targets}
SETTINGS = tuple(METHODS.values())
TITLES = {letter: setup.title for letter, setup in SETUPS.items()}
WITHOUT_SOLVES = tuple(letter for letter, setup in SETUPS.items() if setup.settings.get("mode", "single") is None)


class Results:
    """Runs of the experiments by letter, data set and number of targets; means over the folds."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._runs: dict[tuple[str, str], list[dict[str, np.ndarray]]] = {}
        for row in sorted(rows, key=lambda row: (row["repeat"], row["fold"])):
            if not np.isnan(row["value"]):
                run = {key: np.array(value) for key, value in row["more"].items()}
                run["test_error"] = np.array(row["value"])
                self._runs.setdefault((row["method"], row["dataset"]), []).append(run)

    def has(self, letter: str, name: str, k: int) -> bool:
        """Whether any fold was run."""
        return (method_of(letter, k), name) in self._runs

    def runs(self, letter: str, name: str, k: int) -> list[dict[str, np.ndarray]]:
        """All folds that were run; a LookupError where there is none."""
        return self._runs[method_of(letter, k), name]

    def mean(self, letter: str, name: str, k: int, key: str) -> np.ndarray:
        """Mean over the folds."""
        return np.mean([one[key] for one in self.runs(letter, name, k)], axis=0)
