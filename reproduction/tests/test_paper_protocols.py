"""Each paper's protocol on something small: rows, exact resume, and the tables that are made of them."""

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from reproduction import learn1nn, letters, lpd, lpd_grid
from reproduction.report import Drawing, Sheet, markdown, page_body
from reproduction.reproduce import paper, read, row_file, run

# Paper, experiment, methods; data set and protocol of a run of seconds.
SMALL = {
    "lpd tables": ("lpd", "small", ("L2", "CDVW", "LPD", "LVQ1", "SVM3"), "wine", {"first_folds": 2}),
    "lpd grid": ("lpd", "grid-ten", lpd_grid.MANY, "grid", {"epochs": 20}),
    "lpd faces": ("lpd", "faces", ("normalised correlation", "1-NN on pixels, distance"), "olivetti", {}),
    "mixtgauss": ("mixtgauss", "raw", ("edited", "Chen 3J", "MixtGauss 3J"), "wine", {"first_folds": 2}),
    "mixtgauss figure": (
        *("mixtgauss", "figure", ("edited", "Chen", "MixtGauss"), "vowel"),
        {"first_folds": 1, "grid": {"n_prototypes": (1, 2)}},
    ),
    "learn1nn toy": ("learn1nn", "toy", tuple(learn1nn.TOY), "toy", {}),
    "learn1nn ripley": ("learn1nn", "ripley", ("LVQ1 M=4", "LVQ1 M=6"), "synth", {}),
    "learn1nn letters": ("learn1nn", "letters", ("LVQ1 M=100", "learn1NN M=100"), "ocr_letters", {}),
    "lamalvq": ("lamalvq", "thesis", ("A, k = 5", "E, k = 5"), "iris", {"first_folds": 2, "grid": {"rounds": (2,)}}),
    "lamalvq and gmlvq": ("lamalvq", "versus", ("GMLVQ", "with remedies"), "iris", {"first_folds": 2}),
    "lmnn": ("lamalvq", "lmnn", ("3-NN", "LMNN + 3-NN"), "wine", {"first_folds": 2}),
}

NEED_DATA = ("lpd faces", "mixtgauss figure", "learn1nn ripley")
NAMES = [pytest.param(name, marks=pytest.mark.papers_data) if name in NEED_DATA else name for name in SMALL]


@pytest.fixture
def few_letters(monkeypatch):
    """Three blobs in place of the letters, and fewer epochs."""
    X, y = make_blobs(360, 4, centers=3, cluster_std=3.0, random_state=0)
    parts = [(X[part].astype(np.float32), y[part]) for part in (slice(200), slice(200, 280), slice(280, 360))]
    monkeypatch.setattr(letters, "letter_sets", lambda: parts)
    quick = {name: (clone(model).set_params(max_iter=2), grid[:2]) for name, (model, grid) in letters.MODELS.items()}
    monkeypatch.setattr(letters, "MODELS", quick)


def experiment_of(name):
    of_paper, wanted, methods, dataset, changes = SMALL[name]
    found = next(one for one in paper(of_paper).experiments if one.name == wanted)
    changed = replace(found, protocol=found.protocol.changed(**changes), datasets=(dataset,))
    return paper(of_paper), changed, methods


def comparable(rows):
    """Rows without what the clock says."""
    return [
        {key: value for key, value in row.items() if key != "seconds"}
        | {"more": {key: value for key, value in row["more"].items() if key != "seconds"}}
        for row in rows
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_stopped_run_goes_on_to_the_same_rows(name, tmp_path, few_letters):
    _, experiment, methods = experiment_of(name)
    whole = run(experiment, tmp_path / "whole.csv", methods=methods, repeats=2)
    done = []

    def stop_after_two(unit, seconds):
        done.append(unit)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(experiment, tmp_path / "rows.csv", methods=methods, repeats=2, watch=stop_after_two)
    again = []
    resumed = run(
        *(experiment, tmp_path / "rows.csv"),
        methods=methods,
        repeats=2,
        resume=True,
        watch=lambda unit, seconds: again.append(seconds),
    )
    assert sum(seconds == 0.0 for seconds in again) == 2, "two rows were there"
    np.testing.assert_equal(comparable(resumed), comparable(whole))
    assert not any(math.isnan(row["value"]) for row in whole), [row["more"] for row in whole]


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_made_from_rows_of_a_few_methods(name, tmp_path, few_letters):
    of_paper, experiment, methods = experiment_of(name)
    run(experiment, row_file(tmp_path, of_paper, experiment), methods=methods, repeats=1)
    rows = read(tmp_path, of_paper)
    tables = [table for table in of_paper.tables if experiment.name in table.needs]
    blocks = [block for table in tables for block in table.show(rows)]
    assert any(isinstance(block, Sheet) and block.rows for block in blocks)
    assert all(len(line) == len(block.header) for block in blocks if isinstance(block, Sheet) for line in block.rows)
    text = markdown(blocks, tmp_path / "figures")
    assert text.count("|---") >= 1
    drawn = [block for block in blocks if isinstance(block, Drawing)]
    assert len(list((tmp_path / "figures").glob("*.png"))) == len(drawn) if drawn else True
    assert "<table" in page_body(blocks, "1")
    assert of_paper.about(rows).endswith(".")


@pytest.mark.slow
def test_a_killed_command_goes_on_to_the_same_rows(tmp_path):
    command = [sys.executable, "-m", "reproduction", "lpd", "--table", "1", "--datasets", "wine"]
    command += ["--methods", "L2", "CDVW", "LPD", "--repeats", "3", "--jobs", "1"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    rows = killed / "lpd-small.csv"
    process = subprocess.Popen([*command, "--out", str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin = time.monotonic()
    while not (rows.exists() and len(rows.read_text().splitlines()) > 3) and time.monotonic() - begin < 60:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    part = len(rows.read_text().splitlines())
    assert part > 3
    for arguments in (["--out", str(killed), "--resume"], ["--out", str(whole)]):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    kept = [read(folder, paper("lpd")).of["small"] for folder in (killed, whole)]
    assert comparable(kept[0]) == comparable(kept[1])
    assert len(kept[1]) == 45
    assert "Wine" in done.stdout
    assert (whole / "lpd.html").read_text().startswith("<!DOCTYPE html>")


def test_sections_of_their_own_name_the_command_that_makes_them(tmp_path):
    docs = tmp_path / "fidelity.md"
    command = [sys.executable, "-m", "reproduction", "learn1nn", "--table", "toy", "srm", "--jobs", "1"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "rows"), "--docs", str(docs)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    text = docs.read_text()
    assert "<!-- begin learn1nn-toy -->\n## learn1NN, toy problem and widest margin" in text
    assert "`python -m reproduction learn1nn --table toy --seed 0`" in text
    assert "`python -m reproduction learn1nn --table srm --seed 0`" in text
    assert "| 3 | 1.34 |" in text
    assert "| margin | no | -9.16 | 16.25 | 3.54 |" in text


def test_svm_light_takes_c_from_the_lengths_in_feature_space():
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.repeat([0, 1], 25)
    pairs = np.column_stack([X[:, i] * X[:, j] for i, j in ((0, 1), (0, 2), (1, 2))])
    # phi(x) - phi(0): (x y + 1)^2 has the features sqrt(2) x, x^2, sqrt(2) x_i x_j, and a constant that cancels.
    quadratic = np.column_stack([np.sqrt(2) * X, X**2, np.sqrt(2) * pairs])
    for degree, features in ((1, X), (2, quadratic)):
        expected = 1 / np.mean(np.linalg.norm(features, axis=1)) ** 2
        np.testing.assert_allclose(lpd.svm_light(degree, X, y, 0).C, expected)
    np.testing.assert_allclose(lpd.svm_light(None, 100 * X, y, 0).C, 0.5)
