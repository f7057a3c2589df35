"""The report in headless Chromium, where it is installed: no error, no request, a form that is the model."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline

from protolearn import GMLVQ
from protolearn.explain import explain
from protolearn.report.report import write_report
from protolearn.tables import Preparation

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; .ci/run installs it")
CLASSES = np.array(["<script>alert(1)</script>", "versicolor", "</script><img src=x onerror=alert(2)>"])
SECTIONS = "summary tradeoff confusion prototypes relevances embedding learning rejection uncertain try load".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A model on numbers and categories with missing values, labels that attack the page, and its report."""
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["sepal <b>length", "sepal width", "petal length", "petal width"])
    frame.insert(4, "number_of_petals", np.arange(150) // 3 % 3 + 3)
    frame.insert(2, "colour", np.where(X[:, 3] > 1.3, "red", "blue"))
    frame.loc[::17, "colour"] = None
    frame.loc[::13, "sepal width"] = np.nan
    labels = CLASSES[y]
    test = np.arange(len(y)) % 3 == 0
    model = Pipeline([("prepare", Preparation()), ("classify", GMLVQ(2, max_iter=20, random_state=0))])
    model.fit(frame[~test], labels[~test])
    table = [
        {"method": "1-NN", "accuracy": 0.95, "numbers": 700, "kilobytes": 5.6, "microseconds": 20.0},
        {"method": "prototypes", "accuracy": 0.97, "numbers": 48, "kilobytes": 0.4, "microseconds": 2.0},
    ]
    path = tmp_path_factory.mktemp("report") / "report.html"
    tradeoff = [{"prototypes": n, "accuracy": 0.9, "spread": None} for n in (3, 6)]
    write_report(path, model, frame[~test], labels[~test], frame[test], labels[test], table=table, tradeoff=tradeoff)
    return path, model, frame[test]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def opened(browser, path, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    seen = {"console": [], "requests": []}
    page.on("console", lambda message: seen["console"].append(message.text))
    page.on("pageerror", lambda error: seen["console"].append(str(error)))
    page.on("dialog", lambda dialog: seen["console"].append(dialog.message))
    page.on("request", lambda request: seen["requests"].append(request.url))
    page.goto(path.as_uri())
    return page, seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_opens_without_an_error_or_a_request(browser, report, width, scheme):
    path = report[0]
    page, seen = opened(browser, path, width, scheme)
    assert seen["console"] == []
    assert [url for url in seen["requests"] if not url.startswith(("file:", "data:"))] == []
    assert [url for url in seen["requests"] if url.startswith("file:")] == [path.as_uri()]
    for name in SECTIONS:
        assert page.is_visible(f"#{name} h2")
    for name in ("tradeoff", "confusion", "prototypes", "relevances", "embedding", "learning", "rejection"):
        box = page.locator(f"#{name} figure svg").first.bounding_box()
        assert box["width"] > 150
        assert box["height"] > 80
    assert page.locator("#uncertain article").count() == 10
    assert page.locator("#relevances .bar").count() == 6
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_plots_take_the_colour_of_the_page(browser, report):
    colours = {}
    for scheme in ("light", "dark"):
        page, _ = opened(browser, report[0], 1280, scheme)
        style = "getComputedStyle(document.querySelector('#confusion svg text')).fill"
        colours[scheme] = page.evaluate(style), page.evaluate("getComputedStyle(document.body).backgroundColor")
    light, dark = ([sum(map(int, colour[4:-1].split(","))) for colour in colours[s]] for s in ("light", "dark"))
    assert light[1] - light[0] > 400
    assert dark[0] - dark[1] > 400


def test_the_form_gives_the_answer_of_the_model(browser, report):
    path, model, rows = report
    page, seen = opened(browser, path, 1280, "light")
    for number in range(12):
        wanted = model.predict(rows.iloc[[number]])[0]
        assert page.text_content("#try-answer") == f"Predicted: {wanted}"
        page.click("#try-next")
    for number in range(20, len(rows), 5):
        row = rows.iloc[number]
        for place, value in enumerate(row):
            if place == 2:
                page.select_option(f"#try-{place}", "" if pd.isna(value) else value)
            else:
                page.fill(f"#try-{place}", "" if pd.isna(value) else repr(float(value)))
        wanted = model.predict(rows.iloc[[number]])[0]
        assert page.text_content("#try-answer") == f"Predicted: {wanted}"
        share = 100 * model.predict_proba(rows.iloc[[number]]).max()
        said = page.text_content("#try-shares")
        assert ("> 99 %" if share > 99 else f"{share:.0f} %") in said
        assert "100" not in said
        # Reasons: the columns that say most, the same as in `explain`.
        why = explain(model, rows.iloc[[number]])[0]
        assert page.locator("#try-why tbody tr").count() == 6
        assert page.text_content("#try-why tbody th") == why.contributions[0].column
    assert seen["console"] == []


def test_the_form_refuses_empty_fields_and_warns_outside_the_data(browser, report):
    page, seen = opened(browser, report[0], 390, "light")
    page.fill("#try-3", "")
    assert page.text_content("#try-answer") == "No answer: fill in petal length."
    assert page.text_content("#try-shares") == page.text_content("#try-why") == ""
    page.fill("#try-3", "9999")
    assert "petal length is 9999, in the training rows 1 to 6.9" in page.text_content("#try-warning")
    page.fill("#try-3", "4.5")
    assert page.text_content("#try-warning") == ""
    assert page.text_content("#try-answer").startswith("Predicted: ")
    assert re.search(
        r"Of \d+ test rows of which the model was about as sure, \d+ were right", page.text_content("#try-shares")
    )
    assert (page.get_attribute("#try-5", "step"), page.get_attribute("#try-3", "step")) == ("1", "any")
    page.fill("#try-5", "3.5")
    assert page.text_content("#try-answer") == "No answer: give a whole number for number_of_petals."
    assert seen["console"] == []


def test_nothing_is_cut_off(browser, report):
    for width in (1280, 390):
        page, _ = opened(browser, report[0], width, "light")
        cut = """[...document.querySelectorAll('.card td, .card th, .card span, .bar span')].filter(
            (part) => part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).display !== 'inline').length"""
        assert page.evaluate(cut) == 0
        # The tables that matter fit a phone, names and all, without breaking a word.
        wide = """[...document.querySelectorAll('#summary .scroll, #rejection .scroll, .card .scroll')].filter(
            (part) => part.scrollWidth > part.clientWidth + 1).length"""
        assert page.evaluate(wide) == 0


def test_printed_without_the_navigation(browser, report, tmp_path):
    page, _ = opened(browser, report[0], 1280, "dark")
    page.emulate_media(media="print")
    assert not page.is_visible("nav")
    assert page.is_visible("#summary table")
