"""Identity verification: false acceptance and false rejection, half-total error rate (LPD 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class VerificationCurve:
    """Both kinds of error at every threshold that makes a difference.

    threshold : a claim is accepted where its score is at least this; rising, first one that accepts all, last none
    false_acceptance : share of impostors accepted
    false_rejection : share of clients rejected
    """

    threshold: np.ndarray
    false_acceptance: np.ndarray
    false_rejection: np.ndarray

    @property
    def half_total_error(self) -> np.ndarray:
        """HTER = (FA + FR) / 2 at each threshold."""
        return (self.false_acceptance + self.false_rejection) / 2.0

    def minimum(self) -> tuple[float, float]:
        """The smallest half-total error rate and its threshold, chosen on these very scores, as the paper does."""
        at = int(self.half_total_error.argmin())
        return float(self.half_total_error[at]), float(self.threshold[at])


def verification_curve(scores: Any, is_client: Any) -> VerificationCurve:
    """False acceptance and false rejection over all thresholds.

    Parameters
    ----------
    scores : array-like of shape (n_claims,)
        How likely each claim is true, for example `LPD.verify`.
    is_client : array-like of bool of shape (n_claims,)
        Whether it is.

    Returns
    -------
    curve : VerificationCurve
    """
    scores = np.asarray(scores, dtype=np.float64)
    client = np.asarray(is_client, dtype=bool)
    if scores.ndim != 1 or client.shape != scores.shape or np.isnan(scores).any():
        raise ValueError("scores and is_client must be two lists of the same length without NaN; check both.")
    if client.all() or not client.any():
        raise ValueError("Verification needs claims of clients and of impostors; is_client holds one kind only.")
    threshold = np.append(np.unique(scores), np.inf)
    clients, impostors = np.sort(scores[client]), np.sort(scores[~client])
    rejected = np.searchsorted(clients, threshold, side="left") / len(clients)
    accepted = 1.0 - np.searchsorted(impostors, threshold, side="left") / len(impostors)
    return VerificationCurve(threshold, accepted, rejected)


def half_total_error(scores: Any, is_client: Any, threshold: float) -> float:
    """HTER of a threshold that was chosen before, (FA + FR) / 2.

    Parameters
    ----------
    scores, is_client : as for `verification_curve`
    threshold : float
        Claims of at least this score are accepted.

    Returns
    -------
    error : float
    """
    scores = np.asarray(scores, dtype=np.float64)
    client = np.asarray(is_client, dtype=bool)
    if client.all() or not client.any():
        raise ValueError("Verification needs claims of clients and of impostors; is_client holds one kind only.")
    accepted = scores >= threshold
    return float((np.mean(accepted[~client]) + np.mean(~accepted[client])) / 2.0)
