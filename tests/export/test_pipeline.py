"""One raw row at a time: the class that `predict` gives for the table, from a model in memory and from its file."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import protolearn
from protolearn import GMLVQ, LOGM, AutoPrototypes
from protolearn.export.pipeline import RowPipeline, row_classifier
from protolearn.tables import Preparation


@pytest.fixture
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture
def shop():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 200).astype(float),
            "job": rng.choice(["office", "field", None], 200),
            "income": rng.lognormal(10, 0.5, 200),
        }
    )
    frame.loc[::7, "income"] = np.nan
    return frame, np.where(frame["age"] + 10 * (frame["job"] == "office") > 50, "yes", "no")


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [MinMaxScaler((-1, 2))],
        [Preparation()],
        [Preparation(scaling="standard"), "passthrough"],
        [MinMaxScaler(), StandardScaler()],
        [],
    ],
)
def test_a_loaded_pipeline_takes_raw_rows(steps, wine, tmp_path):
    X, y = wine
    model = make_pipeline(*steps, GMLVQ(max_iter=5, random_state=0)).fit(X, y)
    protolearn.save(model, tmp_path / "m.json")
    loaded = protolearn.load(tmp_path / "m.json")
    assert isinstance(loaded, Pipeline)
    classify = loaded.row_classifier()
    wanted = model.predict(X).tolist()
    assert [classify(row) for row in X.to_numpy()] == wanted
    assert [classify(row) for row in X.to_numpy().tolist()] == wanted
    assert [classify(row) for row in X.to_dict("records")] == wanted
    assert [row_classifier(model)(row) for row in X.to_numpy()[:9]] == wanted[:9]
    protolearn.save(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


@pytest.mark.parametrize("preparation", [Preparation(), Preparation("ordinal", scaling="standard")])
def test_categories_and_missing_values(preparation, shop, tmp_path):
    X, y = shop
    model = make_pipeline(preparation, LOGM(random_state=0, max_iter=5)).fit(X, y)
    protolearn.save(model, tmp_path / "m.json")
    classify = protolearn.load(tmp_path / "m.json").row_classifier()
    wanted = model.predict(X).tolist()
    assert [classify(row) for row in X.to_numpy()] == wanted
    assert [classify({**row, "more": 1}) for row in X.to_dict("records")] == wanted
    odd = pd.DataFrame({"age": [30.0], "job": ["pilot"], "income": ["20000"]})
    assert classify([30, "pilot", "20000"]) == model.predict(odd)[0]


@pytest.mark.parametrize("members", [1, 3])
def test_an_automatic_model_takes_rows_by_name(members, shop, tmp_path):
    X, y = shop
    model = AutoPrototypes(members=members, time_limit=0.5, random_state=0).fit(X, y)
    protolearn.save(model, tmp_path / "m.json")
    classify = protolearn.load(tmp_path / "m.json").row_classifier()
    assert [classify(row) for row in X.to_dict("records")] == model.predict(X).tolist()


def test_other_steps_are_asked_by_their_transform(wine):
    X, y = wine
    model = make_pipeline(StandardScaler(), PCA(3), LOGM(random_state=0)).fit(X.to_numpy(), y)
    assert [row_classifier(model)(row) for row in X.to_numpy()] == model.predict(X.to_numpy()).tolist()


def test_a_classifier_alone(wine):
    X, y = wine
    model = LOGM(random_state=0).fit(X.to_numpy(), y)
    assert [row_classifier(model)(row) for row in X.to_numpy()] == model.predict(X.to_numpy()).tolist()


def test_mistakes_get_one_sentence(wine, tmp_path):
    X, y = wine
    model = make_pipeline(StandardScaler(), LOGM(random_state=0)).fit(X, y)
    classify = row_classifier(model)
    row = X.to_dict("records")[0]
    row.pop("ash")
    with pytest.raises(ValueError, match="no value for column ash; give None"):
        classify(row)
    with pytest.raises(ValueError, match=r"A row has 13 columns here; got an array of shape \(2,\)"):
        classify([1.0, 2.0])
    with pytest.raises(ValueError, match="not finite"):
        classify([np.nan] * 13)
    with pytest.raises(ValueError, match="does not know the names"):
        row_classifier(make_pipeline(StandardScaler(), LOGM(max_iter=1)).fit(X.to_numpy(), y))({"a": 1})
    with pytest.raises(ValueError, match="KNeighborsClassifier has no row_classifier"):
        RowPipeline([("nearest", KNeighborsClassifier().fit(X, y))]).row_classifier()
