"""Accuracy by number of prototypes, as a figure."""

import numpy as np

from protolearn.report.curves import plot_accuracy_by_size


def test_lines_bands_and_reference(tmp_path):
    runs = {"one": np.array([[0.5, 0.7], [0.8, 1.0]]), "other": np.array([[0.4, 0.4], [0.6, 0.6]])}
    figure = plot_accuracy_by_size([10, 20], runs, reference=("all", 0.9), title="T", path=tmp_path / "curve.png")
    (axes,) = figure.axes
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    np.testing.assert_allclose(lines["one"], [60, 90])
    np.testing.assert_allclose(lines["other"], [40, 60])
    np.testing.assert_allclose(lines["all"], 90)
    assert (tmp_path / "curve.png").exists()
