"""The Python module that needs NumPy only."""

import json
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, GMLVQ, GRLVQ, LOGM, LPD, Learn1NN, MixtGauss, PrototypeClassifier
from protolearn.export import export_python, python_source
from protolearn.metrics.diagonal import Diagonal
from protolearn.tables import Preparation

MODELS = [
    GLVQ(2, max_iter=2, random_state=0),
    GRLVQ(2, max_iter=2, random_state=0),
    LOGM(2, metric="local_relevance", max_iter=2, random_state=0),
    LPD(2, max_iter=2, random_state=0),
    GMLVQ(2, max_iter=2, random_state=0),
    Learn1NN(2, max_iter=2, random_state=0),
    MixtGauss(2, classify_by="mixture", random_state=0),
    PrototypeClassifier(2, loss="mce", metric="class_omega", max_iter=2, random_state=0),
]


def _module(model):
    """The module in this process."""
    found = ModuleType("exported")
    exec(python_source(model), vars(found))
    return found


def _in_a_new_process(path, expression, rows):
    """What an expression of the module `m` gives for each row, where nothing but NumPy can be imported."""
    code = (
        "import importlib.util, json, sys\n"
        "for name in ('protolearn', 'sklearn', 'scipy', 'numba', 'pandas'): sys.modules[name] = None\n"
        "spec = importlib.util.spec_from_file_location('m', sys.argv[1])\n"
        "m = importlib.util.module_from_spec(spec); spec.loader.exec_module(m)\n"
        f"print(json.dumps([{expression} for row in json.loads(sys.argv[2])]))"
    )
    command = [sys.executable, "-c", code, str(path), json.dumps(rows)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("classifier", MODELS, ids=lambda model: type(model).__name__)
def test_labels_distances_and_probabilities(classifier, blobs):
    X, y = blobs
    model = make_pipeline(StandardScaler(), classifier).fit(X, y)
    rows = _module(model)
    assert [rows.predict(row) for row in X.tolist()] == model.predict(X).tolist()
    np.testing.assert_allclose([rows.probabilities(row) for row in X], model.predict_proba(X), atol=1e-9)
    if not isinstance(classifier, GMLVQ | MixtGauss):
        np.testing.assert_allclose([rows.distances(row) for row in X], model.transform(X), rtol=1e-9, atol=1e-12)


def test_the_module_needs_numpy_only(blobs, tmp_path):
    X, y = blobs
    names = np.array(["a", "b'\"", "c"])
    model = make_pipeline(StandardScaler(), MODELS[-1]).fit(X, names[y])
    path = tmp_path / "m.py"
    export_python(model, path)
    assert _in_a_new_process(path, "m.predict(row)", X.tolist()) == model.predict(X).tolist()
    found = _in_a_new_process(path, "m.probabilities(row)", X.tolist())
    np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-9)
    assert path.read_text() == python_source(model)


@pytest.mark.parametrize("categories", ["onehot", "ordinal"])
def test_raw_rows_of_a_table(categories, tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"size": rng.normal(size=60), "colour": rng.choice(["red", "blue", "green"], 60)})
    y = (table["size"] + (table["colour"] == "red") > 0.3).to_numpy().astype(int)
    table.loc[3, "size"], table.loc[5, "colour"] = np.nan, None
    model = make_pipeline(Preparation(categories=categories), GLVQ(2, random_state=0)).fit(table, y)
    path = tmp_path / "m.py"
    export_python(model, path)
    unseen = pandas.DataFrame({"size": [0.5, None], "colour": ["pink", "red"]})
    everything = pandas.concat([table, unseen], ignore_index=True)
    rows = [[None if value != value else value for value in row] for row in everything.to_numpy().tolist()]
    assert _in_a_new_process(path, "m.predict(row)", rows) == model.predict(everything).tolist()
    in_this_process = _module(model)
    by_name = [in_this_process.predict({"colour": colour, "size": size}) for size, colour in rows]
    assert by_name == model.predict(everything).tolist()


def test_texts_that_spell_numbers_are_given_as_numbers(iris):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    table = pandas.DataFrame({"day": [f"2020-01-{day:02.0f}" for day in 4 * X[:, 2]], "width": X[:, 3]})
    model = make_pipeline(Preparation(spelled={"day": "date"}), GLVQ(2, max_iter=2, random_state=0)).fit(table, y)
    rows = _module(model)
    days = pandas.to_datetime(table["day"]).to_numpy().astype("datetime64[D]").astype(float)
    found = [rows.predict(row) for row in zip(days, table["width"], strict=True)]
    assert found == model.predict(table).tolist()
    with pytest.raises(ValueError, match=r"^A row needs a number of day, for a date its days since 1970-01-01\.$"):
        rows.predict(["2020-01-05", 0.2])


def test_wrong_rows_and_models_are_one_sentence(iris, tmp_path):
    X, y = iris
    rows = _module(GLVQ(2, max_iter=2, random_state=0).fit(X, y))
    for wrong in ([1, 2, 3, np.nan], [1, 2, 3, 1e200], ["one", 2, 3, 4], [None, 2, 3, 4]):
        with pytest.raises(ValueError, match="^A row needs finite numbers, none too large to square"):
            rows.predict(wrong)
    with pytest.raises(ValueError, match=r"^A row has 4 values here; got 3\.$"):
        rows.predict([1, 2, 3])
    with pytest.raises(ValueError, match=r"^A row needs a value of x1\.$"):
        rows.predict({"x0": 1.0})

    class Own(Diagonal):
        def weights(self, prototypes):
            return None

    with pytest.raises(ValueError, match="an export cannot write it"):
        export_python(LOGM(metric=Own(), max_iter=2).fit(X, y), tmp_path / "m.py")
    assert not (tmp_path / "m.py").exists()


def test_labels_keep_their_kind(iris):
    X, y = iris
    for labels in (y, y > 0, np.array(["a", "b", "c"])[y]):
        model = GLVQ(max_iter=2).fit(X, labels)
        found = _module(model).predict(X[0])
        assert found == model.predict(X[:1])[0]
        assert type(found) is type(model.classes_.tolist()[0])
