"""
A plane in which the classes part
=================================

GMLVQ with ``n_components=2`` learns prototypes and, with them, the plane in which they classify. The plane is a
picture of 13 columns that shows what the model sees.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from protolearn import GMLVQ

data = load_wine()
X, y = StandardScaler().fit_transform(data.data), data.target
model = GMLVQ(n_components=2, random_state=0).fit(X, y)

colours = ["#2f6fb7", "#e07b39", "#3b9a6d"]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
views = {
    "PCA: the plane of the largest spread": PCA(2).fit(X).transform,
    "GMLVQ: the plane of the classes": lambda rows: rows @ model.omega_.T,
}
for ax, (title, view) in zip(axes, views.items(), strict=True):
    for label, colour in enumerate(colours):
        ax.scatter(*view(X[y == label]).T, s=12, color=colour, label=data.target_names[label])
    ax.set(title=title, xticks=[], yticks=[])
axes[1].scatter(
    *views["GMLVQ: the plane of the classes"](model.prototypes_).T,
    s=160,
    c=colours,
    edgecolors="black",
)
axes[0].legend()

# %%
# Which columns make the plane? The rows of ``omega_`` are its axes.

strongest = abs(model.omega_).sum(axis=0).argsort()[::-1][:6]
for j in strongest:
    print(f"{data.feature_names[j]:30} {model.omega_[0, j]:+.2f} {model.omega_[1, j]:+.2f}")
plt.show()
