"""
A cluster: fit on Dask arrays
=============================

The rows stay where they are. In each round the workers get the prototypes and send back one sum, so that the traffic
does not grow with the number of rows.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from protolearn import LOGM

X, y = make_blobs(60_000, n_features=12, centers=30, cluster_std=4.0, random_state=0)
y %= 3
chunked, labels = da.from_array(X, chunks=(10_000, 12)), da.from_array(y, chunks=10_000)

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for rows, name, colour, width in (
    (X, "in memory", "#8a94a6", 6),
    (chunked, "on Dask, six blocks", "#2f6fb7", 2),
):
    model = LOGM(10, solver="lbfgs", max_iter=25, random_state=0)
    model.fit(rows, y if rows is X else labels)
    ax.plot(model.loss_curve_, color=colour, linewidth=width, label=name)
    print(f"{name}: {np.mean(np.asarray(model.predict(rows)) == y):.4f} right")
ax.set(xlabel="iteration of L-BFGS", ylabel="mean loss")
ax.legend()

# %%
# The numbers that travel in a round: the prototypes to each worker, and a sum of the same size back. The rows are
# 720,000 numbers.

print("numbers in a message:", model.prototypes_.size)
plt.show()
