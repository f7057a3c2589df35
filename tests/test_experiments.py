"""Data sets, reports, and the LOGM protocol in small."""

import numpy as np
import pytest

from protolearn.experiments import logm
from protolearn.experiments.datasets import load
from protolearn.experiments.report import provenance, table, write_section


def test_data_sets_are_read_from_the_folder():
    data = load("vehicle")
    assert data.X.shape == (846, 18)
    assert data.is_test is None
    with pytest.raises(ValueError, match="no official split"):
        data.split()
    X, y, X_test, y_test = load("letter", np.float32).split()
    assert (len(X), len(X_test)) == (15000, 5000)
    assert X.dtype == np.float32
    assert len(y) + len(y_test) == 20000


def test_sections_are_replaced_and_the_rest_stays(tmp_path):
    path = tmp_path / "fidelity.md"
    write_section(path, "one", "first")
    write_section(path, "two", table(["a", "b"], [[1, 2]]))
    write_section(path, "one", "again")
    text = path.read_text()
    assert "first" not in text
    assert text.index("again") < text.index("| 1 | 2 |")
    assert text.count("<!-- begin one -->") == 1
    assert "numpy" in provenance("command")


def test_logm_protocol_in_small(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(logm, "SMALL", logm.Grid((1, 3), (0.0,), (1.0,), epochs=30, hold_out=1 / 3))
    rows, out = tmp_path / "rows.csv", tmp_path / "fidelity.md"
    arguments = ["--datasets", "wdbc", "--methods", "LOGM", "MCE", "--rows", str(rows), "--jobs", "1"]
    logm.main(arguments)
    assert "2 of 2 figures are at most 2 points below" in capsys.readouterr().out
    before = rows.read_text()
    logm.main([*arguments, "--out", str(out)])
    assert rows.read_text() == before
    assert "## LOGM and its rivals" in out.read_text()


@pytest.mark.slow
def test_logm_table(tmp_path):
    rows = logm.run(list(logm.PUBLISHED), list(logm.METHODS), tmp_path / "rows.csv", seed=1, jobs=2)
    for name, published in logm.PUBLISHED.items():
        for method, value in published.items():
            found = [float(row["accuracy"]) for row in rows if row["dataset"] == name and row["method"] == method]
            assert 100 * np.mean(found) > value - 2, (name, method)
