"""
Two moons, five prototypes
==========================

A nearest-neighbour classifier keeps all 600 training points. LOGM learns five points that give the same border, and
classifies a new point by the nearest of the five.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from protolearn import LOGM

X, y = make_moons(1200, noise=0.2, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

knn = KNeighborsClassifier(15).fit(X, y)
model = LOGM({0: 2, 1: 3}, random_state=0).fit(X, y)

# %%
# The picture: training points, the five prototypes (large), and the border between the classes.

COLOURS = np.array(["#2f6fb7", "#e07b39"])
across, up = np.meshgrid(np.linspace(-1.7, 2.7, 300), np.linspace(-1.25, 1.75, 220))
grid = np.column_stack([across.ravel(), up.ravel()])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharex=True, sharey=True, layout="constrained")
for ax, classifier in zip(axes, (knn, model), strict=True):
    side = classifier.predict(grid).reshape(across.shape)
    ax.contourf(across, up, side, levels=[-0.5, 0.5, 1.5], colors=["#dbe7f4", "#fae5d7"])
    ax.scatter(*X.T, c=COLOURS[y], s=5, alpha=0.6)
    ax.set(xticks=[], yticks=[])
axes[0].set_title(f"15-NN: {X.size} numbers, {knn.score(X_test, y_test):.1%} right")
numbers = model.prototypes_.size
axes[1].set_title(f"LOGM: {numbers} numbers, {model.score(X_test, y_test):.1%} right")
axes[1].scatter(
    *model.prototypes_.T,
    c=COLOURS[model.prototype_labels_],
    s=190,
    edgecolors="black",
    linewidths=1.5,
)
plt.show()
