"""Settings chosen on a validation set, as the learn1NN paper chooses alpha and sigma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid


def choose_on_validation(
    estimator: Any,
    grid: Mapping[str, Sequence[Any]],
    X: Any,
    y: Any,
    X_val: Any,
    y_val: Any,
    *,
    runs: int = 1,
) -> tuple[dict[str, Any], list[tuple[dict[str, Any], float]]]:
    """The settings of the lowest mean validation error, the first of equals.

    Parameters
    ----------
    estimator : classifier
    grid : dict from parameter to the values to try
    X, y : training set
    X_val, y_val : validation set, to which `fit` of an estimator with keep="validation" is given too
    runs : int
        Fits of each combination, with random_state 0, 1, ... where there are several.

    Returns
    -------
    best : dict
        The chosen settings.
    results : list of pairs (settings, mean validation error)
    """
    results = []
    for settings in ParameterGrid(dict(grid)):
        errors = []
        for run in range(runs):
            model = clone(estimator).set_params(**settings)
            if runs > 1:
                model.set_params(random_state=run)
            looks = getattr(model, "keep", None) == "validation"
            model.fit(X, y, **({"X_val": X_val, "y_val": y_val} if looks else {}))
            errors.append(1.0 - model.score(X_val, y_val))
        results.append((settings, float(np.mean(errors))))
    best = min(range(len(results)), key=lambda i: results[i][1])
    return results[best][0], results
