"""`python -m reproduction` as a user runs it: tables, page, going on, Ctrl-C, wrong use."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from protolearn.compare.rows import read_rows
from reproduction.command import main
from reproduction.reproduce import COLUMNS

FEW = ("--quick", "--datasets", "iris", "--jobs", "1")


def run(*more):
    return main(["logm", *FEW, *more])


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done") / "out"
    assert run("--table", "5", "7", "--methods", "LOGM", "SVM", "GLVQ", "--out", str(folder)) == 0
    return folder


def test_prints_tables_and_writes_rows_and_page(done, capsys):
    assert sorted(path.name for path in done.iterdir()) == ["logm-small.csv", "logm-small.json", "logm.html"]
    rows = read_rows(done / "logm-small.csv", COLUMNS)
    assert {row["method"] for row in rows} == {"LOGM", "SVM", "GLVQ"}
    assert len(rows) == 15
    figures = done.parent / "results" / "logm.csv"
    assert run("--show", "--out", str(done), "--figures", str(figures)) == 0
    lines = figures.read_text().splitlines()
    assert lines[0] == "experiment,dataset,method,repeat,fold,value"
    assert lines[1].startswith("small,iris,GLVQ,0,0,")
    assert len(lines) == 16
    printed = capsys.readouterr().out
    assert printed.count("No data set is complete yet.") == 4
    page = (done / "logm.html").read_text()
    assert "A quick run (small: 8 of 22 data sets" in page


def test_the_whole_table_of_a_set(tmp_path, capsys):
    assert run("--table", "5", "8", "--out", str(tmp_path / "out"), "--docs", str(tmp_path / "fidelity.md")) == 0
    printed = capsys.readouterr().out
    assert "iris" in printed
    assert "Mean accuracy % and average rank over 1 sets" in printed
    assert "P < PIW < PDW in mean accuracy: " in printed
    text = (tmp_path / "fidelity.md").read_text()
    assert "<!-- begin logm -->" in text
    assert "`python -m reproduction logm --table 5 8 --datasets iris --quick --seed 0`" in text
    page = (tmp_path / "out" / "logm.html").read_text()
    assert "Table 8: weights beside prototypes" in page
    assert "script-src 'none'" in page


def test_a_folder_with_rows_is_not_overwritten(done, capsys):
    assert run("--methods", "SVM", "--out", str(done)) == 2
    assert "add --resume to go on" in capsys.readouterr().err
    before = (done / "logm-small.csv").read_bytes()
    assert run("--methods", "SVM", "--out", str(done), "--resume") == 0
    assert (done / "logm-small.csv").read_bytes() == before
    assert main(["logm", "--datasets", "iris", "--methods", "SVM", "--resume", "--out", str(done)]) == 1
    assert "other settings (protocol)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--table", "9"), "no table '9' here; choose from 3, 5, 7, 8."),
        (("--methods", "LOGN"), "unknown method 'LOGN'"),
        (("--table", "8", "--methods", "MCE"), "unknown method 'MCE'; choose from LOGM, SVM"),
        (("--jobs", "0"), "--jobs and --repeats must be at least 1"),
        (("--out", "a-file"), "is a file; name a folder"),
    ],
)
def test_wrong_use(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a-file").write_text("")
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err


def test_unknown_data_set(capsys):
    assert main(["logm", "--datasets", "irs"]) == 2
    assert "unknown data set 'irs'; choose from hepatitis, corral" in capsys.readouterr().err


def test_sets_and_methods_that_never_meet(capsys):
    assert main(["logm", "--datasets", "usps", "--methods", "k-means"]) == 2
    assert "no experiment has both" in capsys.readouterr().err


def _read_all(terminal, shown):
    """A bar stops at a terminal that nobody reads."""
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 65536):
            shown += chunk
    os.close(terminal)


def test_ctrl_c_on_a_terminal_keeps_what_is_done(tmp_path):
    """The whole foreground group gets SIGINT, as from a keyboard; the bar says how long the rest will take."""
    rows = tmp_path / "out" / "logm-small.csv"
    command = [sys.executable, "-m", "reproduction", "logm", "--out", str(rows.parent)]
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*command, "--datasets", "iris", "--methods", "k-means", "LOGM", "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        start_new_session=True,
    )
    os.close(slave)
    shown = bytearray()
    reader = threading.Thread(target=_read_all, args=(master, shown), daemon=True)
    reader.start()
    end = time.monotonic() + 60
    while (not rows.exists() or len(rows.read_bytes().splitlines()) < 8) and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    reader.join(10)
    assert process.returncode == 1
    assert "Written: " in printed
    assert b"--resume goes on" in shown
    assert b"Traceback" not in shown
    assert b" left" in shown
    assert len(read_rows(rows, COLUMNS)) >= 7
