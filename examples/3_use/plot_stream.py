"""
A stream whose classes move
===========================

``partial_fit`` learns from one block of rows after the other. Each block is first classified, then learned: the
accuracy is an honest estimate for the rows to come. A model that stops learning shows what the stream does to it.
"""

import matplotlib.pyplot as plt
import numpy as np

from protolearn import GLVQ


def blocks(n_blocks=80, rows=100):
    """Three classes on a circle, which turns once while the stream runs."""
    rng = np.random.default_rng(0)
    for block in range(n_blocks):
        y = rng.integers(0, 3, rows)
        angle = 2 * np.pi * (y / 3 + block / n_blocks)
        yield 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(rows, 2)), y


stream = blocks()
first = next(stream)
learner = GLVQ(2, random_state=0).partial_fit(*first, classes=[0, 1, 2])
still = GLVQ(2, random_state=0).fit(*first)
moving, standing, places = [], [], []
for X, y in stream:
    moving.append(learner.score(X, y))
    standing.append(still.score(X, y))
    learner.partial_fit(X, y)
    places.append(learner.prototypes_.copy())
print(
    f"goes on learning: {np.mean(moving):.1%} right; learned the first block only: {np.mean(standing):.1%}"
)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.4), width_ratios=(3, 2), layout="constrained"
)
left.plot(moving, color="#2f6fb7", label="goes on learning")
left.plot(standing, color="#8a94a6", label="learned the first block only")
left.set(xlabel="block", ylabel="right, before learning the block", ylim=(0, 1.02))
left.legend(loc="lower left")
places = np.stack(places)
for i, label in enumerate(learner.prototype_labels_):
    right.plot(*places[:, i].T, color=["#2f6fb7", "#e07b39", "#3b9a6d"][label])
    right.plot(
        *places[-1, i], "o", color=["#2f6fb7", "#e07b39", "#3b9a6d"][label], markeredgecolor="black"
    )
right.set(title="the way of the prototypes", aspect="equal", xticks=[], yticks=[])
plt.show()
