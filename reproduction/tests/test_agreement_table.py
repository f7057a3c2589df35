"""The comparison of exports: rows in a file that a second run goes on from, and the table made of them."""

import pytest

from reproduction import agreement, programs

needs_both = pytest.mark.skipif(
    not (programs.available("gcc") and programs.available("node")), reason="gcc and node are not installed"
)


@needs_both
def test_rows_and_table(tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    chosen = [case for case in agreement.cases(2) if case[0] in ("GRLVQ", "MixtGauss, mixture")]
    agreement.run(["iris"], rows, chosen)
    agreement.run(["iris"], rows, chosen)
    found = agreement.read(rows)
    assert [row["model"] for row in found] == ["GRLVQ", "MixtGauss, mixture"]
    assert found[1]["int8"] == ""
    assert "| iris | 2 | 120 | 0 | 0 | 0 | 0 |" in agreement.summary(found)


@needs_both
def test_sizes_of_object_files():
    lines = programs.size_table().splitlines()
    assert len(lines) == 2 + 6
    header = [cell.strip() for cell in lines[0].split("|")[1:-1]]
    for line in lines[2:]:
        cells = dict(zip(header, (cell.strip() for cell in line.split("|")[1:-1]), strict=True))
        assert int(cells["tables"]) < int(cells["host"]) < int(cells["tables"]) + 2000
