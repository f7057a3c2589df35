"""Some hundred fits of `fuzzing`, and whether it finds what is wrong; `python tests/fuzzing.py` runs many."""

import numpy as np
import pytest

import fuzzing
from protolearn import MixtGauss
from protolearn.estimators.prediction import NearestPrototypeMixin


def failures(counts):
    return {verdict: count for verdict, count in counts.items() if verdict not in fuzzing.GOOD}


def test_200_fits_end_well():
    told = []
    counts = fuzzing.run(0, range(200), told.append)
    assert not failures(counts), "\n".join(told)
    assert counts["clean"] > 100
    assert counts["clear error"] > 20


@pytest.mark.slow
def test_10000_fits_end_well():
    told = []
    assert not failures(fuzzing.run(1, range(10_000), told.append)), "\n".join(told)


def test_a_case_is_the_same_each_time():
    one, other = fuzzing.make_case(3, 5), fuzzing.make_case(3, 5)
    assert (one.name, one.layout, list(one.parameters)) == (other.name, other.layout, list(other.parameters))
    np.testing.assert_array_equal(one.labels, other.labels)


def rows_and_labels(n_columns=3):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, n_columns)) * (1 + y[:, None]) + y[:, None]
    return X, y


def case_of(name, **parameters):
    return fuzzing.Case(name, parameters, *rows_and_labels(), "float64")


def raise_inside(*_, **__):
    return np.linalg.inv(np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("attribute", "replacement", "verdict"),
    [
        ("row_classifier", NearestPrototypeMixin.row_classifier, "row_classifier against the loop"),
        ("predict", NearestPrototypeMixin.predict, "probabilities against predict"),
        ("predict_proba", lambda model, X: np.full((len(X), 3), np.nan), "not finite in silence"),
        ("predict", raise_inside, "error from inside"),
        ("predict", lambda model, X: X.reshape(7, 7), "error from inside"),
    ],
)
def test_what_is_wrong_is_found(attribute, replacement, verdict, monkeypatch):
    case = case_of("MixtGauss", n_prototypes=1, classify_by="mixture", random_state=0)
    assert fuzzing.judge(case) == ("clean", "")
    monkeypatch.setattr(MixtGauss, attribute, replacement)
    assert fuzzing.judge(case)[0] == verdict


def test_classes_that_are_not_the_nearest_are_found(monkeypatch):
    case = case_of("NearestPrototype")
    assert fuzzing.judge(case) == ("clean", "")
    monkeypatch.setattr(
        NearestPrototypeMixin, "predict", lambda model, X: model.classes_[model._class_distances(X).argmax(axis=1)]
    )
    monkeypatch.setattr(
        NearestPrototypeMixin, "predict_proba", lambda model, X: np.eye(3)[model._class_distances(X).argmax(axis=1)]
    )
    assert fuzzing.judge(case)[0] == "predict against the loop"


def test_a_warning_of_numpy_is_found(monkeypatch):
    fit = MixtGauss.fit

    def warned(self, X, y):
        np.ones(1) / np.zeros(1)
        return fit(self, X, y)

    monkeypatch.setattr(MixtGauss, "fit", warned)
    assert fuzzing.judge(case_of("MixtGauss", random_state=0))[0] == "warning from inside"


def test_wrong_parameters_end_in_a_sentence():
    verdict, sentence = fuzzing.judge(case_of("LOGM", learning_rate=-1))
    assert verdict == "clear error"
    assert "learning_rate must be a number > 0; got -1" in sentence
