"""What docs/compare.md and docs/report.md print is what the commands print (but for measured times)."""

import re
from pathlib import Path

import pytest
from sklearn.datasets import load_wine

from protolearn import cli
from shop import masked

DOCS = Path(__file__).parents[2] / "docs"


def documented(name, command):
    """The arguments and the lines of output of the first console block with this command."""
    page = (DOCS / name).read_text(encoding="utf-8")
    for block in re.findall(r"```console\n\$ protolearn (.*?)```", page, re.DOTALL):
        arguments, _, output = block.partition("\n")
        if arguments.startswith(command):
            return arguments.split(), output.splitlines()
    raise AssertionError(f"{name} has no {command}")


@pytest.fixture
def wine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load_wine(as_frame=True).frame.to_csv("wine.csv", index=False)


def test_compare(wine, capsys):
    arguments, wanted = documented("compare.md", "compare")
    assert cli.main([*arguments, "--jobs", "1"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(wanted)
    measured = 2
    for line, other in zip(printed, wanted, strict=True):
        cells, others = re.split(r"\s{2,}", line), re.split(r"\s{2,}", other)
        assert (cells[:-measured] if len(cells) > 2 else cells) == (others[:-measured] if len(others) > 2 else others)


def test_fit_with_a_report(wine, capsys):
    arguments, wanted = documented("report.md", "fit")
    assert cli.main(arguments) == 0
    assert masked(capsys.readouterr().out) == masked("\n".join(wanted))
    sections = re.findall(r'<h2 id="[^"]*">([^<]*)</h2>', Path("report.html").read_text(encoding="utf-8"))
    for title in sections:
        assert f"| {title} |" in (DOCS / "report.md").read_text(encoding="utf-8")
