"""Environments of the peers, and processes that are asked in turn."""

import json
import sys

import pytest

from benchmarks import peers
from benchmarks.case import Request
from benchmarks.environments import RECIPES, CannotBeMade, Environments, Recipe
from benchmarks.workers import NoAnswer, Worker, workers

MISSING = Recipe((("./a-package-that-is-not-there.whl",),), "pass")


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """Environments for which pip finds nothing; each is tried once."""
    return Environments(tmp_path_factory.mktemp("envs"), dict.fromkeys(RECIPES, MISSING))


def test_a_failure_of_pip_is_one_sentence(failing):
    with pytest.raises(CannotBeMade, match=r"^The environment prototorch cannot be made, because pip fails: ERROR: "):
        failing.python("prototorch")


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(CannotBeMade, match="^The environment lmnn cannot be made in "):
        Environments(file).python("lmnn")


def test_no_python_that_is_old_enough_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.environments.shutil.which", lambda name: None)
    ancient = Environments(tmp_path, {"old": Recipe((("x",),), "pass", newest=(3, 9))})
    with pytest.raises(CannotBeMade, match=r"^The environment old needs Python 3\.9 or older"):
        ancient.python("old")


def test_a_ready_environment_is_used_again_until_its_recipe_changes(tmp_path):
    recipe = Recipe((("numpy==1.26.4",),), "pass")
    (tmp_path / "old").mkdir()
    ready = {"requirements": [["numpy==1.26.4"]], "versions": {"numpy": "1.26.4"}}
    (tmp_path / "old" / "ready.json").write_text(json.dumps(ready))
    kept = Environments(tmp_path, {"old": recipe})
    assert kept.python("old") == tmp_path / "old" / "bin" / "python"
    assert kept.version("old", "numpy") == "1.26.4"
    changed = Environments(tmp_path, {"old": Recipe(MISSING.requirements, "pass", newest=(2, 7))})
    with pytest.raises(CannotBeMade):
        changed.python("old")


def test_the_others_are_measured_where_an_environment_cannot_be_made(failing, tmp_path, capsys, monkeypatch):
    ours_and_theirs = [rival for rival in peers.METHODS["GLVQ"][1] if rival.library in ("protolearn", "prototorch")]
    monkeypatch.setitem(peers.METHODS, "GLVQ", (12.0, [ours_and_theirs[0], ours_and_theirs[-1]]))
    request = Request(repeats=2, quick=True, peers=failing, folder=tmp_path)
    rows = peers.compare("GLVQ-digits", request)
    assert {row.library for row in rows if row.measure == "fit"} == {"protolearn"}
    (missing,) = [row for row in peers.table_rows(rows) if row[2] == "prototorch"]
    assert "because pip fails" in missing[-1]
    assert "prototorch: The environment prototorch cannot be made, because pip fails" in capsys.readouterr().err
    assert peers.ratios(rows) == []


def test_a_worker_says_what_went_wrong(tmp_path):
    job = {"library": "no such", "data": str(tmp_path / "none.npz")}
    why = "^no such failed: FileNotFoundError"
    with workers([(job, sys.executable)]) as (worker,), pytest.raises(NoAnswer, match=why):
        worker.ask(do="fit", epochs=1)


def test_a_slow_worker_is_ended(tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    with workers([({"library": "x"}, slow)]) as (worker,), pytest.raises(NoAnswer, match="was stopped after 0 s"):
        worker.ask(0.1, do="fit", epochs=1)


def test_a_worker_that_does_not_start_says_why():
    silent = Worker({"library": "x"}, "/bin/false")
    with pytest.raises(NoAnswer, match="^x ended without an answer"):
        silent.ask(do="fit", epochs=1)
    silent.close()
