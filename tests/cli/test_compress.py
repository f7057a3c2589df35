"""`protolearn compress`: somebody's model, of whatever kind, replaced by a few prototypes; what it says and refuses."""

import pickle
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import protolearn
from shop import run


@pytest.fixture
def iris_csv(iris):
    X, y = iris
    table = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    table.assign(kind=np.array(["setosa", "versicolor", "virginica"])[y]).to_csv("iris.csv", index=False)
    return table, np.array(["setosa", "versicolor", "virginica"])[y]


def test_a_k_nn_holds_its_own_rows(iris_csv, capsys):
    X, y = iris_csv
    joblib.dump(KNeighborsClassifier(5).fit(X.to_numpy(), y), "model.joblib")
    assert run("compress", "model.joblib", "--max-bytes", 600) == 0
    captured = capsys.readouterr()
    assert "loading model.joblib runs the code that it holds; give only files that you trust" in captured.err
    assert "given: KNeighborsClassifier" in captured.out
    assert "accurate" in captured.out.splitlines()[-1]
    small = protolearn.load("model.json")
    assert small.size_bytes_ <= 600
    assert np.mean(small.predict(X.to_numpy()) == y) > 0.9
    X.to_csv("rows.csv", index=False)
    assert run("predict", "model.json", "rows.csv") == 0


def test_a_forest_with_texts_and_true_labels(iris_csv, capsys):
    X, y = iris_csv
    X["colour"] = np.where(X["pw"] > 1, "red", "blue")
    X.assign(kind=y).to_csv("iris.csv", index=False)
    columns = ColumnTransformer([("texts", OneHotEncoder(), ["colour"])], remainder="passthrough")
    forest = make_pipeline(columns, RandomForestClassifier(20, random_state=0)).fit(X, y)
    Path("model.pkl").write_bytes(pickle.dumps(forest))
    assert run("compress", "model.pkl", "iris.csv", "--target", "kind", "--max-loss", 5, "--out", "small.json") == 0
    assert "held-out rows" in capsys.readouterr().out.splitlines()[-1]
    assert run("predict", "small.json", "iris.csv") == 0
    assert capsys.readouterr().out.splitlines()[1] == "1,setosa"


def test_a_limit_that_cannot_be_kept_ends_with_1(capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = rng.integers(0, 2, 60)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    pd.DataFrame(X).assign(y=y).to_csv("noise.csv", index=False)
    joblib.dump(forest, "model.joblib")
    # The forest labels its own rows, noise and all: no few prototypes agree with it.
    pd.DataFrame(X, columns=["a", "b"]).to_csv("rows.csv", index=False)
    assert run("compress", "model.joblib", "rows.csv", "--max-loss", 0) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].startswith("No prototype model within 0 points of the given model was found")
    assert Path("model.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("no.joblib iris.csv", 2, "there is no file no.joblib"),
        ("broken.pkl iris.csv", 1, "broken.pkl cannot be loaded ("),
        ("list.pkl iris.csv", 2, "list.pkl holds a list, which has no predict; give a fitted classifier"),
        ("forest.joblib", 1, "does not hold the rows that it learned from; pass X"),
        ("forest.joblib iris.csv --target sl", 2, "column sl of iris.csv holds measurements"),
        ("forest.joblib iris.csv", 2, "column kind of iris.csv holds texts, and the model takes numbers only"),
        ("forest.joblib less.csv", 2, "less.csv has 1 columns beside the target, and the model takes 4"),
        (
            "forest.joblib other.csv --target kind",
            2,
            "column kind of other.csv holds rose, and the model answers setosa",
        ),
        ("forest.joblib iris.csv --max-loss 100", 2, "--max-loss is in points of accuracy"),
        ("forest.joblib iris.csv --out no/m.json", 2, "there is no folder no"),
    ],
)
def test_mistakes_get_one_sentence(arguments, code, message, iris_csv, capsys):
    X, y = iris_csv
    joblib.dump(RandomForestClassifier(3).fit(X.to_numpy(), y), "forest.joblib")
    Path("broken.pkl").write_bytes(b"no pickle")
    Path("list.pkl").write_bytes(pickle.dumps([1, 2]))
    X[["sl"]].to_csv("less.csv", index=False)
    X.assign(kind="rose").to_csv("other.csv", index=False)
    assert run("compress", *arguments.split()) == code
    lines = [line for line in capsys.readouterr().err.splitlines() if "runs the code" not in line]
    assert len(lines) == 1
    assert message in lines[0]
    assert not Path("model.json").exists()


def test_a_limit_that_is_no_number():
    with pytest.raises(SystemExit) as ended:
        run("compress", "a.joblib", "b.csv", "--max-bytes", "few")
    assert ended.value.code == 2


def test_a_model_of_protolearn_runs_no_code(iris_csv, capsys):
    X, y = iris_csv
    model = make_pipeline(StandardScaler(), protolearn.HartCondensing()).fit(X, y)
    protolearn.save(model, "hart.json")
    assert run("compress", "hart.json", "iris.csv", "--target", "kind", "--max-loss", 3) == 0
    assert "runs the code" not in capsys.readouterr().err
