"""
Frozen embeddings, new classes
==============================

A network trained on some classes gives features that part other classes too. Prototypes on these features learn a new
task from a few labelled rows, and the network stays as it is. Here the digits lie anywhere on a larger image; the
network has seen many images of 0 to 5, and the task is 6 to 9. A language or vision model takes the same place in
your work.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from protolearn import LOGM

rng = np.random.default_rng(0)
digits, y = load_digits(return_X_y=True)


def placed(rows):
    """Images of 8 x 8 pixels somewhere on images of 12 x 12."""
    images = np.zeros((len(rows), 12, 12))
    for image, row, (down, right) in zip(
        images, rows, rng.integers(0, 5, (len(rows), 2)), strict=True
    ):
        image[down : down + 8, right : right + 8] = row.reshape(8, 8) / 16
    return images.reshape(len(rows), -1)


seen = y <= 5
many = np.vstack([placed(digits[seen]) for _ in range(10)])
network = MLPClassifier((128, 64), tol=0.02, n_iter_no_change=1, random_state=0).fit(
    many, np.tile(y[seen], 10)
)


def embed(rows):
    """The activations of the last hidden layer."""
    for weights, shift in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
        rows = np.maximum(rows @ weights + shift, 0)
    return rows


# %%
# ``Normalizer`` brings all embeddings to length 1: the squared distance is then 2 - 2 cosine, so the nearest
# prototype is the one with the largest cosine.

X = placed(digits)
new = rng.permutation(np.flatnonzero(~seen))
test, pool = new[:400], new[400:]
shots = [1, 2, 5, 10, 20, 50]
found = {"pixels": [], "embeddings": []}
for n in shots:
    chosen = np.concatenate([pool[y[pool] == digit][:n] for digit in (6, 7, 8, 9)])
    for name, before in (
        ("pixels", FunctionTransformer()),
        ("embeddings", FunctionTransformer(embed)),
    ):
        model = make_pipeline(before, Normalizer(), LOGM(solver="lbfgs", ridge=1.0, random_state=0))
        found[name].append(model.fit(X[chosen], y[chosen]).score(X[test], y[test]))

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for (name, scores), colour in zip(found.items(), ("#8a94a6", "#2f6fb7"), strict=True):
    ax.plot(shots, scores, "o-", label=f"prototypes on {name}", color=colour)
ax.set(xscale="log", xlabel="labelled rows of each new digit", ylabel="right on 400 new rows")
ax.set_xticks(shots, shots)
ax.legend()
plt.show()
