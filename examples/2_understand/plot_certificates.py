"""
How far may a row move?
=======================

:func:`protolearn.explain.certified_radius` proves how far a row may move, in any direction, before its class can
change. No attack, no rounding and no faulty sensor within that radius changes the decision.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from protolearn import GLVQ, LOGM
from protolearn.explain import certified_accuracy, certified_radius

X, y = make_moons(600, noise=0.15, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
model = GLVQ(3, random_state=0).fit(X, y)
shown = X_test[:25]
radii = certified_radius(model, shown)

across, up = np.meshgrid(np.linspace(-1.7, 2.7, 300), np.linspace(-1.6, 1.8, 240))
side = model.predict(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
figure, left = plt.subplots(figsize=(6.5, 4.6), layout="constrained")
left.contourf(across, up, side, levels=[-0.5, 0.5, 1.5], colors=["#dbe7f4", "#fae5d7"])
for place, radius in zip(shown, radii, strict=True):
    left.add_patch(plt.Circle(place, radius, fill=False, color="#555555", linewidth=0.8))
left.plot(*shown.T, "k.", markersize=5)
left.set(
    xticks=[],
    yticks=[],
    ylim=(-1.6, 1.8),
    aspect="equal",
    title="every point of a circle gets the class of its centre",
)

# %%
# Certified accuracy: the share of test rows that are right, and stay right whatever moves them by the radius.

steps = np.linspace(0, 0.8, 33)
figure, right = plt.subplots(figsize=(6, 3.4), layout="constrained")
for other in (model, LOGM(3, random_state=0).fit(X, y)):
    right.plot(steps, certified_accuracy(other, X_test, y_test, steps), label=type(other).__name__)
right.set(xlabel="radius", title="right within the radius", ylim=(0, 1.02))
right.legend()
print(f"GLVQ: half of the test rows may move by {np.median(certified_radius(model, X_test)):.2f}")
plt.show()
