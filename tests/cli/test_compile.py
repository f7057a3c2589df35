"""protolearn compile: what it says, and how it ends."""

import os
import re
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from protolearn import compiling
from protolearn.compiling import Outcome, compile_everything, every_compiled
from shop import run

COMMAND = (sys.executable, "-m", "protolearn.cli", "compile")


def test_what_it_says(monkeypatch, capsys, tmp_path):
    asked = []

    def compile_nothing(jobs, watch):
        asked.append(jobs)
        watch(0.5)
        return Outcome(7, 12.34, tmp_path)

    monkeypatch.setattr(compiling, "compile_everything", compile_nothing)
    assert run("compile", "--jobs", 3) == 0
    assert capsys.readouterr().out == f"7 functions compiled for float32 and float64 in 12.3 s: {tmp_path}\n"
    monkeypatch.setattr("protolearn.threads.n_threads", lambda: 5)
    assert run("compile") == 0
    assert asked == [3, 5]


def test_a_second_time_there_is_nothing_to_do(monkeypatch, capsys):
    two = partial(compile_everything, functions=every_compiled()[-2:], estimators=[])
    monkeypatch.setattr(compiling, "compile_everything", two)
    assert run("compile", "--jobs", 1) == 0
    capsys.readouterr()
    assert run("compile", "--jobs", 1) == 0
    assert capsys.readouterr().out.startswith("Every function was compiled already, for float32 and float64: ")


def test_no_processes_are_wrong_use(capsys):
    assert run("compile", "--jobs", 0) == 2
    assert "--jobs must be at least 1" in capsys.readouterr().err


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file")}
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"protolearn: the folder in NUMBA_CACHE_DIR, {tmp_path / 'file'}, cannot be written; set NUMBA_CACHE_DIR to a "
        "folder that can be written, for every later process too.\n"
    )


def test_no_cache_anywhere():
    """A package that may not be written to, and no home: numba refuses when our modules are imported."""
    code = (
        "import sys; from numba.core.caching import CacheImpl; CacheImpl._locator_classes = []\n"
        "from protolearn.cli import main; sys.exit(main(['compile']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch("protolearn: numba finds no folder .*; set NUMBA_CACHE_DIR to a folder .*\n", done.stderr)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_all_processes_and_leaves_what_is_compiled(jobs, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = subprocess.Popen(
        [*COMMAND, "--jobs", jobs], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 100
    while not list(tmp_path.rglob("*.nbc")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(command.pid, signal.SIGINT)
    _, said = command.communicate(timeout=20)
    assert command.returncode == 1
    assert said == "protolearn: interrupted; what is compiled stays, and the same command goes on with the rest.\n"
    kept = {path.name.rsplit(".", 2)[0] for path in tmp_path.rglob("*.nbc")}
    assert kept == {path.stem for path in tmp_path.rglob("*.nbi")}
    assert not list(tmp_path.rglob("*.tmp.*"))
    # The tracker of multiprocessing's locks ends a moment after the command.
    while runs(command.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not runs(command.pid)


def runs(group):
    """Whether a group of processes has any."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
