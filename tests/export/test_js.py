"""The JavaScript module in node."""

import json
import subprocess

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, GMLVQ, LOGM, LPD, Learn1NN, MixtGauss, PrototypeClassifier
from protolearn.explain import certainty, certified_radius
from protolearn.export import export_js, module_source
from protolearn.metrics.diagonal import Diagonal
from reproduction.programs import available, run_js

needs_node = pytest.mark.skipif(not available("node"), reason="node is not installed")


def _ask(module, expression):
    script = f"import * as m from {json.dumps(module.as_uri())}; console.log(JSON.stringify({expression}));"
    found = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=False)
    return json.loads(found.stdout) if found.returncode == 0 else found.stderr


@needs_node
def test_labels_distances_and_probabilities(blobs, tmp_path):
    X, y = blobs
    models = [
        make_pipeline(StandardScaler(), classifier).fit(X, y)
        for classifier in (
            GLVQ(2, max_iter=2, random_state=0),
            LOGM(2, metric="local_relevance", max_iter=2, random_state=0),
            LPD(2, max_iter=2, random_state=0),
            GMLVQ(2, max_iter=2, random_state=0),
            Learn1NN(2, max_iter=2, random_state=0),
            MixtGauss(2, classify_by="mixture", random_state=0),
            PrototypeClassifier(2, loss="mce", metric="class_omega", max_iter=2, random_state=0),
        )
    ]
    paths = [tmp_path / f"m{number}.mjs" for number in range(len(models))]
    for model, path in zip(models, paths, strict=True):
        export_js(model, path)
    for model, rows in zip(models, run_js(paths, [X] * len(models)), strict=True):
        assert [row["label"] for row in rows] == model.predict(X).tolist()
        np.testing.assert_allclose([row["probabilities"] for row in rows], model.predict_proba(X), atol=1e-9)
        if not isinstance(model[-1], GMLVQ | MixtGauss):
            np.testing.assert_allclose([row["distances"] for row in rows], model.transform(X), rtol=1e-9, atol=1e-12)


@needs_node
@pytest.mark.parametrize(
    "classifier",
    [
        GLVQ(1, max_iter=5, random_state=0),
        LOGM(1, metric="relevance", max_iter=5, random_state=0),
        GMLVQ(1, n_components=2, max_iter=5, random_state=0),
        GMLVQ(2, max_iter=5, random_state=0),
        LOGM(2, metric="local_relevance", max_iter=5, random_state=0),
        MixtGauss(2, classify_by="mixture", random_state=0),
    ],
    ids=str,
)
def test_certainty_decision_and_radius(blobs, tmp_path, classifier):
    X, y = blobs
    model = make_pipeline(StandardScaler(), classifier).fit(X * [1, 10, 0.1, 5], y)
    rows = (X * [1, 10, 0.1, 5])[::10]
    path = tmp_path / "m.mjs"
    export_js(model, path)
    if isinstance(classifier, MixtGauss):
        assert _ask(path, "m.certainty === undefined")
        return
    sure = certainty(model, rows)
    measured = f"{json.dumps(rows.tolist())}.map((row) => [m.certainty(row), m.decide(row, {np.median(sure)})])"
    found, decided = zip(*_ask(path, measured), strict=True)
    np.testing.assert_allclose(found, sure, atol=1e-9)
    wanted = model.predict(rows).tolist()
    assert list(decided) == [c if kept else None for c, kept in zip(wanted, sure >= np.median(sure), strict=True)]
    if classifier.get_params().get("metric") == "local_relevance":
        assert _ask(path, "m.radius === undefined")
        return
    found = np.array(_ask(path, f"{json.dumps(rows.tolist())}.map((row) => m.radius(row))"))
    if classifier.n_prototypes == 1:
        np.testing.assert_allclose(found, certified_radius(model, rows), rtol=1e-6)
    else:
        assert (found <= certified_radius(model, rows) * (1 + 1e-6)).all()


@needs_node
def test_rows_by_name_and_wrong_rows(iris, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=["a", "b", "</script>", 'quo"te'])
    names = np.array(["<b>", "true", "3"])
    model = GLVQ(2, max_iter=2, random_state=0).fit(frame, names[y])
    path = tmp_path / "m.mjs"
    export_js(model, path)
    assert _ask(path, "m.featureNames") == list(frame.columns)
    assert _ask(path, "m.classes") == sorted(names)
    by_name = json.dumps(dict(zip(frame.columns, X[70].tolist(), strict=True)))
    assert _ask(path, f"m.predict({by_name})") == model.predict(frame[70:71])[0]
    assert _ask(path, f"m.predict(new Float64Array({X[70].tolist()}))") == model.predict(frame[70:71])[0]
    for wrong in ("[1, 2, 3]", "[1, 2, 3, NaN]", "{a: 1}", '["1", 2, 3, 4]'):
        assert "A row has 4 finite numbers" in _ask(path, f"m.predict({wrong})")
    assert "</script>" not in module_source(model)


@needs_node
def test_labels_keep_their_kind(iris, tmp_path):
    X, y = iris
    for labels in (y, y + 0.5, y > 0):
        path = tmp_path / f"m{labels.dtype}.mjs"
        model = GLVQ(max_iter=2).fit(X, np.asarray(labels, dtype=str) if labels.dtype == float else labels)
        export_js(model, path)
        assert _ask(path, "m.classes") == model.classes_.tolist()


def test_own_metric_is_refused_before_a_file_is_there(iris, tmp_path):
    class Own(Diagonal):
        def weights(self, prototypes):
            return None

    X, y = iris
    with pytest.raises(ValueError, match="an export cannot write it"):
        export_js(LOGM(metric=Own(), max_iter=2).fit(X, y), tmp_path / "m.mjs")
    assert not list(tmp_path.iterdir())
