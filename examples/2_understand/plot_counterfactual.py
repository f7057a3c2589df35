"""
What would have to change?
==========================

:func:`protolearn.explain.counterfactual` finds the nearest row that gets another class. The search stays within the
range of the training data, and leaves alone what cannot change.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from protolearn import LOGM
from protolearn.explain import counterfactual

X, y = make_moons(400, noise=0.2, random_state=0)
model = LOGM(3, random_state=0).fit(X, y)
row = np.array([[0.4, 1.05]])

ways = {
    "nearest": counterfactual(model, row),
    "only to the right": counterfactual(model, row, fixed=["x1"], only_up=["x0"]),
    "only down": counterfactual(model, row, fixed=["x0"], only_down=["x1"]),
}
for name, found in ways.items():
    print(f"{name:17} {found}")

# %%
# The picture: the row (star), and the rows that the three questions lead to. Each lies just behind the border.

across, up = np.meshgrid(np.linspace(-1.6, 2.9, 300), np.linspace(-1.2, 1.8, 220))
side = model.predict(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.contourf(across, up, side, levels=[-0.5, 0.5, 1.5], colors=["#dbe7f4", "#fae5d7"])
ax.scatter(*X.T, c=np.array(["#2f6fb7", "#e07b39"])[y], s=5, alpha=0.5)
for name, found in ways.items():
    if found:
        end = np.ravel(found.row)
        ax.annotate("", end, row[0], arrowprops={"arrowstyle": "->", "linewidth": 1.6})
        ax.annotate(name, end, xytext=(2, -12), textcoords="offset points")
ax.plot(*row[0], "*", markersize=16, color="#2f6fb7", markeredgecolor="black")
ax.set(xticks=[], yticks=[])
plt.show()
