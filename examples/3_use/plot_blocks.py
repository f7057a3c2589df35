"""
More rows than memory
=====================

A function that yields blocks is a training set: one block at a time is in memory. The model is the same as with all
rows at once.
"""

import matplotlib.pyplot as plt
import numpy as np

from protolearn import GLVQ
from protolearn.data import Blocks

DAYS, ROWS = 20, 5000


def days():
    """One block for each day; in your work this reads a file."""
    for day in range(DAYS):
        rng = np.random.default_rng(day)
        y = rng.integers(0, 3, ROWS)
        yield rng.normal(size=(ROWS, 2)) + 2.5 * np.array([[0, 0], [1, 0], [0, 1]])[y], y


model = GLVQ(solver="lbfgs", max_iter=20, random_state=0).fit(Blocks(days))
print(f"{DAYS * ROWS} rows, {ROWS} at a time: {model.score(Blocks(days)):.3f} right")

X, y = (np.concatenate(part) for part in zip(*days(), strict=True))
whole = GLVQ(solver="lbfgs", max_iter=20, random_state=0).fit(X, y)
print(
    "largest difference of a prototype:",
    float(abs(model.prototypes_ - whole.prototypes_).max().round(3)),
)

figure, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
ax.hexbin(*X.T, gridsize=60, cmap="Blues", mincnt=1)
ax.plot(*whole.prototypes_.T, "o", markersize=13, color="#e07b39", label="all rows at once")
ax.plot(*model.prototypes_.T, "x", markersize=9, color="black", label="block by block")
ax.legend()
plt.show()
