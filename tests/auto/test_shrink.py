"""Models within a budget of bytes."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GMLVQ, LOGM, LPD, HartCondensing
from protolearn.auto import shrink
from protolearn.auto.shrink import column_order
from protolearn.export import export_c
from protolearn.export.plain import PlainModel
from protolearn.export.size import model_size


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X.astype(np.float32), y, test_size=0.4, stratify=y, random_state=0)


@pytest.mark.parametrize("budget", [512, 2048])
def test_digits_in_a_few_bytes(digits, budget, tmp_path):
    X, X_test, y, y_test = digits
    found = shrink(GMLVQ(max_iter=10, random_state=0), X, y, max_bytes=budget, dtypes=("int8",), random_state=0)
    assert found.n_bytes <= budget
    assert found.n_bytes == model_size(found.exported).flash
    accuracy = np.mean(found.exported.predict(X_test) == y_test)
    assert accuracy > {512: 0.80, 2048: 0.93}[budget]
    assert abs(accuracy - found.model.score(X_test, y_test)) < 0.02
    assert found.plan == found.tried[0][0]
    # What is counted is what is written.
    assert export_c(found.exported, tmp_path / "digits.h").size.flash == found.n_bytes


def test_more_bytes_are_not_worse(digits):
    X, X_test, y, y_test = digits
    scores = []
    for budget in (200, 2048):
        found = shrink(LOGM(max_iter=10, random_state=0), X, y, max_bytes=budget, dtypes=("int8",), random_state=0)
        scores.append(np.mean(found.exported.predict(X_test) == y_test))
    assert scores[1] > scores[0]


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_other_numbers_and_a_pipeline(iris, dtype):
    X, y = iris
    model = make_pipeline(StandardScaler(), LOGM(metric="relevance", max_iter=5, random_state=0))
    found = shrink(model, X, y, max_bytes=200, dtypes=(dtype,), random_state=0)
    assert found.n_bytes <= 200
    assert found.dtype == dtype
    assert isinstance(found.exported, PlainModel) == (dtype == "float32")
    assert np.mean(found.exported.predict(X) == y) > 0.85


def test_a_classifier_without_a_choice_of_metric(iris):
    X, y = iris
    found = shrink(LPD(max_iter=5, random_state=0), X, y, max_bytes=300, random_state=0)
    assert found.plan.rank is None
    assert found.n_bytes <= 300


def test_same_seed_same_model(iris):
    X, y = iris
    one, other = (
        shrink(GMLVQ(max_iter=3, random_state=0), X, y, max_bytes=100, dtypes=("int8",), random_state=3)
        for _ in range(2)
    )
    assert np.array_equal(one.exported.positions, other.exported.positions)
    assert one.tried == other.tried


def test_columns_that_repeat_another_come_last():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    signal, weaker = y + 0.3 * rng.normal(size=200), y + 0.6 * rng.normal(size=200)
    X = np.column_stack([np.ones(200), signal, signal + 1e-6 * rng.normal(size=200), weaker, rng.normal(size=200)])
    order = column_order(X, y).tolist()
    assert order[0] in (1, 2)
    assert order[1] == 3
    assert order[-1] == 0 or order[-2] == 0


def test_what_shrink_refuses(iris):
    X, y = iris
    with pytest.raises(ValueError, match="10 bytes do not hold one prototype for each of 3 classes"):
        shrink(GMLVQ(), X, y, max_bytes=10)
    with pytest.raises(ValueError, match="HartCondensing has no n_prototypes"):
        shrink(HartCondensing(), X, y)
    with pytest.raises(ValueError, match="dtypes must be one of"):
        shrink(GMLVQ(), X, y, dtypes=("int4",))
