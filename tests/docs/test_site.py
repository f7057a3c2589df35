"""The site: links of estimators, the pages that are made from the package, the classifier that runs in a page."""

import importlib.util
import inspect
import json
import re
import runpy
import shutil
from pathlib import Path

import pytest

import protolearn
from protolearn import explain, export, report, tables

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def extension(name):
    """A module of docs/_extensions."""
    found = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "docs" / "_extensions" / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_box_of_an_estimator_links_to_a_page_of_the_reference():
    index = extension("reference").index()
    for room, names in (("", protolearn.__all__), ("tables.", ["Preparation", "NormalScores", "PiecewiseLinearBins"])):
        for name in names:
            estimator = getattr(tables if room else protolearn, name)()
            link = f"/reference/generated/protolearn.{room}{name}.html"
            assert estimator._get_doc_link().endswith(link)
            assert link in estimator._repr_html_()
            assert f"   protolearn.{room}{name}\n" in index


def test_a_class_of_somebody_else_has_no_link():
    class Mine(protolearn.GLVQ):
        pass

    assert Mine()._get_doc_link() == ""


def test_the_reference_lists_every_public_name():
    index = extension("reference").index()
    for room in (explain, export, report, tables):
        for name in room.__all__:
            assert f"   {room.__name__}.{name}\n" in index
    for name in ("load", "save", "compress"):
        assert f"   protolearn.{name}\n" in index


def test_the_reference_lists_every_name_that_the_pages_import():
    index = extension("reference").index()
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
    for page in pages:
        for module, names in re.findall(r"from (protolearn[\w.]*) import (.+)", page.read_text(encoding="utf-8")):
            for name in names.split(", "):
                is_room = inspect.ismodule(getattr(importlib.import_module(module), name))
                assert is_room or f"   {module}.{name}\n" in index, page.name


def test_the_table_of_abilities_is_true():
    rows = {}
    reference = extension("reference")
    for line in reference.tags().splitlines():
        if line.startswith("| {py:class}"):
            name, *marks = (cell.strip() for cell in line.strip("|").split("|"))
            rows[name.split(".")[-1].strip("`")] = dict(zip(reference.HEADINGS, marks, strict=True))
    assert set(rows) == set(protolearn.__all__)
    assert rows["GLVQ"]["`partial_fit`"] == rows["GLVQ"]["`sample_weight`"] == "yes"
    assert rows["HartCondensing"]["`fit_resample`"] == "yes"
    assert rows["HartCondensing"]["`partial_fit`"] == rows["LMNN"]["`predict_proba`"] == ""


def test_formulas_of_docstrings_stand_as_they_are_written():
    literal_formulas = extension("docstrings").literal_formulas
    lines = ["One sentence.", "", "    phi = a + b            (1)", "", "Parameters", "----------", "x : int", "    A."]
    assert literal_formulas(lines) == [
        *["One sentence.", "", "::", "", "    phi = a + b    (1)", "", "Parameters", "----------", "x : int", "    A."]
    ]


def test_a_block_of_code_ends_without_an_empty_line():
    source = ["```python\n>>> 1 + 1\n2\n\n```\n\n```text\na\n\n```\n\n```\nb\n```\n"]
    extension("docstrings").linked(None, "page", source)
    assert source == ["```python\n>>> 1 + 1\n2\n```\n\n```text\na\n\n```\n\n```\nb\n```\n"]


def test_the_flow_chart_and_its_list_lead_to_the_same_classes():
    chart = extension("flowchart")
    picture, words = (
        re.findall(r'href="[^"]*protolearn\.(\w+)\.html"', form()) for form in (chart.chart, chart.in_words)
    )
    assert picture == words
    assert set(words) <= set(protolearn.__all__)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; .ci/run installs it")
def test_the_classifier_of_the_browser_page_is_clicked(tmp_path):
    from playwright.sync_api import sync_playwright

    example = runpy.run_path(str(ROOT / "examples" / "3_use" / "plot_browser.py"))
    model, X_test = example["model"], example["X_test"]
    path = tmp_path / "page.html"
    path.write_text("<!doctype html><meta charset=utf-8>" + example["Page"]()._repr_html_(), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        answer = page.locator("#digit-answer")
        assert answer.text_content() == "Draw a digit."
        samples = json.loads(page.locator("#digit-board").get_attribute("data-samples"))
        for sample, label in zip(samples, model.predict(X_test[: len(samples)]), strict=True):
            page.click("#digit-sample")
            assert answer.text_content().startswith(f"Predicted: {label} ")
            assert len(sample) == 64
        page.click("#digit-clear")
        for cell in (3, 11, 12, 19, 20, 27, 28, 35, 36, 43, 44, 51, 52, 59, 60):
            page.click(f"#digit-board button:nth-child({cell + 1})")
        drawn = [16 if cell in (3, 11, 12, 19, 20, 27, 28, 35, 36, 43, 44, 51, 52, 59, 60) else 0 for cell in range(64)]
        assert answer.text_content().startswith(f"Predicted: {model.predict([drawn])[0]} ")
        browser.close()
    assert errors == []
