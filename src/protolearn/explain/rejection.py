"""Leaving the uncertain rows to somebody else: the accuracy on the rows kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class RejectionCurve:
    """Accuracy of the rows kept when those below each certainty are left to somebody else.

    threshold : a row is kept where its certainty is at least this; rising, the first one keeps all
    rejected : share of rows rejected
    accuracy : share of the kept rows that are right
    """

    threshold: np.ndarray
    rejected: np.ndarray
    accuracy: np.ndarray


def rejection_curve(certainties: Any, correct: Any) -> RejectionCurve:
    """One point for each certainty at which the set of kept rows changes; it ends before nothing is kept.

    Parameters
    ----------
    certainties : array-like of shape (n_samples,)
        For example the largest value of `predict_proba`, or `protolearn.explain.certainty`.
    correct : array-like of bool of shape (n_samples,)

    Returns
    -------
    curve : RejectionCurve
    """
    certainties = np.asarray(certainties, dtype=np.float64)
    correct = np.asarray(correct, dtype=bool)
    if (
        certainties.ndim != 1
        or certainties.shape != correct.shape
        or not len(certainties)
        or np.isnan(certainties).any()
    ):
        raise ValueError("certainties and correct must be two lists of the same length without NaN; check both.")
    order = np.argsort(certainties, kind="stable")
    levels, first = np.unique(certainties[order], return_index=True)
    right_from = np.cumsum(correct[order][::-1])[::-1]
    kept = len(certainties) - first
    return RejectionCurve(levels, first / len(certainties), right_from[first] / kept)
