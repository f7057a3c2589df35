"""Counterfactuals: classified as asked, within the limits, and no nearer one where that is said."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from problems import ALL_METRICS
from protolearn import GLVQ, GMLVQ, LGMLVQ, LMNN, LOGM, LPD, HartCondensing, LaMaLVQ, MixtGauss, NearestPrototype
from protolearn.explain import counterfactual, search
from protolearn.explain.cells import least_norm
from protolearn.explain.counterfactuals import Question
from protolearn.tables import Preparation


def fitted(metric, X, y, n_prototypes=2, seed=0):
    """Prototypes under a metric off its start."""
    rng = np.random.default_rng(seed)
    model = NearestPrototype(n_prototypes, metric=metric, random_state=0).fit(X, y)
    model._theta = metric.project(model._theta * rng.uniform(0.3, 1.7, model._theta.shape))
    return model


def mean_form(model):
    metric, prototypes = model._prototype_set()
    weights, maps = metric.weights(prototypes), metric.maps(prototypes)
    forms = [np.diag(w) for w in weights] if weights is not None else [m.T @ m for m in maps]
    return np.mean([forms[s] for s in prototypes.slot], axis=0)


@pytest.mark.parametrize("name", ALL_METRICS)
def test_every_metric_gives_rows_of_the_class_within_the_ranges(name):
    metric = ALL_METRICS[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5)) * [1, 3, 0.2, 1, 10] + (np.arange(90) % 3)[:, None]
    model = fitted(metric, X, np.arange(90) % 3)
    M = mean_form(model)
    nowhere = 0
    for k, x in enumerate(X[::4]):
        before = model.predict(x[None])[0]
        for to in (None, (before + 1) % 3):
            found = counterfactual(model, x, to=to, fixed=["x1"] if k % 2 else [], only_up=["x3"], only_down=["x4"])
            if not found:
                nowhere += 1
                assert found.row is None
                assert "within the ranges of the data" in str(found)
                continue
            label = model.predict(found.row[None])[0]
            assert label == found.label
            assert label != before if to is None else label == to
            assert (found.row >= X.min(axis=0)).all()
            assert (found.row <= X.max(axis=0)).all()
            assert found.row[3] >= x[3]
            assert found.row[4] <= x[4]
            assert not k % 2 or found.row[1] == x[1]
            changed = {change.column for change in found.changes}
            assert changed == {f"x{j}" for j in range(5) if found.row[j] != x[j]}
            step = found.row - x
            np.testing.assert_allclose(found.distance, step @ M @ step, rtol=1e-6)
            assert not found.is_nearest or metric.scope == "global"
    assert nowhere < 12


def nearest_by_solver(model, x, label, low, high):
    """SciPy's SLSQP from every rival, within a box."""
    metric, prototypes = model._prototype_set()
    M, own, best = mean_form(model), prototypes.labels == label, np.inf
    for rival in np.flatnonzero(~own):

        def left(d, rival=rival):
            D = metric.distances((x + d)[None], prototypes)[0]
            return D[own] - D[rival]

        start = np.clip(prototypes.positions[rival], low, high) - x
        found = minimize(
            lambda d: d @ M @ d, start, bounds=list(zip(low - x, high - x, strict=True)),
            constraints={"type": "ineq", "fun": left}, method="SLSQP", options={"maxiter": 300},
        )  # fmt: skip
        if found.success and left(found.x).min() > -1e-6:
            best = min(best, found.fun)
    return best


@pytest.mark.parametrize("name", ["euclidean", "relevance", "omega"])
def test_under_a_shared_metric_nothing_is_nearer(name):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    model = fitted(ALL_METRICS[name], X, y, 3)
    low, high = X.min(axis=0), X.max(axis=0)
    for x in X[:20]:
        found = counterfactual(model, x)
        assert found.is_nearest
        best = nearest_by_solver(model, x, model.predict(x[None])[0], low, high)
        # Values are rounded to a hundredth of their change.
        assert found.distance <= best * 1.03 + 1e-4
        assert found.distance >= best * (1 - 1e-3) - 1e-4


def test_under_local_metrics_a_general_solver_finds_little_that_is_nearer():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    shares = []
    for name in ("local_relevance", "class_omega"):
        model = fitted(ALL_METRICS[name], X, y, 2)
        low, high = X.min(axis=0), X.max(axis=0)
        for x in X[:20]:
            found = counterfactual(model, x)
            best = nearest_by_solver(model, x, model.predict(x[None])[0], low, high)
            shares.append((found.distance if found else np.inf) / best)
    assert np.median(shares) < 1.05
    assert np.quantile(shares, 0.9) < 1.5


MODELS = {
    "GLVQ": GLVQ(3, random_state=0, max_iter=20),
    "LOGM": LOGM(2, random_state=0, max_iter=20),
    "GMLVQ, two axes": GMLVQ(2, n_components=2, random_state=0, max_iter=20),
    "LGMLVQ": LGMLVQ(2, random_state=0, max_iter=20),
    "LGMLVQ, prototypes": LGMLVQ(2, scope="prototype", n_components=2, random_state=0, max_iter=20),
    "LPD": LPD(0.1, random_state=0, max_iter=20),
    "LaMaLVQ": LaMaLVQ(2, rounds=2, epochs=2, random_state=0),
    "MixtGauss": MixtGauss(2, random_state=0),
    "Hart": HartCondensing(),
    "standardised": make_pipeline(StandardScaler(), LOGM(2, random_state=0, max_iter=20)),
    "scaled": make_pipeline(MinMaxScaler((-1, 1)), GMLVQ(2, random_state=0, max_iter=20)),
    "PCA": make_pipeline(StandardScaler(), PCA(2), LGMLVQ(2, random_state=0, max_iter=20)),
    "LMNN": make_pipeline(LMNN(n_components=2, max_iter=30), GLVQ(2, random_state=0, max_iter=20)),
    "prepared": make_pipeline(Preparation(), LGMLVQ(2, random_state=0, max_iter=20)),
}
MIXING = ("PCA", "LMNN")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", MODELS)
def test_every_classifier_in_the_units_of_its_columns(name, dtype, blobs):
    X, y = blobs
    X = (X * [1.0, 10.0, 0.1, 3.0] + [5.0, 1000.0, 0.0, -20.0]).astype(dtype)
    model = MODELS[name].fit(X, y)
    ranges = X if name in MIXING else "data"
    for x in X[::9]:
        found = counterfactual(model, x, ranges=ranges)
        assert found, str(found)
        assert found.row.dtype == dtype
        assert model.predict(found.row[None])[0] == found.label != found.before
        slack = 1e-5 if dtype == np.float32 else 1e-12
        assert (found.row >= X.min(axis=0) - slack * np.abs(X).max()).all()
        assert (found.row <= X.max(axis=0) + slack * np.abs(X).max()).all()
    if name in MIXING:
        with pytest.raises(ValueError, match="does not know the ranges of its training set"):
            counterfactual(model, X[0])
        assert counterfactual(model, X[0], ranges=None)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    n = 240
    label = np.where(rng.random(n) < 0.5, "yes", "no")
    sick = label == "yes"
    return pl.DataFrame(
        {
            "age": np.round(rng.normal(40, 8, n) + 6 * sick).astype(int),
            "colour": np.where(rng.random(n) < 0.7, np.where(sick, "red", "blue"), "green"),
            "dose": rng.gamma(2.0, 1.0, n) + 0.5 * sick,
            "stage": rng.choice(["I", "II", "III"], n, p=[0.5, 0.3, 0.2]),
        }
    ), label


MAPS = {
    "GMLVQ": GMLVQ(2, random_state=0, max_iter=20),
    "LGMLVQ": LGMLVQ(2, random_state=0, max_iter=20),
}


@pytest.mark.parametrize("categories", ["onehot", "ordinal"])
@pytest.mark.parametrize("learner", [LOGM(2, random_state=0), MAPS["GMLVQ"], MAPS["LGMLVQ"]], ids=["LOGM", *MAPS])
def test_whole_numbers_levels_and_missing_values_stay_valid(table, learner, categories):
    frame, label = table
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("dose").alias("dose"))
    model = Pipeline([("prepare", Preparation(categories)), ("classify", learner)]).fit(frame, label)
    failed = 0
    for k in range(0, 240, 5):
        row = frame[k]
        found = counterfactual(model, row, fixed=["stage"] if k % 2 else [])
        if not found:
            failed += 1
            continue
        assert model.predict(found.row)[0] == found.label != found.before
        new = found.row.row(0, named=True)
        assert new["age"] == int(new["age"])
        assert frame["age"].min() <= new["age"] <= frame["age"].max()
        assert new["colour"] in ("red", "blue", "green")
        assert new["stage"] in ("I", "II", "III")
        assert k % 7 or new["dose"] is None
        assert k % 7 == 0 or frame["dose"].min() <= new["dose"] <= frame["dose"].max()
        assert not k % 2 or new["stage"] == row["stage"][0]
        old = row.row(0, named=True)
        assert {change.column for change in found.changes} == {name for name in old if old[name] != new[name]}
    assert failed == 0


def whole_columns(n_columns, n=200, levels=9):
    rng = np.random.default_rng(3)
    y = np.arange(n) % 2
    rates = rng.uniform(1.0, 4.0, n_columns)
    X = np.minimum(rng.poisson(rates + y[:, None] * rng.uniform(0.0, 2.0, n_columns)), levels - 1)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(n_columns)]).astype(float), y


@pytest.mark.parametrize("n_columns", [3, 5])
@pytest.mark.parametrize("learner", [LOGM(2, metric="euclidean", random_state=0), *MAPS.values()], ids=["LOGM", *MAPS])
def test_whole_numbers_are_as_near_as_any(learner, n_columns):
    X, y = whole_columns(n_columns)
    model = make_pipeline(Preparation(), learner).fit(X, y)
    grid = np.stack(np.meshgrid(*[np.arange(9.0)] * n_columns), axis=-1).reshape(-1, n_columns)
    grid = grid[((grid >= X.min().to_numpy()) & (grid <= X.max().to_numpy())).all(axis=1)]
    labels, shares = model.predict(pd.DataFrame(grid, columns=X.columns)), []
    for k in range(0, 200, 9):
        found = counterfactual(model, X.iloc[[k]])
        question = Question(model, X.iloc[[k]], None, (), (), (), "data", (), "data")
        shares.append(found.distance / question._model_cost(grid[labels != found.before]).min())
        assert not found.is_nearest or shares[-1] < 1 + 1e-9
        assert (found.row.to_numpy() == np.rint(found.row.to_numpy())).all()
    assert min(shares) > 1 - 1e-6
    assert np.median(shares) < 1 + 1e-6
    assert np.quantile(shares, 0.9) < (1.3 if n_columns == 5 else 1 + 1e-6)


def test_whole_numbers_take_few_programmes(monkeypatch):
    X, y = whole_columns(14)
    model = make_pipeline(Preparation(), LOGM(1, metric="euclidean", random_state=0)).fit(X, y)
    solved = []
    monkeypatch.setattr(search, "least_norm", lambda *system: solved.append(1) or least_norm(*system))
    for k in range(0, 200, 20):
        assert counterfactual(model, X.iloc[[k]])
    assert len(solved) < 1000


def test_levels_change_where_numbers_may_not(table):
    frame, label = table
    model = make_pipeline(Preparation(), LOGM(2, random_state=0)).fit(frame, label)
    metric_rows = 0
    for k in range(60):
        found = counterfactual(model, frame[k], fixed=["age", "dose"])
        before = model.predict(frame[k])[0]
        # All rows with other levels, one by one.
        others = [
            frame[k].with_columns(pl.lit(colour).alias("colour"), pl.lit(stage).alias("stage"))
            for colour in ("red", "blue", "green")
            for stage in ("I", "II", "III")
        ]
        reachable = any(model.predict(other)[0] != before for other in others)
        assert bool(found) == reachable
        metric_rows += bool(found)
    assert metric_rows > 5


def test_one_hot_groups_and_integers_of_ones_own():
    rng = np.random.default_rng(2)
    y = np.arange(120) % 2
    place = np.where(rng.random(120) < 0.6, y, 2)
    X = pd.DataFrame(np.eye(3)[place], columns=["red", "blue", "green"])
    X["children"] = rng.poisson(2 + 2 * y)
    X["size"] = rng.normal(y)
    model = LOGM(2, random_state=0).fit(X, y)
    kinds = {"one_hot": [["red", "blue", "green"]], "integers": ["children"]}
    for k in range(30):
        found = counterfactual(model, X.iloc[[k]], **kinds)
        assert model.predict(found.row)[0] == found.label
        row = found.row.iloc[0]
        assert sorted(row[["red", "blue", "green"]]) == [0, 0, 1]
        assert row["children"] == int(row["children"])
    with pytest.raises(ValueError, match="must hold one 1 and zeros"):
        counterfactual(model, X.iloc[[0]], one_hot=[["red", "size"]])


def test_as_few_columns_as_possible(blobs):
    X, y = blobs
    model = GMLVQ(2, random_state=0, max_iter=20).fit(X, y)
    several = 0
    low, high = np.quantile(X, [0.35, 0.65], axis=0)
    for x in X[::3]:
        ranges = {f"x{j}": (min(low[j], x[j]), max(high[j], x[j])) for j in range(4)}
        full = counterfactual(model, x, ranges=ranges)
        found = counterfactual(model, x, ranges=ranges, fewest=True)
        assert bool(found) == bool(full)
        if not full:
            continue
        assert model.predict(found.row[None])[0] != found.before
        assert len(found.changes) <= len(full.changes)
        assert found.distance >= full.distance * (1 - 0.03)
        # Each column alone, over its whole range.
        alone = False
        for j in range(4):
            line = np.repeat(x[None], 400, axis=0)
            line[:, j] = np.linspace(*ranges[f"x{j}"], 400)
            alone |= bool((model.predict(line) != found.before).any())
        assert len(found.changes) == 1 or not alone
        several += len(found.changes) > 1
    assert several > 0


def test_several_answers_differ_in_their_columns(blobs):
    X, y = blobs
    model = GMLVQ(2, random_state=0, max_iter=20).fit(X, y)
    found = counterfactual(model, X[3], count=4)
    assert len(found) == 4
    assert len({frozenset(change.column for change in one.changes) for one in found}) == 4
    assert found[0].distance == counterfactual(model, X[3]).distance
    for one in found:
        assert model.predict(one.row[None])[0] == one.label != one.before


def test_the_row_comes_back_as_it_was_given(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = LOGM(2, random_state=0).fit(frame, y)
    plain = LOGM(2, random_state=0).fit(X, y)
    x = X[5]
    wanted = counterfactual(plain, x).row
    for model, row, kind in [
        (plain, list(x), list),
        (plain, x[None], np.ndarray),
        (plain, [list(x)], list),
        (named, frame.iloc[[5]], pd.DataFrame),
        (named, frame.iloc[5], pd.Series),
        (named, dict(frame.iloc[5]), dict),
        (named, pl.DataFrame(X[[5]], schema=list("abcd")), pl.DataFrame),
    ]:
        found = counterfactual(model, row).row
        assert type(found) is kind
        values = list(found.values()) if kind is dict else np.asarray(found).ravel()
        np.testing.assert_allclose(np.array(values, dtype=float), wanted)
        assert type(found) is not np.ndarray or found.shape == row.shape


def test_a_value_outside_the_ranges_may_stay_but_not_go_further(blobs):
    X, y = blobs
    model = GMLVQ(2, random_state=0, max_iter=20).fit(X, y)
    x = X[4].copy()
    x[2] = X[:, 2].max() + 5.0
    found = counterfactual(model, x)
    assert X[:, 2].min() <= found.row[2] <= X[:, 2].max() or found.row[2] == x[2]
    alone = counterfactual(model, x, fixed=["x0", "x1", "x3"])
    assert not alone or X[:, 2].min() <= alone.row[2] <= X[:, 2].max()
    narrow = counterfactual(model, x, ranges={"x0": (x[0] - 0.01, x[0] + 0.01)})
    assert abs(narrow.row[0] - x[0]) <= 0.01 + 1e-12
    assert counterfactual(model, x, ranges=None).distance <= found.distance * 1.03
    given = counterfactual(model, X[4], ranges=X[:60])
    assert (given.row <= np.maximum(X[:60].max(axis=0), X[4])).all()


def test_where_borders_bend_rows_that_exist_are_found():
    """Random rows of the same columns, where nothing was found: none of them gets another class."""
    rng = np.random.default_rng(12)
    y = rng.integers(0, 4, 200)
    X = pd.DataFrame({"a": rng.normal(5 + (y - 1.5) ** 2, 1 + y), "b": rng.normal(0, 1 + y)})
    X["c"] = rng.choice(list("xyz"), 200)
    X["d"] = np.where(rng.random(200) < 0.6, np.array(list("pqrs"))[y], "q")
    X["e"], X["f"] = rng.normal(size=200), rng.gamma(2.0, 1 + y)
    model = make_pipeline(Preparation(), LGMLVQ(3, random_state=0)).fit(X, y)
    none = 0
    for k, free in [(153, "ef"), (18, "f"), (27, "b"), (36, "ae"), (45, "cd"), (54, "cde"), (63, "df"), (72, "e")]:
        found = counterfactual(model, X.iloc[[k]], fixed=set("abcdef") - set(free))
        if found:
            assert model.predict(found.row)[0] == found.label != found.before
            continue
        rows = pd.concat([X.iloc[[k]]] * 4000, ignore_index=True)
        for name in free:
            rows[name] = rng.choice(X[name].to_numpy(), 4000)
        assert (model.predict(rows) == found.before).all()
        assert str(found).startswith("No row was found within the ranges of the data that gets another class")
        none += 1
    assert none > 0


def test_a_table_of_ranges_knows_whole_columns():
    X, y = whole_columns(4)
    X["dose"] = np.random.default_rng(0).normal(y)
    model = make_pipeline(StandardScaler(), LOGM(random_state=0)).fit(X, y)
    broken = 0
    for k in range(0, 200, 20):
        row = counterfactual(model, X.iloc[[k]], ranges=X).row.iloc[0, :4]
        assert (row == np.rint(row)).all()
        row = counterfactual(model, X.iloc[[k]]).row.iloc[0, :4]
        broken += (row != np.rint(row)).any()
    assert broken, "the scaler does not know"


def test_nothing_within_the_limits_is_said_plainly(blobs):
    X, y = blobs
    model = GLVQ(1, random_state=0).fit(X, y)
    tight = {f"x{j}": (float(X[0, j]), float(X[0, j])) for j in range(4)}
    none = counterfactual(model, X[0], ranges=tight)
    assert not none
    assert str(none) == "No row within the ranges of the data gets another class when no column may change."
    assert none.changes == []
    one = counterfactual(
        model, X[0], ranges=tight | {"x1": (X[0, 1], X[0, 1] + 1e-6)}, to=(model.predict(X[:1])[0] + 1) % 3
    )
    assert "gets class" in str(one)
    assert "when only x1 changes" in str(one)
    assert counterfactual(model, X[0], ranges=tight, count=3)[0].reason


def test_what_is_asked_wrongly(blobs):
    X, y = blobs
    model = GLVQ(1, random_state=0).fit(X, y)
    before = model.predict(X[:1])[0]
    for settings, message in [
        ({"to": 7}, "to=7 is no class of the model; it has 0, 1, 2"),
        ({"to": before}, "is of class . already"),
        ({"fixed": ["z"]}, "fixed names z, which is no column"),
        ({"only_up": "z"}, "only_up names z"),
        ({"integers": ["z"]}, "integers names z"),
        ({"ranges": {"z": (0, 1)}}, "ranges names z"),
        ({"ranges": {"x0": (1, 0)}}, "The range of x0 must be"),
        ({"ranges": "all"}, "ranges must be"),
        ({"count": 0}, "count must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            counterfactual(model, X[0], **settings)
    with pytest.raises(ValueError, match="takes one row, and got 2"):
        counterfactual(model, X[:2])
    with pytest.raises(ValueError, match="has 3 values, and the model takes 4"):
        counterfactual(model, X[0, :3])
    named = GLVQ(1, random_state=0).fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match="lacks column d"):
        counterfactual(named, {"a": 1, "b": 1, "c": 1})
