"""A model as it meets the columns of a table: its cells, its columns, their ranges, and rows in all their forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from protolearn.estimators.prediction import NearestPrototypeMixin
from protolearn.explain.cells import Cells
from protolearn.export.folding import deciding_model, input_rows, plain_model
from protolearn.tables.columns import column_arrays, is_frame, is_missing
from protolearn.tables.preparation import Preparation

_SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


@dataclass(frozen=True)
class Inputs:
    """A fitted model, and the inputs of its plain form: numbers, and one input for each level of a category.

    model : what predicts, from rows of the table
    cells : its prototypes in the units of the inputs
    columns : names of the table's columns
    column_of : (n_inputs,) the column of each input
    roles : (n_inputs,) "number", "level", "code" or "missing", as in `protolearn.tables.preparation.Origin`
    preparation : the Preparation that makes the inputs, if one does
    data_min, data_max : (n_columns,) the range of each column in training; NaN where it is not known
    is_whole : (n_columns,) whether the training set is known to hold whole numbers only there
    """

    model: Any
    cells: Cells
    columns: list[str]
    column_of: np.ndarray
    roles: np.ndarray
    preparation: Preparation | None
    data_min: np.ndarray
    data_max: np.ndarray
    is_whole: np.ndarray

    @classmethod
    def of(cls, model: Any) -> Inputs:
        """The inputs of a fitted classifier, or of a pipeline that ends in one; an error where no distance decides."""
        model = deciding_model(model)
        steps = [model]
        if isinstance(model, Pipeline):
            steps = [step for _, step in model.steps if step not in ("passthrough", None)]
        check_explainable(steps[-1])
        try:
            plain = plain_model(model)
        except ValueError as error:
            if "neither `weights` nor `maps`" in str(error):
                raise ValueError(
                    "Counterfactuals and certificates need a distance of weighted differences or of a linear map, and "
                    "the metric of this model has another form; fit with metric='euclidean', a relevance or an omega "
                    "metric."
                ) from None
            if "cannot be folded" not in str(error):
                raise
            named = [type(one).__name__ for one in steps[:-1]]
            step = next((name for name in named if name in str(error)), named[0])
            raise ValueError(
                f"The step {step} before the classifier is not linear, so the distance to a prototype has no closed "
                "form in the columns of the table; put a scaler, PCA or Preparation there instead."
            ) from None
        cells = Cells.of(plain)
        if len(np.unique(cells.labels)) < 2:
            raise ValueError("All prototypes are of one class; there is no decision to explain.")
        first = steps[0]
        if isinstance(first, Preparation):
            place = {name: j for j, name in enumerate(first.column_names())}
            origins = first.origins()
            names, known = list(place), first if hasattr(first, "data_min_") else None
            unknown = np.full(len(names), np.nan)
            return cls(
                model,
                cells,
                [str(name) for name in names],
                np.array([place[origin.column] for origin in origins]),
                np.array([origin.role for origin in origins]),
                first,
                unknown if known is None else known.data_min_,
                unknown if known is None else known.data_max_,
                np.zeros(len(names), dtype=bool) if known is None else known.is_whole_,
            )
        n = plain.n_inputs
        low, high = _ranges(steps, n)
        names = list(plain.feature_names)
        return cls(model, cells, names, np.arange(n), np.full(n, "number"), None, low, high, np.zeros(n, dtype=bool))

    @cached_property
    def classes(self) -> np.ndarray:
        """The labels."""
        return self.cells.plain.classes

    @cached_property
    def is_number(self) -> np.ndarray:
        """(n_columns,) whether each column holds numbers."""
        return np.ones(len(self.columns), dtype=bool) if self.preparation is None else self.preparation.is_number_

    def rows(self, X: Any) -> np.ndarray:
        """Rows of the table as inputs, checked as the model checks them."""
        if self.preparation is not None:
            return input_rows(self.model, X)
        X = X.toarray() if sparse.issparse(X) else X
        V = np.asarray(X, dtype=np.float64)
        if V.ndim != 2 or V.shape[1] != self.cells.plain.n_inputs:
            raise ValueError(
                f"Rows have {self.cells.plain.n_inputs} columns here; got an array of shape {V.shape}. One row is "
                "given as a table of one row."
            )
        return V

    def empty(self, X: Any) -> np.ndarray:
        """(n_rows, n_columns) whether a cell of the table is empty."""
        if self.preparation is None:
            return np.zeros((len(X) if not sparse.issparse(X) else X.shape[0], len(self.columns)), dtype=bool)
        if is_frame(X):
            X = X[list(self.preparation.column_names())]
        return np.array([[is_missing(value) for value in column] for column in column_arrays(X)]).T

    def named(self, names: Iterable[str] | str, argument: str) -> np.ndarray:
        """(n_columns,) whether each column is among `names`."""
        names = [names] if isinstance(names, str) else list(names)
        unknown = [name for name in names if str(name) not in self.columns]
        if unknown:
            listed = ", ".join(self.columns[:8]) + (", ..." if len(self.columns) > 8 else "")
            raise ValueError(f"{argument} names {unknown[0]!s}, which is no column of the model; it has {listed}.")
        return np.isin(self.columns, [str(name) for name in names])

    def by_column(self, values: Any, argument: str, default: float) -> np.ndarray:
        """One number for each column from a number, an array, or a dict by name."""
        if isinstance(values, Mapping):
            self.named(values, argument)
            return np.array([float(values.get(name, default)) for name in self.columns])
        found = np.asarray(values, dtype=np.float64)
        if found.ndim == 0:
            found = np.full(len(self.columns), float(found))
        if found.shape != (len(self.columns),):
            raise ValueError(
                f"{argument} must be a number, a dict by column, or hold one number for each of the "
                f"{len(self.columns)} columns; got an array of shape {found.shape}."
            )
        return found


def check_explainable(classifier: Any) -> None:
    """Raise where the nearest prototype does not decide."""
    if not isinstance(classifier, NearestPrototypeMixin):
        raise ValueError(
            f"Only classifiers of protolearn have prototypes to explain by; got {type(classifier).__name__}."
        )
    if getattr(classifier, "classify_by", "prototypes") != "prototypes":
        raise ValueError('This model decides by densities; explanations need classify_by="prototypes".')


def _ranges(steps: list[Any], n_inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """The range of each column before the steps, from what the classifier saw behind them."""
    unknown = np.full(n_inputs, np.nan)
    ends = [getattr(steps[-1], name, None) for name in ("data_min_", "data_max_")]
    if ends[0] is None or not all(isinstance(step, _SCALERS) for step in steps[:-1]):
        return unknown, unknown
    rows = np.array(ends)
    for step in reversed(steps[:-1]):
        rows = step.inverse_transform(rows)
    return rows[0], rows[1]
