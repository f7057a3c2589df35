"""
A better distance for k-NN
==========================

LMNN learns a linear map under which near rows share their class. k-NN after the map stays k-NN: it keeps its training
rows, and asks a better question.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import LMNN

X, y = load_wine(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
maps = {"PCA": PCA(2), "LMNN": LMNN(n_neighbors=3, n_components=2, init="lda", max_iter=300)}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, (name, reduction) in zip(axes, maps.items(), strict=True):
    model = make_pipeline(StandardScaler(), reduction, KNeighborsClassifier(3)).fit(X, y)
    for label, colour in enumerate(["#2f6fb7", "#e07b39", "#3b9a6d"]):
        for rows, labels, marker in ((X, y, "o"), (X_test, y_test, "x")):
            ax.scatter(
                *model[:-1].transform(rows[labels == label]).T, s=16, marker=marker, color=colour
            )
    ax.set(
        title=f"{name}, then 3-NN: {model.score(X_test, y_test):.1%} right on the crosses",
        xticks=[],
        yticks=[],
    )
plt.show()
