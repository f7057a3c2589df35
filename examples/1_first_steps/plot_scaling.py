"""
Scale the columns first
=======================

A distance adds up columns. A column in thousands decides alone, whatever the others say. Scaling makes all columns
count.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, GMLVQ, LOGM

X, y = load_wine(return_X_y=True, as_frame=True)
print(X.agg(["min", "max"]).T.round(1).tail(3))

models = {
    "5-NN": KNeighborsClassifier(),
    "LOGM": LOGM(random_state=0),
    "GLVQ": GLVQ(random_state=0),
}
models["GMLVQ"] = GMLVQ(random_state=0)
raw = [cross_val_score(model, X, y, cv=5).mean() for model in models.values()]
scaled = [
    cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=5).mean()
    for model in models.values()
]

# %%
# *Proline* runs from 278 to 1680, *hue* from 0.5 to 1.7. Unscaled, all four models look at proline.

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
place = np.arange(len(models))
for shift, found, label, colour in (
    (-0.2, raw, "as they are", "#8a94a6"),
    (0.2, scaled, "scaled", "#2f6fb7"),
):
    bars = ax.bar(place + shift, found, 0.38, label=label, color=colour)
    ax.bar_label(bars, fmt="{:.2f}")
ax.set_xticks(place, list(models))
ax.set(ylabel="right, 5-fold cross-validation", ylim=(0.5, 1.08))
ax.legend(loc="upper left", ncols=2)
plt.show()
