"""
Uneven classes
==============

Where 3 of 100 rows are of the class that matters, a model that never says so is 97 % right. Balanced accuracy shows
the fault, and ``class_weight="balanced"`` mends it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import ConfusionMatrixDisplay, balanced_accuracy_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import LOGM

X, y = make_classification(
    6000, n_features=8, n_informative=5, weights=[0.97], class_sep=1.0, flip_y=0, random_state=8
)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for ax, weight in zip(axes, (None, "balanced"), strict=True):
    model = make_pipeline(StandardScaler(), LOGM(2, class_weight=weight, random_state=0)).fit(X, y)
    found = model.predict(X_test)
    right, balanced = model.score(X_test, y_test), balanced_accuracy_score(y_test, found)
    print(
        f"{weight!s:9} right {right:.3f}  balanced {balanced:.3f}  rare class found {recall_score(y_test, found):.3f}"
    )
    ConfusionMatrixDisplay.from_predictions(y_test, found, ax=ax, cmap="Blues", colorbar=False)
    ax.set_title(f"class_weight={weight!r}\nbalanced accuracy {balanced:.2f}")
plt.show()
