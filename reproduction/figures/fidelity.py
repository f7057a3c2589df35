"""Our accuracies beside the published ones, from the tables of docs/fidelity.md.

python reproduction/figures/fidelity.py --page docs/fidelity.md --out docs/figures
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

SECTIONS = {
    "LOGM paper, seven methods and SVM, 22 sets": ("### Table 5: accuracy of seven methods", 1.0),
    "LPD paper, three methods, 14 sets": ("## LPD, Table 1", -1.0),
    "MixtGauss paper, three methods, 11 sets": ("### Table 2: 3 prototypes a class", 1.0),
}
CELL = re.compile(r"(\d+\.\d+) \((\d+\.\d+), [+-]\d")


def pairs(page: str, heading: str) -> np.ndarray:
    """(published, ours) of every data set in the first table that ends with their mean."""
    section = page[page.index(heading) :]
    table = section[: re.search(r"\n\| mean of \d+", section).start()].rpartition("\n\n")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    found = [(float(cell[2]), float(cell[1])) for line in rows for cell in CELL.finditer(line)]
    return np.array(found)


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, default=Path("docs/fidelity.md"))
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    chosen = parser.parse_args()
    page = chosen.page.read_text(encoding="utf-8")
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
    for ax, (title, (heading, sign)) in zip(axes, SECTIONS.items(), strict=True):
        published, ours = pairs(page, heading).T
        if sign < 0:
            published, ours = 100 - published, 100 - ours
        ends = [min(published.min(), ours.min()) - 2, 100]
        ax.plot(ends, ends, color="#8a94a6", linewidth=1)
        ax.plot(published, ours, ".", color="#2f6fb7", markersize=5)
        ax.set(
            title=f"{title}\nmean difference {np.mean(ours - published):+.2f} points", xlabel="published accuracy, %"
        )
        ax.title.set_fontsize(9)
    axes[0].set_ylabel("our accuracy, %")
    figure.savefig(chosen.out / "fidelity.png", dpi=110)


if __name__ == "__main__":
    main()
