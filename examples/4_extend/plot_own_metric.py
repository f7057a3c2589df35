"""
A distance of your own
======================

A clock goes round: 23:50 is near to 0:10. A distance that knows this is a class with two formulas, the distance and
its gradient; all solvers, probabilities and explanations work with them.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.model_selection import cross_val_score

from protolearn import GLVQ, PrototypeClassifier
from protolearn.metrics import Metric

# %%
# When do people take which bus? The night bus runs around midnight, the other one at noon.

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 600)
hour = np.where(y == 0, rng.normal(0, 3.5, 600), rng.normal(12, 3.5, 600)) % 24
distance_home = rng.normal(0, 1, 600) + 0.5 * y
X = np.column_stack([hour, distance_home])


class Clock(Metric):
    """Column 0 is an hour h, the others are plain numbers.

        D = 8 (1 - cos(2 pi (h - m) / 24)) + |x - m|^2

    Near 0 the first term is (2 pi / 24)^2 4 (h - m)^2: about a quarter of a squared hour.
    """

    def initial_theta(self, n_slots, data):
        return np.zeros((n_slots, 0))  # nothing is learned but the positions

    def _parts(self, X, prototypes):
        differences = X[:, None, :] - prototypes.positions
        return 2 * np.pi / 24 * differences[:, :, 0], differences[:, :, 1:]

    def distances(self, X, prototypes):
        angle, others = self._parts(X, prototypes)
        return 8 * (1 - np.cos(angle)) + (others**2).sum(axis=2)

    def gradient(self, X, prototypes, C):
        C = C.toarray() if sparse.issparse(C) else C
        angle, others = self._parts(X, prototypes)
        by_hour = -8 * 2 * np.pi / 24 * (C * np.sin(angle)).sum(axis=0)
        by_others = -2 * np.einsum("ni,nij->ij", C, others)
        return np.column_stack([by_hour, by_others]), np.zeros_like(prototypes.theta)


models = {
    "Euclidean": GLVQ(solver="lbfgs", random_state=0),
    "clock": PrototypeClassifier(metric=Clock(), loss="glvq", solver="lbfgs", random_state=0),
}
across, up = np.meshgrid(np.linspace(0, 24, 240), np.linspace(-3, 4, 120))
grid = np.column_stack([across.ravel(), up.ravel()])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    score = cross_val_score(model, X, y, cv=5).mean()
    model.fit(X, y)
    ax.contourf(
        across,
        up,
        model.predict(grid).reshape(across.shape),
        colors=["#dbe7f4", "#fae5d7"],
        levels=1,
    )
    ax.scatter(*X.T, c=np.array(["#2f6fb7", "#e07b39"])[y], s=6)
    ax.plot(model.prototypes_[:, 0] % 24, model.prototypes_[:, 1], "ko", markersize=9)
    ax.set(
        title=f"{name}: {score:.1%} right",
        xlabel="hour",
        xticks=range(0, 25, 6),
        xlim=(0, 24),
        ylim=(-3, 4),
    )
plt.show()
