"""The features of a classifier inside a pipeline in the units of the table that goes in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from protolearn.export.folding import deciding_model
from protolearn.tables import NormalScores, PiecewiseLinearBins
from protolearn.tables.columns import column_arrays, is_frame, json_value
from protolearn.tables.preparation import Preparation

# Steps that make something else of a number than its multiple.
ENCODERS = (PiecewiseLinearBins, NormalScores)


@dataclass(frozen=True)
class Units:
    """How features and columns belong together; a feature z of a number is factor (value - offset).

    columns : names
    column_of : (n_features,) the column of each feature
    movable : (n_features,) whether the feature is a number of its own, not a level or a mark
    factor, offset : (n_features,)
    preparation : the Preparation that made the features, if one did
    before : the steps before the classifier
    encoder : the bins or normal scores that the classifier gets in place of the features, if any; then factor, offset
        and movable are those of what goes into them, and column_of still that of what the classifier gets
    are_raw : whether the columns are those of the table that goes in
    """

    columns: list[str]
    column_of: np.ndarray
    movable: np.ndarray
    factor: np.ndarray
    offset: np.ndarray
    preparation: Preparation | None
    before: Any
    encoder: Any = None
    are_raw: bool = True

    def features(self, rows: Any) -> np.ndarray:
        """Raw rows as the classifier sees them."""
        Z = rows if self.before is None else self.before.transform(rows)
        Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z)
        Z = np.atleast_2d(Z).astype(np.float64)
        if len(self.column_of) == Z.shape[1]:
            check_present(Z, [self.columns[j] for j in self.column_of])
        return Z

    def cells(self, rows: Any, Z: np.ndarray) -> list[list[Any]]:
        """The raw values of rows, None where missing."""
        if self.preparation is not None:
            if is_frame(rows):
                rows = rows[list(self.columns)]
            return [[json_value(value) for value in row] for row in zip(*column_arrays(rows), strict=True)]
        if not self.are_raw or sparse.issparse(rows):
            return self.values(Z)
        # Undoing a scaler would round the values.
        return np.asarray(rows, dtype=np.float64).tolist()

    def values(self, Z: np.ndarray) -> list[list[Any]]:
        """Features (of prototypes) as raw values: a level for a category."""
        if self.encoder is not None:
            Z = self.encoder.inverse_transform(Z)
        if self.preparation is not None:
            return [[json_value(value) for value in row] for row in self.preparation.inverse_transform(Z)]
        return (Z / self.factor + self.offset).tolist()

    def raw(self, feature: int, z: float) -> float:
        """The value of a number whose feature is z."""
        return float(z / self.factor[feature] + self.offset[feature])


def check_present(V: np.ndarray, names: list[str]) -> None:
    """Raise where a number is missing."""
    missing = np.argwhere(np.isnan(V))
    if len(missing):
        row, column = missing[0]
        raise ValueError(
            f"Row {row + 1} has no value in column {names[column]}; fill it in, or put a Preparation before the "
            "classifier, which takes missing values."
        )


def units_of(model: Any) -> tuple[Units, Any]:
    """The units of a classifier or of a pipeline that ends in one, and that classifier."""
    model = deciding_model(model)
    if not isinstance(model, Pipeline):
        return _plain_units(model, None), model
    steps = [step for _, step in model.steps[:-1] if step not in ("passthrough", None)]
    classifier = model.steps[-1][1]
    before = model[:-1] if steps else None
    encoder = steps.pop() if len(steps) > 1 and isinstance(steps[-1], ENCODERS) else None
    units = _step_units(steps[-1], before) if steps else None
    for step in reversed(steps[:-1]):
        outer = _step_units(step, before)
        units = None if units is None or outer is None else _composed(outer, units)
    if units is None:
        return _plain_units(classifier, before), classifier
    return (units if encoder is None else _encoded(units, encoder)), classifier


def _step_units(step: Any, before: Any) -> Units | None:
    """The units of what one step makes of a table; None where they are not those of its columns."""
    if isinstance(step, Preparation):
        return _prepared_units(step, before)
    units = _plain_units(step, before) if isinstance(step, StandardScaler | MinMaxScaler) else None
    if units is not None and isinstance(step, StandardScaler):
        n = len(units.columns)
        scale = np.ones(n) if step.scale_ is None else step.scale_
        mean = np.zeros(n) if step.mean_ is None or not step.with_mean else step.mean_
        return _rescaled(units, step, 1.0 / scale, mean)
    if units is not None and not step.clip:
        return _rescaled(units, step, step.scale_, -step.min_ / step.scale_)
    return None


def _composed(outer: Units, inner: Units) -> Units | None:
    """The units of a step after another one, of numbers only: inner (outer (v - a) - b)."""
    if not (outer.movable.all() and inner.movable.all()):
        return None
    return replace(
        outer, factor=outer.factor * inner.factor, offset=outer.offset + inner.offset / outer.factor, preparation=None
    )


def _encoded(units: Units, encoder: Any) -> Units:
    """The units of bins or normal scores of such features."""
    if isinstance(encoder, NormalScores):
        return replace(units, encoder=encoder)
    widths = [bins.stop - bins.start for bins in encoder.bins_of_columns()]
    return replace(units, column_of=np.repeat(units.column_of, widths), encoder=encoder)


def _plain_units(classifier: Any, before: Any) -> Units:
    n = classifier.n_features_in_
    names = list(getattr(classifier, "feature_names_in_", [f"x{j}" for j in range(n)]))
    movable, factor, offset = np.ones(n, dtype=bool), np.ones(n), np.zeros(n)
    return Units(names, np.arange(n), movable, factor, offset, None, before, are_raw=before is None)


def _rescaled(units: Units, scaler: Any, factor: np.ndarray, offset: np.ndarray) -> Units:
    names = list(getattr(scaler, "feature_names_in_", units.columns))
    return Units(names, units.column_of, units.movable, factor, offset, None, units.before)


def _prepared_units(preparation: Preparation, before: Any) -> Units:
    origins = preparation.origins()
    columns = list(dict.fromkeys(preparation.column_names()))
    place = {name: j for j, name in enumerate(columns)}
    return Units(
        columns,
        np.array([place[origin.column] for origin in origins]),
        np.array([origin.role == "number" for origin in origins]),
        preparation.factor_,
        preparation.offset_,
        preparation,
        before,
    )
