"""LPD on the drawn two-class task: Fig. 3 (error over the slope) and Fig. 4 (prototypes and weights before and after).

python reproduction/figures/lpd_artificial.py --starts 5 --out pictures
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from protolearn import NearestPrototype
from reproduction.artificial import lpd_grid
from reproduction.lpd_grid import PATIENCE, SLOPES, grid_model


def figure_3(starts: int, path: Path) -> None:
    """Mean training error over random starts, by slope and number of prototypes."""
    X, y = lpd_grid()

    def mean_error(per_class: int, slope: float) -> float:
        models = [grid_model(per_class, slope, seed).set_params(patience=PATIENCE) for seed in range(starts)]
        return 100 * float(np.mean([1 - model.fit(X, y).score(X, y) for model in models]))

    figure, ax = plt.subplots(figsize=(6, 4))
    for per_class, marker in zip((1, 2, 3, 4), "os^D", strict=True):
        means = [mean_error(per_class, slope) for slope in SLOPES]
        ax.semilogx(SLOPES, means, marker=marker, label=f"n = {2 * per_class}")
    ax.set_xlabel("slope beta")
    ax.set_ylabel("training error (%)")
    ax.set_title(f"LPD, mean of {starts} random starts")
    ax.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def figure_4(path: Path) -> None:
    """The worst of the starts that LPD brings to no error, and what becomes of it."""
    X, y = lpd_grid()
    best = None
    for seed in range(12):
        model = grid_model(3, 10.0, seed).fit(X, y)
        start = NearestPrototype(3, init="random", random_state=seed).fit(X, y)
        ranking = (model.score(X, y), -start.score(X, y))
        if best is None or ranking > best[0]:
            best = ranking, start, model
    _, start, model = best
    figure, axes = plt.subplots(1, 2, figsize=(10, 5.6), sharex=True, sharey=True)
    for ax, shown, weights in (
        (axes[0], start, np.ones_like(start.prototypes_)),
        (axes[1], model, np.abs(model.weights_)),
    ):
        draw(ax, X, y, shown, weights)
    axes[0].set_title(f"start: {100 * (1 - start.score(X, y)):.1f} % errors")
    axes[1].set_title(f"LPD: {100 * (1 - model.score(X, y)):.1f} % errors")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw(ax, X, y, model, weights) -> None:
    """Points, regions, prototypes, and their weights as bars along the two axes."""
    across, up = np.meshgrid(np.linspace(0, 22, 300), np.linspace(0, 26, 300))
    region = model.predict(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    ax.contourf(across, up, region, levels=[-0.5, 0.5, 1.5], colors=["#dbe9f6", "#fde5d2"])
    for label, colour, marker in ((0, "tab:blue", "."), (1, "tab:orange", ".")):
        ax.plot(*X[y == label].T, marker, color=colour, markersize=4)
        own = model.prototype_labels_ == label
        ax.plot(*model.prototypes_[own].T, "s", color=colour, markeredgecolor="black", markersize=8)
    longest = 2.5
    for (x1, x2), (w1, w2) in zip(model.prototypes_, longest * weights / weights.max(), strict=True):
        ax.plot([x1 - w1, x1 + w1], [x2, x2], "k-", linewidth=2)
        ax.plot([x1, x1], [x2 - w2, x2 + w2], "k-", linewidth=2)
    ax.set_xlim(0, 22)
    ax.set_ylim(0, 26)
    ax.set_aspect("equal")


def main() -> None:
    """Draw both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5, help="random starts of a point of Fig. 3")
    parser.add_argument("--out", type=Path, default=Path("pictures"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    figure_4(chosen.out / "lpd_fig4.png")
    figure_3(chosen.starts, chosen.out / "lpd_fig3.png")


if __name__ == "__main__":
    main()
