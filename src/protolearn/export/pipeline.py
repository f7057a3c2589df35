"""A pipeline that also classifies one raw row at a time, as a service is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from protolearn.tables.encoding import NormalScores, PiecewiseLinearBins
from protolearn.tables.preparation import Preparation
from protolearn.tables.rows import row_preparation, values_in_order

Step = Callable[[Any], np.ndarray]


class RowPipeline(Pipeline):
    """A Pipeline of scikit-learn with `row_classifier`; `load` gives it for every pipeline."""

    def row_classifier(self) -> Callable[[Any], Any]:
        """A function of one raw row that returns its class.

        `predict` spends most of the time for one row on the checks of a table. What is learned later does not change
        the function.

        Returns
        -------
        classify : callable taking the values of a row in the order of the training columns, or a dict by their names,
            and returning a label
        """
        check_is_fitted(self)
        return row_classifier(self)


def row_classifier(model: Any) -> Callable[[Any], Any]:
    """A function from one raw row to its class, for a pipeline or a classifier alone.

    Parameters
    ----------
    model : fitted classifier of protolearn, or a Pipeline that ends in one

    Returns
    -------
    classify : callable, as `RowPipeline.row_classifier` gives it
    """
    steps = (
        [step for _, step in model.steps if step not in (None, "passthrough")]
        if isinstance(model, Pipeline)
        else [model]
    )
    last = steps[-1]
    if not hasattr(last, "row_classifier"):
        raise ValueError(
            f"{type(last).__name__} has no row_classifier; end the pipeline in a classifier of protolearn."
        )
    classify = last.row_classifier()
    prepare = [_of_step(step) for step in steps[:-1]]
    names = getattr(steps[0], "feature_names_in_", None)

    def classify_raw(row: Any) -> Any:
        if type(row) is dict:
            row = values_in_order(row, names)
        for step in prepare:
            row = step(row)
        return classify(row)

    return classify_raw


def _of_step(step: Any) -> Step:
    """What a fitted step does to one row."""
    if isinstance(step, Preparation):
        return row_preparation(step)
    if isinstance(step, PiecewiseLinearBins | NormalScores):
        return step.row_function()
    if isinstance(step, StandardScaler):
        scale = 1.0 if step.scale_ is None else 1.0 / step.scale_
        offset = step.mean_ if step.with_mean else 0.0
        return _linear(step, scale, offset * np.ones(step.n_features_in_))
    if isinstance(step, MinMaxScaler) and not step.clip:
        return _linear(step, step.scale_, -step.min_ / step.scale_)
    return lambda row: np.asarray(step.transform(np.asarray(row)[None]))[0]


def _linear(step: Any, scale: Any, offset: np.ndarray) -> Step:
    n_columns = step.n_features_in_

    def transform(row: Any) -> np.ndarray:
        x = np.asarray(row, dtype=np.float64)
        if x.shape != (n_columns,):
            raise ValueError(f"A row has {n_columns} columns here; got an array of shape {x.shape}.")
        return scale * (x - offset)

    return transform
