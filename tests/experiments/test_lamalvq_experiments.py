"""The command of the LaMaLVQ experiments, in small, on data that needs no download."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from protolearn.experiments import lamalvq, lmnn
from protolearn.experiments.datasets import DataSet


def small_set(name):
    X, y = load_wine(return_X_y=True) if name == "wine" else load_iris(return_X_y=True)
    if name == "letter":
        # 2.5 % of each class must be ten rows or more for ten folds.
        X, y = np.tile(X, (10, 1)), np.tile(y, 10)
    return DataSet(name, X, y, None)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lamalvq, "load", small_set)
        short = {
            letter: lamalvq.Experiment(one.title, one.targets, one.settings | {"rounds": 2, "epochs": 1})
            for letter, one in lamalvq.EXPERIMENTS.items()
        }
        patch.setattr(lamalvq, "EXPERIMENTS", short)
        results = lamalvq.Results(tmp_path_factory.mktemp("runs"), 1)
        for letter, one in short.items():
            for name in lamalvq.SETS:
                for k in one.targets:
                    results.complete(letter, name, k, 0)
        yield results


def test_every_finding_gets_a_verdict(finished):
    text = lamalvq.verdicts(finished)
    assert text.count("confirmed") + text.count("contradicted") == len(lamalvq.FINDINGS)
    n_settings = sum(len(one.targets) for one in lamalvq.EXPERIMENTS.values())
    assert len(lamalvq.summary(finished).splitlines()) == 2 + 3 * n_settings


def test_pictures_of_curves_and_matrices(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(lamalvq, "EXPERIMENTS", {"A": lamalvq.EXPERIMENTS["A"]})
    monkeypatch.setattr(lamalvq, "SETS", ("iris",))
    lamalvq.draw(finished, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lamalvq_A.png", "lamalvq_matrices.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())


def test_a_finished_run_is_not_repeated(finished, monkeypatch):
    monkeypatch.setattr(lamalvq, "run", None)
    finished.complete("A", "iris", 5, 0)
    assert finished.mean("A", "iris", 5, "cost").shape == (2,)


def test_solves_never_raise_the_cost(finished):
    for one in finished.runs("A", "wine", 5) + finished.runs("E", "wine", 5):
        assert (one["cost"] <= one["cost_before"] * (1 + 1e-9)).all()


def test_lmnn_beside_three_neighbours(monkeypatch):
    monkeypatch.setattr(lmnn, "load", small_set)
    found = lmnn.compare("wine")
    assert found["learned"] > found["plain"]
