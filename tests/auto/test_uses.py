"""What AutoPrototypes gives is taken by the rest of the library: files, exports, explanations, functions of one row."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import AutoPrototypes, load, save
from protolearn.auto import automatic
from protolearn.auto.candidates import BY_NAME
from protolearn.explain import certainty, explain
from protolearn.export.folding import plain_model
from protolearn.export.js import module_source
from protolearn.export.pipeline import row_classifier
from protolearn.report.fitted import fitted_model
from protolearn.report.try_form import try_form

NAMES = ("soft, local relevances, bins", "soft, local relevances, scores", "LGMLVQ")


def table(n=160):
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue"], n), np.exp(rng.normal(size=n))
    size[::17] = np.nan
    weight = rng.normal(50, 10, size=n)
    y = np.where((colour == "red") ^ (np.nan_to_num(size, nan=1.0) > 1.3) | (weight > 62), "yes", "no")
    return pd.DataFrame({"colour": colour, "size": size, "weight": weight}), y


@pytest.fixture(scope="module")
def of_three():
    """Three sets, one of each preparation, on a table of all kinds of columns."""
    X, y = table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automatic, "CANDIDATES", [BY_NAME[name] for name in NAMES])
        patch.setattr(automatic, "choose", lambda entries, *_: one_of_each(entries))
        return AutoPrototypes(cv=2, random_state=0).fit(X, y), X, y


def one_of_each(entries):
    best = {}
    for j, entry in sorted(enumerate(entries), key=lambda pair: pair[1].loss):
        best.setdefault(entry.candidate.name, j)
    return {j: 1 + (k == 1) for k, j in enumerate(best.values())}


@pytest.fixture(scope="module")
def of_one():
    X, y = table()
    return AutoPrototypes(members=1, cv=2, random_state=0).fit(X, y), X, y


@pytest.mark.parametrize("which", ["of_one", "of_three"])
def test_files_and_pickles_hold_it(which, request, tmp_path):
    model, X, _ = request.getfixturevalue(which)
    save(model, tmp_path / "model.json")
    for other in (load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.size_bytes_ == model.size_bytes_
        pd.testing.assert_frame_equal(other.results_, model.results_)
        assert clone(other).get_params() == model.get_params()


def test_all_preparations_are_there(of_three):
    model, _, _ = of_three
    kinds = [[type(step).__name__ for _, step in one.steps[1:-1]] for one in model.estimators_]
    assert sorted(kinds) == [[], ["NormalScores"], ["PiecewiseLinearBins"]]


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_row_too_large_to_square_is_refused_by_the_function_of_one_row(of_three):
    model, X, _ = of_three
    row = X.iloc[0].to_dict()
    with pytest.raises(ValueError, match="The row holds a number too large to square; check its unit"):
        model.row_classifier()(row | {"weight": 1e300})


def test_one_row_of_a_set_that_lacks_a_class():
    """Rows alone in their class judge nothing and may be missing from a set: here from the second."""
    X, y = load_wine(return_X_y=True)
    model = AutoPrototypes(cv=2, random_state=0).fit(X, y)
    whole, part = model.estimators_[0], make_pipeline(*clone(model.estimators_[0]))
    part.fit(X[y < 2], y[y < 2])
    model.estimators_, model._soft = [whole, part], [True, False]
    model.shares_, model.temperatures_ = np.array([0.5, 0.5]), np.array([1.0, 0.7])
    classify = model.row_classifier()
    assert [classify(row) for row in X] == model.predict(X).tolist()
    assert 2 in model.predict(X)


@pytest.mark.parametrize("which", ["of_one", "of_three"])
def test_one_row_as_all_rows(which, request):
    model, X, _ = request.getfixturevalue(which)
    classify = model.row_classifier()
    rows = X.astype(object).to_numpy().tolist()
    assert [classify(row) for row in rows] == model.predict(X).tolist()
    assert [classify(row) for row in X.to_dict("records")] == model.predict(X).tolist()
    for one in model.estimators_:
        alone = row_classifier(one)
        assert [alone(row) for row in rows[:20]] == one.predict(X[:20]).tolist()
    assert classify(["violet", None, 50.0]) == model.predict(pd.DataFrame([["violet", None, 50.0]], columns=X.columns))
    with pytest.raises(ValueError, match="Column size holds numbers in training, and 'large' in row 0"):
        classify(["red", "large", 50.0])


def test_one_row_of_numbers():
    X, y = load_wine(return_X_y=True)
    model = AutoPrototypes(members=1, cv=2, random_state=0).fit(X, y)
    classify = model.row_classifier()
    assert [classify(row) for row in X.tolist()] == model.predict(X).tolist()
    with pytest.raises(ValueError, match="X has 12 features, but Preparation is expecting 13"):
        classify(X[0, 1:])
    assert classify([np.nan, *X[0, 1:]]) == model.predict([[np.nan, *X[0, 1:]]])[0]


def test_exports_of_one_set_give_its_calibrated_probabilities(of_one):
    model, X, _ = of_one
    plain = plain_model(model)
    rows = model.best_estimator_[0]
    inputs = rows.transform(X) / rows.factor_ + rows.offset_
    np.testing.assert_allclose(plain.predict_proba(inputs), model.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(model.best_estimator_.predict_proba(X), model.predict_proba(X))
    assert model.prototypes_.shape == (len(model.prototype_labels_), 3)
    assert set(model.prototypes_[:, 0]) <= {"red", "green", "blue"}


def test_formulas_of_one_set_name_what_to_do_with_several(of_three):
    model, _, _ = of_three
    with pytest.raises(ValueError, match="This AutoPrototypes decides by .* fit it with members=1"):
        plain_model(model)
    with pytest.raises(ValueError, match="bends the columns and cannot be folded .* members=1"):
        plain_model(next(one for one in model.estimators_ if len(one) == 3))
    assert "export function probabilities" in module_source(model)


def test_reports_and_pictures_show_one_set(of_one, of_three):
    model, X, _ = of_one
    form, script = try_form(model, X.iloc[:3])
    assert "try-form" in form
    assert script
    assert fitted_model(make_pipeline("passthrough", model)).feature_names == fitted_model(model).feature_names
    assert {"colour=red", "weight"} < set(fitted_model(model).feature_names)
    several, _, _ = of_three
    with pytest.raises(ValueError, match="fit it with members=1"):
        fitted_model(several)
    assert fitted_model(several.best_estimator_).classifier is several.best_estimator_[-1]


def checked(model, X, why, row):
    """Every change that an explanation names changes the decision as it says."""
    assert why.prediction == model.predict(X.iloc[[row]])[0]
    assert sum(part.contribution for part in why.contributions) == pytest.approx(why.rival_distance - why.distance)
    for part in why.contributions:
        cell = X.iloc[row][part.column]
        assert part.value == cell or (part.value is None and pd.isna(cell))
    for changes in [why.smallest_change, *([one] for one in why.single_changes)]:
        changed = X.iloc[[row]].copy()
        for one in changes:
            beyond = one.border if isinstance(one.border, str) else one.border + 1e-7 * (one.border - one.value)
            changed[one.column] = [beyond]
        if changes:
            assert model.predict(changed)[0] == changes[0].leads_to


@pytest.mark.parametrize("which", ["of_one", "of_three"])
def test_explanations_in_raw_columns(which, request):
    model, X, _ = request.getfixturevalue(which)
    found = explain(model, X.iloc[:12])
    for row, why in enumerate(found):
        checked(model, X, why, row)
        assert json.dumps(why.as_dict())
    assert any(why.smallest_change for why in found)
    assert any(isinstance(one.border, str) for why in found for one in why.single_changes)
    np.testing.assert_allclose(certainty(model, X.iloc[:12]), [why.certainty for why in found])


def test_an_explanation_of_a_single_set_of_each_preparation(of_three):
    model, X, _ = of_three
    for one in model.estimators_:
        for row, why in enumerate(explain(one, X.iloc[:4])):
            checked(one, X, why, row)
            near = one[-1].prototype_labels_[[why.prototype, why.rival]]
            assert near.tolist() == [why.prediction, why.rival_label]


def test_behind_another_scaler():
    X, y = load_wine(return_X_y=True, as_frame=True)
    for members in (1, 3):
        model = make_pipeline(StandardScaler(), AutoPrototypes(members=members, cv=2, random_state=0)).fit(X, y)
        why = explain(model, X.iloc[[60]])[0]
        assert {part.column for part in why.contributions} == set(X.columns)
        part = why.contributions[0]
        assert part.value == pytest.approx(X.iloc[60][part.column])
        assert X[part.column].min() <= part.own <= X[part.column].max()
    one = make_pipeline(StandardScaler(), AutoPrototypes(members=1, cv=2, random_state=0)).fit(X, y)
    np.testing.assert_allclose(plain_model(one).predict_proba(X.to_numpy()), one.predict_proba(X), atol=1e-9)


def test_one_row_as_all_rows_where_prototypes_within_the_data_changed_a_slope(of_three):
    """Sums over the prototypes of a class take the slope that was learned with, and the probabilities another one."""
    model, X, _ = of_three
    other = copy.deepcopy(model)
    other._soft = [True, True, False]
    for pipeline in other.estimators_[:2]:
        pipeline[-1]._final_slope *= 0.01
    classify = other.row_classifier()
    assert [classify(row) for row in X.to_dict("records")] == other.predict(X).tolist()
