"""Certificates: no attack inside a radius changes a class, and the nearest change lies where an exact radius says."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from problems import ALL_METRICS
from protolearn import (
    GLVQ,
    GMLVQ,
    LGMLVQ,
    LMNN,
    LOGM,
    LPD,
    AutoPrototypes,
    HartCondensing,
    LaMaLVQ,
    MixtGauss,
    NearestPrototype,
)
from protolearn.explain import certified_accuracy, certified_radius
from protolearn.explain.cells import border, border_in_box, bound_in_box, least_norm
from protolearn.explain.certificate import Ball
from protolearn.explain.inputs import Inputs
from protolearn.tables import PiecewiseLinearBins, Preparation

NORMS = [2, "inf"]


def fitted(metric, X, y, n_prototypes=2, seed=0):
    """Prototypes under a metric off its start."""
    rng = np.random.default_rng(seed)
    model = NearestPrototype(n_prototypes, metric=metric, random_state=0).fit(X, y)
    model._theta = metric.project(model._theta * rng.uniform(0.3, 1.7, model._theta.shape))
    return model


def size(d, norm):
    return np.linalg.norm(d, axis=-1) if norm == 2 else np.abs(d).max(axis=-1)


def attacked(model, x, radius, norm, rng, tries=200):
    """Rows at the given distance: random directions, and steps down the difference of the two nearest distances."""
    d = rng.normal(size=(tries, len(x)))
    if norm == "inf":
        d[::2] = np.sign(d[::2])
    rows = [x + radius * d / size(d, norm)[:, None]]
    label = model.predict(x[None])[0]
    classifier = model[-1] if isinstance(model, Pipeline) else model
    before = model[:-1].transform if isinstance(model, Pipeline) else np.asarray

    def gap(rows):
        D = classifier._class_distances(before(rows))
        own = int(np.searchsorted(classifier.classes_, label))
        return np.delete(D, own, axis=1).min(axis=1) - D[:, own]

    step, moved = np.eye(len(x)) * 1e-5 * (1.0 + np.abs(x)), x.copy()
    for _ in range(30):
        gradient = (gap(moved + step) - gap(moved - step)) / (2.0 * np.diag(step))
        way = -np.sign(gradient) if norm == "inf" else -gradient / max(np.linalg.norm(gradient), 1e-300)
        moved = x + (moved - x) + 0.2 * radius * way
        off = moved - x
        off = np.clip(off, -radius, radius) if norm == "inf" else off * min(1.0, radius / max(size(off, norm), 1e-300))
        moved = x + off
        rows.append(moved[None])
    return np.concatenate(rows)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ALL_METRICS)
def test_no_attack_inside_the_radius_succeeds_and_an_exact_radius_is_reached(name, norm):
    metric = ALL_METRICS[name]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)) * [1, 3, 0.2, 1, 10], np.arange(60) % 3
    model = fitted(metric, X, y)
    radius, exact = certified_radius(model, X, norm, return_exact=True)
    closed = certified_radius(model, X, norm, exact=False)
    assert (closed <= radius * (1 + 1e-12)).all()
    assert (radius > 0).mean() > 0.9
    if metric.scope == "global":
        assert exact.all()
    labels = model.predict(X)
    inputs = Inputs.of(model)
    ball = Ball(inputs.cells, np.inf if norm == "inf" else norm, True, with_steps=True)
    np.testing.assert_allclose(ball.radii(X, labels, np.ones(5), 0.0)[0], radius, rtol=1e-9)
    changed = model.predict(X + 1.0001 * np.nan_to_num(ball.steps)) != labels
    np.testing.assert_allclose(size(ball.steps[exact], norm), radius[exact], rtol=1e-6)
    assert changed[exact].all(), "an exact radius ends where the class changes"
    assert exact.mean() > (0.4 if inputs.cells.is_diagonal or norm == 2 else -1.0)
    for x, r, label in zip(X[:12], radius, labels, strict=False):
        assert (model.predict(attacked(model, x, 0.999 * r, norm, rng)) == label).all()


def test_the_radius_is_that_of_a_general_solver():
    """SciPy's SLSQP, from every rival: three prototypes a class under one map."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    model = fitted(ALL_METRICS["omega"], X, y, 3)
    metric, prototypes = model._prototype_set()
    radius = certified_radius(model, X)
    for x, r, label in zip(X[:15], radius, model.predict(X), strict=False):
        own, best = prototypes.labels == label, np.inf
        for rival in np.flatnonzero(~own):

            def left(d, x=x, own=own, rival=rival):
                D = metric.distances((x + d)[None], prototypes)[0]
                return D[own] - D[rival]

            start = prototypes.positions[rival] - x
            found = minimize(lambda d: d @ d, start, constraints={"type": "ineq", "fun": left}, method="SLSQP")
            if found.success:
                best = min(best, np.linalg.norm(found.x))
        np.testing.assert_allclose(r, best, rtol=1e-4, atol=1e-4)


MODELS = {
    "GLVQ": GLVQ(3, random_state=0, max_iter=20),
    "LOGM": LOGM(2, random_state=0, max_iter=20),
    "GMLVQ": GMLVQ(2, random_state=0, max_iter=20),
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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_classifier_in_the_units_of_its_columns(model, norm, dtype, blobs):
    X, y = blobs
    X = (X * [1.0, 10.0, 0.1, 3.0] + [5.0, 1000.0, 0.0, -20.0]).astype(dtype)
    model = model.fit(X, y)
    radius = certified_radius(model, X, norm)
    assert (radius > 0).mean() > 0.9
    rng = np.random.default_rng(1)
    labels = model.predict(X)
    for k in range(0, len(X), 9):
        rows = attacked(model, X[k].astype(np.float64), 0.999 * radius[k], norm, rng, 100).astype(dtype)
        assert (model.predict(rows) == labels[k]).all()


@pytest.mark.parametrize("norm", NORMS)
def test_the_scale_says_what_a_change_of_one_is(norm, blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = NearestPrototype(init="all").fit(frame, y)
    factor = np.array([1.0, 100.0, 0.01, 7.0])
    other = make_pipeline(MinMaxScaler(), NearestPrototype(init="all"))
    other.fit(pd.DataFrame(X * factor, columns=list("abcd")), y)
    scaled = certified_radius(other, frame * factor, norm, scale="range")
    same = NearestPrototype(init="all").fit(MinMaxScaler().fit_transform(X), y)
    np.testing.assert_allclose(scaled, certified_radius(same, MinMaxScaler().fit_transform(X), norm), rtol=1e-6)
    by_name = certified_radius(model, frame, norm, scale=dict(zip("abcd", factor, strict=True)))
    np.testing.assert_allclose(by_name, certified_radius(model, frame, norm, scale=factor), rtol=1e-9)
    fixed = certified_radius(model, frame, norm, fixed=["a", "c"])
    np.testing.assert_allclose(fixed, certified_radius(model, frame, norm, scale=[0, 1, 0, 1]), rtol=1e-9)
    assert (fixed >= certified_radius(model, frame, norm) * (1 - 1e-9)).all()
    assert np.isinf(certified_radius(model, frame, norm, fixed=list("abcd"))).all()


def test_levels_and_missing_values_stay_as_they_are():
    rng = np.random.default_rng(5)
    label = np.where(rng.random(150) < 0.5, "yes", "no")
    age = rng.normal(40, 8, 150) + 12 * (label == "yes")
    colour = np.where(rng.random(150) < 0.75, np.where(label == "yes", "red", "blue"), "green")
    frame = pl.DataFrame({"age": age, "colour": colour, "noise": rng.normal(size=150)})
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise("age").alias("age"))
    model = Pipeline([("prepare", Preparation()), ("classify", LOGM(1, random_state=0))]).fit(frame, label)
    radius = certified_radius(model, frame, "inf", scale={"age": 1.0})
    assert np.isinf(radius[::5]).all()
    assert np.isfinite(radius[1::5]).any()
    for k in range(1, 150, 7):
        if k % 5 == 0 or not np.isfinite(radius[k]):
            continue
        before = model.predict(frame[k])[0]
        changed = []
        for way in (-1, 1):
            for share, flips in ((0.999, False), (1.001, True)):
                moved = frame[k].with_columns(pl.col("age") + way * share * radius[k])
                changed.append((flips, model.predict(moved)[0] != before))
        assert not any(now for flips, now in changed if not flips)
        assert any(now for flips, now in changed if flips)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("learner", [LOGM(2, random_state=0), LGMLVQ(1, random_state=0, max_iter=20)])
@pytest.mark.parametrize("first", [StandardScaler(), Preparation(scaling="standard")])
def test_on_bins_no_attack_inside_the_bound_succeeds(first, learner, norm, blobs):
    X, y = blobs
    X = X * [1.0, 10.0, 0.1, 3.0] + [5.0, 1000.0, 0.0, -20.0]
    model = make_pipeline(first, PiecewiseLinearBins(3), learner).fit(X, y)
    width = np.ptp(X, axis=0)
    radius, exact = certified_radius(model, X, norm, scale=width, return_exact=True)
    assert not exact.any()
    assert (radius > 0).mean() > 0.8
    labels, rng = model.predict(X), np.random.default_rng(0)
    in_shares = make_pipeline(FunctionTransformer(lambda S: S * width), *[step for _, step in model.steps])
    tight = 0
    for k in range(0, len(X), 7):
        rows = attacked(in_shares, X[k] / width, 0.999 * radius[k], norm, rng, 400)
        assert (model.predict(rows * width) == labels[k]).all()
        tight += (
            model.predict(attacked(in_shares, X[k] / width, 8.0 * radius[k], norm, rng, 400) * width) != labels[k]
        ).any()
    assert tight > 2
    assert np.isinf(certified_radius(model, X[:2], norm, fixed=["x0", "x1", "x2", "x3"])).all()


def test_certified_accuracy_falls_from_the_accuracy_to_zero(blobs):
    X, y = blobs
    model = GLVQ(2, random_state=0).fit(X, y)
    found = certified_accuracy(model, X, y, [0.0, 0.3, 0.8, 1e6])
    assert found[0] == model.score(X, y)
    assert found[-1] == 0.0
    assert (np.diff(found) < 0).all()
    radius = certified_radius(model, X)
    assert found[1] == np.mean((model.predict(X) == y) & (radius > 0.3))
    assert certified_accuracy(model, X, y, 0.3, exact=False) <= found[1]
    assert isinstance(float(certified_accuracy(model, X, y, 0.1)), float)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MixtGauss(1, classify_by="mixture"), "decides by densities"),
        (RandomForestClassifier(5), "Only classifiers of protolearn .* got RandomForestClassifier"),
        (
            make_pipeline(PiecewiseLinearBins(), GLVQ()),
            "The step PiecewiseLinearBins before the classifier is not linear",
        ),
        (make_pipeline(FunctionTransformer(), GLVQ()), "The step FunctionTransformer before"),
        (AutoPrototypes(time_limit=1e-9, random_state=0, cv=2), None),
    ],
    ids=["mixture", "forest", "bins", "function", "automatic"],
)
@pytest.mark.filterwarnings("ignore:time_limit")
def test_what_has_no_certificate_says_why(model, message, blobs):
    X, y = blobs
    model.fit(X, y)
    if message is None:
        model.estimators_ = [model.best_estimator_] * 2
        message = "fit it with members=1"
    with pytest.raises(ValueError, match=message):
        certified_radius(model, X)


def test_settings_that_are_wrong(blobs):
    X, y = blobs
    model = GLVQ(max_iter=2).fit(X, y)
    for settings, message in [
        ({"norm": 1}, "norm must be"),
        ({"scale": "unit"}, "scale must be"),
        ({"scale": [1.0, 2.0]}, "one number for each of the 4 columns"),
        ({"scale": [1.0, 2.0, -1.0, 1.0]}, "at least 0"),
        ({"scale": {"z": 1.0}}, "scale names z, which is no column"),
        ({"fixed": ["z"]}, "fixed names z, which is no column of the model; it has x0, x1, x2, x3"),
    ]:
        with pytest.raises(ValueError, match=message):
            certified_radius(model, X, **settings)
    with pytest.raises(ValueError, match="Rows have 4 columns here"):
        certified_radius(model, X[0])
    with pytest.raises(ValueError, match="radii must be numbers of at least 0"):
        certified_accuracy(model, X, y, [-1.0])
    with pytest.raises(ValueError, match="give each row its class"):
        certified_accuracy(model, X, y[:5], [1.0])
    del model.data_min_
    with pytest.raises(ValueError, match='scale="range" needs the ranges'):
        certified_radius(model, X, scale="range")


def test_the_bounds_of_one_pair_hold_and_are_reached():
    rng = np.random.default_rng(2)
    for _ in range(40):
        b, curvature = rng.normal(size=4), rng.normal(size=4)
        f = float(rng.uniform(0.1, 2.0))
        for solve, norm in ((border, 2), (border_in_box, "inf")):
            if solve(f, b, curvature) is None:
                bottoms = -b / (2.0 * curvature)
                assert (curvature > 0).all()
                assert f + b @ bottoms + curvature @ bottoms**2 > 0
                continue
            s, bound = solve(f, b, curvature)
            np.testing.assert_allclose(f + b @ s + curvature @ s**2, 0.0, atol=1e-8)
            np.testing.assert_allclose(size(s, norm), bound, rtol=1e-6)
            inside = rng.normal(size=(5000, 4))
            inside *= (0.999 * bound / size(inside, norm))[:, None]
            assert (f + inside @ b + inside**2 @ curvature > 0).all()
        vectors = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        bound = bound_in_box(f, b, curvature, vectors)
        corners = rng.uniform(-1, 1, size=(5000, 4))
        corners[::2] = np.sign(corners[::2])
        turned = 0.999 * bound * corners @ vectors
        assert (f + turned @ b + turned**2 @ curvature > 0).all()
    assert border(1.0, np.zeros(2), np.ones(2)) is None
    assert border_in_box(1.0, np.array([0.1, 0.0]), np.ones(2)) is None
    s, bound = border(1.0, np.zeros(2), np.array([1.0, -4.0]))
    np.testing.assert_allclose([abs(s[1]), bound], 0.5, rtol=1e-6)


@pytest.mark.parametrize("norm", [2, np.inf])
def test_the_nearest_point_of_halfspaces(norm):
    rng = np.random.default_rng(3)
    for _ in range(30):
        G, h = rng.normal(size=(4, 3)), rng.normal(size=4)
        found = least_norm(G, h, norm)
        if found is None:
            continue
        u, bound = found
        assert (G @ u >= h - 1e-8).all()
        np.testing.assert_allclose(np.linalg.norm(u, norm), bound, atol=1e-8)
    assert least_norm(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 1.0]), norm) is None
    assert least_norm(np.zeros((1, 2)), np.ones(1), norm) is None
    assert least_norm(np.eye(2), -np.ones(2), norm)[1] == 0.0


def test_prototypes_on_top_of_each_other_and_rows_on_a_border():
    X = np.array([[1.0, 1.0], [1.0, 1.0], [3.0, 1.0]])
    model = NearestPrototype(init=(X, np.array([0, 1, 1]))).fit(X, [0, 1, 1])
    assert certified_radius(model, [[1.0, 1.0], [2.0, 0.0]]).tolist() == [0.0, 0.0]
