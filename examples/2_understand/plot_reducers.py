"""
Four ways to make a training set smaller
========================================

Editing removes noise, condensing removes what is not needed at the border; Chen's method and mixtures replace samples
by a few new points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from protolearn import ChenCondensing, HartCondensing, MixtGauss, WilsonEditing

X, y = make_moons(500, noise=0.25, random_state=0)
X_test, y_test = make_moons(2000, noise=0.25, random_state=1)
ways = {
    "1-NN on everything": None,
    "WilsonEditing()": WilsonEditing(),
    "HartCondensing()": HartCondensing(random_state=0),
    "edited, then condensed": HartCondensing(edit_neighbors=3, random_state=0),
    "ChenCondensing(10)": ChenCondensing(10, centroids="class"),
    "MixtGauss(5)": MixtGauss(5, init="kmeans", random_state=0),
}
colours = np.array(["#2f6fb7", "#e07b39"])
figure, axes = plt.subplots(2, 3, figsize=(9, 5.4), sharex=True, sharey=True, layout="constrained")
for ax, (title, reducer) in zip(axes.flat, ways.items(), strict=True):
    kept, labels = (X, y) if reducer is None else reducer.fit_resample(X, y)
    model = KNeighborsClassifier(1).fit(kept, labels)
    ax.scatter(*X.T, color="#d5d9e0", s=4)
    ax.scatter(*kept.T, c=colours[labels], s=12)
    ax.set_title(f"{title}\n{len(kept)} kept, {model.score(X_test, y_test):.1%} right", fontsize=9)
    ax.set(xticks=[], yticks=[])
plt.show()
