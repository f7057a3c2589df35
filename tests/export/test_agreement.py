"""Every classifier under every metric: C, onnxruntime and node give the labels of Python."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import protolearn
from reproduction import agreement
from reproduction.programs import available

CASES = list(agreement.cases(max_iter=3))
pytestmark = pytest.mark.skipif(not (available("gcc") and available("node")), reason="gcc and node are not installed")


def test_every_classifier_and_metric_is_among_the_cases():
    kinds = {type(make()).__name__ for _, make in CASES}
    # AutoPrototypes is one or several of these.
    classifiers = {name for name in protolearn.__all__ if hasattr(getattr(protolearn, name), "predict")}
    assert kinds == classifiers - {"AutoPrototypes"}
    assert len(CASES) > 200


@pytest.fixture(scope="module")
def parts():
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    y = np.array(["setosa", "versi colour", "virgin\u00ed\u010da"])[y]
    return train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)


@pytest.mark.parametrize("start", range(0, len(CASES), 48))
def test_same_labels_everywhere(parts, start):
    X, X_test, y, y_test = parts
    fitted = [(name, make_pipeline(StandardScaler(), make()).fit(X, y)) for name, make in CASES[start : start + 48]]
    for row in agreement.compare(fitted, X, X_test, y_test, ("float32",)):
        assert (row["c"], row["onnx"], row["js"]) == (0, 0, 0), row
        assert float(row["probability"]) < 1e-5, row


def test_fixed_point_keeps_the_accuracy(parts):
    X, X_test, y, y_test = parts
    X_test, y_test = np.concatenate([X, X_test]), np.concatenate([y, y_test])
    fitted = [(name, make_pipeline(StandardScaler(), make()).fit(X, y)) for name, make in CASES[::7]]
    for row in agreement.compare(fitted, X, X_test, y_test):
        if row["int8"] != "":
            assert abs(row["int8"] - row["accuracy"]) <= 0.01, row
            assert abs(row["int16"] - row["accuracy"]) <= 0.001, row


@pytest.mark.slow
@pytest.mark.parametrize("name", agreement.SETS)
def test_ten_sets(name, tmp_path):
    rows = tmp_path / "rows.csv"
    agreement.run([name], rows, CASES)
    found = agreement.read(rows)
    assert len(found) == len(CASES)
    assert all(row["c"] == row["onnx"] == row["js"] == "0" for row in found)
    for dtype, share in (("int8", 0.8), ("int16", 1.0)):
        change = np.array([float(row[dtype]) - float(row["accuracy"]) for row in found if row[dtype]])
        assert abs(change.mean()) < 0.01
        # On a small set a single row is more than a point; LVQ2 and DSM leave prototypes less than a step apart.
        assert np.mean(change > -max(0.01, 1.1 / int(found[0]["rows"]))) >= share
