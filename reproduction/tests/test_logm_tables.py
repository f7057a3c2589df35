"""The printed figures, sent through the code that makes our tables, give the printed ranks and p-values."""

import pytest

from reproduction.logm import LARGE, PAPER, SMALL
from reproduction.logm_published import P_VALUES, RANKS_5, RANKS_8, TABLE_5, TABLE_8
from reproduction.logm_tables import per_cent, show_table_3, show_table_5, show_table_7, show_table_8
from reproduction.reproduce import Rows


def row(dataset, method, value, fold=0, more=None):
    return {
        "dataset": dataset, "method": method, "repeat": 0, "fold": fold, "value": value, "seconds": 1.0,
        "more": more or {},
    }  # fmt: skip


@pytest.fixture(scope="module")
def printed():
    small = [
        row(name, method, accuracy / 100)
        for name in SMALL
        for method, accuracy in {**TABLE_5[name], **TABLE_8[name]}.items()
    ]
    large = [row(name, method, accuracy / 100) for name in LARGE for method, accuracy in TABLE_5[name].items()]
    return Rows({"small": small, "large": large})


def sheet(blocks, caption):
    return next(block for block in blocks if not isinstance(block, str) and block.caption.startswith(caption))


def test_every_set_of_the_paper_is_there():
    assert set(SMALL) | set(LARGE) == set(TABLE_5)
    assert set(SMALL) == set(TABLE_8)
    assert PAPER.experiments[0].datasets[0] == "hepatitis"


def test_table_5(printed):
    blocks = show_table_5(printed)
    sets = sheet(blocks, "Accuracy %, 1 folds")
    assert len(sets.rows) == 23
    assert str(sets.rows[0][1]) == "94.63 (94.63, +0.00)"
    means = sheet(blocks, "Mean accuracy % and average rank over 22 sets")
    logm = next(line for line in means.rows if line[0] == "LOGM")
    assert logm[1] == logm[2] == "86.68"
    assert logm[3] == "+0.00"
    assert sheet(blocks, "Accuracy %, official splits").rows[-1][0] == "mean of 8"


def test_ranks_are_the_printed_ones(printed):
    everything = Rows({"small": [*printed.of["small"], *printed.of["large"]]})
    means = sheet(show_table_5(everything), "Mean accuracy % and average rank over 30 sets")
    assert {line[0]: float(line[-1]) for line in means.rows} == pytest.approx(RANKS_5, abs=0.006)


def test_p_values_are_the_printed_ones(printed):
    lines = {line[0]: line for line in show_table_7(printed)[0].rows}
    for (first, second), p in P_VALUES.items():
        line = lines[f"{first}, {second}"]
        value, better = line[3].split()
        assert float(value) == pytest.approx(abs(p), abs=0.009)
        assert better == (second if p >= 0 else first)
        assert line[2] == line[3]
        assert sum(map(int, line[4].split("/"))) == 30


def test_table_8(printed):
    blocks = show_table_8(printed)
    assert "P < PIW < PDW in mean accuracy: confirmed" in blocks[2]
    assert "better than SVM on 9 sets, worse on 12" in blocks[2]
    ranks = {line[0]: float(line[-1]) for line in sheet(blocks, "Mean").rows}
    assert ranks == pytest.approx(RANKS_8, abs=0.011)
    assert "LOGM-W, own weights" not in sheet(blocks, "Accuracy").header
    worse = Rows({"small": [{**r, "value": 0.1} if r["method"] == "LOGM-PDW" else r for r in printed.of["small"]]})
    assert "**contradicted**" in show_table_8(worse)[2]


def test_both_readings_of_logm_w_are_shown(printed):
    both = [*printed.of["small"], *(row(name, "LOGM-W, own weights", 0.9) for name in SMALL)]
    assert "LOGM-W, own weights" in show_table_8(Rows({"small": both}))[0].header


def test_table_3_is_in_units_of_logm():
    rows = Rows(
        {
            "times": [
                row("usps", "LOGM", 2.0, more={"test_seconds": 0.01, "accuracy": 0.94}),
                row("usps", "SVM", 8.0, more={"test_seconds": 1.0, "accuracy": 0.95}),
            ]
        }
    )
    lines = show_table_3(rows)[0].rows
    assert lines[1] == ("SVM", "8.00", "4.00 (3.11)", "1.000", "100.00 (46.81)", "95.00")
    assert show_table_3(Rows({})) == []


def test_sets_that_are_not_complete_wait():
    rows = Rows({"small": [row("iris", "LOGM", 0.9), row("iris", "LOGM", 0.9, fold=1)]})
    assert show_table_5(rows) == show_table_7(rows) == show_table_8(rows) == []
    assert per_cent(rows, "small") == {"iris": {"LOGM": 90.0}}


def test_a_difference_that_the_folds_do_not_explain_is_named():
    def rows(shift):
        return Rows(
            {
                "small": [
                    row(name, method, (TABLE_5[name][method] + shift + fold % 2) / 100, fold=fold)
                    for name in ("iris", "breast")
                    for method in TABLE_5["iris"]
                    for fold in range(10)
                ]
            }
        )

    assert "more than a point and twice its standard error over our folds: none." in show_table_5(rows(0.0))[2]
    found = show_table_5(rows(2.0))[2]
    assert "`breast` +2.5 (standard error 0.2): the paper counts 10 features" in found
    assert "`iris` +2.5 (standard error 0.2): no cause found." in found
    missing = show_table_5(rows(0.0))[3]
    assert missing.startswith("Of the paper's 22 small sets not run to the end: `corral`, ")
    assert "`iris`" not in missing
