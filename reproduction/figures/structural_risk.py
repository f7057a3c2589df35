"""The penalty of structural risk minimisation over the number of prototypes: Fig. 11 of the learn1NN paper.

python reproduction/figures/structural_risk.py --out pictures
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from protolearn import Learn1NN
from protolearn.auto.srm import StructuralRiskSelector, complexity_penalty


def main() -> None:
    """Draw the penalty for the paper's 10000 samples in the plane, and what it does to a choice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    numbers = range(1, 31)
    left.plot(numbers, [complexity_penalty(m, 2, 10000) for m in numbers], marker=".")
    left.axhline(1.0, color="black", linestyle="dotted")
    left.text(12, 1.3, "an error is at most 1")
    left.set_xlabel("prototypes")
    left.set_ylabel("penalty r")
    left.set_title("N = 10000, d = 2")
    X, y = make_moons(10000, noise=0.2, random_state=0)
    selector = StructuralRiskSelector(Learn1NN(max_iter=10, random_state=0), (1, 2, 3, 4, 6, 8, 12, 16)).fit(X, y)
    found = selector.results_
    for name, style in (("training_error", "-"), ("penalised_error", "-"), ("penalty", "--")):
        right.semilogy(found["n_prototypes"], found[name], style, marker=".", label=name.replace("_", " "))
    right.set_xlabel("prototypes")
    right.set_title(f"two moons: it keeps {2 * selector.best_n_prototypes_} prototypes")
    right.legend()
    figure.tight_layout()
    figure.savefig(chosen.out / "structural_risk.png", dpi=120)


if __name__ == "__main__":
    main()
