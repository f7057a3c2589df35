"""The yardstick of accuracy: equal budgets, splits without a common row, figures that a reader can check."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from benchmarks.__main__ import main
from benchmarks.accuracy import methods, page, replacing, run, tables


@pytest.fixture
def flowers(monkeypatch):
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["e"] = np.where(X[:, 0] > 5.8, "long", "short")
    monkeypatch.setattr(tables, "load", lambda table: (frame, y.astype(str)))
    monkeypatch.setattr(methods, "SECONDS", 0.5)
    return frame, y.astype(str)


def test_splits_share_no_row_and_keep_the_classes():
    y = np.repeat(["a", "b", "c"], [4000, 2000, 9])
    train, test = tables.split(y, 0)
    assert len(train) == tables.TRAIN_ROWS
    assert len(test) == tables.TEST_ROWS
    assert not set(train) & set(test)
    assert np.mean(y[train] == "b") == pytest.approx(1 / 3, abs=1e-3)
    assert "c" not in y[train]
    assert (tables.split(y, 1)[0] != train).any()


def test_every_method_starts_with_its_default_and_gets_the_same_number_of_configurations():
    for method in methods.METHODS:
        drawn = methods.configurations(method, 0)
        assert drawn[0] == method.default
        assert len(drawn) <= methods.CONFIGURATIONS


def test_the_calibration_error_of_known_probabilities():
    P = np.array([[0.9, 0.1]] * 10 + [[0.65, 0.35]] * 10)
    right = np.array([True] * 8 + [False] * 2 + [True] * 5 + [False] * 5)
    assert methods.calibration_error(P, right) == pytest.approx(0.5 * 0.1 + 0.5 * 0.15)


def test_a_run_goes_on_and_makes_a_page_of_its_rows(flowers, tmp_path, capsys):
    some = ["majority class", "k-NN", "LOGM", "AutoPrototypes"]
    arguments = ["accuracy", "--tables", "yeast", "pima", "--out", str(tmp_path), "--methods", *some]
    assert main([*arguments[:3], *arguments[4:], "--splits", "1"]) == 0
    first = (tmp_path / "accuracy.csv").read_text()
    assert main([*arguments, "--splits", "2", "--docs", str(tmp_path)]) == 0
    text = (tmp_path / "accuracy.csv").read_text()
    assert text.startswith(first)
    rows = run.RowFile(tmp_path / "accuracy.csv", run.COLUMNS, {}, resume=True).rows()
    assert len(rows) == 2 * 2 * len(some)
    assert not any(row["error"] for row in rows)
    accuracy = {row["method"]: row["accuracy"] for row in rows}
    assert accuracy["majority class"] < 0.4 < 0.85 < min(accuracy[name] for name in some[1:])
    assert {row["configurations"] > 1 for row in rows if row["method"] == "k-NN"} == {True}
    assert "AutoPrototypes" in capsys.readouterr().out
    written = (tmp_path / "accuracy.md").read_text()
    mean = 100 * np.mean([row["accuracy"] for row in rows if row["method"] == "k-NN" and not row["seen"]])
    assert f"| k-NN | {mean:.2f} |" in written
    for picture in ("accuracy_ranks.png", "accuracy_bytes.png"):
        assert (tmp_path / "figures" / picture).stat().st_size > 5000


def test_losses_name_the_best_of_the_others():
    rows = [
        {"table": name, "split": 0, "method": method, "accuracy": accuracy, "seen": False}
        for name, ours, knn in (("one", 0.9, 0.8), ("two", 0.7, 0.75))
        for method, accuracy in ((page.OURS, ours), ("k-NN", knn))
    ]
    assert page.losses(rows, ["k-NN"]) == [("two", "70.0", "k-NN 75.0", "5.0")]
    kept, names, accuracy = page.means(rows, "accuracy")
    assert kept == ["one", "two"]
    assert dict(zip(names, accuracy[0], strict=True)) == {"k-NN": 0.8, page.OURS: 0.9}


def test_a_method_that_fails_keeps_its_row(flowers, tmp_path, monkeypatch):
    def broken(settings, seed):
        raise RuntimeError("no such thing")

    monkeypatch.setitem(methods.BY_NAME, "EBM", methods.Method("EBM", broken, package="scikit-learn"))
    main(["accuracy", "--tables", "pima", "--out", str(tmp_path), "--methods", "EBM", "--splits", "1"])
    (row,) = run.RowFile(tmp_path / "accuracy.csv", run.COLUMNS, {}, resume=True).rows()
    assert row["error"] == "RuntimeError: no such thing"
    assert math.isnan(row["accuracy"])


def test_untuned_methods_stand_beside_the_tuned_ones():
    rows = [
        {"table": "yeast", "split": 0, "method": method, "accuracy": accuracy, "bytes": 10, "seen": False}
        for method, accuracy in (("k-NN", 0.8), ("k-NN, defaults", 0.7), (page.OURS, 0.9))
    ]
    assert page.lines(rows) == [
        (page.OURS, "90.00", "", "1.00", "", "10"),
        ("k-NN", "80.00", "70.00", "2.00", "+10.00 ± nan", "10"),
    ]


def test_published_figures_stand_beside_ours_on_the_same_tables():
    rows = [
        {"table": name, "split": 0, "method": method, "accuracy": 0.5, "seen": False}
        for name in ("yeast", "banana")
        for method in (page.OURS, "k-NN", "CatBoost")
    ]
    assert page.published(rows) == [("yeast", "50.0", "50.0", "50.0", "59.6", "60.8", "60.3")]


def test_given_models_are_replaced_within_a_loss_and_within_bytes(flowers, tmp_path, capsys):
    yardstick = ["--out", str(tmp_path), "--tables", "yeast", "--splits", "1", "--methods", "k-NN", "majority class"]
    assert main(["accuracy", *yardstick]) == 0
    arguments = ["replacing", *yardstick[:4], "--yardstick", str(tmp_path / "accuracy.csv")]
    assert main(arguments) == 0
    rows = replacing.read_rows(tmp_path / "replacing.csv", replacing.COLUMNS)
    assert [row["asked"] for row in rows] == [replacing.WITHIN_LOSS, "1 % of k-NN", "5 % of k-NN", "20 % of k-NN"]
    for row in rows:
        if row["error"]:
            # Of 105 rows and five columns 5 % are 26 numbers, less than three prototypes with their preparation.
            assert row["asked"] in ("1 % of k-NN", "5 % of k-NN")
        elif row["asked"] != replacing.WITHIN_LOSS:
            assert row["small_bytes"] <= float(row["asked"].split(" ")[0]) / 100 * row["knn_bytes"]
        else:
            assert row["small_accuracy"] > row["given_accuracy"] - 0.1
    before = (tmp_path / "replacing.csv").read_bytes()
    assert main(arguments) == 0
    assert (tmp_path / "replacing.csv").read_bytes() == before
    assert "## A given model, replaced" in replacing.section(rows)
    assert "1 of 1" in capsys.readouterr().out
