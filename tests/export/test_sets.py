"""Models that AutoPrototypes learns, exported: bins, normal scores, sums over prototypes, and several sets."""

import json
import subprocess
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, GMLVQ, LGMLVQ, LPD, AutoPrototypes, cli, save
from protolearn.auto import automatic
from protolearn.auto.candidates import BY_NAME
from protolearn.export import export_c, export_js, python_source, to_onnx
from protolearn.export.folding import input_rows, plain_model, written_model
from protolearn.export.onnx import OPSET
from protolearn.export.plain import PlainSets
from protolearn.export.rows import _normal
from protolearn.tables import NormalScores, PiecewiseLinearBins, Preparation
from reproduction.programs import WARNINGS, available, object_size

needs_gcc = pytest.mark.skipif(not available("gcc"), reason="gcc is not installed")
needs_node = pytest.mark.skipif(not available("node"), reason="node is not installed")


def _table(n, seed):
    """Texts, missing values, and a column of few whole numbers, many of which are equal quantiles."""
    rng = np.random.default_rng(seed)
    colour, size = rng.choice(["red", "green", "blue"], n), np.exp(rng.normal(size=n))
    weight, rooms = rng.normal(50, 10, size=n), rng.integers(1, 4, n).astype(float)
    y = np.where((colour == "red") ^ (size > 1.3) | (weight > 62) | (rooms == 2), "yes", "no")
    size[::17] = np.nan
    return pd.DataFrame({"colour": colour, "size": size, "weight": weight, "rooms": rooms}), y


X, Y = _table(160, 0)
NEW = pd.concat(
    [
        _table(60, 1)[0],
        pd.DataFrame({"colour": ["violet", None], "size": [None, 1e6], "weight": [-9.0, None], "rooms": [2.0, 9.0]}),
    ],
    ignore_index=True,
)
NUMBERS = ["rooms", "weight"]


def _three_sets(table=X):
    names = ("soft, local relevances, bins", "soft, local relevances, scores", "LGMLVQ")

    def one_of_each(entries, *_):
        best = {}
        for j, entry in sorted(enumerate(entries), key=lambda pair: pair[1].loss):
            best.setdefault(entry.candidate.name, j)
        return {j: 1 + (k == 1) for k, j in enumerate(best.values())}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automatic, "CANDIDATES", [BY_NAME[name] for name in names])
        patch.setattr(automatic, "choose", one_of_each)
        return AutoPrototypes(cv=2, random_state=0).fit(table, Y)


MAKERS = {
    "three sets": _three_sets,
    "bins": lambda table=X: make_pipeline(Preparation(), PiecewiseLinearBins(4), GLVQ(2, random_state=0)).fit(table, Y),
    "scores": lambda table=X: make_pipeline(Preparation(), NormalScores(), GLVQ(2, random_state=0)).fit(table, Y),
    "bins, then a map": lambda table=X: make_pipeline(
        Preparation(), PiecewiseLinearBins(), GMLVQ(2, random_state=0)
    ).fit(table, Y),
    "scores, then maps": lambda table=X: make_pipeline(
        Preparation(), NormalScores(9), LGMLVQ(2, scope="prototype", max_iter=5, random_state=0)
    ).fit(table, Y),
    "scaled twice": lambda: make_pipeline(
        StandardScaler(), Preparation(scaling="standard"), NormalScores(), LPD(2, max_iter=5, random_state=0)
    ).fit(X[NUMBERS], Y),
    "chosen columns": lambda: make_pipeline(
        SelectKBest(k=1), PiecewiseLinearBins(5), SelectKBest(k=3), GLVQ(2, random_state=0)
    ).fit(X[NUMBERS], Y),
}


@pytest.fixture(scope="module", params=list(MAKERS))
def fitted(request):
    """A model, and rows that it has not seen."""
    model = MAKERS[request.param]()
    if request.param in ("scaled twice", "chosen columns"):
        return model, NEW[NUMBERS].dropna()
    return model, NEW


def _records(rows):
    """Rows as JSON has them."""
    return [{k: None if v != v else v for k, v in row.items()} for row in rows.to_dict("records")]


def test_the_plain_form_predicts_the_same(fitted):
    model, rows = fitted
    written, inputs = written_model(model), input_rows(model, rows)
    assert np.array_equal(written.predict(inputs), model.predict(rows))
    np.testing.assert_allclose(written.predict_proba(inputs), model.predict_proba(rows), atol=1e-9)


def test_python_predicts_the_same(fitted):
    model, rows = fitted
    module = ModuleType("exported")
    exec(python_source(model), vars(module))
    assert [module.predict(row) for row in _records(rows)] == model.predict(rows).tolist()
    found = [module.probabilities(row) for row in _records(rows)]
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-9)
    assert hasattr(module, "distances") != isinstance(model, AutoPrototypes)
    with pytest.raises(ValueError, match="needs finite numbers"):
        module.predict([v if isinstance(v, str) else np.inf for v in rows.iloc[0]])


@needs_node
def test_javascript_predicts_the_same(fitted, tmp_path):
    model, rows = fitted
    path = tmp_path / "m.mjs"
    export_js(model, path)
    script = (
        f"import * as m from {json.dumps(path.as_uri())};"
        f"const rows = {json.dumps(_records(rows))};"
        "console.log(JSON.stringify(rows.map((row) => [m.predict(row), m.probabilities(row)])))"
    )
    found = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    labels, probabilities = zip(*json.loads(found.stdout), strict=True)
    assert list(labels) == model.predict(rows).tolist()
    np.testing.assert_allclose(probabilities, model.predict_proba(rows), atol=1e-9)


_PROGRAM = """#include <stdio.h>
#include "m.h"

int main(void)
{
    float x[M_N_INPUTS], p[M_N_CLASSES + 1];
    uint16_t c;
    for (c = 0; c < M_N_CLASSES; c++)
        p[c] = 0.0f;
    while (fread(x, sizeof(float), M_N_INPUTS, stdin) == M_N_INPUTS) {
        %s
        p[M_N_CLASSES] = (float)m_predict(x);
        fwrite(p, sizeof(float), M_N_CLASSES + 1, stdout);
    }
    return 0;
}
"""


def _run_c(folder, model, inputs):
    """The class codes and probabilities of rows by the C program, whose warnings are errors."""
    call = "m_probabilities(x, p);" if isinstance(model, AutoPrototypes) else "(void)p;"
    (folder / "main.c").write_text(_PROGRAM % call)
    subprocess.run(["gcc", *WARNINGS, "main.c", "-o", "main", "-lm"], cwd=folder, check=True)
    given = np.ascontiguousarray(inputs, dtype=np.float32).tobytes()
    found = subprocess.run([folder / "main"], input=given, capture_output=True, check=True).stdout
    answers = np.frombuffer(found, dtype=np.float32).reshape(len(inputs), -1)
    return answers[:, -1].astype(int), answers[:, :-1]


@needs_gcc
def test_c_predicts_the_same(fitted, tmp_path):
    model, rows = fitted
    export = export_c(model, tmp_path / "m.h")
    inputs = input_rows(model, rows)
    codes, probabilities = _run_c(tmp_path, model, inputs)
    assert np.array_equal(model.classes_[codes], model.predict(rows))
    if isinstance(model, AutoPrototypes):
        np.testing.assert_allclose(probabilities, model.predict_proba(rows), atol=2e-5)
    assert object_size(tmp_path, export, "host").text > export.size.flash
    for bad in (np.nan, np.inf, -np.inf):
        codes, _ = _run_c(tmp_path, model, np.full((1, inputs.shape[1]), bad))
        assert codes.tolist() == [2]


@pytest.mark.parametrize(
    ("name", "opset"), [*((name, OPSET) for name in MAKERS), ("three sets", 15), ("three sets", 18)]
)
def test_onnx_predicts_the_same(name, opset):
    pytest.importorskip("onnxruntime")
    import onnxruntime

    numbers = ["size", *NUMBERS]
    table = X[numbers].astype(np.float32)
    model = MAKERS[name]() if name in ("scaled twice", "chosen columns") else MAKERS[name](table)
    rows = NEW[model.feature_names_in_].astype(np.float32).astype(np.float64)
    if name in ("scaled twice", "chosen columns"):
        rows = rows.dropna()
    session = onnxruntime.InferenceSession(
        to_onnx(model, target_opset=opset).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    labels, probabilities = session.run(None, {"X": rows.to_numpy(np.float32)})
    np.testing.assert_allclose(probabilities, model.predict_proba(rows), atol=5e-4)
    assert np.array_equal(labels, model.predict(rows))


@needs_gcc
@pytest.mark.parametrize("link", ["difference", "relative_sigmoid", "relative", "power"])
def test_every_link_of_a_set_in_c(link, tmp_path):
    model = GLVQ(2, max_iter=3, random_state=0).fit(X[NUMBERS], Y)
    one = plain_model(model).with_arrays(link=link, slope=0.7)
    # A class that the set lacks has the least probability.
    one = one.with_arrays(classes=np.array(["no", "yes", "zero"]))
    sets = PlainSets((one, one), np.array([0.25, 0.75]), np.array([0.02, 1.5]))
    export_c(sets, tmp_path / "m.h")
    rows = np.vstack([X[NUMBERS].to_numpy(), model.prototypes_]).astype(np.float32)
    auto = AutoPrototypes()
    _, probabilities = _run_c(tmp_path, auto, rows)
    np.testing.assert_allclose(probabilities[: len(X)], sets.predict_proba(rows)[: len(X)], atol=2e-5)
    assert np.isfinite(probabilities).all()


@pytest.mark.parametrize("name", ["three sets", "bins"])
def test_integers_are_for_one_set_on_columns_as_they_are(name, tmp_path):
    with pytest.raises(ValueError, match="int8 is for one prototype set on columns as they are"):
        export_c(MAKERS[name](), tmp_path / "m.h", dtype="int8", X=X)
    assert not list(tmp_path.iterdir())


def test_a_set_that_lacks_a_class():
    model = MAKERS["three sets"]()
    labels = np.array(["maybe", *model.classes_])
    model.classes_ = labels
    written, inputs = written_model(model), input_rows(model, NEW)
    assert written.predict_proba(inputs).shape == (len(NEW), 3)
    np.testing.assert_allclose(written.predict_proba(inputs), model.predict_proba(NEW), atol=1e-12)


def test_normal_quantiles():
    shares = np.concatenate([np.linspace(0, 1, 1001), [0.075, 0.925, 0.00135, 1e-9]])
    np.testing.assert_allclose(_normal(shares), np.clip(ndtri(shares), -3, 3), atol=2e-15)


def test_formulas_in_the_columns_still_refuse_what_bends_them():
    model = MAKERS["bins"]()
    with pytest.raises(ValueError, match="bends the columns and cannot be folded"):
        plain_model(model)


@needs_gcc
def test_the_command_writes_what_fit_learns_by_default(tmp_path, capsys):
    model = MAKERS["three sets"]()
    save(model, tmp_path / "auto.json")

    def run(target, name, *more):
        arguments = ["export", tmp_path / "auto.json", "--to", target, "--out", tmp_path / name, *more]
        return cli.main([str(one) for one in arguments])

    assert run("c", "m.h", "--example", tmp_path / "main.c") == 0
    assert "main.c: a program that classifies" in capsys.readouterr().out
    subprocess.run(["gcc", *WARNINGS, "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    row = input_rows(model, NEW[:1])[0]
    command = [tmp_path / "main", *map(str, row)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert found[:2] == [model.predict(NEW[:1])[0], "probability"]
    assert float(found[2]) == pytest.approx(model.predict_proba(NEW[:1]).max(), abs=1e-4)
    for target, name in (("js", "m.mjs"), ("python", "m.py")):
        assert run(target, name) == 0
        assert "probabilities, classes" in capsys.readouterr().out
    assert run("onnx", "m.onnx") == 1
    assert "column colour holds texts" in capsys.readouterr().err
