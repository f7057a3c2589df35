"""
Which columns count?
====================

GRLVQ learns one weight for each column with its prototypes. Ten of the thirty columns below are noise that we add:
their weights fall to zero.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from protolearn import GRLVQ

data = load_breast_cancer()
rng = np.random.default_rng(0)
X = np.hstack([data.data[:, 10:], rng.normal(size=(len(data.data), 10))])
names = [*data.feature_names[10:], *(f"noise {i}" for i in range(10))]
X = StandardScaler().fit_transform(X)

model = GRLVQ(n_prototypes=2, metric_learning_rate=1.0, random_state=0).fit(X, data.target)
order = np.argsort(model.relevances_)
colours = np.array(["#8a94a6" if name.startswith("noise") else "#2f6fb7" for name in names])

figure, ax = plt.subplots(figsize=(7, 5.6), layout="constrained")
ax.barh(np.arange(30), model.relevances_[order], color=colours[order])
ax.set_yticks(np.arange(30), np.array(names)[order], fontsize=7)
ax.set(xlabel="learned weight (all together: 1)", title="blue: measured columns, grey: noise")

# %%
# May the others be dropped? Cross-validation answers; a weight alone does not, since two columns that say the same
# share their weight.

for kept in (30, 10, 5, 2):
    columns = order[::-1][:kept]
    score = cross_val_score(
        GRLVQ(n_prototypes=2, metric_learning_rate=1.0, random_state=0),
        X[:, columns],
        data.target,
        cv=5,
    ).mean()
    print(f"the {kept:2} columns of the largest weights: {score:.3f} right")
plt.show()
