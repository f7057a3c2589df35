"""Rows, their CSV file, and ratios from given rows."""

import csv

import pytest

from benchmarks.measurements import (
    COLUMNS,
    Measurement,
    by_machine,
    number,
    ratio,
    read,
    replaced,
    spread,
    where,
    write,
)


def rows(library, values, **more):
    return [
        Measurement("part", "data", "GLVQ", library, "online", "fit", "s", value, repeat, **more)
        for repeat, value in enumerate(values)
    ]


def test_a_ratio_is_the_median_of_the_ratios_of_the_same_repeats():
    found = ratio(rows("theirs", [10.0, 30.0, 80.0]), rows("ours", [1.0, 2.0, 4.0]), "ours", "theirs", least=12)
    assert (found.median, found.low, found.high, found.n) == (15.0, 10.0, 20.0, 3)
    assert found.met
    # The ratio of the medians would be the same here, that of the best times would not.
    slower = ratio(rows("theirs", [10.0, 30.0, 80.0]), rows("ours", [1.0, 2.0, 4.0]), "ours", "theirs", least=16)
    assert slower.met is False


def test_repeats_that_only_one_has_do_not_count():
    found = ratio(rows("theirs", [10.0]), rows("ours", [2.0, 100.0]), "ours", "theirs")
    assert (found.median, found.n, found.met) == (5.0, 1, None)
    assert ratio([], rows("ours", [1.0]), "ours", "theirs") is None


def test_a_lower_accuracy_is_a_miss_however_fast():
    found = ratio(rows("theirs", [100.0]), rows("ours", [1.0]), "ours", "theirs", least=12, holds=False)
    assert found.met is False
    assert found.cells()[3:5] == ("at least 12", "**no**")


@pytest.mark.parametrize(("value", "met"), [(10.4, True), (10.6, False)])
def test_at_most(value, met):
    found = ratio(rows("many", [value]), rows("few", [1.0]), "many", "few", most=10.5)
    assert found.met is met
    assert found.wanted == "at most 10.5"


def test_the_file_gives_back_what_was_written(tmp_path):
    given = rows("ours", [0.123456, 2.0], version="0.1.0", note="3 of 30 epochs, scaled")
    path = tmp_path / "train.csv"
    write(path, given)
    assert read(path) == given
    with path.open(newline="") as file:
        assert tuple(next(csv.reader(file))) == COLUMNS
    assert read(tmp_path / "missing.csv") == []


def test_a_part_that_is_measured_again_replaces_its_rows_only():
    old = [Measurement(part, "", "", "", "", "fit", "s", 1.0) for part in ("a", "b")]
    new = [Measurement("b", "", "", "", "", "fit", "s", 2.0)]
    found = replaced(old, new, ["b"])
    assert [(row.part, row.value) for row in found] == [("a", 1.0), ("b", 2.0)]
    assert where(found, part="b") == new


def test_figures_of_another_machine_stay_beside_the_new_ones():
    old = replaced([], rows("ours", [1.0]) + rows("theirs", [2.0]), ["part"], "one machine")
    found = replaced(old, rows("ours", [4.0]), [old[0].part], "another")
    assert [(row.machine, row.value) for row in found] == [("one machine", 1.0), ("one machine", 2.0), ("another", 4.0)]
    assert list(by_machine(found)) == ["another", "one machine"]
    assert by_machine(found)["one machine"] == old


def test_numbers_and_spreads_are_short():
    assert [number(value) for value in (1234.5, 12.34, 1.234, 0.1234, 0.00123)] == [
        "1234",
        "12.3",
        "1.23",
        "0.12",
        "0.0012",
    ]
    assert spread(rows("ours", [3.0, 1.0, 2.0])) == "2.00 (1.00 to 3.00)"
    assert spread(rows("ours", [3.0])) == "3.00"
    assert spread([]) == ""
