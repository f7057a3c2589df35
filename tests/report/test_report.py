"""The report: what it holds, that everything is escaped, that it is written whole or not at all."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from protolearn import GMLVQ, LGMLVQ, LOGM, LPD, HartCondensing, MixtGauss
from protolearn.data.containers import rows_of
from protolearn.explain.importance import mean_contributions
from protolearn.report.calibration import calibration, calibration_error
from protolearn.report.cases import case_cards, cases
from protolearn.report.columns import lines_of
from protolearn.report.recall import Share
from protolearn.report.report import report_page, write_report
from protolearn.report.sets import class_sets
from protolearn.report.source import Source
from protolearn.tables import Preparation

SECTIONS = (
    "summary", "tradeoff", "confusion", "prototypes", "relevances", "embedding", "learning", "rejection", "uncertain",
    "try", "load", "calibration", "certified",
    "sets",
)  # fmt: skip
EVIL = np.array(["<script>alert(1)</script>", "$\\frac{", "</script><img src=x onerror=alert(2)>"])
VOID = {"meta", "link", "img", "input", "br", "wbr"}
TRADEOFF = [{"prototypes": n, "accuracy": 0.8 + n / 100, "spread": 0.02} for n in (3, 6, 12)]


class Page(HTMLParser):
    """Tags and identifiers; every tag must be closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def table_of(model, X, y):
    numbers = int(model.prototypes_.size) if hasattr(model, "prototypes_") else int(model[-1].prototypes_.size)
    return [
        {"method": "1-NN on all", "accuracy": 0.9, "numbers": 40 * numbers, "kilobytes": 3.2, "microseconds": 30.0},
        {
            "method": "prototypes",
            "accuracy": float(np.mean(model.predict(X) == y)),
            "numbers": numbers,
            "kilobytes": numbers * 8 / 1000,
            "microseconds": 3.0,
        },
    ]


def report_of(model, X, y, **options):
    train, test = train_test_split(np.arange(len(y)), stratify=y, random_state=0)
    X_train, X_test, y_train, y_test = rows_of(X, train), rows_of(X, test), y[train], y[test]
    model.fit(X_train, y_train)
    rows = table_of(model, X_test, y_test)
    return report_page(model, X_train, y_train, X_test, y_test, table=rows, **options)


@pytest.fixture
def flowers(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])
    return frame, np.array(["setosa", "versicolor", "virginica"])[y]


MODELS = {
    "LOGM": LOGM(2, max_iter=5, random_state=0),
    "GMLVQ in a pipeline": Pipeline(
        [("prepare", StandardScaler()), ("classify", GMLVQ(2, max_iter=5, random_state=0))]
    ),
    "LGMLVQ": LGMLVQ(max_iter=3, random_state=0),
    "LPD": LPD(max_iter=5, random_state=0),
    "HartCondensing": HartCondensing(),
    "MixtGauss": MixtGauss(classify_by="mixture", random_state=0),
}


@pytest.mark.parametrize("name", [name for name in MODELS if name != "LOGM"])
def test_every_kind_of_model_gets_all_sections(name, flowers):
    html = report_of(MODELS[name], *flowers, tradeoff=TRADEOFF)
    page = Page(html)
    identifiers = [value for key, value in page.attributes if key == "id"]
    sections = set(SECTIONS)
    if name == "MixtGauss":
        # Densities have neither distances to certify nor probabilities of prototypes.
        sections -= {"calibration", "certified", "sets"}
    assert sections <= set(identifiers)
    assert len(identifiers) == len(set(identifiers))
    assert page.tags.count("h1") == 1
    assert page.tags.count("h2") == len(sections)
    assert not any("http" in (value or "") for key, value in page.attributes if key in ("src", "href", "xlink:href"))
    links = re.findall(r'(?:xlink:href="|url\()#([^")]+)', html)
    assert set(links) <= set(identifiers)
    assert all(alternative for key, alternative in page.attributes if key == "aria-label")


def test_recall_comes_first_and_size_later(flowers):
    html = report_of(MODELS["LOGM"], *flowers)
    assert "The model is 40 x smaller and 10 x faster." in html
    assert html.index('id="confusion"') < html.index('id="prototypes"') < html.index('id="summary"')
    assert "Only one number of prototypes was tried" in html


@pytest.mark.parametrize(
    "model", [LOGM(2, max_iter=3), LPD(max_iter=3), GMLVQ(max_iter=2)], ids=["LOGM", "LPD", "GMLVQ"]
)
def test_names_cannot_break_out(model, iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=["<script>alert(3)</script>", "a\"b'c", "\x00</title>", "`$x`"])
    html = report_of(Pipeline([("prepare", Preparation()), ("classify", model)]), frame, EVIL[y])
    page = Page(html)
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "\x00" not in html
    assert page.tags.count("script") == 2
    assert not any(key.startswith("on") for key, _ in page.attributes)
    assert "script-src 'sha256-" in html


def test_the_title_names_the_data_and_rows_their_identifiers(flowers):
    source = Source(data="garden", date="19 November 2026", command="protolearn fit garden.csv --target kind")
    html = report_of(MODELS["LOGM"], *flowers, source=source)
    assert "<h1>garden: setosa, versicolor or virginica</h1>" in html
    assert "Data: garden. Date: 19 November 2026." in html
    assert "<code>protolearn fit garden.csv --target kind</code>" in html


def test_prototypes_stand_beside_the_nearest_row_of_their_class(flowers):
    X, y = flowers
    model = Pipeline([("prepare", StandardScaler()), ("classify", LOGM(2, max_iter=5, random_state=0))]).fit(X, y)
    columns, found = cases(model, X, y, 1)
    assert columns == list(X.columns)
    assert [one.label for one in found] == ["setosa", "versicolor", "virginica"]
    Z = model[:-1].transform(X)
    for one in found:
        position = model[-1].prototypes_[one.prototype]
        assert one.label == model[-1].prototype_labels_[one.prototype]
        assert one.values == pytest.approx(model[0].inverse_transform(position[None])[0])
        rows = np.flatnonzero(y == one.label)
        assert one.row == rows[((Z[rows] - position) ** 2).sum(axis=1).argmin()]
        assert one.row_values == pytest.approx(X.iloc[one.row].tolist())
    source = Source(train_rows=[f"P{row}" for row in range(150)], row_name="patient")
    html = case_cards(lines_of(model, X), found, np.ones(4), source)
    assert f"patient P{found[0].row}" in html
    assert html.count("<tr>") == 3 * 5


def test_shares_of_columns_add_up_and_an_idle_column_has_none(flowers):
    X, y = flowers
    X = X.assign(idle=3.0)
    columns, shares = mean_contributions(LOGM(2, max_iter=5, random_state=0).fit(X, y), X)
    assert columns == list(X.columns)
    assert shares.sum() == pytest.approx(1)
    assert shares[:4].min() > 0
    assert shares[4] == pytest.approx(0, abs=1e-12)


def test_how_to_use_names_the_model_file_and_the_columns(flowers):
    X, y = flowers
    X = pd.concat([X] + [X.add_suffix(f" {k}") for k in range(3)], axis=1)
    html = report_of(MODELS["LOGM"], X, y, source=Source(model_file="my flowers.json"))
    assert "load(&#x27;my flowers.json&#x27;)" in html
    assert "protolearn predict &#x27;my flowers.json&#x27; new.csv --proba\n" in html
    assert "petal width 1 and 4 more:" in html
    assert "model.json" not in html
    assert "...." not in html


def test_a_finding_can_be_named_and_must_be_a_class(flowers):
    assert "With virginica as the finding, sensitivity" in report_of(MODELS["LOGM"], *flowers, finding="virginica")
    with pytest.raises(ValueError, match="knows no class 'rose' to be the finding; choose one of setosa"):
        report_of(MODELS["LOGM"], *flowers, finding="rose")


@pytest.fixture
def patients():
    """A table with columns of 0 and 1: some that are levels of one thing, one by itself, two that do not add up."""
    rng = np.random.default_rng(0)
    work, smoker = rng.integers(0, 3, 120), rng.integers(0, 2, 120)
    frame = pd.DataFrame({"age": rng.integers(20, 80, 120), "sex": rng.integers(0, 2, 120)})
    for k, level in enumerate(["never_worked", "private", "state"]):
        frame[f"work_type_{level}"] = (work == k).astype(int)
    frame["smoker=no"], frame["smoker=yes"] = smoker, 1 - smoker
    frame["pain_left"], frame["pain_right"] = rng.integers(0, 2, (2, 120))
    return frame, np.where(frame["age"] + 20 * smoker > 55, "ill", "well")


def test_levels_of_one_thing_stand_in_one_line(patients):
    X, y = patients
    model = Pipeline([("prepare", Preparation()), ("classify", LOGM(max_iter=5, random_state=0))]).fit(X, y)
    lines = {line.name: line for line in lines_of(model, X)}
    assert list(lines) == ["age", "sex", "work_type", "smoker", "pain_left", "pain_right"]
    assert lines["work_type"].levels == ["never_worked", "private", "state"]
    assert lines["work_type"].columns == [2, 3, 4]
    row, prototype = X.iloc[0].tolist(), [61.25, 0.517, 0.3, 0.9, -0.1, 0.5, 0.5, 1.2, 0.0]
    assert lines["work_type"].of_row([0, 0, 1, 0, 0, 0, 0, 0, 0]) == "never_worked"
    assert lines["work_type"].of_prototype(prototype).replace("\xa0", " ") == "private 75 %, never_worked 25 %"
    assert lines["sex"].of_prototype(prototype).replace("\xa0", " ") == "1 in 52 %"
    assert lines["pain_left"].of_prototype(prototype).replace("\xa0", " ") == "1 in 100 %"
    assert lines["age"].of_prototype(prototype) == "61.25"
    assert lines["age"].of_row(row) == str(row[0])
    # Without the table's own columns behind the features there is nothing to put together.
    assert [line.name for line in lines_of(LOGM(max_iter=2).fit(X.to_numpy(), y), X)] == [f"x{j}" for j in range(9)]


def test_bars_and_cards_have_one_order(patients):
    html = report_of(Pipeline([("prepare", Preparation()), ("classify", GMLVQ(max_iter=5, random_state=0))]), *patients)
    bars = re.findall(r'<div class="bar"><span>([^=]*?)</span>', html.replace("<wbr>", ""))
    cards = re.findall(r'<article class="card"><h3>Prototype.*?</article>', html.replace("<wbr>", ""))
    assert len(bars) == 6
    assert len(cards) == 2
    for card in cards:
        assert re.findall(r'<th scope="row">([^<]*)<', card) == bars
    assert "How much weight the learned distance gives" in html


def test_of_many_columns_weights_and_matrix_are_left_out(flowers):
    X, y = flowers
    X = pd.concat([X] + [X.add_suffix(f" {k}") for k in range(2)], axis=1)
    html = report_of(MODELS["LGMLVQ"], X, y)
    assert "How much each column decides" in html
    assert "How much weight the learned distance gives" not in html


def test_sentences_need_no_formula(flowers):
    html = report_of(MODELS["GMLVQ in a pipeline"], *flowers)
    for word in ("d_rival", "\u03bcs", "\u00b5s", "first axis", "typical", "Loading it runs nothing"):
        assert word not in html
    # The majority of 38 rows is right or not: every share stands beside its rows.
    assert re.search(r"<td class=\"number\">\d+\xa0of\xa038</td>", html)
    assert "95 % intervals, on the test rows" in html


def test_sets_are_made_from_one_half_of_the_test_rows_and_counted_on_the_other(flowers):
    X, y = flowers
    model = LOGM(2, max_iter=5, random_state=0).fit(X[::2], y[::2])
    html = class_sets(model, X[1::2], y[1::2]).body
    assert "37 test rows set the size; of the other 38 rows" in html
    rows = re.findall(r'<tr><th scope="row">(.*?)</th><td class="number">(\d+)</td><td class="number">(.*?)</td>', html)
    assert sum(int(n) for _, n, _ in rows) == 38
    assert "at least 40; here are 30" in class_sets(model, X[::5], y[::5]).body


def test_rows_above_99_percent_are_one_bin():
    class Sure:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.column_stack([X, 1 - X])

    X = np.concatenate([np.linspace(0.6, 0.95, 24), np.linspace(0.991, 1, 80)])
    bins = calibration(Sure(), X, np.zeros(104, dtype=int))
    assert [share.of for _, share in bins] == [12, 12, 80]
    assert calibration(Sure(), X[24:], np.zeros(80, dtype=int))[0][1] == Share(80, 80)
    assert [share.of for _, share in calibration(Sure(), X[:4], np.zeros(4, dtype=int))] == [4]


def test_probabilities_that_hold_have_no_calibration_error(flowers):
    X, y = flowers
    model = LOGM(2, max_iter=5, random_state=0).fit(X, y)
    bins = calibration(model, X, y)
    sure = model.predict_proba(X).max(axis=1)
    assert sum(share.of for _, share in bins) == 150
    assert sum(share.found for _, share in bins) == np.sum(model.predict(X) == y)
    assert sum(said * share.of for said, share in bins) == pytest.approx(sure.sum())
    assert calibration_error([(0.75, Share(3, 4)), (0.5, Share(5, 10))]) == 0
    assert calibration_error([(0.9, Share(3, 4)), (0.5, Share(0, 4))]) == pytest.approx((0.15 + 0.5) / 2)


def test_pictures_of_digits_and_no_form_for_64_pixels():
    X, y = load_digits(return_X_y=True)
    html = report_of(LOGM(2, max_iter=2, random_state=0), X, y)
    assert "Each picture is a prototype" in html
    assert "The training rows of the same class most like them" in html
    assert "A form of 64 fields would be long to fill in." in html
    assert "script-src 'none'" in html


def test_polars_frames_with_missing_values(flowers):
    frame = pl.DataFrame({name: flowers[0][name].to_list() for name in flowers[0]})
    frame = frame.with_columns(pl.Series("colour", ["red", None, "blue"] * 50))
    html = report_of(Pipeline([("prepare", Preparation()), ("classify", LOGM(max_iter=3))]), frame, flowers[1])
    assert "columns sepal length, sepal width, petal length, petal width, colour:" in html
    assert '"name": "colour", "levels": ["blue", "red"], "missing": true' in html


def test_large_and_small_tables(flowers):
    X, y = flowers
    model = LOGM(max_iter=2).fit(X, y)
    rows = [{"method": "only", "accuracy": 1.0, "numbers": 12, "kilobytes": 0.1, "microseconds": 0.0}]
    many = pd.concat([X] * 20, ignore_index=True)
    html = report_page(model, many, np.tile(y, 20), X[:1], y[:1], table=rows)
    assert "2000 of 3,000 rows are drawn" in html
    with pytest.raises(ValueError, match="table of methods"):
        report_page(model, X, y, X, y, table=[])


def test_written_whole_or_not_at_all(flowers, tmp_path, monkeypatch):
    X, y = flowers
    model = LOGM(max_iter=2).fit(X, y)
    path = tmp_path / "report.html"
    write_report(path, model, X, y, X, y, table=table_of(model, X, y))
    before = path.read_bytes()
    assert before.startswith(b"<!DOCTYPE html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    write_report(path, model, X, y, X, y, table=table_of(model, X, y))
    assert path.read_bytes() == before

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_report(path, model, X[:80], y[:80], X, y, table=table_of(model, X, y))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
