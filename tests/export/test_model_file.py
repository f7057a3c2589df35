"""Model files: every estimator goes through one and predicts the same bits; nothing else can be read or run."""

import base64
import hashlib
import json
import pickle
import subprocess
import sys
import warnings
from itertools import islice
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import protolearn
from problems import ALL_METRICS
from protolearn import LMNN, LOGM, LPD, RSLVQ, LaMaLVQ, Learn1NN, MixtGauss, NearestPrototype, PrototypeClassifier
from protolearn.auto.srm import StructuralRiskSelector
from protolearn.export.model_file import ModelFileError, dumps, estimator_class, loads, schema
from protolearn.losses import LOSSES
from protolearn.metrics.omega import Omega
from protolearn.tables.preparation import Preparation

SHORT = {"max_iter": 5, "rounds": 2, "epochs": 2, "random_state": 0}


def small(kind, **options):
    model = kind()
    known = model.get_params()
    return model.set_params(**{key: value for key, value in {**SHORT, **options}.items() if key in known})


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def assert_same(left, right):
    """Equal in type and bits, whatever is inside."""
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert left.tolist() == right.tolist() if left.dtype == object else left.tobytes() == right.tobytes()
    elif isinstance(left, np.random.RandomState):
        assert_same(left.get_state(), right.get_state())
    elif isinstance(left, dict):
        assert sorted(left, key=str) == sorted(right, key=str)
        for key in left:
            assert_same(left[key], right[key])
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_same(one, other)
    elif hasattr(left, "__dict__"):
        assert_same(vars(left), vars(right))
    else:
        assert left == right or (left != left and right != right)


def assert_same_predictions(left, right, X):
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(left, method):
            assert_same(getattr(left, method)(X), getattr(right, method)(X))


def through_a_file(model, tmp_path):
    path = tmp_path / "model.json"
    protolearn.save(model, path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]
    return protolearn.load(path)


@pytest.mark.parametrize("name", protolearn.__all__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_estimator_is_the_same_after_load(name, dtype, blobs, tmp_path):
    X, y = blobs[0].astype(dtype), np.array(["low", "middle", "high up"])[blobs[1]]
    model = fitted(small(getattr(protolearn, name)), X, y)
    loaded = through_a_file(model, tmp_path)
    assert_same_predictions(model, loaded, X)
    assert_same(vars(model), vars(loaded))


@pytest.mark.parametrize("metric", ALL_METRICS.values(), ids=ALL_METRICS)
def test_every_metric(metric, blobs, tmp_path):
    model = LOGM(2, metric=metric, max_iter=3, random_state=0).fit(*blobs)
    loaded = through_a_file(model, tmp_path)
    assert_same_predictions(model, loaded, blobs[0])
    assert loaded.metric == metric


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_by_name_and_as_an_object(loss, blobs, tmp_path):
    for given in (loss, LOSSES[loss]()):
        model = PrototypeClassifier(loss=given, learning_rate=0.5, max_iter=2, random_state=0).fit(*blobs)
        loaded = through_a_file(model, tmp_path)
        assert_same_predictions(model, loaded, blobs[0])
        assert type(loaded.loss) is type(given)


def special_models(X, y):
    yield MixtGauss(2, classify_by="mixture", random_state=0)
    yield LPD(0.1, exponent=3.0, max_iter=5, random_state=0)
    yield Learn1NN(sigma=np.inf, max_iter=3, random_state=0)
    yield LaMaLVQ(2, scope="prototype", mode="consecutive", rounds=2, epochs=2, random_state=0)
    yield protolearn.LGMLVQ(2, n_components=2, scope="prototype", max_iter=3, random_state=0)
    yield protolearn.WilsonEditing("auto", random_state=0)
    yield LOGM(init=(X[[0, 40, 80]], y[[0, 40, 80]]), max_iter=3, random_state=np.random.RandomState(3))
    yield LOGM({0: 1, 1: 2, 2: 3}, class_weight={0: 1.0, 1: 2.0, 2: 1.0}, max_iter=3, random_state=0)
    yield LOGM(init=NearestPrototype(2, random_state=0).fit(X, y), max_iter=3, random_state=0)
    yield LOGM(metric=Omega(start_at=fitted(LMNN(max_iter=5), X, y).components_), max_iter=3, random_state=0)
    yield NearestPrototype(metric="omega", metric_parameters=np.asfortranarray(np.arange(16.0).reshape(4, 4)))
    yield make_pipeline(StandardScaler(), LMNN(max_iter=5), LOGM(np.int64(2), max_iter=3, random_state=0))
    yield Pipeline([("scale", MinMaxScaler((-1, 1))), ("nothing", "passthrough"), ("classify", RSLVQ(max_iter=3))])


@pytest.mark.parametrize("number", range(13))
def test_special_settings(number, blobs, tmp_path):
    model = fitted(next(islice(special_models(*blobs), number, None)), *blobs)
    loaded = through_a_file(model, tmp_path)
    assert_same_predictions(model, loaded, blobs[0])
    assert_same(vars(model), vars(loaded))


def test_a_folder_for_a_cache_is_not_part_of_a_model(blobs, tmp_path):
    model = Pipeline([("scale", StandardScaler()), ("classify", LOGM(max_iter=2))], memory=str(tmp_path / "cache"))
    data = dumps(fitted(model, *blobs))
    assert loads(data).memory is None
    with pytest.raises(ModelFileError, match="Pipeline has no memory"):
        loads(resealed(data, change_of("model", "parameters", "memory", to="/tmp/elsewhere")))


def test_structural_risk_selector(blobs, tmp_path):
    X, y = blobs[0], blobs[1] == 1
    model = StructuralRiskSelector(LOGM(max_iter=3, random_state=0), n_prototypes=(1, 2)).fit(X, y)
    assert_same_predictions(model, through_a_file(model, tmp_path), X)


@pytest.mark.parametrize(
    "names",
    [
        np.array([3, 1, 2]),
        np.array([1.0, 2.0, -4.0]),
        np.array(["ä", "", "\ud800 b"], dtype="<U9"),
        np.array(["a", "b", "c"], dtype=object),
        np.array([1, 2, 3], dtype=">i4"),
        np.array([False, True, True]),
    ],
)
def test_labels_of_any_kind(names, blobs, tmp_path):
    X, y = blobs[0], names[blobs[1]]
    model = LOGM(max_iter=2, random_state=0).fit(X, y)
    assert_same(model.predict(X).astype(names.dtype), through_a_file(model, tmp_path).predict(X).astype(names.dtype))


def test_names_of_features_are_kept(blobs, tmp_path):
    frame = pd.DataFrame(blobs[0], columns=list("abcd"))
    loaded = through_a_file(LOGM(max_iter=2, random_state=0).fit(frame, blobs[1]), tmp_path)
    assert loaded.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[list("abdc")])


def test_a_loaded_model_goes_on_learning_the_same(blobs, tmp_path):
    X, y = blobs
    model = LOGM(2, random_state=0, max_iter=3).partial_fit(X[::2], y[::2], classes=[0, 1, 2])
    loaded = through_a_file(model, tmp_path)
    for one in (model, loaded):
        one.partial_fit(X[1::2], y[1::2])
    assert_same_predictions(model, loaded, X)


@pytest.mark.parametrize("name", protolearn.__all__)
def test_pickle_and_joblib(name, blobs, tmp_path):
    model = fitted(small(getattr(protolearn, name)), *blobs)
    assert_same_predictions(model, pickle.loads(pickle.dumps(model)), blobs[0])
    joblib.dump(model, tmp_path / "model.joblib")
    assert_same_predictions(model, joblib.load(tmp_path / "model.joblib"), blobs[0])


def test_loaded_in_a_new_process_it_predicts_the_same_bits(blobs, tmp_path):
    X, y = blobs
    model = make_pipeline(StandardScaler(), LOGM(3, metric="local_relevance", random_state=0)).fit(X, y)
    protolearn.save(model, tmp_path / "model.json")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import numpy as np, protolearn, sys; m = protolearn.load(sys.argv[1] + '/model.json');"
        "np.save(sys.argv[1] + '/P.npy', m.predict_proba(np.load(sys.argv[1] + '/X.npy')))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert_same(np.load(tmp_path / "P.npy"), model.predict_proba(X))


def hinge(d_own, d_rival, slope):
    return max(0.0, 1.0 + slope * (d_own - d_rival)), slope, -slope


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LOGM(), "Only a fitted model can be saved, and this LOGM is none; call fit first"),
        ("text", "Only a fitted model can be saved, and this str is none"),
        (
            PrototypeClassifier(loss=hinge, max_iter=2),
            r"PrototypeClassifier\(loss=...\) is a function, which a model file",
        ),
        (LOGM(callback=lambda *_: False, max_iter=2), r"LOGM\(callback=...\) is a function"),
        (LOGM(schedule=lambda step, n: 1.0, max_iter=2), r"LOGM\(schedule=...\) is a function"),
        (
            make_pipeline(LMNN(max_iter=3), KNeighborsClassifier()),
            "is a KNeighborsClassifier, which a model file cannot",
        ),
        (make_pipeline(RobustScaler(), LOGM(max_iter=2)), "is a RobustScaler"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_written(model, message, blobs, tmp_path):
    if "fit first" not in message and not isinstance(model, str):
        fitted(model, *blobs)
    (tmp_path / "model.json").write_text("what was there")
    with pytest.raises(ModelFileError, match=message):
        protolearn.save(model, tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text() == "what was there"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.fixture
def content(blobs):
    return dumps(LOGM(2, metric="relevance", max_iter=2, random_state=0).fit(*blobs))


def resealed(content, change):
    """The file after a change of its JSON, with a checksum that matches."""
    value = json.loads(content)
    change(value)
    value["sha256"] = "0" * 64
    data = json.dumps(value, indent=1).encode()
    return data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode(), 1)


def test_a_pipeline_without_its_classifier_is_refused(blobs):
    X, y = blobs
    model = make_pipeline(StandardScaler(), LOGM(max_iter=2, random_state=0)).fit(X, y)

    def without_classifier(value):
        steps = value["model"]["parameters"]["steps"]
        del (steps if isinstance(steps, list) else next(iter(steps.values())))[1]

    with pytest.raises(ModelFileError, match="a pipeline that ends in StandardScaler lacks its classifier"):
        loads(resealed(dumps(model), without_classifier))
    with pytest.raises(ModelFileError, match="a pipeline that ends in StandardScaler lacks its classifier"):
        dumps(Pipeline(model.steps[:-1]))
    mapped = make_pipeline(StandardScaler(), LMNN(max_iter=2)).fit(X, y)
    np.testing.assert_array_equal(loads(dumps(mapped)).transform(X), mapped.transform(X))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda data: b"", "cut off or is no model file"),
        (lambda data: data[:-1000], "cut off or is no model file"),
        (lambda data: b"\x80\x04\x95" + data, "cut off or is no model file"),
        (lambda data: b"[" * 100_000, "cut off or is no model file"),
        (lambda data: b'{"a": 1}', 'no model file: it does not begin with "format": "protolearn-model"'),
        (lambda data: b"[1, 2]", "no model file"),
        (lambda data: data.replace(b'"version": 1', b'"version": 2'), "version 2 of the format .* update protolearn"),
        (lambda data: data.replace(b'"version": 1', b'"version": "x"'), "version is no number"),
        (lambda data: data.replace(b'"max_iter": 2', b'"max_iter": 3'), "altered after it was saved"),
        (lambda data: data.replace(b'"sha256"', b'"sha257"'), "altered after it was saved"),
        (lambda data: data + b" ", "altered after it was saved"),
    ],
)
def test_damaged_files(broken, message, content):
    with pytest.raises(ModelFileError, match=message):
        loads(broken(content))


def change_of(*path, to):
    def change(value):
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_of("model", "class", to="os.system"), "none that a model file may name"),
        (change_of("model", "class", to="KNeighborsClassifier"), "none that a model file may name"),
        (change_of("model", "class", to=["LOGM"]), "holds no model"),
        (change_of("model", "fitted", "__class__", to="x"), "LOGM has no __class__"),
        (change_of("model", "fitted", "predict", to="x"), "LOGM has no predict"),
        (change_of("model", "parameters", "wrong", to=1), "LOGM has no wrong"),
        (change_of("model", "parameters", "metric", to={"part": "Popen", "fields": {}}), "'Popen', which no model has"),
        (change_of("model", "parameters", "metric", to={"part": "Omega", "fields": {"x": 1}}), "unexpected keyword"),
        (change_of("model", "parameters", "init", to={"odd": 1}), "none of the values that a model has"),
        (change_of("model", "fitted", "prototypes_", "dtype", to="|O"), "a type that no model has"),
        (change_of("model", "fitted", "prototypes_", "dtype", to="<f4"), "another number of entries"),
        (change_of("model", "fitted", "prototypes_", "shape", to=[10**12, 10**12]), "another number of entries"),
        (change_of("model", "fitted", "prototypes_", "shape", to=[-1, 4]), "shape that is none"),
        (change_of("model", "fitted", "prototypes_", "shape", to=[4, 6]), "do not belong together"),
        (change_of("model", "fitted", "prototypes_", "array", to="@@"), "not base64"),
        (change_of("model", "fitted", "prototypes_", to=3), "holds no model"),
        (
            change_of("model", "fitted", "prototypes_", to={"array": ["a"], "dtype": "<U999999", "shape": [1]}),
            "text type",
        ),
        (
            change_of("model", "fitted", "_stream_random", "random_state", "position", to=10**6),
            "random number generator",
        ),
        (change_of("model", "fitted", to={}), "not fitted|no attribute"),
        (change_of("model", "fitted", "_link", to=[[[[]]]] * 2), "_link of LOGM is a list"),
        (change_of("model", "fitted", "_theta", "shape", to=[4, 1]), "holds no model"),
        (change_of("model", "fitted", "_final_slope", to="steep"), "_final_slope of LOGM is a str"),
    ],
)
def test_crafted_files_with_a_right_checksum(change, message, content):
    with pytest.raises(ModelFileError, match=message):
        loads(resealed(content, change))


def test_nesting_without_end(content):
    deep = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ModelFileError, match="nested too deeply"):
        loads(resealed(content, change_of("model", "parameters", "init", to=deep)))


def test_500_mutated_files_are_refused(content):
    """Bytes changed, inserted, removed, swapped, files cut: never another error, never a model."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        data = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            at, kind = int(rng.integers(len(data))), rng.integers(5)
            if kind == 0:
                data[at] ^= 1 << int(rng.integers(8))
            elif kind == 1:
                data.insert(at, int(rng.integers(256)))
            elif kind == 2:
                del data[at : at + int(rng.integers(1, 20))]
            elif kind == 3:
                del data[at:]
                break
            else:
                other = int(rng.integers(len(data)))
                data[at], data[other] = data[other], data[at]
        if bytes(data) != content:
            with pytest.raises(ModelFileError):
                loads(bytes(data))


def test_500_mutated_values_with_a_right_checksum(content, blobs):
    """Whoever mutates on purpose can seal the file again: a clear sentence, or a model, never another error."""
    rng = np.random.default_rng(1)
    odd = [
        None,
        True,
        -1,
        10**30,
        0.5,
        "",
        "x",
        [],
        {},
        {"float": "nan"},
        {"tuple": [1]},
        {"array": "", "dtype": "<f8", "shape": [0]},
    ]

    def places(value, path=()):
        if isinstance(value, dict | list):
            for key in value if isinstance(value, dict) else range(len(value)):
                yield (*path, key)
                yield from places(value[key], (*path, key))

    known = list(places(json.loads(content)))
    refused = 0
    for _ in range(500):
        path = known[rng.integers(len(known))]
        data = resealed(content, change_of(*path, to=odd[rng.integers(len(odd))]))
        try:
            assert set(loads(data).predict(blobs[0])) <= {0, 1, 2}
        except ModelFileError:
            refused += 1
    assert refused > 100


def chest(name, X, y):
    """A fitted model of each kind that a file may hold."""
    models = {
        "LOGM": LOGM(2, metric="relevance", max_iter=2, random_state=0),
        "GMLVQ": protolearn.GMLVQ(max_iter=2, random_state=0),
        "LPD": LPD(2, max_iter=2, random_state=0),
        "Learn1NN": Learn1NN(max_iter=2, random_state=0),
        "LaMaLVQ": LaMaLVQ(rounds=1, epochs=1, max_iter=2, random_state=0),
        "MixtGauss": MixtGauss(2, classify_by="mixture", random_state=0),
        "HartCondensing": protolearn.HartCondensing(),
        "LMNN": LMNN(max_iter=2),
        "Pipeline": make_pipeline(StandardScaler(), MinMaxScaler(), LOGM(max_iter=2, random_state=0)),
        "Preparation": make_pipeline(Preparation(), NearestPrototype()),
        "StructuralRiskSelector": StructuralRiskSelector(LOGM(max_iter=2, random_state=0), n_prototypes=(1, 2)),
    }
    return fitted(models[name], X, np.minimum(y, 1) if name == "StructuralRiskSelector" else y)


def array_values(value):
    """The array in an entry of a file, and what it is written as."""
    return np.frombuffer(base64.b64decode(value["array"]), dtype=value["dtype"]).reshape(value["shape"])


@pytest.mark.parametrize(
    "name",
    [
        "LOGM",
        "GMLVQ",
        "LPD",
        "Learn1NN",
        "LaMaLVQ",
        "MixtGauss",
        "HartCondensing",
        "LMNN",
        "Pipeline",
        "Preparation",
        "StructuralRiskSelector",
    ],
)
def test_what_loads_after_a_change_predicts(name, blobs):
    """Entries removed, replaced and swapped, numbers of arrays made odd, all under a right checksum."""
    X, y = blobs
    X = pd.DataFrame(X, columns=list("abcd")) if name == "Preparation" else X
    model = chest(name, X, y)
    content = dumps(model)
    rng = np.random.default_rng(0)

    def places(value, path=()):
        if isinstance(value, dict | list):
            for key in value if isinstance(value, dict) else range(len(value)):
                yield (*path, key)
                yield from places(value[key], (*path, key))

    known = list(places(json.loads(content)["model"], ("model",)))
    odd = [None, 0, -1, 1e308, "x", [], {}, {"float": "nan"}, {"float": "inf"}]
    n_loaded = n_refused = 0
    for number in range(300):
        value = json.loads(content)
        path = known[number % len(known)] if number < len(known) else known[rng.integers(len(known))]
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        here, kind = holder[path[-1]], rng.integers(3)
        if kind == 0:
            del holder[path[-1]]
        elif kind == 1 and isinstance(here, dict) and isinstance(here.get("array"), str):
            changed = array_values(here).copy()
            if changed.dtype.kind == "f" and changed.size:
                changed.flat[rng.integers(changed.size)] = rng.choice([np.nan, np.inf, 1e30, -1.0, 0.0])
            here["array"] = base64.b64encode(changed.tobytes()).decode()
        else:
            holder[path[-1]] = odd[rng.integers(len(odd))]
        try:
            found = loads(resealed(content, lambda old, new=value: (old.clear(), old.update(new))))
        except ModelFileError:
            n_refused += 1
            continue
        n_loaded += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name == "Preparation":
                # Another name of a column is the model of another table.
                X = X.set_axis(getattr(found, "feature_names_in_", X.columns), axis=1)
            if hasattr(found, "predict"):
                assert np.isin(found.predict(X), [0, 1, 2]).all()
                assert np.isfinite(found.predict_proba(X)).all()
            else:
                assert np.isfinite(found.transform(X)).all()
    assert n_refused > 50
    assert n_loaded > 10


def test_the_array_format_can_be_read_with_json_and_base64_alone(content, blobs):
    model = json.loads(content)["model"]
    entry = model["fitted"]["prototypes_"]
    assert entry["dtype"] == "<f8"
    positions = np.frombuffer(base64.b64decode(entry["array"]), "<f8").reshape(entry["shape"])
    assert_same(positions.copy(), loads(content).prototypes_)


def test_replacing_a_file_keeps_its_permissions_and_a_new_one_gets_the_usual(blobs, tmp_path):
    model = LOGM(max_iter=1, random_state=0).fit(*blobs)
    protolearn.save(model, tmp_path / "a.json")
    (tmp_path / "b").write_text("")
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "b").stat().st_mode
    (tmp_path / "a.json").chmod(0o640)
    protolearn.save(model, tmp_path / "a.json")
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o640


def test_a_write_that_fails_leaves_the_old_file(blobs, tmp_path, monkeypatch):
    model = LOGM(max_iter=1, random_state=0).fit(*blobs)
    (tmp_path / "a.json").write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        protolearn.save(model, tmp_path / "a.json")
    assert (tmp_path / "a.json").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_is_not_there(blobs, tmp_path):
    with pytest.raises(FileNotFoundError):
        protolearn.save(LOGM(max_iter=1, random_state=0).fit(*blobs), tmp_path / "no" / "a.json")


def test_the_page_names_every_fitted_attribute():
    page = (Path(__file__).parents[2] / "docs" / "model-file.md").read_text(encoding="utf-8")
    others = ("Preparation", "PiecewiseLinearBins", "NormalScores", "StructuralRiskSelector")
    for kind in map(estimator_class, [*protolearn.__all__, *others]):
        assert [name for name in schema(kind) if name not in page] == []
