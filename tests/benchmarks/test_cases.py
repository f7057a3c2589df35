"""Every case at a tiny size: its rows, its page, its lines. What is timed is not tested."""

import csv
import shutil
from dataclasses import replace

import pytest

from benchmarks import metric, out_of_core, peers, predict, scale, start, support_vectors
from benchmarks.__main__ import CASES, case, main
from benchmarks.case import Request
from benchmarks.measurements import COLUMNS, Measurement, read, replaced, write

# A part or two of each case, which together take its ways of measuring.
TINY = {
    "train": "epochs,LVQ1-digits,svm",
    "predict": "threads-1,single",
    "start": "import,compile,first-row,NearestPrototype",
    "memory": "",
    "scale": "fit-GLVQ-lbfgs,predict",
    "reduction": "letter",
    "metric": "iris",
}


def test_without_a_case_there_is_a_list_with_a_line_and_a_duration_each(capsys):
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CASES)
    assert all("minute" in line for line in lines)


# Those that start many processes, each of which compiles, take minutes.
LONG = {"train", "predict", "start", "memory", "scale"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in CASES])
def test_a_tiny_run_leaves_rows_and_a_page(name, tmp_path, capsys):
    repeats = "2" if name in ("train", "predict") else "1"
    options = [name, "--quick", "--repeats", repeats, "--out", str(tmp_path / "out"), "--docs", str(tmp_path / "docs")]
    assert main([*options, "--only", TINY[name]]) in (0, 1)
    with (tmp_path / "out" / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    parts = case(name).chosen(TINY[name].split(",") if TINY[name] else [])
    assert {row["part"] for row in rows} == set(parts)
    assert all(float(row["value"]) == float(row["value"]) for row in rows)
    if name == "train":
        # R where it is installed; where it is not, a sentence instead of its times.
        fits = [row for row in rows if row["part"] == "LVQ1-digits" and row["measure"] == "test accuracy"]
        assert {row["library"] for row in fits} == {"protolearn", *(["R class"] if shutil.which("Rscript") else [])}
        assert min(float(row["value"]) for row in fits) > 0.8
    page = (tmp_path / "docs" / "evidence" / f"speed_{name}.md").read_text()
    assert page.startswith(f"# {name.capitalize()}: all measurements")
    assert f"Made by `python -m benchmarks {name}`" in page
    assert "nan" not in page
    assert "ours | against" in capsys.readouterr().out


def test_a_name_stands_for_itself_or_for_all_that_begin_with_it():
    assert case("train").chosen(["LVQ3"]) == ["LVQ3-digits", "LVQ3-usps", "LVQ3-made32"]
    assert case("train").chosen(["svm"]) == ["svm"]
    assert "svm-grid" not in case("train").chosen([])


def test_every_piece_out_of_core_can_be_asked_for():
    assert set(out_of_core.PARTS) == set(scale.OUT_OF_CORE) == set(scale.CASE.on_request)


def test_an_unknown_part_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--only", "LVQ9"])
    assert "train has no part LVQ9; choose from epochs" in capsys.readouterr().err


def test_pages_and_picture_can_be_made_of_the_file_alone(tmp_path, capsys):
    rows = fits("protolearn", "online, float64", 2.0, 0.96) + fits("sklvq", "sgd, float64", 40.0, 0.95)
    write(tmp_path / "train.csv", rows)
    options = ["train", "--redraw", "--out", str(tmp_path), "--docs", str(tmp_path)]
    assert main(options[:-2]) == main(options) == 0
    assert "| 20.0 | at least 10 | yes |" in capsys.readouterr().out
    assert (tmp_path / "figures" / "speed.png").stat().st_size > 1000
    page = (tmp_path / "speed.md").read_text()
    assert page.startswith("# Speed")
    assert "| GLVQ | 2 µs | 40 µs | sklvq | **20** |" in page
    assert "at least" not in page
    every_row = (tmp_path / "evidence" / "speed_train.md").read_text()
    line = "| GLVQ | digits | 2.00 µs, online, float64 | 40.0 µs, sklvq, sgd, float64 | 20.0 | 0.960 against 0.950 |"
    assert line in every_row
    assert "Made by `python -m benchmarks train --peers`" in every_row
    assert read(tmp_path / "train.csv") == rows
    with pytest.raises(SystemExit):
        main(["predict", *options[1:]])
    assert "holds no rows to draw; run predict first" in capsys.readouterr().err


def test_every_machine_has_its_tables_and_the_last_one_the_lines(tmp_path, capsys):
    old = fits("protolearn", "online, float64", 2.0, 0.96) + fits("sklvq", "sgd, float64", 10.0, 0.95)
    new = fits("protolearn", "online, float64", 0.5, 0.96) + fits("sklvq", "sgd, float64", 10.0, 0.95)
    write(tmp_path / "train.csv", replaced(replaced([], old, [], "a slow one"), new, [], "a fast one"))
    assert main(["train", "--redraw", "--out", str(tmp_path), "--docs", str(tmp_path)]) == 0
    page = (tmp_path / "evidence" / "speed_train.md").read_text()
    fast, slow = page.split("## a slow one")
    assert "## a fast one" in fast
    assert "online, float64 | 0.50 |" in fast
    assert "online, float64 | 2.00 |" in slow
    (line,) = [line for line in (tmp_path / "speed.md").read_text().splitlines() if line.startswith("| GLVQ")]
    assert line.endswith("| **20** |")
    assert "| 5.00 |" not in capsys.readouterr().out


def test_parts_can_be_listed(capsys):
    assert main(["predict", "--parts"]) == 0
    assert capsys.readouterr().out.split() == ["threads-1", "threads-2", "peers", "single"]


def fits(library, setting, each, accuracy, note=""):
    values = {"fit": each, "per epoch and sample": each, "test accuracy": accuracy}
    return [
        Measurement("GLVQ-digits", "digits", "GLVQ", library, setting, name, "", value, 0, "", note)
        for name, value in values.items()
    ]


def test_a_slower_peer_that_is_more_accurate_counts_too():
    rows = fits("protolearn", "online, float32", 1.0, 0.90) + fits("protolearn", "lbfgs, float32", 8.0, 0.97)
    rows += fits("sklvq", "sgd, float64", 20.0, 0.90) + fits("prototorch", "Adam, float32", 40.0, 0.97)
    (found,) = peers.ratios(rows)
    assert (found.median, found.against) == (5.0, "prototorch, Adam, float32")
    assert found.what.endswith("lbfgs, float32")


def test_the_fastest_peer_counts_and_the_fastest_of_ours_that_is_as_accurate():
    rows = fits("protolearn", "online, float64", 2.0, 0.96) + fits("protolearn", "online, float32", 1.0, 0.97)
    rows += fits("sklvq", "sgd, float64", 40.0, 0.95) + fits(
        "prototorch", "Adam, float32", 20.0, 0.94, "5 of 30 epochs"
    )
    (found,) = peers.ratios(rows)
    assert found.median == 20.0
    assert found.met
    assert found.against == "prototorch, Adam, float32"
    assert "5 of 30 epochs" in found.note
    faster_but_worse = fits("protolearn", "lbfgs, float32", 0.1, 0.93)
    assert peers.ratios(rows + faster_but_worse) == [found]
    as_accurate = fits("protolearn", "lbfgs, float32", 0.5, 0.938)
    assert peers.ratios(rows + as_accurate)[0].median == 40.0
    (found,) = peers.ratios(rows[: len(rows) // 2] + fits("sklvq", "sgd, float64", 40.0, 0.95))
    assert found.median == 40.0
    assert "20 in its number type (online, float64)" in found.note
    (found,) = peers.ratios(rows[: len(rows) // 2] + fits("sklvq", "sgd, float64", 40.0, 0.98))
    assert found.median == 40.0
    assert found.met is False


def entry(library, each, epochs=30, **more):
    return peers.Entry(peers.Rival(library, "GLVQ", "", **more), None, 1, 1000, epochs, each)


def test_what_may_be_the_fastest_of_its_side_is_measured_as_often_as_asked_for():
    ours = [entry("protolearn", 0.01), entry("protolearn", 0.019), entry("protolearn", 0.7), entry("protolearn", 10.0)]
    theirs = [entry("sklvq", 2.0), entry("prototorch", 3.9), entry("sklearn-lvq", 100.0, epochs=1)]
    found = peers._with_repeats([*ours, *theirs], 5)
    assert [one.repeats for one in found] == [5, 5, 1, 1, 5, 5, 1]
    assert peers._with_repeats([entry("R class", 0.0)], 3)[0].repeats == 3


def test_batches_are_also_measured_on_all_cores(monkeypatch):
    monkeypatch.setattr(peers.os, "cpu_count", lambda: 2)
    request = Request(repeats=5, all_cores=True)
    fast = replace(entry("prototorch", 1.0), repeats=5)
    assert peers._gains_from_threads(fast, request)
    assert not peers._gains_from_threads(fast, Request(repeats=5))
    assert not peers._gains_from_threads(replace(fast, repeats=2), request)
    assert not peers._gains_from_threads(replace(fast, threads=2), request)
    assert not peers._gains_from_threads(replace(entry("R class", 1.0, by_sample=True), repeats=5), request)


def test_growth_is_that_of_ten_times_the_rows():
    times = {1000: 1.0, 3000: 2.0, 10_000: 11.0}
    rows = [Measurement("predict", f"{n} x 32", "predict", "", "", "time", "s", value) for n, value in times.items()]
    (found,) = scale.ratios(rows)
    assert (found.median, found.met) == (11.0, False)
    # What is there once does not count.
    memory = {300: 0.1, 1000: 1.0, 10_000: 1.0 + 9000 * 64 / 1e6}
    rows = [Measurement("predict", f"{n} x 32", "predict", "", "", "memory", "MB", mb) for n, mb in memory.items()]
    (found,) = scale.ratios(rows)
    assert found.median == pytest.approx(0.5 * 56 / 64)
    assert found.note == "64.0 bytes a row with the label"


def starts(**seconds):
    settings = {"cold": start.COLD, "warm": start.WARM, "later": start.LATER}
    return [
        Measurement("LaMaLVQ", "iris 150 x 4", "LaMaLVQ", "protolearn", settings[name], "time", "s", value)
        for name, value in seconds.items()
    ]


def test_a_later_fit_tells_start_up_from_training():
    (cold,) = start.ratios(starts(cold=5.5, warm=1.25, later=0.9))
    assert (cold.median, cold.note) == (1.1, "5.50 s, of which 0.90 s is training (a later fit)")
    (_, header, body), _ = start.tables(starts(cold=5.5, warm=1.25, later=0.9))
    assert header[-1] == "a later fit, s"
    assert body == [("LaMaLVQ", "5.50", "1.25", "0.90")]
    without = starts(cold=5.5, warm=1.25)
    assert start.ratios(without)[0].note == "5.50 s"
    assert start.tables(without)[0][2] == [("LaMaLVQ", "5.50", "1.25", "")]


def test_the_support_vector_machine_is_the_reference():
    rows = [
        Measurement("svm", "usps", task, "", task, measure, "s", value)
        for task, measure, value in (("LOGM", "training", 2.0), ("SVC", "training", 5.0))
    ]
    (found,) = support_vectors.ratios(rows)
    assert found.median == 2.5
    assert found.note == "the paper: 3.1"


def test_lines_tell_both_sides_in_their_units():
    rows = [
        Measurement("threads-1", "10 x 64, 5 prototypes", task, library, "1 thread", "speed", "rows/s", value)
        for task, library, value in (
            (predict.REFERENCES[0].setting, "protolearn", 6e6),
            (predict.REFERENCES[1].setting, "faiss", 4e6),
        )
    ]
    (line,) = predict.lines(rows)
    data, faiss = "10 x 64, 5 prototypes", "4.00 M rows/s, faiss IndexFlatL2"
    assert line.cells() == ("predict, 1 thread", data, "6.00 M rows/s", faiss, "1.50", "")
    rows = [
        Measurement("made32", "made32 15000 x 32", "LMNN", library, "", "time", "s", value)
        for library, value in (("protolearn", 2.0), ("pylmnn", 9.0))
    ]
    rows += [replace(row, measure="cost") for row in rows]
    (line,) = metric.lines(rows)
    assert line.cells()[2:] == ("2.00 s", "9.00 s, pylmnn", "4.50", "")


def test_a_task_is_one_row_from_least_to_largest(tmp_path):
    rows = fits("protolearn", "online, float64", 2.0, 0.96) + fits("sklvq", "sgd, float64", 40.0, 0.95)
    other = fits("protolearn", "online, float64", 1.0, 0.96) + fits("prototorch", "Adam, float32", 30.0, 0.95)
    rows += [replace(row, part="GLVQ-usps", data="usps") for row in other]
    write(tmp_path / "train.csv", rows)
    assert main(["train", "--redraw", "--out", str(tmp_path), "--docs", str(tmp_path)]) == 0
    (line,) = [line for line in (tmp_path / "speed.md").read_text().splitlines() if line.startswith("| GLVQ")]
    task = "| GLVQ | 1 to 2 µs | 30 to 40 µs | sklvq, prototorch | **20 to 30** |"
    assert line == task
