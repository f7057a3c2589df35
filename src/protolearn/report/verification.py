"""The errors of identity verification, drawn over the threshold (LPD 3.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.explain.verification import VerificationCurve


def plot_verification(curve: VerificationCurve, ax: Any = None) -> Any:
    """False acceptance, false rejection and their mean over the threshold, the minimum marked.

    Parameters
    ----------
    curve : VerificationCurve
    ax : matplotlib axes, optional

    Returns
    -------
    ax : the axes drawn on
    """
    import matplotlib.pyplot as plt

    ax = plt.subplots()[1] if ax is None else ax
    shown = np.isfinite(curve.threshold)
    for values, label in (
        (curve.false_acceptance, "false acceptance"),
        (curve.false_rejection, "false rejection"),
        (curve.half_total_error, "half-total error"),
    ):
        ax.plot(curve.threshold[shown], 100 * values[shown], label=label)
    error, threshold = curve.minimum()
    ax.plot([threshold], [100 * error], "ko", label=f"minimum {100 * error:.1f} %")
    ax.set_xlabel("threshold")
    ax.set_ylabel("error (%)")
    ax.legend()
    return ax
