"""What a picture needs to know of a fitted model: the classifier, the rows as it sees them, names of features."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from protolearn.export.folding import deciding_model

_LONGEST_LABEL = 28


@dataclass(frozen=True)
class FittedModel:
    """A fitted classifier and what stands before it in a pipeline.

    classifier : has `prototypes_`, `prototype_labels_` and `classes_`
    preparation : transformer from raw rows to the classifier's features, None where it takes raw rows
    feature_names : of the classifier's features
    """

    classifier: Any
    preparation: Any
    feature_names: list[str]

    def features(self, X: Any) -> np.ndarray:
        """Raw rows as the classifier sees them: a dense array."""
        values = X if self.preparation is None else self.preparation.transform(X)
        values = values.toarray() if sparse.issparse(values) else np.asarray(values)
        return values.astype(np.float64)

    def predict(self, values: np.ndarray) -> np.ndarray:
        """Classes of rows as the classifier sees them."""
        with _without_names():
            return self.classifier.predict(values)

    def class_distances(self, values: np.ndarray) -> np.ndarray:
        """Squared distances of such rows to the nearest prototype of each class."""
        with _without_names():
            return self.classifier._class_distances(values)

    def raw_prototypes(self) -> np.ndarray:
        """The prototypes in raw units where the preparation can go back one to one, else as the classifier has them."""
        prototypes = np.asarray(self.classifier.prototypes_)
        if not hasattr(self.preparation, "inverse_transform"):
            return prototypes
        raw = np.asarray(self.preparation.inverse_transform(prototypes))
        return raw if raw.shape == prototypes.shape and raw.dtype.kind == "f" else prototypes


@contextmanager
def _without_names() -> Iterator[None]:
    """Arrays go to a classifier that was fitted on a data frame: their columns are its columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def fitted_model(model: Any) -> FittedModel:
    """Take apart a fitted classifier, or a pipeline that ends in one; a search is its best estimator.

    AutoPrototypes is its only set; of several sets the user passes one, such as `best_estimator_`.
    """
    model = deciding_model(model)
    preparation = None
    classifier = model
    if isinstance(model, Pipeline):
        classifier = model[-1]
        preparation = model[:-1] if len(model) > 1 else None
    if not callable(getattr(classifier, "fit", None)):
        raise ValueError(
            f"A fitted classifier with prototypes is needed, or a pipeline ending in one; got {model!r:.80}."
        )
    check_is_fitted(classifier)
    if not hasattr(classifier, "prototypes_"):
        raise ValueError(
            f"{type(classifier).__name__} has no prototypes; pass one of protolearn, or a pipeline with one at its end."
        )
    return FittedModel(classifier, preparation, _feature_names(classifier, preparation))


def _feature_names(classifier: Any, preparation: Any) -> list[str]:
    n_features = classifier.prototypes_.shape[1]
    for source in (
        lambda: classifier.feature_names_in_,
        lambda: preparation.get_feature_names_out(),
    ):
        try:
            names = [str(name) for name in source()]
        except (AttributeError, ValueError):
            continue
        if len(names) == n_features:
            return names
    return [f"x{number}" for number in range(n_features)]


def feature_index(names: list[str], wanted: int | str) -> int:
    """The number of a feature that is given by number or by name."""
    if isinstance(wanted, str):
        if wanted not in names:
            raise ValueError(f"There is no feature {wanted!r}; choose one of {', '.join(names[:20])}.")
        return names.index(wanted)
    if not -len(names) <= wanted < len(names):
        raise ValueError(f"There is no feature {wanted}; the classifier has {len(names)}, counted from 0.")
    return int(wanted) % len(names)


def image_shape_of(n_features: int, names: list[str]) -> tuple[int, int] | None:
    """The square that the features form, or None where they are likely no pixels.

    At least 5 x 5, and names that differ in their numbers only: 16 features with a meaning each are no picture.
    """
    side = round(np.sqrt(n_features))
    stems = {re.sub(r"\d+", "#", name) for name in names}
    return (side, side) if side >= 5 and side * side == n_features and len(stems) == 1 else None


def plain(text: Any, longest: int = _LONGEST_LABEL) -> str:
    """A user's name as a label: printable, short, and no mathematics between dollar signs."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(text))
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return text.replace("$", r"\$")


def new_axes(ax: Any, figsize: tuple[float, float] | None = None) -> Any:
    """The axes given, or those of a new figure of matplotlib.pyplot."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "protolearn[plot]"') from error
    return plt.subplots(figsize=figsize, layout="constrained")[1]


def class_colours(n_classes: int) -> np.ndarray:
    """A colour for each class, (n_classes, 4); legible on white and on black."""
    from matplotlib import colormaps

    if n_classes <= 10:
        return colormaps["tab10"](np.arange(n_classes))
    if n_classes <= 20:
        return colormaps["tab20"](np.arange(n_classes))
    return colormaps["hsv"](np.linspace(0.0, 0.95, n_classes))
