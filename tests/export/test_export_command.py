"""`protolearn export`: files, sizes, and one sentence where something is wrong."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GMLVQ, LOGM, cli, load, save
from protolearn.export import export_c, export_js, to_onnx
from protolearn.export.folding import input_rows, plain_model
from protolearn.metrics.omega import Omega
from protolearn.tables import Preparation
from protolearn.tables.choice import ColumnChoice
from reproduction.programs import available, run_c


@pytest.fixture
def table():
    """Numbers, texts and missing values."""
    rng = np.random.default_rng(0)
    n = 150
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "blue", "green"], n),
            "weight": 10 * rng.normal(size=n),
        }
    )
    y = np.where(frame["size"] + 2 * (frame["colour"] == "red") + frame["weight"] / 10 > 0.5, "yes", "no")
    frame.loc[::9, "weight"] = np.nan
    frame.loc[::11, "colour"] = None
    return frame, y


@pytest.fixture
def saved(iris, tmp_path):
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = make_pipeline(Preparation(), GMLVQ(2, max_iter=3, random_state=0)).fit(frame, y)
    save(model, tmp_path / "model.json")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path, model, frame


def _run(*arguments):
    return cli.main(["export", *map(str, arguments)])


def test_every_target(saved, capsys):
    folder, model, frame = saved
    for target, name in (("c", "m.h"), ("js", "m.mjs"), ("python", "m.py"), ("onnx", "m.onnx"), ("json", "m.json")):
        assert _run(folder / "model.json", "--to", target, "--out", folder / name) == 0
        assert (folder / name).stat().st_size > 100
    out = capsys.readouterr().out
    assert "bytes of flash" in out
    assert "call m_predict" in out
    assert "opset 17" in out
    assert np.array_equal(load(folder / "m.json").predict(frame), model.predict(frame))


def test_fixed_point_reads_a_table(saved, capsys):
    folder, model, frame = saved
    header, rows = folder / "m.h", folder / "rows.csv"
    assert _run(folder / "model.json", "--to", "c", "--out", header, "--dtype", "int8", "--data", rows) == 0
    assert "of the rows keep their class" in capsys.readouterr().out
    assert "int8_t" in header.read_text()
    assert header.read_text() == _text(model, folder / "again" / "m.h", frame)


def _text(model, path, frame):
    path.parent.mkdir()
    export_c(model, path, dtype="int8", X=frame)
    return path.read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--to", "c", "--dtype", "int8"], "give --data"),
        (["--to", "js", "--dtype", "int8"], "are for --to c"),
        (["--to", "c", "--data", "rows.csv"], "give --data"),
        (["--to", "js", "--example", "main.c"], "are for --to c"),
    ],
)
def test_options_that_do_not_belong_together(saved, capsys, arguments, sentence):
    folder, _, _ = saved
    assert _run(folder / "model.json", *arguments, "--out", folder / "m.x") == 2
    assert sentence in capsys.readouterr().err
    assert not (folder / "m.x").exists()


def test_a_model_that_cannot_be_exported(iris, tmp_path, capsys):
    X, y = iris
    model = make_pipeline(Preparation(), LOGM(max_iter=2)).fit(
        pd.DataFrame({"n": X[:, 0], "t": np.array(["p", "q", "r"])[y]}), y
    )
    save(model, tmp_path / "model.json")
    assert _run(tmp_path / "model.json", "--to", "onnx", "--out", tmp_path / "m.onnx") == 1
    assert "column t holds texts" in capsys.readouterr().err
    assert not (tmp_path / "m.onnx").exists()
    assert _run(tmp_path / "model.json", "--to", "c", "--out", tmp_path / "no" / "m.h") == 2
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("categories", ["onehot", "ordinal"])
def test_texts_and_missing_values(table, tmp_path, categories):
    frame, y = table
    model = make_pipeline(Preparation(categories=categories), GMLVQ(2, max_iter=5, random_state=0)).fit(frame, y)
    plain, rows = plain_model(model), input_rows(model, frame)
    assert np.array_equal(plain.predict(rows), model.predict(frame))
    assert plain.feature_names == tuple(model[0].get_feature_names_out())
    if available("gcc"):
        export = export_c(model, tmp_path / "prepared.h", dtype="int8", X=frame)
        (answer,) = run_c(tmp_path, [export], [rows])
        assert np.array_equal(answer.codes, export.model.predict_codes(rows))
    if available("node"):
        path = tmp_path / "m.mjs"
        export_js(model, path)
        new = pd.concat([frame, pd.DataFrame({"size": [0.1], "colour": ["violet"], "weight": [None]})])
        script = (
            f"import * as m from {json.dumps(path.as_uri())};"
            f"console.log(JSON.stringify({new.to_json(orient='records')}.map(m.predict)))"
        )
        found = subprocess.run(
            ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True
        )
        assert json.loads(found.stdout) == model.predict(new).tolist()


def test_missing_numbers_in_onnx(table):
    onnxruntime = pytest.importorskip("onnxruntime")
    frame, y = table
    frame = frame[["size", "weight"]].astype(np.float32)
    model = make_pipeline(Preparation(), GMLVQ(2, max_iter=5, random_state=0)).fit(frame, y)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    labels, probabilities = session.run(None, {"X": frame.to_numpy()})
    assert np.array_equal(labels, model.predict(frame))
    np.testing.assert_allclose(probabilities, model.predict_proba(frame), atol=1e-5)


def test_chosen_columns_everywhere(iris, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = iris
    X = X.astype(np.float32).astype(np.float64)
    classifier = LOGM(2, metric=Omega(n_components=1), max_iter=3, random_state=0)
    model = make_pipeline(ColumnChoice([3, 1]), StandardScaler(), classifier).fit(X, y)
    assert np.array_equal(plain_model(model).predict(X), model.predict(X))
    save(model, tmp_path / "m.json")
    assert np.array_equal(load(tmp_path / "m.json").predict(X), model.predict(X))
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    assert np.array_equal(session.run(None, {"X": X.astype(np.float32)})[0], model.predict(X))
    with pytest.raises(ValueError, match="columns must be numbers from 0 to 3"):
        ColumnChoice([4]).fit(X)
    assert np.array_equal(ColumnChoice().fit_transform(X), X)
