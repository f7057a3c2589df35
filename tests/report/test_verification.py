"""Verification curves against scikit-learn's, and by hand."""

import numpy as np
import pytest
from sklearn.metrics import det_curve

from protolearn.explain import half_total_error, verification_curve
from protolearn.report import plot_verification


def test_curve_equals_scikit_learns_detection_error_tradeoff():
    rng = np.random.RandomState(0)
    client = rng.rand(300) < 0.3
    scores = np.round(rng.randn(300) + client, 1)
    curve = verification_curve(scores, client)
    fpr, fnr, thresholds = det_curve(client, scores)
    for accepted, rejected, threshold in zip(fpr, fnr, thresholds, strict=True):
        if np.isfinite(threshold):
            at = np.flatnonzero(curve.threshold == threshold)[0]
            assert curve.false_acceptance[at] == pytest.approx(accepted)
            assert curve.false_rejection[at] == pytest.approx(rejected)


def test_minimum_by_hand():
    curve = verification_curve([0.9, 0.8, 0.3, 0.5, 0.2, 0.1], [1, 1, 1, 0, 0, 0])
    error, threshold = curve.minimum()
    assert error == pytest.approx(1 / 6)
    assert threshold in (0.3, 0.8)
    assert half_total_error([0.9, 0.8, 0.3, 0.5, 0.2, 0.1], [1, 1, 1, 0, 0, 0], threshold) == pytest.approx(error)
    assert curve.false_acceptance[[0, -1]].tolist() == [1.0, 0.0]
    assert curve.false_rejection[[0, -1]].tolist() == [0.0, 1.0]


def test_perfect_scores_have_no_error():
    curve = verification_curve([2.0, 3.0, 0.0, 1.0], [True, True, False, False])
    assert curve.minimum()[0] == 0.0


def test_one_kind_of_claim_is_refused():
    with pytest.raises(ValueError, match="clients and of impostors"):
        verification_curve([0.1, 0.2], [True, True])
    with pytest.raises(ValueError, match="same length"):
        verification_curve([0.1, 0.2], [True])


def test_plot_marks_the_minimum():
    import matplotlib

    matplotlib.use("Agg")
    ax = plot_verification(verification_curve([0.9, 0.8, 0.3, 0.5, 0.2, 0.1], [1, 1, 1, 0, 0, 0]))
    assert len(ax.lines) == 4
    assert "16.7" in ax.lines[-1].get_label()
