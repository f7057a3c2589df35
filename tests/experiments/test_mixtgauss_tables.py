"""The comparison of the MixtGauss paper: in small in the normal run, the whole tables behind the mark slow."""

import warnings

import numpy as np
import pytest

from protolearn.experiments import mixtgauss


def test_published_figures_have_the_printed_averages():
    columns = np.mean([figures[1:] for figures in mixtgauss.PUBLISHED.values()], axis=0)
    np.testing.assert_allclose(columns, [78.15, 62.36, 69.69, 65.91, 71.21], atol=0.02)


def test_vowel_is_the_training_half():
    assert mixtgauss.paper_set("vowel")[0].shape == (528, 10)


@pytest.mark.filterwarnings("ignore:Class")
def test_mixtgauss_beats_chen_on_vowel():
    scores = mixtgauss.compare("vowel", 1, standardised=False)
    for size in mixtgauss.SIZES:
        assert np.mean(scores[f"MixtGauss {size}J"]) > np.mean(scores[f"Chen {size}J"]) + 10


@pytest.mark.filterwarnings("ignore:Class")
def test_command_writes_its_section_and_the_figure(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(mixtgauss, "LARGEST_OF_FIGURE", 2)
    monkeypatch.setattr(mixtgauss, "FIGURE_ROWS", (1, 2))
    with warnings.catch_warnings():
        mixtgauss.main(["--repeats", "1", "--sets", "wine", "--docs", str(tmp_path)])
    text = (tmp_path / "fidelity.md").read_text()
    assert "<!-- begin mixtgauss -->" in text
    assert "| Wine |" in text
    assert (tmp_path / "figures" / "mixtgauss_vowel.png").stat().st_size > 10_000
    assert "MixtGauss 3J" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_tables_two_and_three():
    names = [figures[0] for figures in mixtgauss.PUBLISHED.values()]
    scores = {name: mixtgauss.compare(name, 1, standardised=False) for name in names}
    assert mixtgauss.mean(scores, "MixtGauss 3J") >= 69.69
    assert mixtgauss.mean(scores, "MixtGauss 5J") >= 71.21
    assert mixtgauss.mean(scores, "MixtGauss 3J") >= mixtgauss.mean(scores, "Chen 3J") + 4
