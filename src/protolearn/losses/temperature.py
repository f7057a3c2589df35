"""Calibration by a temperature: one number that makes probabilities as sure as they are right.

    p_t(c | x) = p(c | x)^t / sum over the classes of p(c' | x)^t

t is the one with the least log loss on rows that the model did not learn from. A t below 1 makes the probabilities less
sure. The order of the classes of a row never changes. Guo, Pleiss, Sun and Weinberger (2017), where t is 1 / T.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

# Log probabilities below this one count as this one: a class is never taken for impossible.
LEAST_LOG = np.log(1e-9)
# ln t is searched within these ends.
_SEARCHED = (-3.5, 2.5)


def tempered(log_proba: np.ndarray, temperature: float) -> np.ndarray:
    """Log probabilities at a temperature; rows of log probabilities need not be normalised."""
    return log_softmax(temperature * log_proba, axis=1)


def log_loss_of(log_proba: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The weighted mean of -ln p of the own class."""
    own = np.maximum(log_proba[np.arange(len(codes)), codes], LEAST_LOG)
    return float(-np.average(own, weights=weight))


def best_temperature(log_proba: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The temperature with the least log loss; 1 where no row is given.

    Parameters
    ----------
    log_proba : (n_samples, n_classes), of rows that the model did not learn from
    codes : (n_samples,) their classes
    weight : (n_samples,), optional
    """
    if not len(codes):
        return 1.0

    def loss(log_t: float) -> float:
        return log_loss_of(tempered(log_proba, float(np.exp(log_t))), codes, weight)

    found = minimize_scalar(loss, bounds=_SEARCHED, method="bounded", options={"xatol": 0.01})
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0
