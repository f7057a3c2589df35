"""Recall of each class: the worst first, with Wilson's interval, as sensitivity and specificity for two classes."""

import numpy as np
import pytest

from protolearn.report.recall import Share, rarer_class, recall_table, recognised

# 42 malignant rows, 40 found; 72 benign rows, 69 found.
TRUE = np.repeat(["malignant", "benign"], [42, 72])
SAID = np.concatenate([np.repeat(["malignant", "benign"], [40, 2]), np.repeat(["benign", "malignant"], [69, 3])])


@pytest.mark.parametrize(("found", "of"), [(40, 42), (0, 7), (7, 7), (1, 1), (500, 1000)])
def test_the_interval_solves_its_equation(found, of):
    # Wilson's ends are where a true share p is 1.96 of its own standard errors away from what was found.
    share = Share(found, of)
    for end in (share.low, share.high):
        assert abs(found / of - end) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / of), abs=1e-6)
    assert share.low <= found / of <= share.high


def test_of_no_rows_nothing_is_claimed():
    assert (Share(0, 0).percent, Share(0, 0).between, Share(0, 0).low, Share(0, 0).high) == ("-", "-", 0.0, 1.0)


def test_the_class_recognised_least_often_comes_first():
    first, second = recognised(TRUE, SAID)
    assert (first.label, first.recall.found, first.recall.of, first.taken_for) == ("malignant", 40, 42, ("benign", 2))
    assert (second.label, second.precision.found, second.precision.of) == ("benign", 69, 71)


def test_sensitivity_and_specificity_of_two_classes():
    html = recall_table(TRUE, SAID, "malignant").replace("\xa0", " ")
    assert "Of 42 test rows of class malignant, 40 are recognised: 95.2 % (84 to 99 %). 2 are taken for benign." in html
    assert "sensitivity is 95.2 % (84 to 99 %)" in html
    assert "Specificity is 95.8 % (88 to 99 %)" in html
    assert "Of all 114 test rows, 109 are right: 95.6 %" in html


def test_the_finding_is_the_class_named_or_the_one_clearly_rarer():
    assert rarer_class(TRUE) == "malignant"
    assert rarer_class(np.repeat(["no stroke", "stroke"], [50, 50])) is None
    assert rarer_class(np.repeat(["no stroke", "stroke"], [45, 55])) is None
    assert rarer_class(np.array(["a", "b", "b", "c", "c"])) is None
    # Of three classes: two of five rows of b are found, one of the ten others is called b.
    y, said = np.repeat(["a", "b", "c"], 5), np.array(list("aaaabbbaacccccc"))
    html = recall_table(y, said, "b").replace("\xa0", " ")
    assert "With b as the finding, sensitivity is 40.0 %" in html
    assert "Specificity is 90.0 %" in html


def test_of_many_classes_each_has_a_line_and_none_is_the_finding():
    y = np.array(["a", "b", "c"] * 5)
    html = recall_table(y, y, None)
    assert "sensitivity" not in html
    assert html.count("<tr") == 4
    assert "taken for" not in html
