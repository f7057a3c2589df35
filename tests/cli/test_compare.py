"""`protolearn compare` as a user runs it: table, files, resuming, Ctrl-C, wrong use."""

import csv
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from protolearn import cli


@pytest.fixture
def table(iris, tmp_path):
    X, y = iris
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    frame["colour"] = ["red", "blue", None] * 50
    frame["species"] = pd.Series(y).map({0: "setosa", 1: "versicolor", 2: "virginica"})
    path = tmp_path / "flowers.csv"
    frame.to_csv(path, index=False)
    return path


def run(table, out, *more):
    return cli.main(["compare", str(table), "--target", "species", "--out", str(out), "--jobs", "1", *more])


def test_prints_the_table_and_writes_the_files(table, tmp_path, capsys):
    out = tmp_path / "result"
    assert run(table, out, "--methods", "1-nn", "logm-piw", "hartcondensing", "--folds", "3") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("method ")
    assert {line.split()[0] for line in printed.splitlines()[1:4]} == {"1-NN", "LOGM-PIW", "HartCondensing"}
    assert "ranks first; 3 folds are too few for a test: take at least 6." in printed
    assert "p <" not in printed
    assert re.search(r"(?m)^\S+ as a model: protolearn fit \S+flowers.csv --target species --method \w+", printed)
    assert {path.name for path in out.iterdir()} == {
        "rows.csv", "rows.json", "summary.csv", "pairs.csv", "comparison.html",
    }  # fmt: skip
    rows = list(csv.DictReader((out / "rows.csv").open()))
    assert len(rows) == 9
    assert {row["dataset"] for row in rows} == {"flowers"}
    summary = list(csv.DictReader((out / "summary.csv").open()))
    assert [float(line["rank"]) for line in summary] == sorted(float(line["rank"]) for line in summary)
    assert sum(float(line["rank"]) for line in summary) == pytest.approx(6)
    html = (out / "comparison.html").read_text()
    assert "3 methods on flowers" in html
    assert "script-src 'none'" in html


def test_commas_between_the_methods(table, tmp_path, capsys):
    assert run(table, tmp_path / "result", "--methods", "1-nn,nearestprototype", "--folds", "2") == 0
    names = {line.split()[0] for line in capsys.readouterr().out.splitlines()[1:3]}
    assert names == {"1-NN", "NearestPrototype"}


def test_resuming_prints_the_same_table(table, tmp_path, capsys):
    names = ("--methods", "1-nn", "nearestprototype", "--folds", "3")
    assert run(table, tmp_path / "whole", *names) == 0
    assert run(table, tmp_path / "parts", "--methods", "1-nn", "--folds", "3") == 0
    assert run(table, tmp_path / "parts", *names) == 2
    assert "add --resume to go on" in capsys.readouterr().err
    assert run(table, tmp_path / "parts", *names, "--resume") == 0
    kept = ("method", "folds", "accuracy", "spread", "rank", "prototypes", "numbers")
    whole, parts = (list(csv.DictReader((tmp_path / name / "summary.csv").open())) for name in ("whole", "parts"))
    assert [[line[key] for key in kept] for line in whole] == [[line[key] for key in kept] for line in parts]
    assert (tmp_path / "whole" / "pairs.csv").read_bytes() == (tmp_path / "parts" / "pairs.csv").read_bytes()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--methods", "c4.5"], "Unknown method 'c4.5'; choose from 1-NN, k-NN"),
        (["--folds", "1"], "--folds must be at least 2"),
        (["--out", "{table}"], "is a file; name a folder"),
        (["--target", "kind"], "has no column kind; it has sl, sw"),
        (["--drop", "kind"], "has no column kind"),
    ],
)
def test_wrong_use_ends_with_2_and_one_sentence(table, tmp_path, capsys, more, message):
    assert run(table, tmp_path / "out", *[text.format(table=table) for text in more]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.splitlines()) == 1


def test_rows_of_other_data_end_with_1(table, tmp_path, capsys):
    assert run(table, tmp_path / "out", "--methods", "1-nn", "--folds", "2") == 0
    assert run(table, tmp_path / "out", "--methods", "1-nn", "--folds", "3", "--resume") == 1
    assert "other settings (folds)" in capsys.readouterr().err


def test_interrupted_with_and_without_rows(table, tmp_path, capsys, monkeypatch):
    def stop(self, row, done, total):
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("protolearn.cli.compare._Rows.add", stop)
    assert run(table, tmp_path / "out", "--methods", "1-nn", "--folds", "3") == 1
    shown = capsys.readouterr()
    assert "--resume goes on" in shown.err
    assert "1-NN" in shown.out
    assert len(list(csv.DictReader((tmp_path / "out" / "rows.csv").open()))) == 2

    def never(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("protolearn.compare.comparison.compare", never)
    assert run(table, tmp_path / "other", "--folds", "3") == 1
    assert "before there was anything to keep" in capsys.readouterr().err


def test_a_method_that_fails_is_named(table, tmp_path, capsys, monkeypatch):
    from protolearn.compare.methods import METHODS, Method

    monkeypatch.setitem(METHODS, "LOGM", Method(METHODS["LOGM"].estimator, {"learning_rate": (-1.0,)}))
    assert run(table, tmp_path / "out", "--methods", "1-nn", "logm", "--folds", "2") == 0
    printed = capsys.readouterr().out
    assert re.search(r"LOGM +failed +- +-", printed)
    assert "LOGM failed: ValueError: learning_rate must be" in printed
    assert "learning_rate must be" in (tmp_path / "out" / "comparison.html").read_text()


def test_ctrl_c_on_a_terminal_keeps_what_is_done(table, tmp_path):
    """The whole foreground group gets SIGINT, as from a keyboard; no traceback, of workers neither."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "protolearn.cli", "compare", str(table), "--target", "species", "--out", str(out)]
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*command, "--methods", "1-nn", "lamalvq", "--folds", "5"],
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        start_new_session=True,
    )
    os.close(slave)
    end = time.monotonic() + 600
    rows = out / "rows.csv"
    while (not rows.exists() or len(rows.read_bytes().splitlines()) < 2) and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    printed, _ = process.communicate(timeout=600)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:
        pass
    os.close(master)
    assert process.returncode == 1
    assert "1-NN" in printed
    assert b"--resume goes on" in shown
    assert b"Traceback" not in shown
    assert 1 <= len(list(csv.DictReader(rows.open()))) < 10
    assert (out / "comparison.html").exists()
