"""Learn1NN and LVQ1 on Ripley's synthetic data: the class borders of Figs. 6 and 7.

PROTOLEARN_DATA=... python reproduction/figures/learn1nn_ripley.py --out pictures

Table 3 is made by `protolearn reproduce learn1nn --table 3`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from reproduction.datasets import load
from reproduction.ripley import bayes_border, lvq1_model, ripley_model

LINES = ((2, "dotted"), (6, "dashed"), (32, "dashdot"))
SETTINGS = ({"learning_rate": 0.01, "sigma": 0.15}, {"learning_rate": 0.05})


def borders(make, settings: dict[str, float], title: str, path: Path) -> None:
    """The training set, the Bayes border and the borders of 2, 6 and 32 prototypes."""
    X, y, X_test, y_test = load("synth").split()
    across, up = np.meshgrid(np.linspace(-1.3, 1.3, 400), np.linspace(-0.6, 1.3, 300))
    grid = np.column_stack([across.ravel(), up.ravel()])
    figure, ax = plt.subplots(figsize=(7, 4.8))
    ax.plot(*X[y == 0].T, ".", color="tab:blue", markersize=5)
    ax.plot(*X[y == 1].T, "s", color="tab:orange", markersize=4)
    ax.contour(across, up, bayes_border(grid).reshape(across.shape), [0.0], colors="black")
    handles = [plt.Line2D([], [], color="black", label="Bayes border")]
    for total, style in LINES:
        model = make(total // 2, 0, **settings).fit(X, y)
        side = model.decision_function(grid).reshape(across.shape)
        ax.contour(across, up, side, [0.0], colors="tab:red", linestyles=style)
        error = 100 * (1 - model.score(X_test, y_test))
        handles.append(
            plt.Line2D([], [], color="tab:red", linestyle=style, label=f"{total} prototypes, test error {error:.1f} %")
        )
    ax.legend(handles=handles, loc="lower right", fontsize=8)
    ax.set_title(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    borders(ripley_model, SETTINGS[0], "learn1NN", chosen.out / "learn1nn_fig6.png")
    borders(lvq1_model, SETTINGS[1], "LVQ1", chosen.out / "learn1nn_fig7.png")


if __name__ == "__main__":
    main()
