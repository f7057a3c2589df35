"""Sets of classes hold the right one as often as they say."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_wine, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from protolearn import GMLVQ, LOGM, MixtGauss
from protolearn.explain import ConformalClassifier

X, Y = make_classification(2400, 8, n_informative=4, n_classes=3, weights=[0.6, 0.3, 0.1], flip_y=0.1, random_state=0)
LEARN, REST = slice(0, 400), np.arange(400, 2400)


def models():
    yield "ratio", make_pipeline(StandardScaler(), LOGM(2, random_state=0))
    yield "probability", GMLVQ(2, random_state=0)
    yield "adaptive", LOGM(2, random_state=0)
    yield "probability", LogisticRegression()
    yield "adaptive", LogisticRegression()


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize(
    ("score", "model"), list(models()), ids=["LOGM", "GMLVQ", "LOGM-adaptive", "logistic", "logistic-adaptive"]
)
def test_coverage(score, model, by_class):
    """The mean over 40 splits is within three standard errors of what theory says, and sets are not all classes."""
    model.fit(X[LEARN], Y[LEARN])
    alpha, covered, sizes = 0.2, [], []
    for seed in range(40):
        rows = np.random.default_rng(seed).permutation(REST)
        sets = ConformalClassifier(model, alpha, score=score, by_class=by_class, random_state=seed)
        found = sets.calibrate(X[rows[:1000]], Y[rows[:1000]]).predict_set(X[rows[1000:]])
        own = found[np.arange(1000), Y[rows[1000:]]]
        covered.append([own[Y[rows[1000:]] == c].mean() for c in range(3)] if by_class else [own.mean()])
        sizes.append(found.sum(axis=1).mean())
    mean, error = np.mean(covered, axis=0), np.std(covered, axis=0) / np.sqrt(40)
    assert (mean > 1 - alpha - 3 * error).all()
    assert (mean < 1 - alpha + 3 * error + 1 / 50).all()
    assert np.mean(sizes) < 2.5


def test_thresholds_by_hand():
    model = LOGM(1, random_state=0).fit(X[LEARN], Y[LEARN])
    sets = ConformalClassifier(model, 0.25).calibrate(X[REST[:19]], Y[REST[:19]])
    D = model.transform(X[REST[:19]])
    own = D[np.arange(19), Y[REST[:19]]]
    D[np.arange(19), Y[REST[:19]]] = np.inf
    np.testing.assert_allclose(sets.thresholds_, np.sort(own / D.min(axis=1))[14])


def test_a_strict_alpha_with_few_rows_gives_full_sets_and_a_lax_one_empty_ones():
    model = LOGM(1, random_state=0).fit(X[LEARN], Y[LEARN])
    few = ConformalClassifier(model, 0.01).calibrate(X[REST[:50]], Y[REST[:50]])
    assert few.predict_set(X[REST]).all()
    lax = ConformalClassifier(model, 0.9).calibrate(X[REST], Y[REST])
    assert (lax.predict_set(X[REST]).sum(axis=1) == 0).any()


def test_the_frequency_is_that_of_new_rows():
    model = LOGM(2, random_state=0).fit(X[LEARN], Y[LEARN])
    sets = ConformalClassifier(model).calibrate(X[REST[:1000]], Y[REST[:1000]])
    rows = REST[1000:]
    right, of = sets.frequency(X[rows])
    assert (of == 100).all()
    share = right / of
    correct = model.predict(X[rows]) == Y[rows]
    order = np.argsort(share, kind="stable")
    for part in np.array_split(order, 4):
        assert abs(share[part].mean() - correct[part].mean()) < 0.08
    assert share[order[-250:]].mean() > share[order[:250]].mean() + 0.1


def test_names_of_classes_and_models_without_what_is_needed():
    data, names = load_wine(return_X_y=True)
    names = np.array(["ant", "bee", "cat"])[names]
    model = make_pipeline(StandardScaler(), LOGM(random_state=0)).fit(data[::2], names[::2])
    with pytest.raises(NotFittedError, match="call calibrate first"):
        ConformalClassifier(model).predict_set(data)
    sets = ConformalClassifier(model).calibrate(data[1::2], names[1::2])
    assert list(sets.classes_) == ["ant", "bee", "cat"]
    with pytest.raises(ValueError, match="class dog, which the model has not learned"):
        sets.calibrate(data[:2], ["ant", "dog"])
    with pytest.raises(ValueError, match="y has no class for row 2; remove"):
        sets.calibrate(data[:2], ["ant", None])
    with pytest.raises(ValueError, match="needs distances to prototypes"):
        ConformalClassifier(LogisticRegression().fit(X, Y), score="ratio")
    with pytest.raises(ValueError, match="needs predict_proba"):
        ConformalClassifier(SVC().fit(X, Y))
    with pytest.raises(ValueError, match="alpha"):
        ConformalClassifier(model, 1.5)
    mixture = MixtGauss(classify_by="mixture", random_state=0).fit(data, names)
    assert ConformalClassifier(mixture).score == "probability"


class Sure(ClassifierMixin, BaseEstimator):
    """A model that is always sure, and right."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.eye(2)[np.asarray(X)[:, 0].astype(int)]


def test_rows_of_which_the_model_is_sure_are_covered_as_often_as_promised():
    """The random part of a new row is not that of a calibration row."""
    y = np.arange(19) % 2
    model = Sure().fit(y[:, None], y)
    covered = []
    for seed in range(300):
        sets = ConformalClassifier(model, 0.1, score="adaptive", random_state=seed).calibrate(y[:, None], y)
        covered.append(sets.predict_set(y[:, None])[range(19), y].mean())
    # 18 of 20, the new row among them; with the same random parts it is 18 of 19 each time.
    assert np.std(covered) > 0.02
    assert abs(np.mean(covered) - 0.9) < 0.02
