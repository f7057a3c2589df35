"""
A loss of your own
==================

A loss is a function of two squared distances, to the nearest prototype of the right class and to the nearest rival.
It returns its value and its two derivatives, and runs in the same compiled loop as the losses of the library.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from protolearn import LOGM, PrototypeClassifier

X, y = make_moons(400, noise=0.2, random_state=0)
y_noisy = y.copy()
wrong = np.random.default_rng(1).choice(len(y), 60, replace=False)
y_noisy[wrong] = 1 - y_noisy[wrong]


# %%
# A ramp: as the hinge, but a row that is far on the wrong side costs no more than 1 and moves nothing. Wrong labels
# then do no harm.


def ramp(d_own, d_rival, slope):
    """1 - margin, clipped to 0 ... 2."""
    margin = slope * (d_rival - d_own)
    if margin >= 1.0:
        return 0.0, 0.0, 0.0
    if margin <= -1.0:
        return 2.0, 0.0, 0.0
    return 1.0 - margin, slope, -slope


X_test, y_test = make_moons(2000, noise=0.2, random_state=1)
across, up = np.meshgrid(np.linspace(-1.6, 2.6, 220), np.linspace(-1.2, 1.7, 160))
grid = np.column_stack([across.ravel(), up.ravel()])
models = {
    "LOGM": LOGM(3, random_state=0),
    "own loss": PrototypeClassifier(3, loss=ramp, random_state=0),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y_noisy)
    ax.contourf(
        across,
        up,
        model.predict(grid).reshape(across.shape),
        colors=["#dbe7f4", "#fae5d7"],
        levels=1,
    )
    ax.scatter(*X.T, c=np.array(["#2f6fb7", "#e07b39"])[y_noisy], s=6)
    ax.plot(*model.prototypes_.T, "ko", markersize=8)
    ax.set(
        title=f"{name}: {model.score(X_test, y_test):.1%} right where labels are right",
        xticks=[],
        yticks=[],
    )
plt.show()
