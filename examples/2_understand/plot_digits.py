"""
Prototypes that are pictures
============================

Where the columns are pixels, each prototype is a picture: what the model takes for a typical 3, and for another kind
of 3.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from protolearn import GLVQ
from protolearn.report import plot_confusion, plot_prototypes

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

model = GLVQ(n_prototypes=6, random_state=0).fit(X, y)
print(f"{len(model.prototypes_)} prototypes, {model.score(X_test, y_test):.1%} right on new digits")
plot_prototypes(model)

# %%
# Which digits are taken for which others:

figure, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
plot_confusion(model, X_test, y_test, ax=ax)
plt.show()
