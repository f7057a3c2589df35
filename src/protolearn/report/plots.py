"""Pictures of prototypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.core.parameters import check_choice, check_count
from protolearn.report.fitted import FittedModel, class_colours, fitted_model, image_shape_of, new_axes, plain

_GAP = 1
_MOST_TICKS = 40
KINDS = ("auto", "images", "parallel")


def _image_shape(n_features: int, image_shape: tuple[int, int] | None) -> tuple[int, int]:
    side = round(np.sqrt(n_features))
    shape = (side, side) if image_shape is None else tuple(image_shape)
    if len(shape) != 2 or shape[0] * shape[1] != n_features:
        raise ValueError(
            f"The {n_features} features do not form an image of {shape[0]} x {shape[-1]} pixels; pass image_shape="
            "(rows, columns)."
        )
    return shape


def plot_prototypes(
    model: Any,
    *,
    image_shape: tuple[int, int] | None = None,
    kind: str = "auto",
    max_per_class: int | None = None,
    positions: np.ndarray | None = None,
    ax: Any = None,
    cmap: str = "gray_r",
) -> Any:
    """Draw the prototypes of a fitted model: as images where the features form one, else as parallel coordinates.

    Images stand in one row a class, side by side, in raw units where the preparation of a pipeline can be undone.
    Parallel coordinates are lines over the classifier's own (scaled) features, one colour a class.

    Parameters
    ----------
    model : fitted classifier with `prototypes_`, `prototype_labels_` and `classes_`, or a pipeline ending in one
    image_shape : (rows, columns) of pixels; None takes a square
    kind : {"auto", "images", "parallel"}
        "auto" draws images where `image_shape` is given, or where the number of features is a square of at least 5 x 5
        and their names, if any, differ in their numbers only.
    max_per_class : int, optional
        Draw only the first few of each class.
    positions : ndarray of shape (n_prototypes, n_features), optional
        Draw these images in the places of the prototypes, such as the training row nearest to each.
    ax : matplotlib axes; None makes one
    cmap : matplotlib's name of a colour map, for images

    Returns
    -------
    ax : the axes drawn on
    """
    check_choice("kind", kind, KINDS)
    check_count("max_per_class", max_per_class, optional=True)
    fitted = fitted_model(model)
    n_features = fitted.classifier.prototypes_.shape[1]
    if kind == "auto":
        pictures = image_shape is not None or image_shape_of(n_features, fitted.feature_names) is not None
        kind = "images" if pictures else "parallel"
    if kind == "images":
        return _images(fitted, _image_shape(n_features, image_shape), max_per_class, positions, ax, cmap)
    return _parallel(fitted, max_per_class, ax)


def _by_class(fitted: FittedModel, positions: np.ndarray, most: int | None) -> list[np.ndarray]:
    classifier = fitted.classifier
    return [positions[classifier.prototype_labels_ == label][:most] for label in classifier.classes_]


def _images(
    fitted: FittedModel, shape: tuple[int, int], most: int | None, given: np.ndarray | None, ax: Any, cmap: str
) -> Any:
    height, width = shape
    by_class = _by_class(fitted, fitted.raw_prototypes() if given is None else np.asarray(given), most)
    columns = max(map(len, by_class))
    canvas = np.full((len(by_class) * (height + _GAP) - _GAP, columns * (width + _GAP) - _GAP), np.nan)
    for row, images in enumerate(by_class):
        for column, image in enumerate(images):
            top, left = row * (height + _GAP), column * (width + _GAP)
            canvas[top : top + height, left : left + width] = image.reshape(height, width)
    size = 0.75 / max(width, 1)
    ax = new_axes(ax, (size * canvas.shape[1] + 1.2, size * canvas.shape[0] + 0.6))
    ax.imshow(canvas, cmap=cmap, interpolation="nearest")
    names = [plain(label) for label in fitted.classifier.classes_]
    ax.set_yticks([row * (height + _GAP) + (height - 1) / 2 for row in range(len(by_class))], names)
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_ylabel("class")
    return ax


def _parallel(fitted: FittedModel, most: int | None, ax: Any) -> Any:
    names = fitted.feature_names
    ax = new_axes(ax, (max(6.4, min(0.25 * len(names) + 2, 14)), 4.2))
    by_class = _by_class(fitted, np.asarray(fitted.classifier.prototypes_), most)
    total = sum(map(len, by_class))
    alpha = float(np.clip(8 / np.sqrt(max(total, 1)), 0.15, 0.9))
    colours = class_colours(len(by_class))
    for label, positions, colour in zip(fitted.classifier.classes_, by_class, colours, strict=True):
        for number, prototype in enumerate(positions):
            name = plain(label, 18) if number == 0 else None
            ax.plot(prototype, color=colour, alpha=alpha, linewidth=1.5, marker="o", markersize=2.5, label=name)
    every = int(np.ceil(len(names) / _MOST_TICKS))
    ax.set_xticks(range(0, len(names), every), [plain(name) for name in names[::every]], rotation=90)
    ax.set_xlim(-0.3, len(names) - 0.7)
    ax.set_ylabel("value (as the model scales it)" if fitted.preparation is not None else "value")
    ax.grid(axis="x", alpha=0.25)
    if len(by_class) <= 20:
        ax.legend(title="class", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return ax
