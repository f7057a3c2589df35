"""The table of accuracy against bytes, in small."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from reproduction import size
from reproduction.size_plot import plot_sizes


@pytest.fixture
def digits(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X.astype(np.float32), y, test_size=0.4, stratify=y, random_state=0)
    monkeypatch.setattr(size, "parts", lambda name: (X, y, X_test, y_test))
    monkeypatch.setattr(size, "EPOCHS", 5)
    monkeypatch.setattr(size, "STEPS", 5)


def test_every_method_stays_within_the_budget(digits, tmp_path):
    rows = tmp_path / "size.csv"
    assert size.run(rows, np.inf, ["usps"], [600])
    found = size.read(rows)
    assert [row["method"] for row in found] == list(size.METHODS)
    assert all(0 < int(row["bytes"]) <= 600 for row in found)
    assert all(float(row["test"]) > 0.3 for row in found)
    best = size.best_of_ours(found, "usps", 600)
    assert float(best["test"]) > max(float(row["test"]) for row in found if "tree" in row["method"])
    # Nothing is left to do, and nothing is done twice.
    assert size.run(rows, np.inf, ["usps"], [600])
    assert len(size.read(rows)) == len(found)
    assert not size.run(rows, -1.0, ["usps"], [600, 700])


def test_table_and_picture(tmp_path):
    rows = [
        {
            "set": "usps",
            "budget": "1024",
            "method": method,
            "bytes": "1000",
            "validation": "0.9",
            "test": test,
            "detail": "d",
        }
        for method, test in (("GMLVQ, shrunk", "0.9"), ("linear, int8", "0.8"), ("decision tree", "0.0"))
    ]
    text = size.report(rows)
    assert "| usps | 1 kB | **90.0** | 80.0 |  |  | GMLVQ: d, 1000 bytes |" in text
    assert "ProtoNN, EdgeML's C++ example: 93.4" in text
    picture = tmp_path / "size.png"
    plot_sizes(rows, picture, size.SETS, size.PUBLISHED)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_linear_model_that_does_not_fit():
    X, y = load_digits(return_X_y=True)
    assert size._linear(40, X, y, X, y) == (0, 0.0, 0.0, "does not fit")
