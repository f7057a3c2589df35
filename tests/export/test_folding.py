"""A pipeline folded into its prototypes predicts what the pipeline predicts."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from protolearn import GLVQ, GMLVQ, LGMLVQ, LMNN, LOGM, LPD, MixtGauss
from protolearn.export.folding import plain_model
from protolearn.metrics.diagonal import Diagonal

STEPS = {
    "nothing": (),
    "standard": (StandardScaler(),),
    "no mean": (StandardScaler(with_mean=False),),
    "no spread": (StandardScaler(with_std=False),),
    "min-max": (MinMaxScaler((-1, 2)),),
    "max-abs": (MaxAbsScaler(),),
    "robust": (RobustScaler(),),
    "robust, plain": (RobustScaler(with_centering=False, with_scaling=False),),
    "selected": (StandardScaler(), SelectKBest(k=2), MinMaxScaler()),
    "selected twice": (SelectKBest(k=3), SelectKBest(k=2)),
    "pca": (StandardScaler(), PCA(3)),
    "whitened, then selected": (PCA(3, whiten=True), SelectKBest(k=2)),
    "lmnn": (LMNN(max_iter=5), MinMaxScaler()),
    "selected before pca": (SelectKBest(k=3), PCA(2)),
    "passthrough": ("passthrough", StandardScaler()),
}
CLASSIFIERS = {
    "euclidean": GLVQ(2, max_iter=3, random_state=0),
    "local weights": LPD(2, max_iter=3, random_state=0),
    "omega": GMLVQ(2, max_iter=3, random_state=0),
    "omega of a class": LGMLVQ(2, scope="class", n_components=2, max_iter=3, random_state=0),
    "omega of a prototype": LGMLVQ(2, scope="prototype", max_iter=3, random_state=0),
    "mixture": MixtGauss(2, classify_by="mixture", random_state=0),
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_folded_pipeline_predicts_the_same(blobs, steps, classifier):
    X, y = blobs
    # Far from the origin, and of different scales: folding must not lose digits.
    X = X * [1.0, 10.0, 0.1, 3.0] + [50.0, -300.0, 2.0, 0.0]
    model = make_pipeline(*steps, classifier).fit(X, y)
    plain = plain_model(model)
    assert np.array_equal(plain.predict(X), model.predict(X))
    np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X), atol=1e-8)
    if hasattr(classifier, "transform") and not isinstance(classifier, GMLVQ):
        np.testing.assert_allclose(plain.distances(X), model.transform(X)[:, plain.order], rtol=1e-6, atol=1e-9)


def test_prototypes_come_in_the_order_of_their_classes(blobs):
    X, y = blobs
    order = np.argsort(-y, kind="stable")
    model = LOGM(2, max_iter=2, metric="local_relevance", random_state=0)
    model.partial_fit(X[order[:40]], y[order[:40]], classes=[0, 1, 2]).partial_fit(X, y)
    assert (np.diff(model.prototype_labels_) < 0).any()
    plain = plain_model(model)
    assert (np.diff(plain.labels) >= 0).all()
    assert np.array_equal(model.prototype_labels_[plain.order], plain.classes[plain.labels])
    assert np.array_equal(plain.predict(X), model.predict(X))


def test_a_class_without_prototypes_is_never_predicted(blobs):
    X, y = blobs
    model = GLVQ(2, max_iter=2, random_state=0).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    plain = plain_model(model)
    assert np.array_equal(plain.predict(X), model.predict(X))
    assert np.isinf(plain.class_distances(X)[:, 2]).all()


def test_names_of_the_inputs(iris):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    model = make_pipeline(StandardScaler(), SelectKBest(k=2), GLVQ(max_iter=2)).fit(frame, y)
    plain = plain_model(model)
    assert plain.feature_names == ("a", "b", "c", "d")
    assert plain.n_used == 2
    assert plain_model(GLVQ(max_iter=2).fit(X, y)).feature_names == ("x0", "x1", "x2", "x3")


def test_the_best_of_a_search_is_taken(iris):
    X, y = iris
    search = GridSearchCV(GLVQ(max_iter=2, random_state=0), {"n_prototypes": [1, 2]}, cv=2).fit(X, y)
    assert np.array_equal(plain_model(search).predict(X), search.predict(X))


class _OwnMetric(Diagonal):
    """Measures as its parent does, but nobody can know that."""

    def weights(self, prototypes):
        return None


class _Cube(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X**3


def test_what_cannot_be_folded_says_so(iris):
    X, y = iris
    with pytest.raises(ValueError, match="metric _OwnMetric has neither `weights` nor `maps`"):
        plain_model(LOGM(metric=_OwnMetric(), max_iter=2).fit(X, y))
    with pytest.raises(ValueError, match="step _Cube cannot be folded"):
        plain_model(make_pipeline(_Cube(), GLVQ(max_iter=2)).fit(X, y))
    with pytest.raises(ValueError, match="set clip=False"):
        plain_model(make_pipeline(MinMaxScaler(clip=True), GLVQ(max_iter=2)).fit(X, y))
    with pytest.raises(ValueError, match="got LogisticRegression"):
        plain_model(LogisticRegression().fit(X, y))
    with pytest.raises(ValueError, match="not fitted yet; call fit first"):
        plain_model(GLVQ())
