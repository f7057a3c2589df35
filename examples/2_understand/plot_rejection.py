"""
Leave the uncertain rows to somebody else
=========================================

A row near the border gets nearly the same probability for two classes. The curve shows what is gained when a person
decides the rows of the smallest probability: each point is a threshold.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from protolearn import LOGM
from protolearn.report import plot_rejection

X, y = make_moons(2000, noise=0.3, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
model = LOGM(4, random_state=0).fit(X, y)

sure = model.predict_proba(X_test).max(axis=1)
right = model.predict(X_test) == y_test
keep = sure >= np.quantile(sure, 0.1)
print(
    f"all rows: {right.mean():.1%} right; without the least certain tenth: {right[keep].mean():.1%}"
)

figure, (left, other) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
points = left.scatter(*X_test.T, c=sure, s=10, cmap="viridis")
left.scatter(*X_test[~right].T, s=40, facecolors="none", edgecolors="red", label="wrong")
left.set(xticks=[], yticks=[], title="largest probability of each test row")
left.legend()
figure.colorbar(points, ax=left)
plot_rejection(model, X_test, y_test, ax=other)
plt.show()
