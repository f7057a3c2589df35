"""MixtGauss: EM's promise, the repaired roll-back, degenerate classes, scikit-learn's mixture as a reference."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

from protolearn import MixtGauss
from protolearn.data import TrainingSet
from protolearn.reduction.mixtures import MixtureStart, class_accuracies, class_data, em_step, fit_one, log_likelihood
from samples import SAMPLES


def training_set(name):
    X, y = SAMPLES[name]()
    return TrainingSet(X, y, None, y.max() + 1)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("start", [MixtureStart(), MixtureStart(literal_variance=True), MixtureStart(disturbance=0.5)])
def test_likelihood_never_falls(name, start):
    data = training_set(name)
    for part in class_data(data):
        mixture = start.mixture(part.centroid, part.ranges, part.floor, 5, np.random.RandomState(0))
        values = []
        for _ in range(25):
            mixture, value = em_step(part, mixture)
            values.append(value)
        assert np.diff(values).min() > -1e-8 * np.abs(values).max()


def test_variance_printed_as_standard_deviation_would_lose_likelihood():
    """A6: with sigma set to the weighted variance, as (5) prints it, the likelihood falls at once."""
    part = class_data(training_set("wine"))[0]
    mixture, _ = em_step(
        part, MixtureStart().mixture(part.centroid, part.ranges, part.floor, 3, np.random.RandomState(0))
    )
    printed = type(mixture)(mixture.means, mixture.variances**2, mixture.priors)
    assert log_likelihood(part, printed) < log_likelihood(part, mixture) - 100


def test_converges_to_the_mixture_of_scikit_learn():
    X, _ = make_blobs(600, centers=[[0, 0], [5, 1], [1, 6]], cluster_std=[0.5, 1.0, 0.8], random_state=0)
    part = class_data(TrainingSet(X, np.zeros(len(X), dtype=np.int64), None, 1))[0]
    centres = np.array([[1.0, 0.0], [4.0, 1.0], [1.0, 5.0]])
    ours, curve = fit_one(part, MixtureStart().around(centres, part.ranges, part.floor), 500, 1e-10)
    peer = GaussianMixture(3, covariance_type="diag", tol=1e-10, max_iter=500, reg_covar=0, random_state=0).fit(X)
    order, theirs = np.argsort(ours.means[:, 0]), np.argsort(peer.means_[:, 0])
    np.testing.assert_allclose(ours.means[order], peer.means_[theirs], atol=1e-4)
    np.testing.assert_allclose(ours.variances[order], peer.covariances_[theirs], atol=1e-4)
    np.testing.assert_allclose(ours.priors[order], peer.weights_[theirs], atol=1e-4)
    assert curve[-1] / len(X) == pytest.approx(peer.score(X), abs=1e-6)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("n_prototypes", [3, 5])
@pytest.mark.parametrize("stopping", ["accuracy", "likelihood"])
def test_no_empty_or_collapsed_component(name, n_prototypes, stopping):
    data = training_set(name)
    fitted = MixtGauss(n_prototypes, stopping=stopping, max_iter=30, random_state=0).fit(data.X, data.y)
    codes = np.searchsorted(fitted.classes_, fitted.prototype_labels_)
    samples = fitted.priors_ * fitted.class_prior_[codes] * len(data.y)
    assert samples.min() > 0.4
    assert np.isfinite(fitted.prototypes_).all()
    spread = np.ptp(data.X, axis=0)
    assert (fitted.variances_ >= 0.999e-5 * spread**2).all()
    for code in np.unique(codes):
        own = fitted.prototypes_[codes == code] / np.where(spread > 0, spread, 1)
        gaps = np.linalg.norm(own[:, None] - own[None], axis=2)[np.triu_indices(len(own), 1)]
        assert gaps.min() > 1e-6


@pytest.mark.filterwarnings("ignore:Class")
@pytest.mark.parametrize("stopping", ["accuracy", "algorithm1", "likelihood"])
@pytest.mark.parametrize("n_prototypes", [1, 3, "bic"])
def test_classes_of_one_sample_and_of_equal_samples(stopping, n_prototypes):
    X, y = make_blobs(60, centers=[[0, 0], [6, 6]], random_state=0)
    X = np.vstack([X, [[0.0, 20.0]], np.repeat([[20.0, 0.0]], 4, axis=0)])
    y = np.append(y, [2, 3, 3, 3, 3])
    for rule in ("prototypes", "mixture"):
        fitted = MixtGauss(n_prototypes, stopping=stopping, classify_by=rule, random_state=0).fit(X, y)
        assert fitted.score(X, y) == 1.0
        assert (fitted.prototype_labels_ == 2).sum() == (fitted.prototype_labels_ == 3).sum() == 1


def test_a_constant_feature_changes_nothing():
    data = training_set("wine")
    with_constant = np.column_stack([data.X, np.full(len(data.y), 7.0)])
    for rule in ("prototypes", "mixture"):
        plain = MixtGauss(1, classify_by=rule, random_state=0).fit(data.X, data.y)
        other = MixtGauss(1, classify_by=rule, random_state=0).fit(with_constant, data.y)
        np.testing.assert_array_equal(plain.predict(data.X), other.predict(with_constant))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_repaired_roll_back_never_ends_below_its_start(name):
    data = training_set(name)
    fitted = MixtGauss(3, random_state=0).fit(data.X, data.y)
    curve = fitted.accuracy_curve_
    assert fitted.score(data.X, data.y) == pytest.approx(max(curve))
    assert len(curve) == fitted.n_iter_ + 1 == len(fitted.log_likelihood_curve_)


def test_printed_roll_back_lets_a_rejected_step_pass():
    """A8: as printed, some run ends in a state that 1-NN gets wrong more often than one it had."""
    below = 0
    for name in SAMPLES:
        data = training_set(name)
        for seed in range(3):
            fitted = MixtGauss(3, stopping="algorithm1", random_state=seed).fit(data.X, data.y)
            below += fitted.score(data.X, data.y) < max(fitted.accuracy_curve_) - 1e-12
    assert below > 0


def test_class_accuracies_are_those_of_predict():
    data = training_set("overlapping")
    fitted = MixtGauss(3, random_state=0).fit(data.X, data.y)
    parts = class_data(data)
    start = MixtureStart()
    mixtures = [
        start.around(fitted.means_[fitted.prototype_labels_ == c], p.ranges, p.floor) for c, p in enumerate(parts)
    ]
    right = fitted.predict(data.X) == data.y
    expected = [right[data.y == code].mean() for code in range(data.n_classes)]
    np.testing.assert_allclose(class_accuracies(data, mixtures), expected)


def test_start_does_not_depend_on_the_unit_unless_printed_so():
    data = training_set("wine")
    for literal, same in ((False, True), (True, False)):
        option = {"literal_variance": literal, "stopping": "likelihood", "max_iter": 5, "random_state": 0}
        one = MixtGauss(3, **option).fit(data.X, data.y)
        other = MixtGauss(3, **option).fit(1000 * data.X, data.y)
        assert np.allclose(one.means_, other.means_ / 1000, rtol=1e-6) == same


def test_bic_finds_the_number_of_clusters_of_each_class():
    X, cluster = make_blobs(900, centers=[[0, 0], [10, 0], [0, 10], [10, 10], [20, 0], [20, 10]], random_state=0)
    y = np.isin(cluster, [1, 3, 4, 5]).astype(int)
    fitted = MixtGauss("bic", max_components=6, init="kmeans", stopping="likelihood", random_state=0).fit(X, y)
    assert list(np.bincount(fitted.prototype_labels_)) == [2, 4]


def test_numbers_by_class_and_by_share():
    data = training_set("wine")
    numbers = {name: n for n, name in enumerate(np.unique(data.y).tolist(), start=2)}
    fitted = MixtGauss(numbers, random_state=0).fit(data.X, data.y)
    assert dict(zip(*np.unique(fitted.prototype_labels_, return_counts=True), strict=True)) == numbers
    assert len(MixtGauss(0.1, random_state=0).fit(data.X, data.y).prototypes_) == 18


def test_mixture_rule_is_bayes_rule():
    data = training_set("wine")
    fitted = MixtGauss(1, stopping="likelihood", classify_by="mixture").fit(data.X, data.y)
    joint = np.empty((len(data.y), 3))
    for code, name in enumerate(fitted.classes_):
        rows = data.X[data.y == name]
        variance = np.maximum(rows.var(axis=0), 1e-5 * np.ptp(data.X, axis=0) ** 2)
        density = -0.5 * (np.log(2 * np.pi * variance) + (data.X - rows.mean(axis=0)) ** 2 / variance).sum(axis=1)
        joint[:, code] = np.log(len(rows) / len(data.y)) + density
    np.testing.assert_allclose(fitted.decision_function(data.X), joint, rtol=1e-9)
    expected = np.exp(joint - joint.max(axis=1, keepdims=True))
    np.testing.assert_allclose(fitted.predict_proba(data.X), expected / expected.sum(axis=1, keepdims=True), atol=1e-9)
    assert fitted.score(data.X, data.y) > MixtGauss(1).fit(data.X, data.y).score(data.X, data.y) + 0.2


@pytest.mark.parametrize("classify_by", ["prototypes", "mixture"])
@pytest.mark.parametrize("n_prototypes", [1, 3])
def test_one_row_gets_the_class_of_predict(classify_by, n_prototypes, iris):
    X, y = iris
    fitted = MixtGauss(n_prototypes, classify_by=classify_by, random_state=0).fit(X, y)
    classify = fitted.row_classifier()
    assert [classify(row) for row in X] == fitted.predict(X).tolist()
    with pytest.raises(ValueError, match="4 features"):
        classify(X[0, :3])
    with pytest.raises(ValueError, match="not finite"):
        classify([np.nan, 0.0, 0.0, 0.0])


def test_each_prototype_is_the_centre_of_its_samples():
    X, y = make_blobs(300, centers=[[0, 0], [10, 0], [0, 10], [10, 10]], random_state=0)
    fitted = MixtGauss(2, init="kmeans", stopping="likelihood", random_state=0).fit(X, y // 2)
    for number, position in enumerate(fitted.prototypes_):
        np.testing.assert_allclose(position, X[fitted.sample_prototypes_ == number].mean(axis=0), atol=0.05)


def test_a_weight_of_two_is_the_row_twice():
    X, y = make_blobs(120, centers=3, cluster_std=3.0, random_state=0)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    for setting in ({}, {"stopping": "likelihood", "classify_by": "mixture"}):
        weighted = MixtGauss(3, random_state=0, **setting).fit(X, y, sample_weight=weight)
        repeated = MixtGauss(3, random_state=0, **setting).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(weighted.prototypes_, repeated.prototypes_, rtol=1e-6)
        np.testing.assert_array_equal(weighted.sample_prototypes_ == -1, weight == 0)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"n_prototypes": "aic"}, "n_prototypes must be one of 'bic'"),
        ({"n_prototypes": 0}, "n_prototypes must be a whole number"),
        ({"disturbance": 0}, "disturbance must be a number > 0"),
        ({"initial_spread": -1}, "initial_spread must be a number > 0"),
        ({"stopping": "never"}, "stopping must be one of"),
        ({"classify_by": "votes"}, "classify_by must be one of"),
        ({"init": "nowhere"}, "init must be one of 'centroid'"),
        ({"range_of": "world"}, "range_of must be one of"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
    ],
)
def test_bad_settings_are_named(setting, words):
    X, y = make_blobs(30, random_state=0)
    with pytest.raises(ValueError, match=words):
        MixtGauss(**setting).fit(X, y)
