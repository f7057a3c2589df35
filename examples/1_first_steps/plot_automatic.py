"""
Nothing to choose: AutoPrototypes
=================================

:class:`protolearn.AutoPrototypes` lets candidates race on held-out rows and returns a small model. Scaling, metric,
loss and number of prototypes are its choice.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import AutoPrototypes

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=1)

model = AutoPrototypes(members=1, random_state=0).fit(X, y)
print(model.best_estimator_)
print(
    "right on the test rows:",
    round(model.score(X_test, y_test), 3),
    " numbers stored:",
    model.n_numbers_,
)

# %%
# The race: each dot is a candidate. Left and low is what the choice looks for, a small model with a small loss.

race = model.results_
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.errorbar(race.numbers, race.loss, race.spread, fmt="o", color="#8a94a6")
chosen = race[race.share > 0]
ax.plot(chosen.numbers, chosen.loss, "o", color="#e07b39", markersize=11, label="chosen")
ax.set(xscale="log", xlabel="numbers that the model stores", ylabel="log loss on held-out rows")
ax.minorticks_off()
ax.legend()

# %%
# Beside models that need no choice either:

for other in (
    make_pipeline(StandardScaler(), KNeighborsClassifier()),
    RandomForestClassifier(random_state=0),
):
    print(
        f"{other.fit(X, y).score(X_test, y_test):.3f}",
        other if len(str(other)) < 50 else "5-NN on scaled columns",
    )
plt.show()
