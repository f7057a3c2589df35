"""The comparison: same folds, tuning inside the training part, rows that survive a kill."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import protolearn
from protolearn import cli
from protolearn.cli.training import Named
from protolearn.compare import comparison
from protolearn.compare.comparison import COLUMNS, FIELDS, compare, one_row
from protolearn.compare.methods import METHODS, chosen_methods, fit_arguments
from protolearn.compare.rows import RowFile

MEASURED = ("tuning_seconds", "fit_seconds", "microseconds")


def without_times(rows):
    return [{key: value for key, value in row.items() if key not in MEASURED} for row in rows]


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_classifier_is_compared():
    """PrototypeClassifier is the frame for a user's own loss: LOGM by default."""
    classifiers = {name for name in protolearn.__all__ if hasattr(getattr(protolearn, name), "predict")}
    assert classifiers - {"PrototypeClassifier"} <= set(METHODS)
    assert {"1-NN", "SVM", "LMNN"} <= set(METHODS)


def test_methods_by_name():
    assert chosen_methods(["logm-pdw", "1nn", "LOGM_PIW"]) == ["1-NN", "LOGM-PIW", "LOGM-PDW"]
    assert chosen_methods(None) == list(METHODS)
    with pytest.raises(ValueError, match="Unknown method 'C4.5'; choose from 1-NN"):
        chosen_methods(["C4.5"])
    with pytest.raises(ValueError, match=r"Unknown method 'lgom'; did you mean LOGM\?"):
        chosen_methods(["lgom"])


@pytest.mark.parametrize("name", METHODS)
def test_the_fit_command_of_a_method_learns_what_the_comparison_did(name, tmp_path, iris):
    X, y = iris
    chosen = {key: values[-1] for key, values in METHODS[name].grid.items()}
    if name == "LaMaLVQ":
        chosen["rounds"] = 2
    arguments = fit_arguments(name, chosen)
    if arguments is None or arguments in ([], ["--one"]):
        assert name in ("1-NN", "k-NN", "SVM", "LogisticRegression", "RandomForest", "LMNN") or "Auto" in name
        return
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=y)
    table.to_csv(tmp_path / "iris.csv", index=False)
    out = tmp_path / "m.json"
    line = ["fit", str(tmp_path / "iris.csv"), "--target", "kind", "--out", str(out), *map(str, arguments)]
    options = cli.parser().parse_args([text.strip("'") for text in line])
    wanted = {**METHODS[name].estimator.get_params(deep=False), **chosen, "random_state": 0}
    found = Named(options).classifier.get_params(deep=False)
    assert {key: found[key] for key in found} == {key: wanted[key] for key in found}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_gets_iris_right(name, iris):
    X, y = iris
    train, test = next(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    small = {"LaMaLVQ": {"rounds": 2}, "LPD": {"max_iter": 20}}.get(name, {})
    if name not in ("LaMaLVQ", "LPD") and "max_iter" in METHODS[name].estimator.get_params():
        small = {"max_iter": 10} if name != "SVM" else {}
    row = one_row(
        comparison.Method(METHODS[name].seeded(0).set_params(**small), METHODS[name].grid, METHODS[name].kmeans_start),
        X, y, train, test, None, 0,
    )  # fmt: skip
    assert row["error"] == ""
    assert row["accuracy"] > 0.85
    assert (0 if name in ("LogisticRegression", "RandomForest") else 1) <= row["prototypes"] <= len(train)
    assert row["numbers"] >= 4 * row["prototypes"]
    assert row["numbers"] > 0
    assert set(json.loads(row["chosen"])) == set(METHODS[name].grid)


def test_same_folds_and_scaling_for_all(iris):
    X, y = iris
    rows = compare(X, y, methods=["1-NN", "NearestPrototype"], folds=3, jobs=1)
    assert [(row["method"], row["fold"]) for row in rows] == [
        (method, fold) for fold in range(3) for method in ("1-NN", "NearestPrototype")
    ]
    for fold, (train, test) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)):
        scale = MinMaxScaler((-1, 1)).fit(X[train])
        model = KNeighborsClassifier(1).fit(scale.transform(X[train]), y[train])
        assert rows[2 * fold]["accuracy"] == pytest.approx(model.score(scale.transform(X[test]), y[test]), abs=0)


def test_the_file_holds_the_rows(iris, tmp_path):
    rows = compare(*iris, methods=["LVQ1", "1-NN"], folds=2, jobs=1, rows=tmp_path / "rows.csv")
    made_from = json.loads((tmp_path / "rows.json").read_text())
    assert RowFile(tmp_path / "rows.csv", COLUMNS, made_from, True).rows() == rows


def test_more_methods_later_and_half_a_line_is_cut(iris, tmp_path):
    path = tmp_path / "rows.csv"
    whole = compare(*iris, methods=["1-NN", "NearestPrototype"], folds=3, jobs=1)
    compare(*iris, methods=["1-NN"], folds=3, rows=path, jobs=1)
    with path.open("ab") as file:
        file.write(b"data,NearestProto")
    seen = []

    def watch(row, done, total):
        seen.append((row["method"], done, total))

    names = ["1-NN", "NearestPrototype"]
    again = compare(*iris, methods=names, folds=3, rows=path, resume=True, jobs=1, watch=watch)
    assert without_times(again) == without_times(whole)
    assert seen == [("NearestPrototype", done, 6) for done in (4, 5, 6)]
    assert compare(*iris, methods=names, folds=3, rows=path, resume=True, jobs=1) == again
    path.write_bytes(b"dataset,meth")
    compare(*iris, methods=["1-NN"], folds=3, rows=path, resume=True, jobs=1)
    assert len(read(path)) == 3


def test_rows_of_another_run_are_not_mixed_in(iris, tmp_path):
    X, y = iris
    path = tmp_path / "rows.csv"
    compare(X, y, methods=["1-NN"], folds=3, rows=path, jobs=1)
    with pytest.raises(FileExistsError, match="go on with resume"):
        compare(X, y, methods=["1-NN"], folds=3, rows=path, jobs=1)
    with pytest.raises(ValueError, match=r"other settings \(folds\)"):
        compare(X, y, methods=["1-NN"], folds=4, rows=path, resume=True, jobs=1)
    with pytest.raises(ValueError, match=r"other settings \(data\)"):
        compare(X + 1, y, methods=["1-NN"], folds=3, rows=path, resume=True, jobs=1)
    (tmp_path / "rows.json").unlink()
    with pytest.raises(ValueError, match="other settings"):
        compare(X, y, methods=["1-NN"], folds=3, rows=path, resume=True, jobs=1)


def test_a_method_that_fails_does_not_end_the_others(iris, monkeypatch):
    broken = comparison.Method(METHODS["LOGM"].estimator, {"learning_rate": (-1.0,)})
    monkeypatch.setitem(METHODS, "LOGM", broken)
    rows = compare(*iris, methods=["LOGM", "1-NN"], folds=2, jobs=1)
    failed = [row for row in rows if row["method"] == "LOGM"]
    assert all(np.isnan(row["accuracy"]) and "learning_rate must be" in row["error"] for row in failed)
    assert all(row["accuracy"] > 0.8 for row in rows if row["method"] == "1-NN")
    assert set(rows[0]) == set(FIELDS)


def test_preparation_is_fitted_inside_the_training_part(tmp_path):
    frame = pd.DataFrame({"colour": list("aabbccddee") * 3, "size": np.arange(30.0)})
    y = np.array(list("xxxyyyyyyy") * 3)
    prepare = OneHotEncoder(handle_unknown="ignore")
    rows = compare(frame, y, methods=["NearestPrototype"], folds=3, prepare=prepare, rows=tmp_path / "r.csv", jobs=1)
    assert all(row["error"] == "" for row in rows)


@pytest.mark.parametrize(
    ("y", "folds", "message"),
    [([0] * 9, 3, "two classes"), ([0] * 8 + [1], 3, "has one row"), ([0, 0, 1, 1], 3, "fewer folds")],
)
def test_too_little_data(y, folds, message):
    with pytest.raises(ValueError, match=message):
        compare(np.arange(len(y))[:, None], y, methods=["1-NN"], folds=folds)


def test_killed_half_way_and_resumed_is_the_same_table(iris, tmp_path):
    """The whole process group gets SIGKILL once some rows are there, while two processes make others.

    What these two have done is what one process does, too.
    """
    code = (
        "import sys, time\n"
        "from sklearn.datasets import load_iris\n"
        "from protolearn.compare.comparison import compare\n"
        "X, y = load_iris(return_X_y=True)\n"
        "watch = lambda row, done, total: time.sleep(0.05)\n"
        "compare(X, y, methods=['1-NN', 'LVQ1', 'Learn1NN'], folds=5, rows=sys.argv[1], watch=watch)\n"
    )
    path = tmp_path / "rows.csv"
    run = subprocess.Popen([sys.executable, "-c", code, str(path)], start_new_session=True)
    end = time.monotonic() + 60
    while (not path.exists() or len(path.read_bytes().splitlines()) < 4) and time.monotonic() < end:
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert 3 <= len(read(path)) < 15
    methods = ["1-NN", "LVQ1", "Learn1NN"]
    resumed = compare(*iris, methods=methods, folds=5, rows=path, resume=True, jobs=1)
    whole = compare(*iris, methods=methods, folds=5, jobs=1)
    assert without_times(resumed) == without_times(whole)
    assert len(read(path)) == 15
