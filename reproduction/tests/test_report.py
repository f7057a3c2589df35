"""Data sets and reports."""

import numpy as np
import pytest

from reproduction.datasets import load
from reproduction.report import provenance, table, write_section


@pytest.mark.papers_data
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
