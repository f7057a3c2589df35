"""predict, explain, methods, completion; what commands print on a terminal and elsewhere."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import protolearn
from protolearn.cli import console, references
from protolearn.tables import read_table
from shop import mutated, run


def test_tables_and_emphasis(monkeypatch):
    text = console.table([("a", "b"), ("x", "1.0"), ("longer", "22.0")], right=(False, True), strong=2)
    assert text == "a          b\nx        1.0\nlonger  22.0"
    monkeypatch.setattr(sys, "stdout", type("Terminal", (io.StringIO,), {"isatty": lambda self: True})())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert console.emphasised("x") == "\033[1mx\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert console.emphasised("x") == "x"


def test_progress_shows_on_a_terminal_after_a_while_and_nowhere_else(capsys):
    code = (
        "import sys, time; from protolearn.cli import console; console._PATIENCE = 0.1\n"
        "with console.Progress('long job', total=3) as bar:\n"
        "    for _ in range(3): time.sleep(0.2); bar.advance()\n"
        "with console.Progress('quick job', total=1) as bar: bar.advance()"
    )
    reader, writer = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=writer, check=True, env={**os.environ, "TERM": "xterm"})
    os.close(writer)
    shown = os.read(reader, 100_000).decode()
    os.close(reader)
    assert "long job" in shown
    assert "quick job" not in shown
    quiet = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert quiet.stderr == quiet.stdout == b""


def test_json_of_an_explanation(shop, capsys):
    assert run("fit", shop, "--target", "bought", "--method", "logm", "--prototypes", 2) == 0
    capsys.readouterr()
    assert run("explain", "model.json", shop, "--row", 3, "--row", 4, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["row"] for one in found] == [3, 4]
    assert run("explain", "model.json", shop, "--json") == 0
    one = json.loads(capsys.readouterr().out)
    added = sum(part["contribution"] for part in one["contributions"])
    assert added == pytest.approx(one["rival_distance"] - one["distance"])
    for wrong in (0, 301):
        assert run("explain", "model.json", shop, "--row", wrong) == 2
        assert "shop.csv has rows 1 to 300" in capsys.readouterr().err


def test_sets_of_classes(shop, capsys):
    frame = read_table(shop)
    frame[: frame.height // 2].write_csv("learn.csv")
    frame[frame.height // 2 :].write_csv("rest.csv")
    assert run("fit", "learn.csv", "--target", "bought", "--method", "logm", "--prototypes", 1) == 0
    capsys.readouterr()
    assert run("predict", "model.json", "rest.csv", "--sets", 0.9) != 0
    assert "--sets needs --calibrate FILE" in capsys.readouterr().err
    calibrated = ("--sets", 0.9, "--calibrate", "rest.csv", "--target", "bought")
    assert run("predict", "model.json", "rest.csv", *calibrated) == 0
    found = [line.split(",")[2].split(" | ") for line in capsys.readouterr().out.splitlines()[1:]]
    own = frame["bought"][frame.height // 2 :].to_list()
    assert 0.9 <= sum(label in names for label, names in zip(own, found, strict=True)) / len(own) <= 0.95
    with pytest.raises(SystemExit):
        run("predict", "model.json", "rest.csv", "--sets", 1, *calibrated[2:])
    assert "between 0 and 1" in capsys.readouterr().err


def test_predicting_with_other_columns(shop, capsys):
    assert run("fit", shop, "--target", "bought", "--method", "logm", "--prototypes", 1) == 0
    capsys.readouterr()
    frame = read_table(shop)
    frame.select("job", "age", "income", "owner", pl.lit("x").alias("more")).write_csv("shuffled.csv")
    assert run("predict", "model.json", shop) == 0
    straight = capsys.readouterr().out
    assert run("predict", "model.json", "shuffled.csv") == 0
    assert capsys.readouterr().out == straight
    frame.drop("age").write_csv("less.csv")
    assert run("predict", "model.json", "less.csv") == 1
    assert "The table lacks column age of the training set" in capsys.readouterr().err
    frame.with_columns(pl.lit("pilot").alias("job")).write_csv("new.csv")
    assert run("predict", "model.json", "new.csv") == 0
    assert "column job holds what the training set did not: pilot" in capsys.readouterr().err
    frame.with_columns(pl.lit("old").alias("age")).write_csv("texts.csv")
    assert run("predict", "model.json", "texts.csv") == 1
    assert "Column age holds numbers in training, and 'old' in row 0" in capsys.readouterr().err


def test_models_saved_from_python(tmp_path, capsys, iris):
    X, y = iris
    protolearn.save(protolearn.LOGM(random_state=0, max_iter=5).fit(X, y), "plain.json")
    pl.DataFrame({name: X[:, j] for j, name in enumerate("abcd")}).write_csv("iris.csv")
    assert run("predict", "plain.json", "iris.csv") == 0
    assert run("explain", "plain.json", "iris.csv") == 0
    frame = pl.read_csv("iris.csv").to_pandas()
    protolearn.save(protolearn.LOGM(random_state=0, max_iter=5).fit(frame, y), "named.json")
    assert run("predict", "named.json", "iris.csv", "--reject", "0.2") == 0
    assert run("explain", "named.json", "iris.csv", "--row", "2") == 0
    assert "Row 2: 0" in capsys.readouterr().out
    protolearn.save(protolearn.LMNN().fit(X, y), "map.json")
    assert run("predict", "map.json", "iris.csv") == 2
    assert "holds a LMNN, which does not classify" in capsys.readouterr().err
    pl.read_csv("iris.csv").drop("b").write_csv("less.csv")
    assert run("predict", "named.json", "less.csv") == 2
    assert "less.csv lacks column b" in capsys.readouterr().err
    pl.DataFrame({"a": ["x"], "b": [1.0], "c": [1.0], "d": [1.0]}).write_csv("texts.csv")
    assert run("predict", "named.json", "texts.csv") == 2
    assert "column a of texts.csv holds texts" in capsys.readouterr().err


def test_methods_say_where_they_come_from(capsys):
    from protolearn.cli.methods import PAPERS

    assert set(PAPERS) == set(protolearn.__all__)
    assert run("methods") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(protolearn.__all__)
    assert any(line.startswith("logm") and "Jin, Liu and Hou 2010" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pr"], {"predict"}),
        (["fit", "--sca"], {"--scaling"}),
        (["fit", "t.csv", "--scaling", "m"], {"minmax"}),
        (["fit", "t.csv", "--method", "log"], {"logm"}),
        (["completion", ""], {"bash", "zsh"}),
        (["predict", "--re"], {"--reject"}),
    ],
)
def test_completion_in_bash(words, expected, capsys):
    assert run("completion", "bash") == 0
    script = capsys.readouterr().out
    typed = " ".join(f"'{word}'" for word in ["protolearn", *words])
    line = f'{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words)}; _protolearn; printf "%s\\n" "${{COMPREPLY[@]}}"'
    found = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) == expected


def test_completion_in_zsh_rests_on_that_of_bash(capsys):
    assert run("completion", "zsh") == 0
    out = capsys.readouterr().out
    assert out.startswith("#compdef protolearn")
    assert "complete -o default -F _protolearn protolearn" in out


def test_as_a_module_into_a_reader_that_has_seen_enough():
    """`protolearn methods | head -1` ends without a complaint."""
    line = f"{sys.executable} -m protolearn.cli methods | head -1"
    found = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert found.stderr == ""
    assert found.stdout.startswith("method")


def test_mutated_tables_and_models_end_in_a_sentence_or_a_result(shop, monkeypatch, capsys):
    """200 mutated tables into predict, 20 into fit, 100 mutated models: an exit code, never a traceback."""
    monkeypatch.setattr(references, "REFERENCES", references.REFERENCES[:2])
    whole = Path(shop).read_bytes()
    assert run("fit", shop, "--target", "bought", "--method", "logm", "--prototypes", 1, "--set", "max_iter=5") == 0
    sound = Path("model.json").read_bytes()
    rng = np.random.default_rng(0)
    codes = []
    for number in range(200):
        Path("m.csv").write_bytes(mutated(whole, rng))
        codes.append(run("predict", "model.json", "m.csv", "--reject", "0.1"))
        if number % 10 == 0:
            codes.append(
                run("fit", "m.csv", "--target", "bought", "--method", "logm", "--prototypes", 1, "--out", "m.json")
            )
    assert set(codes) >= {0, 1}
    for _ in range(100):
        Path("model.json").write_bytes(mutated(sound, rng))
        assert run("predict", "model.json", shop) == (0 if Path("model.json").read_bytes() == sound else 1)
    assert "Traceback" not in capsys.readouterr().err


def test_a_class_named_like_a_formula_is_a_text_to_a_spreadsheet(tmp_path, capsys):
    names = ['=HYPERLINK("http://x")', "-1", "@home", "plain"]
    X = np.repeat(10.0 * np.eye(4), 5, axis=0) + np.random.default_rng(0).normal(size=(20, 4))
    model = protolearn.NearestPrototype().fit(X, np.repeat(names, 5))
    protolearn.save(model, tmp_path / "m.json")
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b,c,d", comments="")
    assert run("predict", tmp_path / "m.json", tmp_path / "rows.csv", "--proba") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["prediction"] for row in rows[::5]] == ["'" + names[0], "-1", "'@home", "plain"]
    assert [name for name in rows[0] if name.startswith("p_")] == [f"p_{name}" for name in sorted(names)]
