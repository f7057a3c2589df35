"""`protolearn explain`: the limits of a counterfactual, what is certain, and what lies outside the training set."""

import json

import polars as pl
import pytest

from protolearn.tables import read_table
from shop import run


@pytest.fixture
def model(shop, capsys):
    assert run("fit", shop, "--target", "bought", "--method", "logm", "--prototypes", 1) == 0
    capsys.readouterr()


def test_what_is_certain_and_what_would_change(model, shop, capsys):
    assert run("explain", "model.json", shop, "--row", 5) == 0
    told = capsys.readouterr().out
    assert "Certain: the decision stays while no number changes by more than" in told
    assert "Another decision needs" in told
    assert "or alone" in told or "no single column alone would change it" in told


def test_what_was_found_is_not_what_is_proved(model, shop, capsys):
    from dataclasses import replace

    from protolearn.cli.explain import _changes
    from protolearn.cli.inputs import load_model
    from protolearn.explain import explain

    why = explain(load_model("model.json"), read_table(shop)[:1])[0]
    none = replace(why, smallest_change=[], single_changes=[], radius=None)
    found = "No change was found within the training set's ranges that leads to another decision."
    assert _changes(replace(none, is_least=False)) == [found]
    assert _changes(replace(none, is_least=True)) == [found.replace("was found ", "").replace("that ", "")]
    assert "as little as was found, together" in "\n".join(_changes(replace(why, is_least=False)))
    assert "the least, together" in "\n".join(_changes(replace(why, is_least=True)))


def test_limits_of_the_nearest_row(model, shop, capsys):
    frame = read_table(shop)
    for row in range(1, 12):
        assert run("explain", "model.json", shop, "--row", row, "--fixed", "age,job", "--fewest", "--json") == 0
        found = json.loads(capsys.readouterr().out)
        (answer,) = found["counterfactuals"]
        if answer["reason"]:
            assert "when only" in answer["reason"]
            continue
        assert not {"age", "job"} & {change["column"] for change in answer["changes"]}
        other = "no" if found["prediction"] == "yes" else "yes"
        assert answer["label"] == other
        changed = {change["column"]: change["border"] for change in answer["changes"]}
        frame[row - 1].with_columns(**{name: pl.lit(value) for name, value in changed.items()}).write_csv("one.csv")
        assert run("predict", "model.json", "one.csv") == 0
        assert other in capsys.readouterr().out
    assert run("explain", "model.json", shop, "--answers", 2, "--only-up", "income") == 0
    assert capsys.readouterr().out.count("Within these limits:") == 2
    assert run("explain", "model.json", shop, "--to", "maybe") == 1
    assert "to='maybe' is no class of the model" in capsys.readouterr().err
    assert run("explain", "model.json", shop, "--fixed", "hight") == 1
    assert "fixed names hight, which is no column of the model" in capsys.readouterr().err


def test_values_outside_the_training_set(model, shop, capsys):
    read_table(shop)[:1].with_columns(pl.lit(999).alias("age")).write_csv("old.csv")
    assert run("explain", "model.json", "old.csv") == 0
    assert "outside the training set: age is 999, and was" in capsys.readouterr().out
