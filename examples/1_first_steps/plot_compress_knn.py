"""
Replace a k-NN model by a small one
===================================

:func:`protolearn.compress` takes a fitted model and returns a small one that classifies as well. Both are measured on
the same held-out rows, so that you see what the small model costs.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from protolearn import compress

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
knn = KNeighborsClassifier(3).fit(X, y)

# %%
# A fitted k-NN model holds its training rows: nothing else is needed. ``max_loss`` is the share of right answers that
# the small model may lose.

small = compress(knn, max_loss=0.01, random_state=0)

# %%
# The rows below were never seen by either side.

sides = {"k-NN": knn, "small model": small}
accuracy = {name: model.score(X_test, y_test) for name, model in sides.items()}
report = small.compression_
print(report.verdict)

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
axes[0].bar(list(sides), list(accuracy.values()), color=["#8a94a6", "#2f6fb7"])
axes[0].set(title="right on 540 new digits", ylim=(0.9, 1.01))
axes[0].bar_label(axes[0].containers[0], fmt="{:.1%}")
axes[1].bar(
    list(sides),
    [report.given.n_bytes / 1000, report.small.n_bytes / 1000],
    color=["#8a94a6", "#2f6fb7"],
)
axes[1].set(title="kB to store")
axes[1].margins(y=0.15)
axes[1].bar_label(axes[1].containers[0], fmt="{:.0f}")
plt.show()
