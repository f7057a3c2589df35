"""The papers' tables in small: how a section is written, and, slow, the figures themselves."""

import json

import numpy as np
import pytest

from protolearn.experiments import faces, learn1nn, lpd


def test_table_1_is_written_from_the_figures_found(tmp_path):
    found = {"Wine": {"L2": 26.0, "CDVW": 2.0, "LPD": 2.0}, "Letter": {"L2": 4.0, "CDVW": 7.0, "LPD": 9.0}}
    cache, report = tmp_path / "found.json", tmp_path / "fidelity.md"
    cache.write_text(json.dumps(found), encoding="utf-8")
    lpd.main(["table1", "--sets", "--cache", str(cache), "--report", str(report)])
    text = report.read_text(encoding="utf-8")
    assert "| Wine | 26.0 (17.5) | 2.0 (1.2) | 2.0 (5.0) | - |" in text
    assert "1 of 2" in text


def test_structural_risk_section(tmp_path):
    report = tmp_path / "fidelity.md"
    learn1nn.main(["srm", "--report", str(report)])
    assert "| 3 | 1.34 |" in report.read_text(encoding="utf-8")


def test_ripley_sample_has_the_bayes_error_of_the_mixture():
    X, y = learn1nn.ripley_sample(20000, seed=1)
    assert np.mean((learn1nn.bayes_border(X) > 0) != y) == pytest.approx(0.09, abs=0.01)


def test_half_of_the_claims_judges_the_other(monkeypatch):
    rng = np.random.RandomState(0)
    images = rng.rand(400, 4, 4) + 5 * np.repeat(rng.rand(40, 4, 4), 10, axis=0)
    people = np.repeat(np.arange(40), 10)
    scores = faces._scores_of_round(images, people, seed=0)
    claims, true = scores["LPD, alpha 10"]
    assert true.sum() == 26 * 5
    assert len(claims) == 2 * 26 * 5 + 14 * 10
    assert faces._errors(claims, true)[0] < 0.2


@pytest.mark.slow
def test_wine_and_heart_are_within_1_5_points_of_table_1(tmp_path):
    report = tmp_path / "fidelity.md"
    lpd.main(["table1", "--sets", "Wine", "Heart", "--repeats", "1", "--report", str(report)])
    assert "2 of 2" in report.read_text(encoding="utf-8")


@pytest.mark.slow
def test_ripley_in_ten_runs(tmp_path):
    report = tmp_path / "fidelity.md"
    learn1nn.main(["ripley", "--runs", "10", "--report", str(report)])
    assert "learn1NN at M = 32" in report.read_text(encoding="utf-8")
