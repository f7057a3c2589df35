"""Probabilities that are as sure as they are right: a temperature for any classifier with prototypes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from protolearn.data.containers import rows_of
from protolearn.estimators.prediction import NearestPrototypeMixin
from protolearn.losses.links import log_class_probabilities
from protolearn.losses.temperature import best_temperature


def calibrated(model: Any, X: Any, y: Any, *, cv: Any = None, sample_weight: Any = None) -> Any:
    """A copy of a fitted classifier whose probabilities fit the rows that it is given.

    The probabilities are raised to a power, the temperature, and divided by their sum. The power is the one with the
    least log loss on rows that were not learned from, so the classes that are predicted, the borders and the
    certificates stay as they are. The copy is saved and exported like any model. Guo, Pleiss, Sun and Weinberger
    (2017), On calibration of modern neural networks.

    Parameters
    ----------
    model : fitted classifier of protolearn, or a Pipeline that ends in one
    X, y : rows that the model did not learn from, some hundred at best; with cv, the rows that it learned from
    cv : int, cross-validation generator or None
        None uses the rows as they are. 5, for example, needs no further rows: unfitted copies of the model learn from
        four fifths of the rows and judge the others, in turn. That takes four times as long as the fit did.
    sample_weight : array-like of shape (n_samples,), optional
        How much each row counts in the log loss; copies learn without it.

    Returns
    -------
    model : a fitted classifier of the same class

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import log_loss
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from protolearn import GMLVQ
    >>> from protolearn.explain import calibrated
    >>> X, X_new, y, y_new = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> model = make_pipeline(StandardScaler(), GMLVQ(random_state=0)).fit(X, y)
    >>> better = calibrated(model, X, y, cv=5)
    >>> log_loss(y_new, better.predict_proba(X_new)) < log_loss(y_new, model.predict_proba(X_new))
    True
    """
    last = _classifier(model)
    check_is_fitted(last)
    classes = last.classes_
    y = check_array(y, ensure_2d=False, dtype=None)
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unknown = np.flatnonzero(classes[codes] != y)
    if len(unknown):
        raise ValueError(f"y holds class {y[unknown[0]]!s}, which the model has not learned; remove its rows.")
    if cv is None:
        log_proba = _log_probabilities(model, X)
    else:
        log_proba = np.full((len(y), len(classes)), -np.inf)
        for learned, judged in check_cv(cv, y, classifier=True).split(X, y):
            fitted = clone(model).fit(rows_of(X, learned), y[learned])
            places = np.searchsorted(classes, fitted.classes_)
            log_proba[np.ix_(judged, places)] = _log_probabilities(fitted, rows_of(X, judged))
        judged = np.isfinite(log_proba).any(axis=1)
        log_proba, codes = log_proba[judged], codes[judged]
        sample_weight = None if sample_weight is None else np.asarray(sample_weight)[judged]
    if len(log_proba) != len(codes):
        raise ValueError(f"X has {len(log_proba)} rows and y {len(codes)}; give each row a class.")
    result = deepcopy(model)
    _classifier(result).temperature_ = best_temperature(log_proba, codes, sample_weight)
    return result


def _classifier(model: Any) -> Any:
    last = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(last, NearestPrototypeMixin):
        raise ValueError(
            f"A temperature needs a classifier with prototypes, and {type(last).__name__} has none; for others take "
            "CalibratedClassifierCV of scikit-learn."
        )
    if getattr(last, "classify_by", "prototypes") != "prototypes":
        raise ValueError('This model decides by densities; a temperature needs classify_by="prototypes".')
    return last


def _log_probabilities(model: Any, X: Any) -> np.ndarray:
    """Logarithms of the probabilities before any temperature, exact where the probabilities themselves are 0."""
    last = _classifier(model)
    rows = model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X
    return log_class_probabilities(last._class_distances(rows), *last._link_and_slope())
