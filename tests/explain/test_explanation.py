"""Explanations: what features add sums up, and what is said to change a decision does."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from problems import ALL_METRICS, random_problem
from protolearn import GMLVQ, LGMLVQ, LMNN, LOGM, LPD, HartCondensing, LaMaLVQ, MixtGauss, NearestPrototype
from protolearn.core.prototypes import PrototypeSet
from protolearn.explain import certainty, explain
from protolearn.explain.border import Surroundings, forms, smallest_change
from protolearn.tables import Preparation

# A change this much larger than the one that reaches the border is on the other side, whatever rounding does.
BEYOND = 1e-6


def surroundings(metric, seed=3):
    data, prototypes = random_problem(metric, seed=seed)
    return [Surroundings(x, forms(metric, prototypes)) for x in data.X], data, prototypes


@pytest.mark.parametrize("metric", ALL_METRICS.values(), ids=ALL_METRICS)
def test_parts_add_up_to_the_distances_of_the_metric(metric):
    rows, data, prototypes = surroundings(metric)
    D = metric.distances(data.X, prototypes)
    np.testing.assert_allclose([row.distances for row in rows], D, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", ALL_METRICS.values(), ids=ALL_METRICS)
def test_the_first_change_along_a_line_is_the_first(metric):
    rng = np.random.default_rng(0)
    found_some = 0
    for seed in range(4):
        rows, _, prototypes = surroundings(metric, seed)
        for row in rows:
            u = rng.normal(size=5)
            own = prototypes.labels == prototypes.labels[row.distances.argmin()]
            found = row.first_change(u, own)
            ts = np.linspace(0.0, 20.0, 4001)
            D = metric.distances(row.x + ts[:, None] * u, prototypes)
            outside = ~own[D.argmin(axis=1)]
            if found is None:
                assert not outside.any()
                continue
            found_some += 1
            t, winner = found
            assert not outside[ts < t - 1e-6].any()
            D = metric.distances((row.x + (t * (1 + 1e-7) + 1e-9) * u)[None], prototypes)[0]
            assert not own[D.argmin()]
            np.testing.assert_allclose(D[winner], D.min(), rtol=1e-6)
    assert found_some > 10


@pytest.mark.parametrize("metric", ALL_METRICS.values(), ids=ALL_METRICS)
@pytest.mark.parametrize("free", [np.arange(5), np.array([0, 3])], ids=["all", "two"])
def test_the_smallest_change_reaches_the_border_and_is_smallest(metric, free):
    rows, _, _ = surroundings(metric)
    for row in rows[:5]:
        own, rival = np.argsort(row.distances)[:2]
        step = smallest_change(row, own, rival, free)
        delta = np.zeros(5)
        M = np.eye(5)
        first, second = (np.diag(row.form(i)) if row.is_diagonal else row.form(i) for i in (own, rival))
        M = (first + second) / 2.0

        def difference(d, row=row, own=own, rival=rival):
            D = Surroundings(row.x + d, row.prototypes).distances
            return D[rival] - D[own]

        if step is None:
            # No point at all on the other side: the difference has a minimum above zero.
            best = minimize(lambda s: difference(embedded(s)), np.zeros(len(free)))
            assert best.fun > -1e-9
            continue
        delta[free] = step
        np.testing.assert_allclose(difference(delta), 0.0, atol=1e-7 * max(1.0, np.abs(step).max()) ** 2)
        cost = delta @ M @ delta

        def embedded(s):
            d = np.zeros(5)
            d[free] = s
            return d

        rng = np.random.default_rng(1)
        for _ in range(3):
            start = rng.normal(size=len(free))
            other = minimize(
                lambda s, M=M: embedded(s) @ M @ embedded(s),
                start,
                constraints={"type": "eq", "fun": lambda s: difference(embedded(s))},
            )
            if other.success and abs(difference(embedded(other.x))) < 1e-8:
                assert cost <= other.fun * (1 + 1e-4) + 1e-9


def test_a_shared_metric_moves_straight_to_the_rival():
    rows, _, prototypes = surroundings(ALL_METRICS["omega"])
    row = rows[0]
    own, rival = np.argsort(row.distances)[:2]
    between = prototypes.positions[rival] - prototypes.positions[own]
    f = row.distances[rival] - row.distances[own]
    squared = between @ row.form(own) @ between
    np.testing.assert_allclose(smallest_change(row, own, rival, np.arange(5)), f * between / (2 * squared), rtol=1e-8)


MODELS = {
    "LOGM-P": LOGM(3, random_state=0, max_iter=20),
    "LOGM-PIW": LOGM(2, metric="relevance", random_state=0, max_iter=20),
    "LOGM-PDW": LOGM(2, metric="local_relevance", random_state=0, max_iter=20),
    "GMLVQ": GMLVQ(2, random_state=0, max_iter=20),
    "GMLVQ, two axes": GMLVQ(2, n_components=2, random_state=0, max_iter=20),
    "LGMLVQ": LGMLVQ(2, random_state=0, max_iter=20),
    "LGMLVQ, prototypes": LGMLVQ(2, scope="prototype", n_components=2, random_state=0, max_iter=20),
    "LPD": LPD(0.1, random_state=0, max_iter=20),
    "LaMaLVQ": LaMaLVQ(2, rounds=2, epochs=2, random_state=0),
    "Hart": HartCondensing(),
    "standardised": make_pipeline(StandardScaler(), LOGM(2, random_state=0, max_iter=20)),
    "scaled": make_pipeline(MinMaxScaler((-1, 1)), GMLVQ(2, random_state=0, max_iter=20)),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_what_is_said_to_change_the_decision_does(model, blobs):
    X, y = blobs
    frame = pd.DataFrame(X * [1.0, 10.0, 0.1, 3.0] + 5.0, columns=list("abcd"))
    model = model.fit(frame, y)
    some = frame.iloc[::7]
    reached = 0
    for i, why in enumerate(explain(model, some)):
        row = some.iloc[[i]]
        assert why.prediction == model.predict(row)[0]
        added = sum(part.contribution for part in why.contributions)
        np.testing.assert_allclose(added, why.rival_distance - why.distance, rtol=1e-9, atol=1e-12)
        assert {part.column for part in why.contributions} == set("abcd")
        for part in why.contributions:
            np.testing.assert_allclose(part.value, row[part.column].iloc[0])
        for change in why.single_changes:
            reached += 1
            assert frame[change.column].min() - 1e-9 <= change.border <= frame[change.column].max() + 1e-9
            for factor, flips in ((1 - 1e-4, False), (1 + BEYOND, True)):
                other = row.copy()
                other[change.column] = change.value + factor * (change.border - change.value)
                decision = model.predict(other)[0]
                assert (decision != why.prediction) == flips
                assert not flips or decision == change.leads_to
        if why.smallest_change:
            reached += 1
            other = row.copy()
            for change in why.smallest_change:
                other[change.column] = change.border
            assert model.predict(other)[0] == why.smallest_change[0].leads_to != why.prediction
            assert (other >= frame.min() - 1e-9).all(axis=None)
            assert (other <= frame.max() + 1e-9).all(axis=None)
        assert why.outside == []
        corner = row + 0.999 * why.radius * (frame.max() - frame.min()) * np.array([1, -1, 1, -1])
        assert model.predict(corner)[0] == why.prediction
    assert reached > 20
    np.testing.assert_allclose(certainty(model, some), [why.certainty for why in explain(model, some)], atol=1e-9)


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    n = 150
    label = np.where(rng.random(n) < 0.5, "yes", "no")
    age = rng.normal(40, 8, n) + 12 * (label == "yes")
    colour = np.where(rng.random(n) < 0.75, np.where(label == "yes", "red", "blue"), "green")
    return pl.DataFrame({"age": age, "colour": colour, "noise": rng.normal(size=n)}), label


def test_in_the_columns_of_a_table(table):
    frame, y = table
    model = Pipeline([("prepare", Preparation()), ("classify", LOGM(2, random_state=0))]).fit(frame, y)
    found = explain(model, frame)
    levels = [change for why in found for change in why.single_changes if change.column == "colour"]
    assert levels
    for i, why in enumerate(found[:20]):
        assert sorted(part.column for part in why.contributions) == ["age", "colour", "noise"]
        value = {part.column: part.value for part in why.contributions}
        assert value == frame.row(i, named=True)
        assert {part.column: part.own for part in why.contributions}["colour"] in ("red", "blue", "green")
        for change in why.single_changes:
            border = change.border
            if change.column != "colour":
                border = change.value + (1 + BEYOND) * (border - change.value)
            other = frame[i].with_columns(pl.lit(border).alias(change.column))
            assert model.predict(other)[0] == change.leads_to != why.prediction
    json.dumps([why.as_dict() for why in found])


def test_a_missing_value_is_not_changed(table):
    frame, y = table
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise("age").alias("age"))
    model = Pipeline([("prepare", Preparation()), ("classify", LOGM(2, random_state=0))]).fit(frame, y)
    why = explain(model, frame[0])[0]
    assert {part.column: part.value for part in why.contributions}["age"] is None
    assert "age" not in {change.column for change in why.single_changes + why.smallest_change}


def test_what_lies_outside_the_training_set_is_named_and_cases_are_where_the_model_knows_them(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(StandardScaler(), LOGM(2, random_state=0, max_iter=20)).fit(frame, y)
    row = frame.iloc[[3]].assign(b=99.0)
    why = explain(model, row)[0]
    assert [(one.column, one.value) for one in why.outside] == [("b", 99.0)]
    np.testing.assert_allclose([why.outside[0].low, why.outside[0].high], [X[:, 1].min(), X[:, 1].max()])
    model[-1].prototype_cases_ = np.arange(100, 106)
    why = explain(model, row)[0]
    assert (why.own_case, why.rival_case) == (100 + why.prototype, 100 + why.rival)
    model[-1].prototype_cases_ = None
    del model[-1].data_min_
    why = explain(model, row)[0]
    assert (why.own_case, why.radius, why.outside) == (None, None, [])
    assert why.smallest_change


@pytest.mark.parametrize("learner", [LOGM(2, random_state=0), LGMLVQ(1, random_state=0)], ids=["LOGM", "LGMLVQ"])
def test_single_changes_are_values_that_a_column_can_have(learner):
    rng = np.random.default_rng(4)
    y = np.arange(150) % 2
    X = pd.DataFrame({"vessels": rng.poisson(1 + y), "age": np.round(rng.normal(50 + 9 * y, 8)), "dose": rng.normal(y)})
    X = X.astype(float)
    model = make_pipeline(Preparation(), learner).fit(X, y)
    rows = X.iloc[::4].copy()
    rows.iloc[::5, 1] = 199.0
    whole = 0
    for k, why in enumerate(explain(model, rows)):
        for change in why.single_changes:
            row = rows.iloc[[k]].copy()
            step = 0.0 if change.column != "dose" else 1e-9 * np.sign(change.border - change.value)
            row[change.column] = change.border + step
            assert model.predict(row)[0] == change.leads_to != why.prediction
            assert X[change.column].min() <= change.border <= X[change.column].max()
            assert change.column == "dose" or isinstance(change.border, int)
            whole += change.column != "dose"
    assert whole > 20


def test_behind_other_steps_the_features_are_those_of_the_classifier(blobs):
    model = make_pipeline(LMNN(n_components=2, max_iter=30), LOGM(random_state=0)).fit(*blobs)
    why = explain(model, blobs[0][:1])[0]
    assert {part.column for part in why.contributions} == {"x0", "x1"}


def test_a_border_held_by_a_third_prototype_of_the_own_class():
    """The border between the two prototypes lies where another one of the own class is nearer: the change goes on."""
    X = np.array([[0.0, 0.0], [2.0, 1.0], [4.0, 0.0]])
    model = NearestPrototype(init=(X, np.array([0, 0, 1]))).fit(X, [0, 0, 1])
    row = np.array([[0.2, -0.3]])
    why = explain(model, row)[0]
    other = row.copy()
    for change in why.smallest_change:
        other[0, int(change.column[1])] = change.border
    assert model.predict(other)[0] == 1


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MixtGauss(1, classify_by="mixture"), 'explanations need classify_by="prototypes"'),
        (LogisticRegression(), "Only classifiers of protolearn .* got LogisticRegression"),
    ],
)
def test_what_cannot_be_explained(model, message, blobs):
    model.fit(*blobs)
    for function in (explain, certainty):
        with pytest.raises(ValueError, match=message):
            function(model, blobs[0])


def test_prototypes_on_top_of_each_other():
    X = np.array([[1.0, 1.0], [1.0, 1.0], [3.0, 1.0]])
    model = NearestPrototype(init=(X, np.array([0, 1, 1]))).fit(X, [0, 1, 1])
    why = explain(model, X)
    assert [one.certainty for one in why] == [0.0, 0.0, 1.0]
    np.testing.assert_allclose(certainty(model, X), [0.0, 0.0, 1.0])


def test_the_smallest_change_along_a_feature_that_neither_prototype_pulls_in():
    """The gradient has nothing along the feature whose weights differ; a step along it is still the shortest way."""
    weights = np.array([[1.0, 4.0, 1.0], [1.0, 1.0, 1.0]])
    positions = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 2.0]])
    row = Surroundings(np.array([0.05, 0.0, 0.0]), PrototypeSet(positions, np.arange(2), weights, np.arange(2)))
    free = np.array([0, 1])
    step = smallest_change(row, 0, 1, free)
    D = Surroundings(row.x + np.array([*step, 0.0]), row.prototypes).distances
    np.testing.assert_allclose(D[0], D[1], rtol=1e-6)
    mean = weights.mean(axis=0)[:2]
    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    for direction in np.column_stack([np.cos(angles), np.sin(angles), np.zeros(721)]):
        found = row.first_change(direction, np.array([True, False]))
        if found is not None:
            assert mean @ step**2 <= (mean @ (found[0] * direction[:2]) ** 2) * (1 + 1e-6)


def test_no_change_of_the_free_features_is_enough():
    """The prototypes differ in a feature that is held fixed only."""
    positions = np.array([[0.0, 0.0], [0.0, 3.0]])
    row = Surroundings(
        np.array([1.0, 0.5]), PrototypeSet(positions, np.arange(2), np.ones((1, 2)), np.zeros(2, dtype=int))
    )
    assert smallest_change(row, 0, 1, np.array([0])) is None
    assert row.first_change(np.array([1.0, 0.0]), np.array([True, False])) is None
