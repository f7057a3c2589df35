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

from protolearn import GLVQ, GMLVQ, LGMLVQ, LPD, AutoPrototypes
from protolearn.auto import automatic
from protolearn.auto.candidates import BY_NAME
from protolearn.export import export_js, python_source
from protolearn.export.folding import input_rows, plain_model, written_model
from protolearn.export.rows import _normal
from protolearn.tables import NormalScores, PiecewiseLinearBins, Preparation
from reproduction.programs import available

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
NUMBERS = ["weight", "rooms"]


def _three_sets():
    names = ("soft, local relevances, bins", "soft, local relevances, scores", "LGMLVQ")

    def one_of_each(entries, *_):
        best = {}
        for j, entry in sorted(enumerate(entries), key=lambda pair: pair[1].loss):
            best.setdefault(entry.candidate.name, j)
        return {j: 1 + (k == 1) for k, j in enumerate(best.values())}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automatic, "CANDIDATES", [BY_NAME[name] for name in names])
        patch.setattr(automatic, "choose", one_of_each)
        return AutoPrototypes(cv=2, random_state=0).fit(X, Y)


MAKERS = {
    "three sets": _three_sets,
    "bins": lambda: make_pipeline(Preparation(), PiecewiseLinearBins(4), GLVQ(2, random_state=0)).fit(X, Y),
    "scores": lambda: make_pipeline(Preparation(), NormalScores(), GLVQ(2, random_state=0)).fit(X, Y),
    "bins, then a map": lambda: make_pipeline(Preparation(), PiecewiseLinearBins(), GMLVQ(2, random_state=0)).fit(X, Y),
    "scores, then maps": lambda: make_pipeline(
        Preparation(), NormalScores(9), LGMLVQ(2, scope="prototype", max_iter=5, random_state=0)
    ).fit(X, Y),
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
