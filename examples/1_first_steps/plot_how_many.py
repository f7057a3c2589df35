"""
How many prototypes?
====================

Accuracy rises with the number of prototypes and then stands still. Cross-validation shows where: take the fewest that
are as good as the best.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV

from protolearn import GLVQ, LOGM

X, y = make_moons(800, noise=0.22, random_state=0)
counts = [1, 2, 3, 4, 6, 8, 12, 16]

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for method, colour in ((LOGM, "#2f6fb7"), (GLVQ, "#3b9a6d")):
    search = GridSearchCV(method(random_state=0), {"n_prototypes": counts}, cv=5).fit(X, y)
    mean, spread = (search.cv_results_[f"{what}_test_score"] for what in ("mean", "std"))
    ax.errorbar(
        counts,
        mean,
        spread / np.sqrt(5),
        marker="o",
        capsize=3,
        label=method.__name__,
        color=colour,
    )
    enough = counts[int(np.argmax(mean >= mean.max() - (spread / np.sqrt(5))[mean.argmax()]))]
    print(f"{method.__name__}: best {mean.max():.3f}, {enough} a class are enough")
ax.set(xlabel="prototypes of each class", ylabel="right, 5-fold cross-validation", xscale="log")
ax.set_xticks(counts, counts)
ax.legend()
plt.show()
