"""The seven experiments of the LaMaLVQ thesis (Tables 6 to 12): `python -m protolearn.experiments.lamalvq`.

Runs are kept in a folder, one file each, so that a stopped command goes on where it was.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from protolearn.estimators.lamalvq import LaMaLVQ
from protolearn.experiments.datasets import load
from protolearn.experiments.lamalvq_findings import FINDINGS
from protolearn.experiments.report import provenance, table, write_section

SETS = ("iris", "wine", "letter")
LETTER_SHARE = 0.025
PROTOTYPE_SHARE = {"iris": 0.1, "wine": 0.1, "letter": 0.2}


@dataclass(frozen=True)
class Experiment:
    """Settings of one table of the thesis; the numbers of targets are those of its figures."""

    title: str
    targets: tuple[int, ...]
    settings: dict[str, Any]


EXPERIMENTS = {
    "A": Experiment("pattern version, batch update", (5, 50), {"update": "lama"}),
    "A consecutive": Experiment(
        "pattern version, batch update, consecutive", (5, 50), {"update": "lama", "mode": "consecutive"}
    ),
    "B": Experiment("pure LVQ, batch update", (5, 50), {"update": "lama", "mode": None}),
    "C": Experiment(
        "pure LVQ, batch update of prototypes and matrix",
        (1, 5, 50),
        {"update": "lama", "mode": None, "matrix_update": "batch"},
    ),
    "D": Experiment("enhanced LVQ: one solve at the end", (5, 50), {"update": "lama", "rounds": 1, "epochs": 600}),
    "E": Experiment("pattern version, generalized update", (1, 5, 50), {"update": "glvq"}),
    "F": Experiment("prototype version, generalized update", (1, 5), {"update": "glvq", "version": "prototype"}),
    "G": Experiment("prototype version, batch update", (1, 5), {"update": "lama", "version": "prototype"}),
}


def fold_of(name: str, fold: int, n_folds: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Standardised training and test part of one fold; of Letter a new 2.5 % of each class for each fold."""
    data = load(name)
    X, y = data.X, data.y
    if name == "letter":
        random = np.random.default_rng(fold)
        parts = [np.flatnonzero(y == label) for label in np.unique(y)]
        rows = np.concatenate([random.choice(part, round(LETTER_SHARE * len(part)), replace=False) for part in parts])
        X, y = X[rows], y[rows]
    split = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y))
    train, test = split[fold]
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def run(experiment: Experiment, name: str, k: int, fold: int) -> dict[str, np.ndarray]:
    """One fit and its curves."""
    X, y, Xt, yt = fold_of(name, fold)
    n_prototypes = 1
    if experiment.settings.get("version") == "prototype":
        # The share is of the average class size, stated twice in the thesis; two at least, or there are no targets.
        n_prototypes = max(2, round(PROTOTYPE_SHARE[name] * len(y) / len(np.unique(y))))
    model = LaMaLVQ(n_prototypes, n_neighbors=k, random_state=fold, **experiment.settings)
    start = LaMaLVQ(
        n_prototypes, n_neighbors=k, random_state=fold, mode=None, rounds=1, epochs=1, learning_rate=1e-12
    ).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    history = {key: np.array(value) for key, value in vars(model.history_).items() if key != "metric"}
    return history | {
        "start_error": np.array(start.history_.error[0]),
        "start_norm": np.array(start.history_.norm[0]),
        "test_error": np.array(1.0 - model.score(Xt, yt)),
        "matrix": model.history_.metric[-1][0],
    }


class Results:
    """Runs read from or written to the folder; means over the folds."""

    def __init__(self, folder: Path, n_folds: int) -> None:
        self.folder, self.n_folds = folder, n_folds
        folder.mkdir(parents=True, exist_ok=True)

    def file(self, letter: str, name: str, k: int, fold: int) -> Path:
        """Where a run is kept."""
        return self.folder / f"{letter.replace(' ', '_')}-{name}-{k}-{fold}.npz"

    def complete(self, letter: str, name: str, k: int, fold: int) -> None:
        """Make the run unless it is there."""
        path = self.file(letter, name, k, fold)
        if not path.exists():
            arrays: dict[str, Any] = run(EXPERIMENTS[letter], name, k, fold)
            np.savez(path, **arrays)

    def runs(self, letter: str, name: str, k: int) -> list[dict[str, np.ndarray]]:
        """All folds that were run."""
        files = [self.file(letter, name, k, fold) for fold in range(self.n_folds)]
        return [dict(np.load(path)) for path in files if path.exists()]

    def mean(self, letter: str, name: str, k: int, key: str) -> np.ndarray:
        """Mean over the folds."""
        return np.mean([one[key] for one in self.runs(letter, name, k)], axis=0)


def summary(results: Results) -> str:
    """One row a setting: where the error started, its best and last value, the norm, and what the solves did."""
    rows = []
    for letter, experiment in EXPERIMENTS.items():
        for name in SETS:
            for k in experiment.targets:
                runs = results.runs(letter, name, k)
                if not runs:
                    continue
                solves = experiment.settings.get("mode", "single") is not None
                rise = np.mean([np.mean(one["error"] > one["error_before"]) for one in runs])
                fall = np.mean([np.mean(one["cost"] <= one["cost_before"] * (1 + 1e-9)) for one in runs])
                error = np.mean([one["error"] for one in runs], axis=0)
                rows.append(
                    (
                        letter,
                        name,
                        k,
                        f"{100 * np.mean([one['start_error'] for one in runs]):.1f}",
                        f"{100 * error.min():.1f}",
                        f"{100 * error[-1]:.1f}",
                        f"{100 * np.mean([one['test_error'] for one in runs]):.1f}",
                        f"{np.mean([one['start_norm'] for one in runs]):.3g}",
                        f"{np.mean([one['norm'][-1] for one in runs]):.3g}",
                        f"{100 * rise:.0f}" if solves else "-",
                        f"{100 * fall:.0f}" if solves else "-",
                    )
                )
    header = (
        "exp.", "set", "k", "error at the start %", "lowest %", "last %", "test %", "norm at the start", "norm",
        "solves after which the error rose %", "solves that did not raise the cost %",
    )  # fmt: skip
    return table(header, rows)


def verdicts(results: Results) -> str:
    """Each finding of the thesis, whether it shows here, and the figures."""
    rows = []
    for figure, text, check in FINDINGS:
        holds, figures = check(results)
        rows.append((figure, text, "confirmed" if holds else "**contradicted**", figures))
    return table(("figure", "finding", "here", "figures"), rows)


def main() -> None:
    """Run what is missing, draw, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--runs", type=Path, default=Path("lamalvq-runs"), help="folder of the finished runs")
    parser.add_argument("--report", type=Path, default=Path("docs/fidelity.md"))
    parser.add_argument("--figures", type=Path, default=Path("docs/figures"))
    options = parser.parse_args()
    results = Results(options.runs, options.folds)
    for fold in range(options.folds):
        for letter, experiment in EXPERIMENTS.items():
            for name in SETS:
                for k in experiment.targets:
                    results.complete(letter, name, k, fold)
        print(f"fold {fold + 1} of {options.folds} done", flush=True)
    draw(results, options.figures)
    links = ", ".join(f"[{letter}](figures/lamalvq_{letter.replace(' ', '_')}.png)" for letter in EXPERIMENTS)
    command = f"python -m protolearn.experiments.lamalvq --folds {options.folds}"
    text = (
        "## LaMaLVQ: the seven experiments of the thesis\n\n"
        f"{options.folds} folds of 10, Iris and Wine whole, Letter 2.5 % of each class (drawn anew for each fold), "
        "standardised by the training part, settings of Table 4 (30 rounds of 20 epochs, eta 0.01, margin 0.01). The "
        "thesis prints curves only; a finding is tested on the figures beside it. Curves (error, cost, norm): "
        f"{links}; [matrices](figures/lamalvq_matrices.png).\n\n{verdicts(results)}\n\n{REMARK}\n\n{summary(results)}"
        f"\n\n{provenance(command)}"
    )
    write_section(options.report, "lamalvq", text)


REMARK = (
    "Why a solve cannot raise its own cost, against what Fig. 4 shows: the solve lowers the cost for the targets it "
    "was given, and the targets found anew are the k nearest, which make every pull and every hinge as small as it "
    "can be under the new metric. Both steps lower the same sum, so the consecutive mode cannot oscillate either. "
    "Rises in the thesis must come from an inexact solve or from prototypes that moved in between. In G some of our "
    "solves end higher too (last column): there the cost is below a thousandth of the margin, or the prototypes are "
    "some 100,000 spreads away from the data; we take it for rounding and have not traced it further."
)


def draw(results: Results, folder: Path) -> None:
    """Curves of each experiment and the mean matrices."""
    from protolearn.inspection.lama_plots import plot_matrices, plot_rounds

    folder.mkdir(parents=True, exist_ok=True)
    matrices = []
    keys = ("error_before", "error", "cost_before", "cost", "norm")
    for letter, experiment in EXPERIMENTS.items():
        curves = {}
        for name in SETS:
            for k in experiment.targets:
                if results.runs(letter, name, k):
                    curves[name, f"k = {k}"] = {key: results.mean(letter, name, k, key) for key in keys}
                    if letter in "AEF":
                        matrices.append((f"{letter} {name} k = {k}", results.mean(letter, name, k, "matrix")))
        path = folder / f"lamalvq_{letter.replace(' ', '_')}.png"
        plot_rounds(curves, f"{letter}: {experiment.title}", path)
    plot_matrices(matrices, "Mean of the learned matrices", folder / "lamalvq_matrices.png")


if __name__ == "__main__":
    main()
