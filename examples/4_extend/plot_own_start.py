"""
A start of your own
===================

``init`` takes positions that you know to be sensible: measured cases, the result of another method, or a function.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from protolearn import GLVQ, MixtGauss, NearestPrototype

X, y = make_moons(500, noise=0.15, random_state=0)


def outermost(data, counts, random):
    """The rows of each class that are farthest from its mean."""
    positions = []
    for label, n in enumerate(counts):
        rows = X[y == label]
        distance = np.sum((rows - rows.mean(axis=0)) ** 2, axis=1)
        positions.append(rows[np.argsort(distance)[-n:]])
    return np.concatenate(positions), np.repeat(np.arange(len(counts)), counts)


starts = {
    '"kmeans", the default': "kmeans",
    "chosen rows": (X[[3, 8, 1, 5]], y[[3, 8, 1, 5]]),
    "another model": MixtGauss(2, init="kmeans", random_state=0).fit(X, y),
    "a function": outermost,
}
figure, axes = plt.subplots(1, 4, figsize=(10, 2.7), sharey=True, layout="constrained")
for ax, (title, init) in zip(axes, starts.items(), strict=True):
    begin = NearestPrototype(2, init=init, random_state=0).fit(X, y)
    end = GLVQ(2, init=init, random_state=0).fit(X, y)
    ax.scatter(*X.T, c=np.array(["#b9cfe8", "#f3cdb2"])[y], s=4)
    ax.plot(*begin.prototypes_.T, "kx", markersize=6)
    for old, new in zip(begin.prototypes_, end.prototypes_, strict=True):
        ax.plot(*np.stack([old, new]).T, color="black", linewidth=0.8)
    ax.scatter(
        *end.prototypes_.T,
        s=70,
        c=np.array(["#2f6fb7", "#e07b39"])[end.prototype_labels_],
        edgecolors="black",
    )
    ax.set_title(f"{title}\n{begin.score(X, y):.0%} to {end.score(X, y):.0%} right", fontsize=9)
    ax.set(xticks=[], yticks=[])
plt.show()
