"""The confusion matrix as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from protolearn.report.fitted import fitted_model, new_axes, plain

_MOST_NUMBERS = 30


def plot_confusion(model: Any, X: Any, y: Any, *, ax: Any = None, cmap: str = "Blues") -> Any:
    """Draw how often each class (rows) is taken for each other (columns), as counts and as shares of the row.

    Parameters
    ----------
    model : fitted classifier with prototypes, or a pipeline ending in one
    X : rows, raw where the model is a pipeline
    y : labels; ones that the model does not know get a row too
    ax : matplotlib axes; None makes one
    cmap : matplotlib's name of a colour map

    Returns
    -------
    ax : the axes drawn on
    """
    fitted = fitted_model(model)
    true, predicted = np.asarray(y), fitted.predict(fitted.features(X))
    labels = np.union1d(fitted.classifier.classes_, true)
    counts = confusion_matrix(true, predicted, labels=labels)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = float(np.clip(0.5 * len(labels) + 2, 4, 10))
    ax = new_axes(ax, (side + 1, side))
    picture = ax.imshow(100 * shares, cmap=cmap, vmin=0, vmax=100, interpolation="nearest")
    if len(labels) <= _MOST_NUMBERS:
        size = float(np.clip(90 / len(labels), 4, 10))
        for (row, column), count in np.ndenumerate(counts):
            if count:
                colour = "white" if shares[row, column] > 0.5 else "black"
                ax.text(column, row, str(count), ha="center", va="center", color=colour, fontsize=size)
    names = [plain(label) for label in labels]
    ax.set_xticks(range(len(names)), names, rotation=90 if max(map(len, names)) > 3 else 0)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="predicted", ylabel="true")
    ax.figure.colorbar(picture, ax=ax, label="% of the true class")
    return ax
