"""The benchmark of calibration: its error by hand, and one small run."""

import csv

import numpy as np
import pytest

from benchmarks import calibration
from benchmarks.calibration import calibration_error


def test_the_error_by_hand():
    P = np.array([[0.8, 0.2], [0.8, 0.2], [0.4, 0.6], [0.0, 1.0]])
    # 0.8 is right once in two, 0.6 is right, 1.0 is right.
    assert calibration_error(P, np.array([0, 1, 1, 1])) == pytest.approx((0.6 + 0.4 + 0.0) / 4)


@pytest.mark.papers_data
def test_a_temperature_lowers_the_log_loss(tmp_path, capsys):
    options = ["--tables", "pima", "--classifiers", "GMLVQ,LGMLVQ", "--rows", "400", "--out", str(tmp_path)]
    assert calibration.main(options) == 0
    assert capsys.readouterr().out.startswith("GMLVQ")
    with open(tmp_path / "calibration.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["classifier"] for row in rows] == ["GMLVQ", "LGMLVQ"]
    assert all(float(row["log_loss_after"]) < float(row["log_loss_before"]) for row in rows)
