"""Defaults that work for users: the rank of a map of many features, and a warning where scales decide."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GLVQ, GMLVQ, LGMLVQ, LOGM, AutoPrototypes, LaMaLVQ, NearestPrototype
from protolearn.metrics.omega import Omega


@pytest.mark.parametrize("kind", [GMLVQ, LGMLVQ])
def test_a_map_of_many_features_has_few_rows(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 301)), np.arange(40) % 2
    X[:, 0] += 6 * y
    model = kind(max_iter=2, random_state=0).fit(X, y)
    assert model.omega_.shape[-2:] == (60, 301)
    assert kind(max_iter=2).fit(X[:, :300], y).omega_.shape[-2:] == (300, 300)
    assert kind(n_components=None, max_iter=1).fit(X, y).omega_.shape[-2:] == (301, 301)
    assert model.score(X, y) == 1.0
    with pytest.raises(ValueError, match="n_components must be a whole number"):
        kind(n_components="all").fit(X, y)


def test_scales_that_no_metric_learns_are_named():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = pd.DataFrame({"length": X.iloc[:, 0], "weight": 1000 * X.iloc[:, 2]})
    with pytest.warns(UserWarning, match="Feature weight spans 5.9e.03 and length 3.6, .* put a StandardScaler"):
        LOGM(random_state=0, max_iter=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        make_pipeline(StandardScaler(), LOGM(random_state=0, max_iter=2)).fit(X, y)
        LOGM(metric="relevance", random_state=0, max_iter=2).fit(X, y)
        GLVQ(random_state=0, max_iter=2).fit(X.assign(length=0.0), y)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (GMLVQ(max_iter=2), "so the widest features alone make the first distances, and learning seldom finds"),
        (LGMLVQ(solver="lbfgs", max_iter=2), "so the widest features alone make the first distances"),
        (LaMaLVQ(rounds=1, epochs=1), "so the widest features alone make the first distances"),
        (NearestPrototype(), "the metric does not learn to weigh them, so the widest features alone decide"),
    ],
)
def test_scales_that_a_map_seldom_learns_are_named(model, why):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) * [1.0, 1e4, 1e4]
    y = X[:, 0] > 0
    with pytest.warns(UserWarning, match=rf"Feature x\d spans .* and x0 .*, .*{why}.*; put a StandardScaler") as told:
        model.fit(X, y)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Feature x")
        make_pipeline(StandardScaler(), model).fit(X, y)
        AutoPrototypes(cv=2, members=1, max_bytes=60, random_state=0).fit(X, y)


def test_a_map_that_evens_the_scales_out_is_no_reason_to_warn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) * [1.0, 1e4]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Feature x")
        GLVQ(metric=Omega(start_at=np.diag([1.0, 1e-4])), max_iter=2).fit(X, X[:, 0] > 0)
        NearestPrototype(metric="omega", metric_parameters=np.diag([1.0, 1e-4])).fit(X, X[:, 0] > 0)
