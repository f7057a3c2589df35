"""Pictures of prototypes."""

from __future__ import annotations

from typing import Any

import numpy as np

_GAP = 1


def _image_shape(n_features: int, image_shape: tuple[int, int] | None) -> tuple[int, int]:
    side = round(np.sqrt(n_features))
    shape = (side, side) if image_shape is None else tuple(image_shape)
    if len(shape) != 2 or shape[0] * shape[1] != n_features:
        raise ValueError(
            f"The {n_features} features do not form an image of {shape[0]} x {shape[-1]} pixels; pass image_shape="
            "(rows, columns)."
        )
    return shape


def plot_prototypes(model: Any, *, image_shape: tuple[int, int] | None = None, ax: Any = None, cmap: str = "gray_r"):
    """Draw the prototypes of a fitted model as images: one row a class, its prototypes side by side.

    Parameters
    ----------
    model : fitted classifier with `prototypes_`, `prototype_labels_` and `classes_`
    image_shape : (rows, columns) of pixels; None takes a square
    ax : matplotlib axes; None makes one
    cmap : matplotlib's name of a colour map

    Returns
    -------
    ax : the axes drawn on
    """
    import matplotlib.pyplot as plt

    height, width = _image_shape(model.prototypes_.shape[1], image_shape)
    by_class = [model.prototypes_[model.prototype_labels_ == label] for label in model.classes_]
    most = max(map(len, by_class))
    canvas = np.full((len(by_class) * (height + _GAP) - _GAP, most * (width + _GAP) - _GAP), np.nan)
    for row, images in enumerate(by_class):
        for column, image in enumerate(images):
            top, left = row * (height + _GAP), column * (width + _GAP)
            canvas[top : top + height, left : left + width] = image.reshape(height, width)
    if ax is None:
        size = 3.0 / max(width, 1)
        _, ax = plt.subplots(figsize=(size * canvas.shape[1] * 0.25 + 1.2, size * canvas.shape[0] * 0.25 + 0.6))
    ax.imshow(canvas, cmap=cmap, interpolation="nearest")
    ax.set_yticks([row * (height + _GAP) + (height - 1) / 2 for row in range(len(by_class))], model.classes_)
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_ylabel("class")
    return ax
