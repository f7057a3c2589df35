"""Tables 2 and 3 and Figure 1 of the MixtGauss paper: Chen and MixtGauss on edited training sets.

    PROTOLEARN_DATA=<folder> python -m protolearn.experiments.mixtgauss [--repeats 3] [--docs docs]

5-fold cross-validation, stratified and shuffled (A10); in each fold Wilson's editing first, its k chosen by 5-fold
cross-validation on the training part alone; then each method with 3 and with 5 prototypes a class, 1-NN on the test
part. On the features as they are, as in the paper, and standardised by the training part.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from protolearn.estimators.generators import ChenCondensing, MixtGauss
from protolearn.estimators.selectors import HartCondensing, WilsonEditing
from protolearn.experiments.datasets import load
from protolearn.experiments.report import provenance, table, write_section
from protolearn.inspection.curves import plot_accuracy_by_size

# The paper's name, ours, and its accuracies: edited set, then Chen and MixtGauss with 3J, then with 5J prototypes.
PUBLISHED = {
    "Cancer": ("breast", 95.75, 96.78, 95.32, 96.34, 94.30),
    "Pima": ("pima", 73.05, 65.89, 69.27, 69.54, 68.88),
    "Glass": ("glass", 71.40, 56.04, 59.46, 63.99, 61.34),
    "Heart": ("heart", 65.88, 64.07, 64.07, 65.15, 63.33),
    "Liver": ("liver", 65.85, 55.69, 60.01, 57.12, 56.86),
    "Vehicle": ("vehicle", 64.41, 46.66, 49.72, 50.20, 54.96),
    "Vowel": ("vowel", 97.90, 42.71, 65.44, 48.89, 82.28),
    "Wine": ("wine", 71.35, 72.37, 73.56, 69.62, 73.56),
    "Phoneme": ("phoneme", 72.05, 69.45, 75.27, 69.36, 71.11),
    "Satimage": ("satimage", 82.99, 65.59, 74.76, 70.87, 77.01),
    "Texture": ("texture", 98.96, 50.76, 79.71, 63.92, 79.73),
}
FOLDS = 5
SIZES = (3, 5)
LARGEST_OF_FIGURE = 19
FIGURE_ROWS = (1, 3, 5, 10, 19)

Method = Callable[[int, int], Any]
METHODS: dict[str, Method] = {
    "Chen": lambda n, seed: ChenCondensing(n),
    "MixtGauss": lambda n, seed: MixtGauss(n, random_state=seed),
    "Chen, a centroid for each class in a block": lambda n, seed: ChenCondensing(n, centroids="class"),
    "Chen, split by overlap": lambda n, seed: ChenCondensing(n, criterion="overlap"),
    "MixtGauss, Algorithm 1 as printed": lambda n, seed: MixtGauss(n, stopping="algorithm1", random_state=seed),
    "MixtGauss, variance = range/10 as printed": lambda n, seed: MixtGauss(n, literal_variance=True, random_state=seed),
    "MixtGauss, EM to convergence": lambda n, seed: MixtGauss(n, stopping="likelihood", random_state=seed),
    "MixtGauss, k-means start": lambda n, seed: MixtGauss(n, init="kmeans", random_state=seed),
    "MixtGauss, classified by the mixture": lambda n, seed: MixtGauss(
        n, init="kmeans", stopping="likelihood", classify_by="mixture", random_state=seed
    ),
}
# Methods that choose their number themselves.
FREE: dict[str, Method] = {
    "MixtGauss, number by BIC, classified by the mixture": lambda n, seed: MixtGauss(
        "bic", init="kmeans", stopping="likelihood", classify_by="mixture", random_state=seed
    ),
    "Hart on the edited set": lambda n, seed: HartCondensing(),
}

Scores = dict[str, dict[str, list[float]]]


def paper_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X and y as the paper has them: of Vowel the training half only."""
    data = load(name)
    if name == "vowel":
        X, y, _, _ = data.split()
        return X, y
    return data.X, data.y


def edited_folds(X: np.ndarray, y: np.ndarray, repeats: int, *, standardised: bool) -> Iterator[tuple]:
    """For each fold of each repeat: the seed, the editing fitted to the training part, and X and y of the test part."""
    for seed in range(repeats):
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
            X_train, X_test = X[train], X[test]
            if standardised:
                scaler = StandardScaler().fit(X_train)
                X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
            editing = WilsonEditing("auto", random_state=seed).fit(X_train, y[train])
            yield seed, editing, X_test, y[test]


def compare(name: str, repeats: int, *, standardised: bool) -> dict[str, list[float]]:
    """Accuracy in percent of each method and number of prototypes in each fold; share removed from the edited set."""
    scores: dict[str, list[float]] = defaultdict(list)
    for seed, editing, X_test, y_test in edited_folds(*paper_set(name), repeats, standardised=standardised):
        X, y = editing.prototypes_, editing.prototype_labels_
        scores["edited"].append(100 * editing.score(X_test, y_test))
        scores["edited size"].append(len(y))
        scores["k"].append(editing.n_neighbors_)
        for size in SIZES:
            for method, make in METHODS.items():
                fitted = make(size, seed).fit(X, y)
                scores[f"{method} {size}J"].append(100 * fitted.score(X_test, y_test))
                scores[f"{method} {size}J removed"].append(100 * fitted.reduction_)
        for method, make in FREE.items():
            fitted = make(0, seed).fit(X, y)
            scores[method].append(100 * fitted.score(X_test, y_test))
            scores[f"{method} removed"].append(100 * fitted.reduction_)
    return dict(scores)


def figure_one(repeats: int, path: Path) -> tuple[list[int], dict[str, np.ndarray], float]:
    """Vowel with 11 to 209 prototypes: draws the figure; sizes, accuracies, and the accuracy of the edited set."""
    numbers = range(1, LARGEST_OF_FIGURE + 1)
    shown = ("Chen", "MixtGauss", "MixtGauss, k-means start")
    runs: dict[str, list[list[float]]] = {method: [] for method in shown}
    edited = []
    for seed, editing, X_test, y_test in edited_folds(*paper_set("vowel"), repeats, standardised=False):
        X, y = editing.prototypes_, editing.prototype_labels_
        edited.append(editing.score(X_test, y_test))
        for method in shown:
            runs[method].append([METHODS[method](n, seed).fit(X, y).score(X_test, y_test) for n in numbers])
    sizes = [11 * n for n in numbers]
    accuracies = {method: np.array(values).T for method, values in runs.items()}
    reference = float(np.mean(edited))
    path.parent.mkdir(parents=True, exist_ok=True)
    plot_accuracy_by_size(
        sizes, accuracies, reference=("edited set", reference), title="Vowel (MixtGauss, Figure 1)", path=path
    )
    return sizes, accuracies, reference


def mean(scores: Scores, key: str) -> float:
    """Mean over the data sets of the mean over the folds."""
    return float(np.mean([np.mean(of_set[key]) for of_set in scores.values()]))


def summary_table(by_scaling: dict[str, Scores]) -> str:
    """Means over the data sets, beside the published ones."""
    scored = next(iter(by_scaling.values()))
    printed = np.mean([numbers[1:] for numbers in PUBLISHED.values() if numbers[0] in scored], axis=0)
    published = {
        "edited": printed[0],
        "Chen 3J": printed[1],
        "MixtGauss 3J": printed[2],
        "Chen 5J": printed[3],
        "MixtGauss 5J": printed[4],
    }
    rows = []
    keys = ["edited", *(f"{method} {size}J" for size in SIZES for method in METHODS), *FREE]
    for key in keys:
        cells = [f"{mean(scores, key):.2f}" for scores in by_scaling.values()]
        removed = "" if key == "edited" else f"{mean(scored, f'{key} removed'):.1f}"
        rows.append((key, f"{published[key]:.2f}" if key in published else "", *cells, removed))
    return table(("method", "published", *by_scaling, "removed from the edited set, %"), rows)


def sets_table(scores: Scores) -> str:
    """Each data set: published and ours, with the standard deviation over the folds."""
    rows = []
    for title, (name, edited, *figures) in PUBLISHED.items():
        if name not in scores:
            continue
        of_set = scores[name]
        row = [title, f"{np.mean(of_set['edited size']):.0f}", f"{edited:.2f}", f"{np.mean(of_set['edited']):.2f}"]
        keys = [f"{method} {size}J" for size in SIZES for method in ("Chen", "MixtGauss")]
        for key, figure in zip(keys, figures, strict=True):
            row += [f"{figure:.2f}", f"{np.mean(of_set[key]):.2f} ({np.std(of_set[key]):.1f})"]
        rows.append(row)
    header = ["set", "edited size", "edited, published", "ours"]
    for size in SIZES:
        header += [f"Chen {size}J, published", "ours", f"MixtGauss {size}J, published", "ours"]
    return table(header, rows)


def claims(scores: Scores) -> str:
    """The paper's claims, with our figures."""
    lead = {size: mean(scores, f"MixtGauss {size}J") - mean(scores, f"Chen {size}J") for size in SIZES}
    wins = {
        size: sum(np.mean(s[f"MixtGauss {size}J"]) > np.mean(s[f"Chen {size}J"]) for s in scores.values())
        for size in SIZES
    }
    return "\n".join(
        [
            f"- MixtGauss at 3J: {mean(scores, 'MixtGauss 3J'):.2f} (published 69.69); at 5J: "
            f"{mean(scores, 'MixtGauss 5J'):.2f} (published 71.21).",
            f"- MixtGauss leads Chen by {lead[3]:.2f} points at 3J (published 7.33), on {wins[3]} of {len(scores)} "
            f"sets (published 9 and a draw), and by {lead[5]:.2f} at 5J (published 5.30), on {wins[5]} (published 6).",
        ]
    )


def figure_text(sizes: list[int], accuracies: dict[str, np.ndarray], reference: float, picture: str) -> str:
    """Figure 1 and some of its numbers."""
    rows = [(sizes[n - 1], *(f"{100 * runs[n - 1].mean():.1f}" for runs in accuracies.values())) for n in FIGURE_ROWS]
    return "\n\n".join(
        [
            f"![Accuracy on Vowel by number of prototypes]({picture})",
            f"Edited set: {100 * reference:.1f} %.",
            table(("prototypes", *accuracies), rows),
        ]
    )


_NOTES = """Folds are stratified and shuffled. The published standard deviations on Phoneme and Satimage (up to 19.8)
and the low figures of the edited sets there (72.05 and 82.99, ours {phoneme:.2f} and {satimage:.2f}) point to folds in
the order of the file (A10); compare the averages with that in mind. "MixtGauss" is Algorithm 1 with its roll-back
repaired (A8), variances read as variances (A6), standard deviation and disturbance a tenth of the class's range
(A7)."""


def main(arguments: list[str] | None = None) -> None:
    """Run the comparison, draw the figure, and write the section of docs/fidelity.md."""
    parser = argparse.ArgumentParser(prog="python -m protolearn.experiments.mixtgauss", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="times 5 folds (default: 3)")
    parser.add_argument("--sets", nargs="+", default=[numbers[0] for numbers in PUBLISHED.values()], help="data sets")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder of fidelity.md and of the figure")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)
    by_scaling: dict[str, Scores] = {"raw": {}, "standardised": {}}
    for name in options.sets:
        for scaling, scores in by_scaling.items():
            scores[name] = compare(name, options.repeats, standardised=scaling == "standardised")
            print(
                f"{name}, {scaling}: edited {np.mean(scores[name]['edited']):.2f}, "
                + ", ".join(f"{m} 3J {np.mean(scores[name][f'{m} 3J']):.2f}" for m in ("Chen", "MixtGauss")),
                flush=True,
            )
    picture = Path("figures") / "mixtgauss_vowel.png"
    options.docs.mkdir(parents=True, exist_ok=True)
    figure = figure_one(options.repeats, options.docs / picture)
    raw = by_scaling["raw"]
    parts = [
        "## MixtGauss against Chen (Lozano et al., Tables 2 and 3, Figure 1)",
        provenance(f"python -m protolearn.experiments.mixtgauss --repeats {options.repeats}"),
        f"Mean accuracy in percent over {len(raw)} data sets, {FOLDS} folds, {options.repeats} repeats.",
        summary_table(by_scaling),
        claims(raw),
    ]
    if {"phoneme", "satimage"} <= set(raw):
        parts.append(
            _NOTES.format(phoneme=np.mean(raw["phoneme"]["edited"]), satimage=np.mean(raw["satimage"]["edited"]))
        )
    parts += ["### Set by set, raw features", sets_table(raw)]
    parts += ["### Set by set, standardised features", sets_table(by_scaling["standardised"])]
    parts += ["### Figure 1", figure_text(*figure, picture.as_posix())]
    write_section(options.docs / "fidelity.md", "mixtgauss", "\n\n".join(parts))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
