"""`protolearn fit`: the newcomer's path, what it prints, what it refuses, and Ctrl-C."""

import csv
import datetime as dt
import io
import os
import signal
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import log_loss

import protolearn
from protolearn.cli import UsageError, console, fit, references, training
from protolearn.cli.inputs import renamed_classes, row_names
from protolearn.cli.methods import METHODS
from protolearn.estimators.tradeoff import TradeoffPoint, folds_of, smallest_within_one_error, walk_tradeoff
from protolearn.tables import Preparation, read_table
from shop import run, write_shop

LOGM_1 = ("--method", "logm", "--prototypes", 1)
NEW_PROCESS = """
import sys, numpy as np, protolearn
from protolearn.cli import main
from protolearn.tables import read_table
assert main(["predict", "model.json", "shop.csv", "--proba", "--reject", "0.6", "--out", "p.csv"]) == 0
assert main(["explain", "model.json", "shop.csv", "--row", "7"]) == 0
model, rows = protolearn.load("model.json"), read_table("shop.csv")
np.savez("bits.npz", probabilities=model.predict_proba(rows), labels=model.predict(rows))
"""


def test_the_path_of_a_newcomer(shop, monkeypatch, capsys):
    """fit here, predict and explain in another process, where the saved model predicts the same bits as in memory."""
    in_memory = []
    monkeypatch.setattr(fit, "_save", lambda model, path: in_memory.append(model) or protolearn.save(model, path))
    report = ["--report", "report.html"] if find_spec("protolearn.report.report") else []
    assert run("fit", shop, "--target", "bought", "--one", *report) == 0
    assert Path("report.html").exists() == bool(report)
    captured = capsys.readouterr()
    for name in ("majority class", "-NN on all 240 rows", "logistic regression", "RBF SVM", "gradient boosting"):
        assert name in captured.out
    lines = captured.out.splitlines()
    assert lines[0] == "240 rows to learn from, 60 to test on, 4 columns (2 numbers, 2 categories), 2 classes"
    assert "-NN within the noise of 60 test rows (" in lines[-1]
    assert lines[-1].startswith("As accurate as ")
    assert "x smaller" in lines[-1]
    if report:
        assert lines[-1] in Path("report.html").read_text()
    assert captured.err == ""

    found = subprocess.run([sys.executable, "-c", NEW_PROCESS], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    bits, frame = np.load("bits.npz"), read_table(shop)
    assert bits["probabilities"].tobytes() == in_memory[0].predict_proba(frame).tobytes()
    assert bits["labels"].tolist() == in_memory[0].predict(frame).tolist()

    rows = list(csv.DictReader(Path("p.csv").read_text().splitlines()))
    assert [row["prediction"] for row in rows] == bits["labels"].tolist()
    assert [row["p_yes"] for row in rows] == [f"{p:.6f}" for p in bits["probabilities"][:, 1]]
    rejected = [row["rejected"] == "yes" for row in rows]
    assert rejected == (bits["probabilities"].max(axis=1) < 0.6).tolist()
    assert f"{sum(rejected)} of 300 rows get their class with a probability below 0.6" in found.stderr
    assert found.stdout.startswith(f"Row 7: {rows[6]['prediction']}; among rows like this, ")
    assert [row["probability"] for row in rows] == [f"{p:.6f}" for p in bits["probabilities"].max(axis=1)]


def test_the_number_of_prototypes_is_chosen_and_said(shop, capsys):
    assert run("fit", shop, "--target", "bought", "--method", "logm") == 0
    out = capsys.readouterr().out
    taken = next(line for line in out.splitlines() if line.startswith("Taken: "))
    model = protolearn.load("model.json")
    assert model[-1].n_prototypes == int(taken.split()[1])
    assert "prototypes  cross-validated accuracy\n  1 a class  0." in out
    assert f"LOGM, {len(model[-1].prototypes_)} prototypes" in out
    assert model[-1].callback is None


@pytest.mark.parametrize(("text", "number"), [("3", 3), ("5%", 0.05)])
def test_numbers_of_prototypes(text, number, shop, capsys):
    method = ("--method", "logm", "--prototypes", text)
    assert run("fit", shop, "--target", "bought", *method, "--out", "m.json") == 0
    assert protolearn.load("m.json")[-1].n_prototypes == number
    assert "cross-validated" not in capsys.readouterr().out


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method, shop, monkeypatch, capsys):
    monkeypatch.setattr(references, "REFERENCES", references.REFERENCES[:2])
    settings = ["--prototypes", "4"] if "n_prototypes" in getattr(protolearn, METHODS[method])().get_params() else []
    if method == "lamalvq":
        settings += ["--set", "rounds=2"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run("fit", shop, "--target", "bought", "--method", method, *settings) == 0
    model = protolearn.load("model.json")
    assert type(model[-1]).__name__ == METHODS[method]
    assert model.score(read_table(shop), read_table(shop)["bought"].to_numpy()) > 0.6
    assert run("predict", "model.json", shop) == 0


def test_settings_of_the_method_and_of_the_preparation(shop, capsys):
    settings = "--set metric=relevance --set max_iter=7 --categories ordinal --scaling standard --drop owner --seed 5"
    assert run("fit", shop, "--target", "bought", "--method", "logm", "--prototypes", 1, *settings.split()) == 0
    prepare, classify = (step for _, step in protolearn.load("model.json").steps)
    assert (classify.metric, classify.max_iter, classify.random_state) == ("relevance", 7, 5)
    assert (prepare.categories, prepare.scaling) == ("ordinal", "standard")
    assert prepare.feature_names_in_.tolist() == ["age", "income", "job"]


def test_the_same_seed_gives_the_same_file(shop, capsys):
    for name in ("a.json", "b.json"):
        assert run("fit", shop, "--target", "bought", "--one", "--out", name) == 0
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()


def test_a_test_file(shop, tmp_path, capsys):
    write_shop(tmp_path / "other.csv", n=80, seed=9)
    assert run("fit", shop, "--target", "bought", *LOGM_1, "--test", "other.csv") == 0
    assert "300 rows to learn from, 80 to test on" in capsys.readouterr().out
    text = (tmp_path / "other.csv").read_text()
    (tmp_path / "other.csv").write_text(text.replace(",yes\n", ",maybe\n"))
    assert run("fit", shop, "--target", "bought", "--test", "other.csv") == 2
    assert "other.csv holds class maybe, which shop.csv does not" in capsys.readouterr().err


def test_other_formats_and_standard_input(tmp_path, capsys, monkeypatch, iris):
    X, y = iris
    np.savez("iris.npz", X=X, y=y)
    assert run("fit", "iris.npz", *LOGM_1) == 0
    dump_svmlight_file(X, y, "iris.svm", zero_based=False)
    assert run("fit", "iris.svm", *LOGM_1, "--out", "svm.json") == 0
    Path("few.svm").write_text("0 1:5\n")
    capsys.readouterr()
    assert run("predict", "svm.json", "few.svm") == 0
    assert capsys.readouterr().out.startswith("row,prediction\n1,")
    pl.DataFrame({**{name: X[:, j] for j, name in enumerate("abcd")}, "kind": y}).write_parquet("iris.parquet")
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(Path("iris.parquet").read_bytes())}))
    assert run("fit", "-", "--target", "kind", *LOGM_1) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("fit no.csv --target bought", 2, "there is no file no.csv"),
        ("fit . --target bought", 2, "is a folder; give a file"),
        ("fit shop.csv", 2, "say which column of shop.csv holds the classes: --target COLUMN (age, income, job"),
        ("fit shop.csv --target price", 2, "shop.csv has no column price; it has age, income, job, owner, bought"),
        ("fit shop.csv --target bought --drop price", 2, "has no column price"),
        ("fit shop.csv --target bought --out no/model.json", 2, "there is no folder no; make it first"),
        ("fit shop.csv --target bought --report no/r.html", 2, "there is no folder no; make it first"),
        ("fit shop.csv --target bought --method logm --set colour=red", 2, "LOGM has no parameter 'colour'"),
        ("fit shop.csv --target bought --method logm --set metric=odd", 1, "Unknown metric 'odd'"),
        ("fit shop.csv --target bought --method lgom", 2, "there is no method 'lgom'; did you mean logm? `protolearn"),
        ("fit shop.csv --target bought --method svm", 2, "there is no method 'svm'"),
        (
            "fit shop.csv --target bought --method hartcondensing --class-weight balanced",
            2,
            "HartCondensing does not weigh classes",
        ),
        (
            "fit shop.csv --target bought --method logm --one",
            2,
            "--one is for the automatic choice; leave out --method",
        ),
        ("fit shop.csv --target bought --method logm --max-bytes 9", 2, "--max-bytes is for the automatic choice"),
        ("fit shop.csv --target bought --finding maybe", 2, "--finding maybe: no row to learn from is of that class"),
        ("fit shop.csv --target bought --prototypes 3", 2, "--prototypes is for one method; name it too"),
        ("fit shop.csv --target bought --set a=3", 2, "--set is for one method; name it too"),
        ("fit shop.csv --target bought --scaling minmax", 2, "--scaling is for one method; name it too"),
        ("fit shop.csv --target bought --report r.html", 2, "one set of prototypes; add --one, or name a --method"),
        ("fit shop.csv --target bought --keep price", 2, "shop.csv has no column price to keep; it has age"),
        ("fit four.csv --target b", 2, "4 rows of 2 classes are too few to learn from some and to test on others"),
        ("fit shop.csv --target bought --method hartcondensing --prototypes 3", 2, "finds the number of prototypes"),
        ("fit shop.csv --target bought --missing refuse", 1, "Column income has no value"),
        ("fit shop.csv --target income", 2, "column income of shop.csv has no class in"),
        ("fit one.csv --target b", 2, "column b of one.csv holds one class only, x"),
        ("fit few.csv --target b", 2, "has 3 different values in 3 rows; these are no classes"),
        ("fit rare.csv --target b", 2, "class z has one row only, none to test on"),
        ("fit real.csv --target b", 2, "holds measurements (0.5, ...), not classes"),
        ("fit only.csv --target b", 2, "has no column but b"),
        ("fit ids.csv --target b", 2, "ids.csv has nothing to learn from but what looks like an identifier: a; learn"),
        ("fit ids.csv --target b --keep a", 1, "Column a has 120 different texts"),
        ("fit broken.csv --target b", 1, "broken.csv: line 3 has 1 fields"),
        ("predict no.json shop.csv", 2, "there is no file no.json"),
        ("predict shop.csv shop.csv", 1, "shop.csv is cut off or is no model file"),
        ("explain shop.csv shop.csv", 1, "shop.csv is cut off or is no model file"),
    ],
)
def test_mistakes_get_one_sentence(arguments, code, message, shop, capsys):
    Path("one.csv").write_text("a,b\n1,x\n2,x\n")
    Path("few.csv").write_text("a,b\n1,x\n2,y\n3,z\n")
    Path("four.csv").write_text("a,b\n1,x\n2,y\n3,x\n4,y\n")
    Path("rare.csv").write_text("a,b\n" + "1,x\n2,y\n" * 9 + "3,z\n")
    Path("real.csv").write_text("a,b\n1,0.5\n2,0.7\n")
    Path("only.csv").write_text("b\nx\ny\nx\ny\n")
    Path("ids.csv").write_text("a,b\n" + "".join(f"n{k},{'xy'[k % 2]}\n" for k in range(120)))
    Path("broken.csv").write_text("a,b\n1,x\n2\n")
    assert run(*arguments.split()) == code
    captured = capsys.readouterr()
    assert captured.err.startswith("protolearn: ")
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
    assert not os.path.exists("model.json")


@pytest.mark.parametrize(
    "arguments",
    [
        "fit shop.csv --target bought --prototypes 0",
        "fit shop.csv --target bought --prototypes 200%",
        "fit shop.csv --target bought --prototypes some",
        "fit shop.csv --target bought --test-size 2",
        "fit shop.csv --target bought --test-size much",
        "fit shop.csv --target bought --max-bytes 0",
        "fit shop.csv --target bought --time-limit long",
        "predict m.json shop.csv --reject 2",
        "predict m.json shop.csv --reject much",
    ],
)
def test_wrong_arguments_end_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        run(*arguments.split())
    assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def interrupting(monkeypatch, when):
    """Ctrl-C, for real, when progress has been made so many times."""
    seen = {"advances": 0}
    advance = console.Progress.advance

    def counted(self, amount=1.0, left=""):
        advance(self, amount, left)
        seen["advances"] += 1
        if seen["advances"] == when:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(console.Progress, "advance", counted)


def test_ctrl_c_while_learning_saves_what_is_learned(shop, monkeypatch, capsys):
    interrupting(monkeypatch, 5)
    settings = ("--method", "logm", "--prototypes", 2, "--set", "max_iter=1000")
    assert run("fit", shop, "--target", "bought", *settings) == 1
    assert "Interrupted: what was learned until then is in model.json" in capsys.readouterr().out
    model = protolearn.load("model.json")
    assert model[-1].n_iter_ < 20
    assert model.score(read_table(shop), read_table(shop)["bought"].to_numpy()) > 0.6


def test_ctrl_c_on_the_walk_takes_the_best_until_then(shop, monkeypatch, capsys):
    interrupting(monkeypatch, 7)
    assert run("fit", shop, "--target", "bought", "--method", "logm") == 1
    captured = capsys.readouterr()
    assert "learning with the best number of prototypes until then" in captured.err
    assert protolearn.load("model.json")[-1].n_prototypes == 1


def test_ctrl_c_on_the_race_takes_the_best_until_then(shop, monkeypatch, capsys):
    interrupting(monkeypatch, 3)
    assert run("fit", shop, "--target", "bought", "--one") == 1
    captured = capsys.readouterr()
    assert "Ctrl-C ended the race after" in captured.err
    assert "Interrupted: what was learned until then is in model.json" in captured.out
    assert protolearn.load("model.json").score(read_table(shop), read_table(shop)["bought"].to_numpy()) > 0.6


@pytest.mark.parametrize("method", ["", "logm", "lamalvq"])
def test_ctrl_c_before_there_is_anything(method, shop, monkeypatch, capsys):
    settings = ["--method", method] if method else []
    if not method:
        monkeypatch.setattr(protolearn.AutoPrototypes, "fit", lambda *_: signal.raise_signal(signal.SIGINT))
    elif method == "lamalvq":
        settings += ["--prototypes", "2"]
        monkeypatch.setattr(protolearn.LaMaLVQ, "fit", lambda *_: signal.raise_signal(signal.SIGINT))
    else:
        interrupting(monkeypatch, 1)
    assert run("fit", shop, "--target", "bought", *settings) == 1
    assert "interrupted before there was anything to save" in capsys.readouterr().err
    assert not os.path.exists("model.json")


def test_ctrl_c_while_comparing_leaves_the_whole_model(shop, monkeypatch, capsys):
    monkeypatch.setattr(references, "learned", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    assert run("fit", shop, "--target", "bought", *LOGM_1) == 1
    assert "Interrupted: the model is complete, in model.json" in capsys.readouterr().out
    assert protolearn.load("model.json")[-1].n_iter_ == 100


def overconfident(path, n_rows):
    """A table of two classes that overlap."""
    random = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    X = random.normal(size=(n_rows, 3)) + y[:, None] * [1.0, 0.0, 0.0]
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "kind": np.array(["no", "yes"])[y]}).write_csv(path)


@pytest.mark.parametrize(("n_rows", "fits"), [(400, 5), (3000, 1)])
def test_the_model_of_a_method_gives_calibrated_probabilities(n_rows, fits, tmp_path, monkeypatch):
    counted = []
    learn = protolearn.GMLVQ.fit
    monkeypatch.setattr(protolearn.GMLVQ, "fit", lambda self, X, y: counted.append(len(y)) or learn(self, X, y))
    overconfident("rows.csv", n_rows)
    monkeypatch.setattr(references, "learned", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    settings = ("--method", "gmlvq", "--prototypes", 2, "--set", "slope=3")
    assert run("fit", "rows.csv", "--target", "kind", *settings) == 1
    model, rows = protolearn.load("model.json"), read_table("rows.csv")
    y = rows["kind"].to_numpy()
    assert len(counted) == 1 + fits
    assert max(counted[1:]) < 0.81 * counted[0]
    predicted, after = model.predict(rows), log_loss(y, model.predict_proba(rows))
    del model[-1].temperature_
    assert after < log_loss(y, model.predict_proba(rows)) - 0.02
    np.testing.assert_array_equal(model.predict(rows), predicted)


def test_ctrl_c_while_calibrating_leaves_the_whole_model(shop, monkeypatch, capsys):
    monkeypatch.setattr(protolearn.explain, "calibrated", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    assert run("fit", shop, "--target", "bought", *LOGM_1) == 1
    assert "the probabilities are not calibrated" in capsys.readouterr().err
    assert protolearn.load("model.json")[-1].n_iter_ == 100


def test_a_class_of_one_row_hinders_no_calibration(shop):
    Path("rare.csv").write_text(Path(shop).read_text() + "".join(Path(shop).read_text().splitlines(True)[1:3]))
    rows = Path("rare.csv").read_text().splitlines()
    last = rows[0].split(",").index("bought")
    for place in (-1, -2):
        cells = rows[place].split(",")
        cells[last] = "never"
        rows[place] = ",".join(cells)
    Path("rare.csv").write_text("\n".join(rows) + "\n")
    settings = ("--method", "logm", "--prototypes", 1, "--test-size", "0.2")
    assert run("fit", "rare.csv", "--target", "bought", *settings) == 0
    model = protolearn.load("model.json")
    assert len(model[-1].classes_) == 3
    assert np.isfinite(model.predict_proba(read_table("rare.csv"))).all()


def test_a_report_is_asked_for_with_what_it_needs(shop, monkeypatch, capsys):
    import types

    asked = {}
    module = types.ModuleType("protolearn.report.report")
    module.write_report = lambda path, *data, **tables: asked.update(path=path, data=data, **tables)
    monkeypatch.setitem(sys.modules, "protolearn.report.report", module)
    given = ["fit", shop, "--target", "bought", "--method", "logm", "--out", "my.json", "--report", "r.html"]
    assert run(*given, "--finding", "yes") == 0
    assert capsys.readouterr().out.splitlines()[-1] == asked["verdict"]
    assert (asked["finding"], asked["source"].model_file) == ("yes", "my.json")
    model, train, y_train, test, y_test = asked["data"]
    source, table = asked["source"], read_table(shop)
    assert source.data == "shop"
    assert (
        source.command
        == "protolearn fit shop.csv --target bought --method logm --out my.json --report r.html --finding yes"
    )
    assert sorted([*source.train_rows, *source.test_rows]) == list(range(1, 301))
    for names, rows, labels in ((source.train_rows, train, y_train), (source.test_rows, test, y_test)):
        found = table[np.array(names) - 1]
        assert found.select(rows.columns).equals(rows, null_equal=True)
        assert [str(label) for label in found["bought"]] == [str(label) for label in labels]
    assert model.predict(test).shape == y_test.shape
    assert train.height == len(y_train) == 240
    assert set(asked["table"][0]) >= {"method", "accuracy", "numbers", "kilobytes", "microseconds"}
    assert {"prototypes", "accuracy", "spread"} <= set(asked["tradeoff"][0])
    assert asked["path"] == "r.html"


def test_rows_are_named_and_classes_renamed():
    frame = pl.DataFrame({"patient": ["P7", "P3"], "age": [70, 41]})
    assert row_names(frame, "patient", "t.csv") == ["P7", "P3"]
    assert row_names(frame, None, "t.csv") == [1, 2]
    with pytest.raises(UsageError, match="has no column case to name its rows by; it has patient, age"):
        row_names(frame, "case", "t.csv")
    y = np.array([1, 2, 2])
    assert renamed_classes(y, [], "sick", "t.csv") is y
    assert renamed_classes(y, ["1=absent", "2=present"], "sick", "t.csv").tolist() == ["absent", "present", "present"]
    assert renamed_classes(y, ["2=present"], "sick", "t.csv").tolist() == ["1", "present", "present"]
    with pytest.raises(UsageError, match="a class of column sick of t.csv, which has 1, 2; not 3"):
        renamed_classes(y, ["3=other"], "sick", "t.csv")
    with pytest.raises(UsageError, match="two classes one name"):
        renamed_classes(y, ["1=2"], "sick", "t.csv")


def test_the_walk_stops_and_the_rule_of_one_standard_error(iris):
    X, y = iris
    folds = folds_of(X, y, Preparation(), seed=0)
    watched = []
    points = list(walk_tradeoff(protolearn.LOGM(random_state=0), folds, watch=lambda *one: watched.append(one)))
    assert [one[:2] for one in watched] == [(point.per_class, left) for point in points for left in range(4, -1, -1)]
    assert [point.prototypes for point in points] == [3 * point.per_class for point in points]
    assert len(points) < 7


def point(count, *scores):
    return TradeoffPoint(count, 3 * count, float(np.mean(scores)), float(np.std(scores, ddof=1) / 2), scores)


def test_an_error_of_the_best_alone_makes_few_no_better():
    """The spread over the folds is large, and more prototypes are better on each fold by the same points."""
    few, more = point(34, 0.70, 0.72, 0.74, 0.80), point(55, 0.71, 0.73, 0.75, 0.81)
    assert more.accuracy - few.accuracy < more.spread
    assert smallest_within_one_error([few, more]) is more
    assert smallest_within_one_error([few, point(55, 0.70, 0.75, 0.74, 0.79)]) is few


class Step:
    """A classifier whose accuracy is what a table says for its number of prototypes."""

    def __init__(self, n_prototypes=1, table=None):
        self.n_prototypes, self.table = n_prototypes, table

    def get_params(self, deep=True):
        return {"n_prototypes": self.n_prototypes, "table": self.table}

    def set_params(self, **params):
        vars(self).update(params)
        return self

    def fit(self, X, y):
        self.prototypes_ = np.zeros((self.n_prototypes, 1))
        return self

    def predict(self, X):
        return self.table[self.n_prototypes] * np.ones(len(X))


@pytest.mark.parametrize(
    ("scores", "last"),
    [
        ((0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.96, 0.97, 0.98, 0.981, 0.982), 233),
        ((0.5, 0.6, 0.6, 0.6, 0.9), 5),
        ((0.5, 0.6, 0.6, 0.7, 0.7, 0.7), 13),
    ],
)
def test_the_walk_goes_on_while_accuracy_rises(scores, last):
    from protolearn.estimators.tradeoff import COUNTS

    table = dict(zip(COUNTS, [*scores, *[scores[-1]] * 20], strict=False))
    X, y = np.zeros((1000, 1)), np.arange(1000) % 2
    folds = [(X, y, X[:9], y[:9])] * 3
    points = list(walk_tradeoff(Step(table=table), folds, score=lambda y, predicted: predicted[0]))
    assert points[-1].per_class == last


def test_a_table_with_one_row_a_class_has_no_folds():
    with pytest.raises(ValueError, match="Every class has one row only.* give the table more rows of each class"):
        folds_of(pl.DataFrame({"a": [1.0, 2.0]}), np.array(["x", "z"]), Preparation())


def test_several_sets_are_saved_and_what_needs_one_set_names_it(shop, capsys):
    assert run("fit", shop, "--target", "bought") == 0
    out = capsys.readouterr().out
    assert "candidates, on held-out rows" in out
    model = protolearn.load("model.json")
    assert type(model).__name__ == "AutoPrototypes"
    assert model.callback is None
    assert f" in {len(model.estimators_)} sets" in out or len(model.estimators_) == 1
    assert run("predict", "model.json", shop, "--proba", "--reject", "0.1") == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["prediction"] for row in rows] == model.predict(read_table(shop)).tolist()
    assert run("explain", "model.json", shop, "--row", "7") == 0
    assert run("export", "model.json", "--to", "json", "--out", "copy.json") == 0
    capsys.readouterr()
    for target in ("c", "js", "python"):
        assert run("export", "model.json", "--to", target, "--out", "x.out") == 0


def rare(n=400):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.08).astype(int)
    X = rng.normal(size=(n, 3)) + 0.9 * y[:, None]
    pl.DataFrame({**{name: X[:, j] for j, name in enumerate("abc")}, "ill": y}).write_csv("rare.csv")


def test_uneven_classes_are_told_and_weighed(capsys):
    rare()
    assert run("fit", "rare.csv", "--target", "ill", *LOGM_1) == 0
    plain = capsys.readouterr()
    assert "accuracy  balanced  numbers" in plain.out
    assert "Recall of each class: 1 0." in plain.out
    assert "--class-weight balanced counts them alike" in plain.err
    assert run("fit", "rare.csv", "--target", "ill", "--method", "logm", "--class-weight", "balanced") == 0
    weighed = capsys.readouterr()
    assert "cross-validated balanced accuracy" in weighed.out
    assert weighed.err == ""
    assert protolearn.load("model.json")[-1].class_weight == "balanced"

    def balanced(out):
        return float(next(line for line in out.splitlines() if line.startswith("LOGM")).split()[4])

    assert balanced(weighed.out) > balanced(plain.out) + 0.1
    assert run("fit", "rare.csv", "--target", "ill", "--class-weight", "balanced", "--one", "--time-limit", "2") == 0
    assert protolearn.load("model.json")[-1].class_weight == pytest.approx({0: 0.54, 1: 6.7}, rel=0.1)


def test_a_loss_is_the_last_line(capsys, monkeypatch):
    """Patches of a chess board: two prototypes cannot know them, and k-NN does."""
    monkeypatch.setattr(references, "REFERENCES", references.REFERENCES[:2])
    X = np.random.default_rng(0).random((1500, 2)) * 4
    y = (X.astype(int).sum(axis=1) % 2).astype(int)
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "field": y}).write_csv("board.csv")
    assert run("fit", "board.csv", "--target", "field", *LOGM_1) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("LESS accurate than ")
    assert "In accuracy it is NOT above always answering with the largest class" in last
    assert last.endswith("`protolearn compare`, which tunes every method.")
    assert "To try: --prototypes auto;" in last


def test_columns_that_are_not_what_they_look_like(capsys):
    rng = np.random.default_rng(0)
    lines = ["patient_id;seen;height;ill"]
    for k in range(60):
        ill = k % 2
        height = f"{1.6 + 0.3 * ill + 0.1 * rng.normal():.2f}".replace(".", ",")
        lines.append(f"{7 * k};{1 + k % 28}.03.2020;{height};{'yes' if ill else 'no'}")
    Path("german.csv").write_text("\n".join(lines))
    assert run("fit", "german.csv", "--target", "ill", *LOGM_1) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "48 rows to learn from, 12 to test on, 2 columns (2 numbers), 2 classes"
    assert out[1] == "seen is read as dates, such as 1.03.2020, as days since 1970-01-01."
    assert out[2].startswith("height is read as numbers with decimal commas, such as '1,")
    assert out[3].startswith(
        "patient_id is left out as an identifier: whole numbers that go on from row to row (--keep"
    )
    assert run("predict", "model.json", "german.csv") == 0
    assert run("fit", "german.csv", "--target", "ill", *LOGM_1, "--keep", "patient_id", "--out", "all.json") == 0
    assert protolearn.load("all.json")[0].feature_names_in_.tolist() == ["patient_id", "seen", "height"]


def us_table(path, n=120, text="{:%m/%d/%Y}"):
    """Two rows for each patient, an American date, decimal commas, and a column that nobody filled in."""
    rng = np.random.default_rng(0)
    lines = ["patient_id,seen,height,notes,ill"]
    for k in range(n):
        ill = k // 2 % 2
        seen = dt.date(2020, 1, 1) + dt.timedelta(days=int(rng.integers(0, 200)) + 150 * ill)
        height = f"{1.6 + 0.3 * ill + 0.1 * rng.normal():.2f}".replace(".", ",")
        lines.append(f'{k // 2 * 7 % 53},{text.format(seen)},"{height}",,{"yes" if ill else "no"}')
    Path(path).write_text("\n".join(lines))


def test_what_is_not_read_as_it_stands_is_told_of_the_columns_that_are_learned(capsys):
    us_table("us.csv")
    assert run("fit", "us.csv", "--target", "ill", *LOGM_1) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "96 rows to learn from, 24 to test on, 3 columns (3 numbers), 2 classes"
    assert out[1].startswith("seen is read as dates that begin with the month, such as ")
    assert out[2].startswith("height is read as numbers with decimal commas, such as '1,")
    assert out[3:5] == [
        "notes is left out: it is empty in every row.",
        "patient_id may be an identifier: 53 different whole numbers in 120 rows (--drop patient_id leaves it out).",
    ]
    dropped = [text for name in ("seen", "patient_id") for text in ("--drop", name)]
    assert run("fit", "us.csv", "--target", "ill", *LOGM_1, *dropped, "--out", "few.json") == 0
    out = capsys.readouterr().out
    assert "height is read as numbers" in out
    assert "seen is" not in out
    assert "patient_id" not in out


def test_how_a_column_was_read_is_told_before_the_error_that_follows(capsys):
    rng = np.random.default_rng(0)
    dates = [f"{1 + k // 12:02}/{1 + k % 12:02}/2020" for k in range(144)]
    Path("us.csv").write_text("seen,ill\n" + "".join(f"{date},{'yn'[rng.integers(2)]}\n" for date in dates * 2))
    assert run("fit", "us.csv", "--target", "ill", *LOGM_1) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("seen is read as texts: does 01/01/2020 begin with the day or the month?")
    assert "Column seen has 144 different texts" in captured.err


@pytest.mark.parametrize("method", [LOGM_1, ("--time-limit", 2), ("--time-limit", 2, "--one")])
def test_the_model_reads_one_row_as_the_training_set_was_read(method, capsys):
    """Of one row nobody could tell whether 03/04/2020 begins with the day."""
    us_table("us.csv")
    assert run("fit", "us.csv", "--target", "ill", "--drop", "patient_id", *method) == 0
    model = protolearn.load("model.json")
    days = (dt.date(2020, 3, 4) - dt.date(1970, 1, 1)).days
    wanted = model.predict(np.array([[days, 1.55]]))[0]
    classify = model.row_classifier()
    for seen in ("03/04/2020", "2020-03-04", days, dt.date(2020, 3, 4), dt.datetime(2020, 3, 4)):
        assert classify([seen, "1,55"]) == wanted
        assert model.predict(np.array([[seen, 1.55]], dtype=object))[0] == wanted
    frame = pd.DataFrame({"seen": pd.to_datetime(["2020-03-04"]), "height": ["1,55"]})
    assert model.predict(frame)[0] == wanted
    for seen in ("03/04/2020", "2020-03-04"):
        Path("one.csv").write_text(f'height,seen\n"1,55",{seen}\n')
        capsys.readouterr()
        assert run("predict", "model.json", "one.csv", "--proba") == 0
        row = next(csv.DictReader(capsys.readouterr().out.splitlines()))
        p_yes = model.predict_proba(np.array([[days, 1.55]]))[0, 1]
        assert (row["prediction"], row["p_yes"]) == (wanted, f"{p_yes:.6f}")
    with pytest.raises(ValueError, match="Column seen holds dates in training, and 'soon' in row 0"):
        classify(["soon", "1,55"])


def test_a_table_of_empty_columns_has_nothing_to_learn_from(capsys):
    Path("empty.csv").write_text("a,b,c\n" + ",,x\n,,y\n" * 9)
    assert run("fit", "empty.csv", "--target", "c") == 2
    assert "empty.csv has nothing to learn from: every column beside the target is empty." in capsys.readouterr().err


def race_row(candidate, loss, numbers, share, **more):
    return {"candidate": candidate, "prototypes": 1, "accuracy": 0.9, "loss": loss, "folds": 3, "numbers": numbers,
            "bytes": 4 * numbers, "seconds": 0.1, "share": share, **more}  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "why"), [(None, "smaller at nearly the same log loss"), (1000, "the best within --max-bytes")]
)
def test_a_set_that_was_not_the_best_is_printed_with_the_reason(limit, why, capsys):
    rows = [race_row("large", -1e-9, 900, 0.0), race_row("small", 0.4, 30, 1.0)]
    race = training._Race(type("Bar", (), {"advance": lambda self, **_: None})(), None)
    for row in rows:
        race(row)
    learner = training.Automatic.__new__(training.Automatic)
    learner.options = type("Options", (), {"max_bytes": limit})
    learner.automatic = type("Model", (), {"cv_results_": {name: [row[name] for row in rows] for name in rows[0]}})
    learner._print_taken(race)
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split() for line in lines[:2]] == [
        ["large", "1", "0.900", "0.0000", "900", "least", "log", "loss", "so", "far"],
        ["small", "1", "0.900", "0.4000", "30", *why.split()],
    ]
    assert lines[2:] == [f"Taken: small with 1 a class, {why}."]


def test_what_is_compared_with_is_told_before_it_learns(shop, monkeypatch, capsys):
    def none(*_, **__):
        assert capsys.readouterr().out.endswith(
            "\nTo compare with it, others learn now: k-NN, logistic regression, RBF SVM, gradient boosting.\n\n"
        )
        raise KeyboardInterrupt

    monkeypatch.setattr(references, "learned", none)
    assert run("fit", shop, "--target", "bought", *LOGM_1) == 1


def test_lines_of_a_narrow_terminal(monkeypatch):
    terminal = type("Terminal", (io.StringIO,), {"isatty": lambda self: True})()
    monkeypatch.setenv("COLUMNS", "30")
    text = "As accurate as 9-NN within the noise of 60 test rows"
    assert console.wrapped(text, terminal).splitlines() == ["As accurate as 9-NN within the", "noise of 60 test rows"]
    assert console.wrapped(text, io.StringIO()) == text


def test_the_number_of_prototypes_of_a_large_table_is_chosen_on_a_part(shop, monkeypatch, capsys):
    monkeypatch.setattr(references, "REFERENCES", references.REFERENCES[:2])
    monkeypatch.setattr(training, "_WALK_ROWS", 100)
    seen = []

    def watched(X, y, prepare, **more):
        seen.append(len(y))
        return folds_of(X, y, prepare, **more)

    monkeypatch.setattr("protolearn.estimators.tradeoff.folds_of", watched)
    assert run("fit", shop, "--target", "bought", "--method", "logm") == 0
    assert "prototypes  cross-validated accuracy, on 100 of the rows" in capsys.readouterr().out
    assert seen == [100]


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.2, "1 s"), (42.4, "42 s"), (130, "2 min"), (5000, "83 min"), (9000, "2.5 h")]
)
def test_time_left(seconds, told):
    assert training._duration(seconds) == told


def test_the_time_left_of_a_race():
    """At most: nine candidates with one prototype a class, and four that grow to 3, 8 and 20."""
    advanced = []
    progress = type("Bar", (), {"advance": lambda self, amount=1.0, left="": advanced.append(left)})()
    told = training._Race(progress, None)
    row = {"candidate": "c", "folds": 3, "prototypes": 1, "loss": 1.0, "accuracy": 0.5, "numbers": 3, "seconds": 2.0}
    told(row)
    assert advanced[-1] == f"at most about {training._duration(8 * 2 + 4 * 31 * 2)} left"
    for count in (3, 8, 20):
        told({**row, "prototypes": count, "seconds": 2.0 * count})
    assert advanced[-1] == f"at most about {training._duration(8 * 2 + 3 * 31 * 2)} left"
    limited = training._Race(progress, 10.0)
    limited(row)
    assert advanced[-1] == "at most about 10 s left"
