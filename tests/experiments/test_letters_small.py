"""The letters and LaMaLVQ comparisons on data small enough for a test."""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_blobs

from protolearn.experiments import lamalvq_versus_gmlvq, letters


def test_letters_table_from_a_run_and_again_from_its_cache(tmp_path, monkeypatch):
    X, y = make_blobs(360, 4, centers=3, cluster_std=3.0, random_state=0)
    parts = [(X[part].astype(np.float32), y[part]) for part in (slice(200), slice(200, 280), slice(280, 360))]
    monkeypatch.setattr(letters, "letter_sets", lambda: parts)
    quick = {name: (clone(model).set_params(max_iter=2), grid[:2]) for name, (model, grid) in letters.METHODS.items()}
    monkeypatch.setattr(letters, "METHODS", quick)
    report, cache = tmp_path / "fidelity.md", tmp_path / "found.json"
    letters.letters(report, 2, 1, [100], cache)
    first = report.read_text()
    assert "| 100 | 2 |" in first
    before = cache.read_text()
    letters.letters(report, 2, 1, [100], cache)
    assert cache.read_text() == before
    assert report.read_text() == first


def test_letter_sets_are_as_large_as_said():
    sizes = [len(y) for _, y in letters.letter_sets()]
    assert sizes == [24420, 1031, 10453]


def test_comparison_with_gmlvq(monkeypatch):
    quick = {name: clone(model) for name, model in lamalvq_versus_gmlvq.MODELS.items()}
    for model in quick.values():
        model.set_params(**({"rounds": 1} if "rounds" in model.get_params() else {"max_iter": 5}))
    monkeypatch.setattr(lamalvq_versus_gmlvq, "MODELS", quick)
    found = lamalvq_versus_gmlvq.errors("iris", n_folds=2)
    assert len(found) == len(quick)
    assert max(found[:3]) < 0.5
