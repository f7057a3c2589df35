"""Each plot takes and returns an axes, and draws what the model holds."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GMLVQ, GRLVQ, LGMLVQ, LOGM, LPD, HartCondensing, MixtGauss
from protolearn import report as look
from protolearn.explain import certainty, certified_accuracy
from protolearn.explain.rejection import rejection_curve
from protolearn.report.fitted import fitted_model, image_shape_of, plain
from protolearn.report.metric_plots import relevances_of
from protolearn.report.projections import plane_of_model


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


@pytest.fixture
def flowers(iris):
    X, y = iris
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    return pd.DataFrame(X, columns=names), np.array(["setosa", "versicolor", "virginica"])[y]


def pipeline(classifier, X, y):
    return Pipeline([("prepare", StandardScaler()), ("classify", classifier)]).fit(X, y)


def squared_distances(model, values):
    gaps = (values[:, None] - model.prototypes_) @ model.omega_.T
    return np.sum(gaps**2, axis=2)


PLOTS = {
    "prototypes": lambda model, X, y, ax: look.plot_prototypes(model, ax=ax),
    "decision_regions": lambda model, X, y, ax: look.plot_decision_regions(model, X, y, resolution=20, ax=ax),
    "relevances": lambda model, X, y, ax: look.plot_relevances(model, ax=ax),
    "embedding": lambda model, X, y, ax: look.plot_embedding(model, X, y, ax=ax),
    "confusion": lambda model, X, y, ax: look.plot_confusion(model, X, y, ax=ax),
    "rejection": lambda model, X, y, ax: look.plot_rejection(model, X, y, ax=ax),
    "certified accuracy": lambda model, X, y, ax: look.plot_certified_accuracy(model, X, y, scale=None, ax=ax),
}
MODELS = [
    LOGM(max_iter=2),
    GRLVQ(max_iter=2),
    GMLVQ(max_iter=2),
    LGMLVQ(max_iter=2),
    LPD(max_iter=2),
    HartCondensing(),
    MixtGauss(max_iter=2),
]


@pytest.mark.parametrize("name", PLOTS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_plot_of_every_kind_of_model_on_the_axes_given_and_on_its_own(name, model, flowers):
    X, y = flowers
    fitted = pipeline(model, X, y)
    ax = plt.subplots()[1]
    assert PLOTS[name](fitted, X, y, ax) is ax
    made = PLOTS[name](fitted[-1], StandardScaler().fit_transform(X), y, None)
    assert made is not ax
    made.figure.canvas.draw()


def test_features_are_prepared_before_they_are_drawn(flowers):
    X, y = flowers
    fitted = fitted_model(pipeline(LOGM(max_iter=2), X, y))
    np.testing.assert_allclose(fitted.features(X), StandardScaler().fit_transform(X))
    assert fitted.feature_names == list(X.columns)
    np.testing.assert_allclose(
        fitted.raw_prototypes(), fitted.preparation.inverse_transform(fitted.classifier.prototypes_)
    )
    assert fitted_model(LOGM(max_iter=1).fit(X, y)).feature_names == list(X.columns)
    assert fitted_model(LOGM(max_iter=1).fit(X.to_numpy(), y)).feature_names == ["x0", "x1", "x2", "x3"]


def test_what_has_no_prototypes_is_refused(flowers):
    with pytest.raises(ValueError, match="has no prototypes"):
        look.plot_prototypes(KNeighborsClassifier().fit(*flowers))
    with pytest.raises(ValueError, match="fitted classifier"):
        look.plot_prototypes(None)


def test_parallel_coordinates_are_the_prototypes(flowers):
    model = LOGM(2, max_iter=2, random_state=0).fit(*flowers)
    ax = look.plot_prototypes(model)
    drawn = np.array([line.get_ydata() for line in ax.lines])
    np.testing.assert_allclose(drawn, model.prototypes_)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["setosa", "versicolor", "virginica"]
    assert len(look.plot_prototypes(model, max_per_class=1).lines) == 3


def test_images_in_raw_units_where_the_scaling_can_be_undone():
    X, y = load_digits(return_X_y=True)
    model = pipeline(LOGM(max_iter=1, random_state=0), X + 1e-3, y)
    ax = look.plot_prototypes(model)
    image = np.ma.getdata(ax.images[0].get_array())
    assert image.shape == (89, 8)
    wanted = model[0].inverse_transform(model[-1].prototypes_)
    np.testing.assert_allclose(image[:8], wanted[0].reshape(8, 8))


def test_only_pixels_are_taken_for_pictures():
    assert image_shape_of(64, [f"x{i}" for i in range(64)]) == (8, 8)
    assert image_shape_of(64, [f"pixel_{i}_{j}" for i in range(8) for j in range(8)]) == (8, 8)
    assert image_shape_of(25, [*"abcdefghijklmnopqrstuvwxy"]) is None
    assert image_shape_of(4, ["x0", "x1", "x2", "x3"]) is None
    assert image_shape_of(60, [f"x{i}" for i in range(60)]) is None


def test_regions_are_what_the_model_says(flowers):
    X, y = flowers
    model = LOGM(2, max_iter=5, random_state=0).fit(X.iloc[:, 2:], y)
    ax = look.plot_decision_regions(model, X.iloc[:, 2:], y, resolution=30)
    image = ax.images[0]
    left, right, low, high = image.get_extent()
    colours = np.asarray(image.get_array())
    step = (right - left) / 30, (high - low) / 30
    for row, column in ((3, 4), (20, 25), (29, 0)):
        point = left + (column + 0.5) * step[0], low + (row + 0.5) * step[1]
        code = np.searchsorted(model.classes_, model.predict(pd.DataFrame([point], columns=X.columns[2:])))[0]
        np.testing.assert_allclose(colours[row, column], matplotlib.colormaps["tab10"](code))
    named = look.plot_decision_regions(LOGM(max_iter=1).fit(X, y), X, features=("petal width", 0), resolution=5)
    assert (named.get_xlabel(), named.get_ylabel()) == ("petal width", "sepal length")
    with pytest.raises(ValueError, match="no feature 'colour'"):
        look.plot_decision_regions(LOGM(max_iter=1).fit(X, y), X, features=("colour", 0))
    with pytest.raises(ValueError, match="no feature 7"):
        look.plot_decision_regions(LOGM(max_iter=1).fit(X, y), X, features=(7, 0))
    with pytest.raises(ValueError, match="two different"):
        look.plot_decision_regions(LOGM(max_iter=1).fit(X, y), X, features=(0, 0))


def test_planes_keep_the_models_distances_where_they_can(flowers):
    X, y = flowers
    low_rank = GMLVQ(n_components=2, max_iter=5, random_state=0).fit(X, y)
    fitted = fitted_model(low_rank)
    values = fitted.features(X)
    plane = plane_of_model(fitted, values)
    gaps = plane.project(values)[:, None] - plane.project(low_rank.prototypes_)[None]
    np.testing.assert_allclose(np.sum(gaps**2, axis=2), fitted.class_distances(values), rtol=1e-6, atol=1e-9)
    Z = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose(plane.project(plane.lift(Z)), Z, atol=1e-9)
    one_row = fitted_model(GMLVQ(n_components=1, max_iter=2, random_state=0).fit(X, y))
    assert np.isfinite(plane_of_model(one_row, values).lift(Z)).all()
    one_feature = fitted_model(LOGM(max_iter=2).fit(values[:, :1], y))
    assert plane_of_model(one_feature, values[:, :1]).project(values[:, :1]).shape == (150, 2)


def test_relevances_are_shares(flowers):
    model = GRLVQ(max_iter=5, random_state=0).fit(*flowers)
    np.testing.assert_allclose(relevances_of(model)[0], model.relevances_ / model.relevances_.sum())
    ax = look.plot_relevances(model, max_features=2)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, 100 * np.sort(relevances_of(model)[0])[::-1][:2])
    matrix = GMLVQ(max_iter=5, random_state=0).fit(*flowers)
    diagonal = np.diag(matrix.omega_.T @ matrix.omega_)
    np.testing.assert_allclose(relevances_of(matrix)[0], diagonal / diagonal.sum())
    local = look.plot_relevances(LPD(max_iter=2, random_state=0).fit(*flowers))
    assert local.images[0].get_array().shape[1] == 4
    assert "no. 1" in local.get_yticklabels()[0].get_text()
    np.testing.assert_allclose(relevances_of(LOGM(max_iter=1).fit(*flowers)), 0.25)


def test_omega_is_drawn_as_lambda(flowers):
    model = LGMLVQ(2, max_iter=3, random_state=0).fit(*flowers)
    ax = look.plot_omega(model, slot=2)
    np.testing.assert_allclose(ax.images[0].get_array(), model.omega_[2].T @ model.omega_[2])
    assert ax.get_title() == "virginica"
    assert [text.get_text() for text in ax.get_xticklabels()] == list(flowers[0].columns)
    with pytest.raises(ValueError, match="slot must be"):
        look.plot_omega(model, slot=3)
    with pytest.raises(ValueError, match="learned no matrix"):
        look.plot_omega(LOGM(max_iter=1).fit(*flowers))


def test_features_are_drawn_in_the_order_asked_for(flowers):
    X, y = flowers
    model = GMLVQ(max_iter=3, random_state=0).fit(X, y)
    names = ["petal width", "sepal length"]
    shares = look.plot_relevances(model, features=names)
    assert [label.get_text() for label in shares.get_yticklabels()] == names
    assert [bar.get_width() for bar in shares.patches] == pytest.approx(100 * relevances_of(model)[0, [3, 0]])
    drawn = look.plot_omega(model, features=names)
    matrix = model.omega_.T @ model.omega_
    np.testing.assert_allclose(drawn.images[0].get_array(), matrix[np.ix_([3, 0], [3, 0])])


def test_loss_curve(flowers):
    model = LOGM(max_iter=4, random_state=0).fit(*flowers)
    np.testing.assert_allclose(look.plot_loss(model).lines[0].get_ydata(), model.loss_curve_)
    with pytest.raises(ValueError, match="no learning curve"):
        look.plot_loss(HartCondensing().fit(*flowers))


def test_tradeoff_has_points_bars_reference_and_choice():
    rows = [
        {"prototypes": 60, "accuracy": 0.9, "spread": 0.02},
        {"prototypes": 2, "accuracy": 0.8, "spread": None},
    ]
    ax = look.plot_tradeoff(rows, reference=("1-NN", 0.95), chosen=60)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [2, 60])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [80, 90])
    assert ax.get_xscale() == "log"
    assert ax.collections
    with pytest.raises(ValueError, match="at least one row"):
        look.plot_tradeoff([])


def test_confusion_counts(flowers):
    X, y = flowers
    model = LOGM(max_iter=2, random_state=0).fit(X, y)
    ax = look.plot_confusion(model, X, y)
    counts = confusion_matrix(y, model.predict(X))
    assert sum(int(text.get_text()) for text in ax.texts) == len(y)
    np.testing.assert_allclose(ax.images[0].get_array(), 100 * counts / counts.sum(axis=1, keepdims=True))
    strange = look.plot_confusion(model, X.iloc[:1], ["orchid"])
    assert "orchid" in [text.get_text() for text in strange.get_yticklabels()]


def test_certainty_is_the_relative_distance(flowers):
    X, y = flowers
    model = pipeline(GMLVQ(2, max_iter=5, random_state=0), X, y)
    D = squared_distances(model[-1], model[0].transform(X))
    labels = model[-1].prototype_labels_
    own = D.min(axis=1)
    winner = labels[D.argmin(axis=1)]
    rival = np.array([row[labels != label].min() for row, label in zip(D, winner, strict=True)])
    np.testing.assert_allclose(certainty(model, X), (rival - own) / (rival + own))


def test_rejection_curve_by_hand():
    curve = rejection_curve([0.1, 0.5, 0.5, 0.9], [False, True, False, True])
    np.testing.assert_allclose(curve.rejected, [0, 0.25, 0.75])
    np.testing.assert_allclose(curve.accuracy, [0.5, 2 / 3, 1.0])
    np.testing.assert_allclose(curve.threshold, [0.1, 0.5, 0.9])
    with pytest.raises(ValueError, match="same length"):
        rejection_curve([0.1], [True, False])


def test_certified_accuracy_begins_at_the_accuracy_and_is_that_of_its_function(flowers):
    X, y = flowers
    model = LOGM(random_state=0).fit(X, y)
    line = look.plot_certified_accuracy(model, X, y, norm=2, scale=None).lines[0]
    assert line.get_ydata()[0] == pytest.approx(100 * model.score(X, y))
    levels = line.get_xdata()[1::20]
    found = certified_accuracy(model, X, y, levels)
    np.testing.assert_allclose(line.get_ydata()[1::20], 100 * found)
    with pytest.raises(ValueError, match="right on none of these rows"):
        look.plot_certified_accuracy(model, X, y + 1 if y.dtype.kind == "i" else np.full(len(y), "none"))


def test_rejection_begins_at_the_accuracy(flowers):
    X, y = flowers
    model = LOGM(max_iter=2, random_state=0).fit(X, y)
    line = look.plot_rejection(model, X, y).lines[0]
    assert line.get_ydata()[0] == pytest.approx(100 * accuracy_score(y, model.predict(X)))


def test_rows_are_rejected_by_their_largest_probability():
    # On two moons the relative distance falls again far out along the border, where both classes are far away.
    X, y = make_moons(1000, noise=0.3, random_state=0)
    model = LOGM(4, random_state=0).fit(X[:500], y[:500])
    line = look.plot_rejection(model, X[500:], y[500:]).lines[0]
    curve = rejection_curve(model.predict_proba(X[500:]).max(axis=1), model.predict(X[500:]) == y[500:])
    np.testing.assert_allclose(line.get_ydata(), 100 * curve.accuracy[: len(line.get_ydata())])
    half = np.searchsorted(line.get_xdata(), 50)
    assert line.get_ydata()[half] > line.get_ydata()[0] + 5


def test_names_are_plain_text(flowers):
    X, y = flowers
    X = X.set_axis(["$x$ <b>", "a\nb", "$", "long " * 20], axis=1)
    ax = look.plot_prototypes(LOGM(max_iter=1).fit(X, np.char.add("$\\frac", y.astype(str))))
    ax.figure.canvas.draw()
    assert plain("a\nb$") == r"a b\$"
    assert len(plain("long " * 20)) == 28


def test_without_matplotlib_one_sentence_says_what_to_install(flowers, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "protolearn\[plot\]"'):
        look.plot_loss(LOGM(max_iter=1).fit(*flowers))
