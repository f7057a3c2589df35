"""AutoPrototypes on large tables beside an index: the rows and the page."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from benchmarks import large
from benchmarks.__main__ import main


def exact_neighbours(X, y, X_test, y_test):
    accuracy = KNeighborsClassifier(1).fit(X, y).score(X_test, y_test)
    return [
        {
            "model": "1-NN, flat", "numbers": X.size, "accuracy": accuracy, "bytes": 4 * X.size,
            "rows_a_second": 1000.0, "seconds": 0.0,
        }
    ]  # fmt: skip


def test_a_table_is_measured_once_and_its_page_says_who_is_ahead(monkeypatch, tmp_path):
    X, y = load_iris(return_X_y=True)
    monkeypatch.setitem(large.TABLES, "letter", lambda: (X, y.astype(str)))
    monkeypatch.setattr(large, "_indices", exact_neighbours)
    (tmp_path / "evidence").mkdir()
    arguments = ["large", "--tables", "letter", "--out", str(tmp_path), "--docs", str(tmp_path)]
    assert main(arguments) == 0
    before = (tmp_path / "large.csv").read_bytes()
    assert main(arguments) == 0
    assert (tmp_path / "large.csv").read_bytes() == before
    rows = large.RowFile(tmp_path / "large.csv", large.COLUMNS, {}, resume=True).rows()
    ours, exact = rows[0], rows[-1]
    assert ours["model"] == "AutoPrototypes"
    assert ours["bytes"] == 4 * ours["numbers"] < exact["bytes"]
    assert ours["accuracy"] > 0.85
    assert {row["rows"] + row["test_rows"] for row in rows} == {150}
    assert any(row["model"].startswith("race: ") for row in rows)
    written = (tmp_path / "evidence" / "large.md").read_text()
    points = 100 * (ours["accuracy"] - exact["accuracy"])
    assert f"{abs(points):.1f} points" in written
    assert f"1/{exact['numbers'] / ours['numbers']:.0f} of the numbers" in written


def test_a_part_of_a_table_keeps_the_classes(monkeypatch, tmp_path):
    y = np.repeat(["a", "b", "c"], [400, 200, 100])
    seen = []
    monkeypatch.setitem(large.TABLES, "letter", lambda: (np.arange(1400.0).reshape(700, 2), y))
    monkeypatch.setattr(large, "measured", lambda name, X, y, limit: seen.append((X, y)) or [])
    assert main(["large", "--tables", "letter", "--out", str(tmp_path), "--most-rows", "70"]) == 0
    ((X, labels),) = seen
    assert X.shape == (70, 2)
    assert np.unique(labels, return_counts=True)[1].tolist() == [40, 20, 10]
