"""What a comparison claims of its first place, and what it must not claim."""

import numpy as np
import pytest

from protolearn.compare.summary import CAUTION, first_place, pairs


def rows(n_folds, **accuracies):
    return [
        {"dataset": "d", "method": method, "fold": fold, "accuracy": float(value), "prototypes": 1, "numbers": 1,
         "tuning_seconds": 0.0, "fit_seconds": 0.0, "microseconds": 1.0, "chosen": "{}", "error": ""}
        for method, values in accuracies.items()
        for fold, value in enumerate(np.broadcast_to(values, n_folds))
    ]  # fmt: skip


RISING = np.linspace(0.8, 0.9, 12)


@pytest.mark.parametrize(("n_folds", "told"), [(5, "5 folds are too few"), (1, "1 fold is too few")])
def test_no_claim_below_six_folds(n_folds, told):
    found = rows(n_folds, good=RISING[:n_folds], bad=RISING[:n_folds] - 0.3)
    assert pairs(found) == {}
    assert first_place(found) == [f"good ranks first; {told} for a test: take at least 6."]


def test_a_sweep_of_six_folds_by_one_of_two_is_a_claim():
    found = first_place(rows(6, good=RISING[:6], bad=RISING[:6] - 0.3))
    assert found == ["good ranks first; the signed ranks test puts it above bad (p < 0.05).", CAUTION]


def test_no_caution_about_p_values_where_none_is_below_the_limit():
    found = first_place(rows(6, good=RISING[:6], near=RISING[:6] + 0.01 * np.array([1, -2, 1, -2, 1, -2])))
    assert found == ["good ranks first; the signed ranks test puts it above none of the others (p < 0.05)."]


def test_no_claim_where_no_claim_is_possible():
    """Six folds and three methods: three pairs, and a sweep has 3 x 0.031."""
    found = first_place(rows(6, good=RISING[:6], bad=RISING[:6] - 0.3, worse=RISING[:6] - 0.4))
    assert found == [
        "good ranks first; 6 folds cannot tell 3 methods apart: corrected for 3 pairs, the smallest p is 0.094. "
        "Compare fewer methods or take more folds."
    ]


def test_the_claim_is_corrected_for_the_number_of_pairs():
    near = RISING[:9] - np.array([0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, -0.001, -0.002])
    found = rows(9, good=RISING[:9], near=near, bad=RISING[:9] - 0.3)
    tests = pairs(found)
    assert tests["good", "near"].p_value < 0.05
    assert tests["good", "near"].adjusted == pytest.approx(tests["good", "near"].p_value)
    assert first_place(found)[0].endswith("puts it above near, bad (p < 0.05, corrected for 3 pairs).")
    swing = 0.0001 * np.where(np.arange(9) % 2, 1, -1)
    like = {f"like {k}": RISING[:9] + swing * np.roll(np.arange(1, 10), k) for k in range(4)}
    more = pairs(rows(9, good=RISING[:9], near=near, bad=RISING[:9] - 0.3, **like))
    assert more["good", "near"].p_value < 0.05 < more["good", "near"].adjusted


def test_one_method_is_no_comparison():
    assert first_place(rows(10, good=0.9)) == []
