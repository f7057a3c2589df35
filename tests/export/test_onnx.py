"""ONNX models in onnxruntime: whole pipelines, labels and probabilities."""

import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from protolearn import GLVQ, GMLVQ, LMNN, LOGM, MCE, MixtGauss, WilsonEditing
from protolearn.export import to_onnx
from protolearn.export.onnx import OPSET, register_converters
from protolearn.metrics.diagonal import Diagonal

onnxruntime = pytest.importorskip("onnxruntime")


def _run(model, X, **options):
    content = to_onnx(model, **options).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities"], {"X": X.astype(np.float32)})


@pytest.mark.parametrize("opset", [15, OPSET, 18, 21])
@pytest.mark.parametrize("texts", [False, True])
def test_pipelines(blobs, opset, texts):
    X, y = blobs
    X = X.astype(np.float32).astype(np.float64)
    y = np.array(["one", "tw\u00f6", "three"])[y] if texts else y * 10
    for classifier in (GMLVQ(2, max_iter=2, random_state=0), MixtGauss(2, classify_by="mixture", random_state=0)):
        for steps in ((), (StandardScaler(), PCA(3)), (LMNN(max_iter=3, tol=1.0), MinMaxScaler())):
            model = make_pipeline(*steps, classifier).fit(X, y)
            labels, probabilities = _run(model, X, target_opset=opset)
            assert np.array_equal(labels, model.predict(X))
            assert probabilities.dtype == np.float32
            np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=2e-5)


def test_opset_is_the_one_stated(iris):
    X, y = iris
    model = to_onnx(GLVQ(max_iter=2).fit(X, y))
    assert {entry.domain: entry.version for entry in model.opset_import}[""] == OPSET


def test_rows_on_a_prototype_and_a_class_without_prototypes(blobs):
    X, y = blobs
    X = X.astype(np.float32).astype(np.float64)
    models = [
        WilsonEditing(3).fit(X, y),
        GLVQ(2, max_iter=2, random_state=0).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2]),
        MCE(1, max_iter=2, random_state=0).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2]),
    ]
    for model in models:
        rows = np.concatenate([model.prototypes_, X]).astype(np.float32)
        labels, probabilities = _run(model, rows)
        wanted = model.predict_proba(rows.astype(np.float64))
        assert np.array_equal(labels, model.predict(rows.astype(np.float64)))
        assert np.isfinite(probabilities).all()
        np.testing.assert_allclose(probabilities[len(model.prototypes_) :], wanted[len(model.prototypes_) :], atol=1e-4)


def test_far_from_the_origin(iris):
    X, y = iris
    X = (X + 1000.0).astype(np.float32).astype(np.float64)
    model = GLVQ(3, max_iter=5, random_state=0).fit(X, y)
    assert np.array_equal(_run(model, X)[0], model.predict(X))


def test_double_input_gives_double_probabilities(iris):
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType

    X, y = iris
    register_converters()
    model = GLVQ(2, max_iter=2, random_state=0).fit(X, y)
    types = [("X", DoubleTensorType([None, 4]))]
    content = convert_sklearn(model, initial_types=types, options={id(model): {"zipmap": False}}).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    labels, probabilities = session.run(None, {"X": X})
    assert np.array_equal(labels, model.predict(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-12)


def test_what_onnx_cannot_hold(iris):
    class Own(Diagonal):
        def weights(self, prototypes):
            return None

    X, y = iris
    with pytest.raises(ValueError, match="an export cannot write it"):
        to_onnx(LOGM(metric=Own(), max_iter=2).fit(X, y))
    with pytest.raises(ValueError, match="not fitted yet"):
        to_onnx(GLVQ())
    mixed = GLVQ(max_iter=2).fit(X, y)
    mixed.classes_ = np.array([0.5, 1.5, 2.5])
    mixed.prototype_labels_ = mixed.classes_
    with pytest.raises(ValueError, match="whole numbers or texts"):
        to_onnx(mixed)


def test_without_the_packages(iris, monkeypatch):
    X, y = iris
    model = GLVQ(max_iter=2).fit(X, y)
    register_converters.cache_clear()
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r'pip install "protolearn\[onnx\]"'):
        to_onnx(model)
