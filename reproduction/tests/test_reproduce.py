"""Rows of a paper's experiment: kept when a run is killed, equal whatever runs beside them, turned into tables."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from protolearn.compare.rows import read_rows
from reproduction import PAPERS, logm
from reproduction.datasets import facts
from reproduction.protocols import LOGM_SMALL, Protocol
from reproduction.publishing import quick_note, write_page, write_section_of
from reproduction.report import Beside, Drawing, Sheet, beside, markdown, page_body
from reproduction.reproduce import (
    COLUMNS,
    Experiment,
    Outcome,
    Paper,
    Quick,
    Rows,
    Table,
    Unit,
    one_row,
    paper,
    read,
    row_file,
    run,
)

COARSE = LOGM_SMALL.changed(
    grid={"n_prototypes": (1, 2), "regularization": (0.0,), "learning_rate": (0.5, 1.0)}, first_folds=2, epochs=20
)


def small(**fields):
    experiment = replace(paper("logm").experiments[0], protocol=COARSE, datasets=("wine", "iris"))
    return replace(experiment, **fields)


def without_times(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def fails_on_odd_folds(unit):
    if unit.fold % 2:
        raise ValueError("an odd\nfold")
    return Outcome(unit.seed + 0.5, {"of": unit.dataset})


def made_up(**fields):
    one = Experiment(
        "sets",
        Protocol(folds=4),
        ("a", "b"),
        ("x", "y"),
        fails_on_odd_folds,
        Quick(Protocol(folds=4, first_folds=1), ("a",)),
    )
    return replace(one, **fields)


def show(rows):
    drawing = Drawing("curve", lambda ax: ax.plot([0, 1]), "A line that rises.")
    return [beside("Error", ["a"], ["x"], {"a": {"x": 1.5}}, {"a": {"x": 2.0}}), "A **sentence**.", drawing]


PAPER = Paper(
    "made-up", "A title", "Nobody (1999)", lambda rows: "About the rows.", (made_up(),),
    (Table("1", "errors", {"sets": ("x",)}, show), Table("2", "nothing", {}, lambda rows: [])),
)  # fmt: skip


def test_every_paper_has_tables_that_its_experiments_can_fill():
    for name in PAPERS:
        found = paper(name)
        assert found.name == name
        experiments = {experiment.name: experiment for experiment in found.experiments}
        for table in found.tables:
            for needed, methods in table.needs.items():
                assert set(methods) <= set(experiments[needed].methods)
            assert not table.needs or table.show(Rows({})) == []
        for experiment in found.experiments:
            assert set(experiment.quick.datasets) <= set(experiment.datasets)
        shown = {needed for table in found.tables for needed in table.needs}
        assert shown == set(experiments), "an experiment that no table shows is run for nothing"


def test_every_data_set_of_an_experiment_is_known():
    drawn = {"toy", "separable points", "grid"}
    for name in PAPERS:
        for experiment in paper(name).experiments:
            for dataset in set(experiment.datasets) - drawn:
                assert facts(logm._SAME_ROWS.get(dataset, dataset)).n > 0


def test_rows_do_not_depend_on_what_runs_beside_them(tmp_path):
    methods = ["LOGM", "SVM", "k-means"]
    whole = run(small(), tmp_path / "whole.csv", methods=methods, jobs=2)
    parts = [
        run(small(), tmp_path / "parts.csv", datasets=[name], methods=[method], jobs=1, resume=True)
        for method in methods
        for name in ("iris", "wine")
    ]
    one_by_one = [row for rows in parts for row in rows]
    keyed = [{(r["dataset"], r["method"], r["fold"]): r["value"] for r in rows} for rows in (whole, one_by_one)]
    assert keyed[0] == keyed[1]
    assert len(whole) == 12
    assert read_rows(tmp_path / "whole.csv", COLUMNS) == whole


def test_killed_half_way_and_resumed_is_the_same_run(tmp_path):
    """The whole process group gets SIGKILL while two processes make rows; half a line is cut off."""
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from reproduction.reproduce import run\n"
        "from test_reproduce import small\n"
        "run(small(), Path(sys.argv[1]), methods=['LOGM', 'SVM'], jobs=2, watch=lambda u, s: time.sleep(0.05))\n"
    )
    path = tmp_path / "rows.csv"
    here = Path(__file__).parent
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (here, here.parents[1])))},
    )
    end = time.monotonic() + 90
    while (not path.exists() or len(path.read_bytes().splitlines()) < 4) and time.monotonic() < end:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert 3 <= len(read_rows(path, COLUMNS)) < 8
    with path.open("ab") as file:
        file.write(b"iris,LOGM,0,")
    resumed = run(small(), path, methods=["LOGM", "SVM"], jobs=1, resume=True)
    whole = run(small(), tmp_path / "whole.csv", methods=["LOGM", "SVM"], jobs=1)
    assert without_times(resumed) == without_times(whole)
    on_disk = [without_times(read_rows(tmp_path / name, COLUMNS)) for name in ("rows.csv", "whole.csv")]
    assert on_disk[0] == on_disk[1]


def test_other_settings_are_refused_and_more_repeats_are_not(tmp_path):
    path = tmp_path / "rows.csv"
    first = run(made_up(), path, datasets=["a"], methods=["x"])
    with pytest.raises(FileExistsError, match="go on with resume"):
        run(made_up(), path)
    with pytest.raises(ValueError, match="other settings .seed."):
        run(made_up(), path, seed=1, resume=True)
    with pytest.raises(ValueError, match="other settings .protocol."):
        run(made_up(protocol=Protocol(folds=3)), path, resume=True)
    seen = []
    again = run(
        made_up(), path, datasets=["a"], methods=["x"], repeats=2, resume=True, watch=lambda *row: seen.append(row)
    )
    assert str(without_times(again[:4])) == str(without_times(first))
    assert [row["value"] for row in again if row["fold"] == 0] == [0.5, 1.5]
    assert len(seen) == 8
    assert all(seconds == 0.0 for _, seconds in seen[:4])


def test_a_row_that_fails_says_why_and_the_others_count(tmp_path):
    rows = Rows({"sets": run(made_up(), tmp_path / "rows.csv", methods=["x"])})
    assert rows.failures() == [f"x on {name} failed: ValueError: an odd fold" for name in ("a", "b")]
    assert rows.means("sets") == {"a": {"x": 0.5}, "b": {"x": 0.5}}
    assert rows.complete("sets", ["x"]) == []
    assert rows.counts("sets") == (4, 1)
    even = Rows({"sets": [row for row in rows.of["sets"] if row["fold"] == 0 or row["dataset"] == "b"]})
    assert even.complete("sets", ["x"]) == []
    first = Rows({"sets": [row for row in rows.of["sets"] if row["fold"] == 0]})
    assert first.complete("sets", ["x"]) == ["a", "b"]
    assert first.complete("sets", ["x", "y"]) == []
    assert rows.of["sets"][0]["more"] == {"of": "a"}


def test_interrupted_rows_stay(tmp_path):
    def stop(unit, seconds):
        if unit.fold == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(made_up(), tmp_path / "rows.csv", methods=["x"], watch=stop)
    assert [row["fold"] for row in read_rows(tmp_path / "rows.csv", COLUMNS)] == [0, 1, 2]


def test_units_skip_what_an_experiment_does_not_have():
    units = made_up(skip=frozenset({("b", "y")})).units(["a", "b"], ["x", "y"], 1, seed=7)
    assert len(units) == 12
    assert units[0] == Unit(Protocol(folds=4), "a", "x", 0, 0, 7)
    assert units[1].method == "y"


def test_tables_know_what_they_need():
    found = paper("logm")
    (experiment, methods), *others = found.chosen(["8"])
    assert experiment.name == "small"
    assert "LOGM-PDW" in methods
    assert "MCE" not in methods
    assert others == []
    with pytest.raises(ValueError, match="no table '6'.* 3, 5, 7, 8"):
        found.chosen(["6"])


def test_a_measurement_without_a_figure_of_the_paper_is_shown_alone():
    sheet = beside("Error", ["a", "b"], ["x", "y"], {"a": {"x": 1.0}, "b": {"x": 2.0}}, {"a": {"x": 2.0, "y": 3.0}})
    assert [str(cell) for row in sheet.rows for cell in row] == [
        "a", "1.00 (2.00, -1.00)", "", "b", "2.00", "", "mean of 2", "1.00 (2.00, -1.00)", "",
    ]  # fmt: skip
    assert Beside(1.0, 2.0).short() == "1.00 -1.00"


def test_page_and_section_are_made_from_the_blocks(tmp_path):
    shown = [(table, table.show(Rows({}))) for table in PAPER.tables]
    page = write_page(tmp_path, PAPER, Rows({}, quick=True), shown, "the command").read_text()
    assert "A line that rises." in page
    assert "1.50\n(2.00, -0.50)" in page
    assert "A sentence." in page
    assert "1 of 2 data sets, the first 1 of 4 folds" in page
    assert 'id="table-2"' not in page
    docs = tmp_path / "docs"
    docs.mkdir()
    write_section_of(docs / "fidelity.md", PAPER, Rows({}), shown, lambda tables: "the command")
    text = (docs / "fidelity.md").read_text()
    assert "<!-- begin made-up -->" in text
    assert "| a | 1.50 (2.00, -0.50) |" in text
    assert "![A line that rises.](figures/curve.png)" in text
    assert (docs / "figures" / "curve.png").stat().st_size > 1000
    assert "Made by `the command`" in text
    assert markdown([Sheet("Head", ("a",), (("1",),))], docs) == "Head:\n\n| a |\n|---|\n| 1 |"
    assert "<table>" in page_body([Sheet("Head", ("a",), (("1",),))], "t")


def test_read_finds_the_rows_of_a_folder(tmp_path):
    experiment = PAPER.experiments[0]
    made = run(experiment, row_file(tmp_path, PAPER, experiment), methods=["x"])
    found = read(tmp_path, PAPER)
    assert [row["fold"] for row in found.of["sets"]] == [row["fold"] for row in made]
    assert json.loads((tmp_path / "made-up-sets.json").read_text())["experiment"] == "sets"


def test_the_logm_protocol_tunes_inside_the_training_part():
    unit = Unit(COARSE, "iris", "LOGM", 0, 0, 0)
    row = one_row(logm.measure, unit)
    assert row["value"] > 0.8
    assert set(row["more"]["chosen"]) == {"n_prototypes", "regularization", "learning_rate"}
    again = one_row(logm.measure, unit)
    assert (again["value"], again["more"]) == (row["value"], row["more"])
    settings = list(logm.settings_of("LOGM", LOGM_SMALL.grid))
    assert len(settings) == 125
    assert settings[0] == {"regularization": 0.05, "n_prototypes": 1, "learning_rate": 0.1}
    assert len(list(logm.settings_of("SVM", LOGM_SMALL.grid))) == 25
    assert len(list(logm.settings_of("k-means", LOGM_SMALL.grid))) == 5


@pytest.mark.papers_data
def test_diabetes_is_pima_in_other_folds():
    folds = [logm._Fold(Unit(COARSE, name, "LOGM", 0, 0, 0)) for name in ("pima", "diabetes")]
    assert len(folds[0].X_test) == len(folds[1].X_test)
    assert not np.array_equal(folds[0].X_test, folds[1].X_test)


def test_what_a_quick_run_leaves_out_is_said():
    assert "8 of 22 data sets, the first 5 of 10 folds, 18 of 125 settings" in quick_note(
        paper("logm"), paper("logm").tables
    )
