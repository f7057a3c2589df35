"""
Prototypes on their way
=======================

A callback sees the prototypes after each epoch. Here GLVQ starts from random training points; the lines show where
each prototype goes, and the curve how the loss falls meanwhile.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from protolearn import GLVQ

X, y = make_moons(600, noise=0.15, random_state=1)
way = []


def remember(epoch, loss, prototypes):
    """Keep a copy of the positions; returning True would stop the fit."""
    way.append(np.array(getattr(prototypes, "positions", prototypes)))


model = GLVQ(4, init="random", max_iter=60, callback=remember, random_state=3).fit(X, y)
way = np.stack(way)

COLOURS = np.array(["#2f6fb7", "#e07b39"])
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.4), width_ratios=(3, 2), layout="constrained"
)
left.scatter(*X.T, c=COLOURS[y], s=4, alpha=0.35)
for i, label in enumerate(model.prototype_labels_):
    left.plot(*way[:, i].T, color="black", linewidth=1)
    left.plot(*way[0, i], "x", color="black", markersize=6)
    left.plot(
        *model.prototypes_[i], "o", color=COLOURS[label], markersize=10, markeredgecolor="black"
    )
left.set(xticks=[], yticks=[], title="from the start (cross) to the end (circle)")
right.plot(model.loss_curve_, color="#2f6fb7")
right.set(xlabel="epoch", title="mean loss")
plt.show()
