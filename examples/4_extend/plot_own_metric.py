"""
A distance of your own
======================

A quadratic distance is a matrix. Here the matrix whitens the columns within the classes, which makes the distance
Mahalanobis's: the nearest class mean is then a good rule where the Euclidean one fails. GMLVQ learns a matrix by
itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from protolearn import GLVQ, GMLVQ, NearestPrototype
from protolearn.metrics.omega import Omega

# %%
# Six columns that move together; the classes differ where the columns hardly spread.

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 500)
hidden = rng.normal(size=(500, 6)) * [3, 2, 2, 1, 1, 0.3]
hidden[:, 5] += 0.7 * y
turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
X = hidden @ turn

within = sum(np.cov(X[y == label].T) for label in (0, 1)) / 2
whiten = np.linalg.inv(np.linalg.cholesky(within))

models = {
    "class means, Euclidean": NearestPrototype(init="class_mean"),
    "class means, given matrix": NearestPrototype(init="class_mean", metric="omega", metric_parameters=whiten),
    "GLVQ, given matrix": GLVQ(metric=Omega(start_at=whiten), metric_learning_rate=0, random_state=0),
    "GMLVQ, learned matrix": GMLVQ(random_state=0),
}
scores = {name: cross_val_score(model, X, y, cv=5) for name, model in models.items()}
for name, found in scores.items():
    print(f"{name:26} {found.mean():.3f} right")

# %%
# The matrices: blue and red columns are weighed against each other. Only the direction in which the classes differ
# counts.

learned = models["GMLVQ, learned matrix"].fit(X, y).omega_
figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
matrices = {"Euclidean": np.eye(6), "given": whiten.T @ whiten, "learned": learned.T @ learned}
for ax, (name, matrix) in zip(axes, matrices.items(), strict=True):
    largest = np.abs(matrix).max()
    ax.imshow(matrix, cmap="RdBu_r", vmin=-largest, vmax=largest)
    ax.set(title=name, xticks=range(6), yticks=range(6))
plt.show()
