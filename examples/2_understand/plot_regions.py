"""
The borders of all methods
==========================

Every method gets the same points and the same number of prototypes, two a class. What differs is the loss, and
whether the distance is learned too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import protolearn

rng = np.random.default_rng(0)
X, y = make_moons(300, noise=0.18, random_state=0)
X = np.vstack([X, rng.normal([0.5, 1.5], 0.2, (100, 2))])
y = np.append(y, np.full(100, 2))
across, up = np.meshgrid(np.linspace(-1.6, 2.6, 160), np.linspace(-1.2, 2.2, 130))
grid = np.column_stack([across.ravel(), up.ravel()])

no_place = {"AutoPrototypes", "LMNN", "PrototypeClassifier"}
names = sorted(name for name in protolearn.__all__ if name not in no_place)

rows = -(-len(names) // 4)
figure, axes = plt.subplots(
    rows, 4, figsize=(9, 1.9 * rows), sharex=True, sharey=True, layout="constrained"
)
for ax in axes.flat[len(names) :]:
    ax.remove()
for ax, name in zip(axes.flat, names, strict=False):
    model = getattr(protolearn, name)()
    if "n_prototypes" in model.get_params():
        model.set_params(n_prototypes=2)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(X, y)
    side = model.predict(grid).reshape(across.shape)
    ax.contourf(
        across, up, side, levels=[-0.5, 0.5, 1.5, 2.5], colors=["#dbe7f4", "#fae5d7", "#dcefe4"]
    )
    ax.scatter(*X.T, c=np.array(["#2f6fb7", "#e07b39", "#3b9a6d"])[y], s=2)
    ax.plot(*model.prototypes_.T, "ko", markersize=3 if len(model.prototypes_) > 20 else 6)
    ax.set(xticks=[], yticks=[], xlim=(-1.6, 2.6), ylim=(-1.2, 2.2))
    ax.set_title(
        f"{name}\n{len(model.prototypes_)} kept, {model.score(X, y):.0%} right", fontsize=9
    )
plt.show()
