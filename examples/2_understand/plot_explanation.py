"""
Why this decision?
==================

The decision of a nearest-prototype model is one comparison: the distance to the nearest prototype of the class, and
to the nearest one of another class. The difference is a sum over the columns, so each column's part is exact.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import LOGM
from protolearn.explain import explain

data = load_breast_cancer(as_frame=True)
X = data.data.filter(like="mean ")
y = data.target_names[data.target]
test = np.arange(len(X)) % 3 == 0
model = make_pipeline(StandardScaler(), LOGM(random_state=0)).fit(X[~test], y[~test])

# %%
# The first of the test rows:

decision = explain(model, X[test].iloc[[0]])[0]
print(f"{decision.prediction}, certainty {decision.certainty:.3f} of 1")

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
parts = decision.contributions[::-1]
ax.barh(
    [f"{part.column} = {part.value:.4g}" for part in parts],
    [part.contribution for part in parts],
    color=["#2f6fb7" if part.contribution > 0 else "#e07b39" for part in parts],
)
ax.axvline(0, color="black", linewidth=0.8)
ax.set(
    title=f"for (blue) and against (orange) {decision.prediction}",
    xlabel="part of the difference of the distances",
)
plt.show()
