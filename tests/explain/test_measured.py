"""Explanations that are measured equal those by the form of the distance, where the metric hides it."""

import numpy as np
import pytest

from protolearn import NearestPrototype, PrototypeClassifier
from protolearn.explain import certified_radius, counterfactual, explain
from protolearn.metrics import Metric
from protolearn.metrics.diagonal import Diagonal
from protolearn.metrics.omega import Omega


class HiddenOmega(Omega):
    def maps(self, prototypes):
        return None


class HiddenDiagonal(Diagonal):
    def weights(self, prototypes):
        return None


class Ring(Metric):
    """How much longer or shorter a row is than a prototype: no form of the differences."""

    adaptive = False

    def initial_theta(self, n_slots, data):
        return np.empty((n_slots, 0))

    def distances(self, X, prototypes):
        lengths, of_positions = (np.sqrt((part**2).sum(axis=1)) for part in (X, prototypes.positions))
        return (lengths[:, None] - of_positions) ** 2

    def gradient(self, X, prototypes, C):
        lengths, of_positions = (np.sqrt((part**2).sum(axis=1)) for part in (X, prototypes.positions))
        pulls = (C * -2.0 * (lengths[:, None] - of_positions)).sum(axis=0)
        return pulls[:, None] * prototypes.positions / of_positions[:, None], np.zeros_like(prototypes.theta)


@pytest.mark.parametrize(
    ("shown", "hidden"),
    [(Omega(2), HiddenOmega(2)), (Omega(scope="class"), HiddenOmega(scope="class")), (Diagonal(), HiddenDiagonal())],
)
def test_measured_explanations_are_those_of_the_form(shown, hidden, blobs):
    X, y = blobs
    options = {"solver": "lbfgs", "max_iter": 10, "random_state": 0}
    one, other = (PrototypeClassifier(2, metric=metric, **options).fit(X, y) for metric in (shown, hidden))
    np.testing.assert_allclose(other.prototypes_, one.prototypes_)
    for wanted, found in zip(explain(one, X[:20]), explain(other, X[:20]), strict=True):
        assert found.distance == pytest.approx(wanted.distance)
        assert [part.contribution for part in found.contributions] == pytest.approx(
            [part.contribution for part in wanted.contributions], abs=1e-9
        )
        borders = {change.column: change.border for change in wanted.single_changes}
        # A search in steps ends at twice the way to the farthest prototype.
        assert found.single_changes
        for change in found.single_changes:
            assert change.border == pytest.approx(borders[change.column], rel=1e-6, abs=1e-6)


def test_a_metric_of_lengths_is_explained_and_every_change_is_one():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    X = X / np.linalg.norm(X, axis=1, keepdims=True) * (1.0 + 2.0 * y[:, None])
    model = NearestPrototype(metric=Ring(), init=(X[[0, 30]], [0, 1])).fit(X, y)
    assert model.score(X, y) == 1.0
    for row, why in zip(X[:5], explain(model, X[:5]), strict=True):
        gap = why.rival_distance - why.distance
        # The way to some prototypes leads close past the origin, where a length has its kink.
        assert sum(part.contribution for part in why.contributions) == pytest.approx(gap, rel=1e-4)
        for change in why.single_changes:
            other = row.copy()
            other[int(change.column[1])] += (change.border - change.value) * (1 + 1e-6)
            assert model.predict(other[None]) == [change.leads_to]


@pytest.mark.parametrize("ask", [counterfactual, certified_radius])
def test_a_metric_of_lengths_has_neither_counterfactuals_nor_certificates(ask):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = NearestPrototype(metric=Ring(), init=(X[[0, 1]], [0, 1])).fit(X, y)
    with pytest.raises(ValueError, match="Counterfactuals and certificates need a distance of weighted differences"):
        ask(model, X[:1] if ask is certified_radius else X[0])
