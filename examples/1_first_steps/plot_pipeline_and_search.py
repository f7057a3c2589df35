"""
A pipeline and a search
=======================

protolearn's classifiers are scikit-learn classifiers: pipelines, grids and data frames work as you know them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import LOGM

X, y = load_wine(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)

pipeline = Pipeline([("scale", StandardScaler()), ("logm", LOGM(random_state=0))])
grid = {"logm__n_prototypes": [1, 2, 4], "logm__regularization": [0.0, 0.001, 0.01, 0.1]}
search = GridSearchCV(pipeline, grid, cv=5).fit(X, y)
print(search.best_params_, "right on the test rows:", search.score(X_test, y_test))

# %%
# The scores of the grid:

table = search.cv_results_["mean_test_score"].reshape(3, 4)
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
image = ax.imshow(table, cmap="Blues", vmin=0.9, vmax=1.0)
for i in range(3):
    for j in range(4):
        ax.text(
            j,
            i,
            f"{table[i, j]:.3f}",
            ha="center",
            va="center",
            color="white" if table[i, j] > 0.96 else "black",
        )
ax.set_xticks(range(4), grid["logm__regularization"])
ax.set_yticks(range(3), grid["logm__n_prototypes"])
ax.set(xlabel="regularization", ylabel="prototypes of each class")
plt.show()

# %%
# The fitted pipeline, as a notebook shows it. The question mark in the box of LOGM opens the page of the class.

search.best_estimator_
