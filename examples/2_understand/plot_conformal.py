"""
Sets of classes that hold the right one
=======================================

:class:`protolearn.explain.ConformalClassifier` answers with a set of classes, which holds the right one in 90 % of
all cases, whatever the model. A set of two says "one of these"; an empty set says "like none".
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from protolearn import LOGM
from protolearn.explain import ConformalClassifier

X, y = make_moons(9000, noise=0.3, random_state=0)
X, X_rest, y, y_rest = train_test_split(X, y, train_size=1000, random_state=0)
X_held, X_test, y_held, y_test = train_test_split(X_rest, y_rest, train_size=4000, random_state=0)
model = LOGM(3, random_state=0).fit(X, y)

# %%
# Rows that the model has not learned calibrate the sets. The share of test rows whose class is in their set is then
# near to 1 - alpha.

levels = [0.02, 0.05, 0.1, 0.2]
sets = {
    alpha: ConformalClassifier(model, alpha=alpha).calibrate(X_held, y_held) for alpha in levels
}
for alpha, conformal in sets.items():
    found = conformal.predict_set(X_test)
    print(
        f"alpha {alpha:4}: {found[np.arange(len(y_test)), y_test].mean():.3f} of the sets hold the right class"
    )

# %%
# Where the sets lie: the colour of one class, grey for both classes, white for none.

across, up = np.meshgrid(np.linspace(-2.2, 3.2, 260), np.linspace(-1.8, 2.2, 200))
grid = np.column_stack([across.ravel(), up.ravel()])
COLOURS = np.array([[1, 1, 1], [0.86, 0.91, 0.96], [0.98, 0.9, 0.84], [0.72, 0.72, 0.74]])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
for ax, alpha in zip(axes, (0.02, 0.2), strict=True):
    inside = sets[alpha].predict_set(grid)
    kind = inside[:, 0] + 2 * inside[:, 1]
    ax.imshow(
        COLOURS[kind.reshape(across.shape)],
        extent=(-2.2, 3.2, -1.8, 2.2),
        origin="lower",
        aspect="auto",
    )
    ax.scatter(*X_test[:400].T, c=np.array(["#2f6fb7", "#e07b39"])[y_test[:400]], s=5)
    ax.set(title=f"alpha = {alpha}", xticks=[], yticks=[])
plt.show()
