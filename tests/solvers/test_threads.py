"""A fit gives the same bits however many threads share its blocks of rows."""

import numpy as np
import pytest

from protolearn import GLVQ, GMLVQ, LGMLVQ, RSLVQ, MixtGauss
from protolearn.core import threads


@pytest.fixture(scope="module")
def rows():
    """Enough of them that each sum is worth a second thread."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 12_000)
    return rng.normal(size=(12_000, 24)).astype(np.float32) + 0.7 * np.eye(3, 24, dtype=np.float32)[y], y


MODELS = [
    GLVQ(30, solver="lbfgs", max_iter=4, random_state=0),
    GMLVQ(30, solver="lbfgs", max_iter=4, random_state=0),
    LGMLVQ(4, solver="gradient", scope="prototype", max_iter=3, random_state=0),
    RSLVQ(30, solver="lbfgs", max_iter=4, random_state=0),
    MixtGauss(30, max_iter=3, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_model_does_not_depend_on_the_number_of_threads(rows, model, monkeypatch):
    shared = []

    def run(n):
        in_threads = threads.in_threads

        def counted(function, items, count):
            shared.append(count)
            return in_threads(function, items, count)

        monkeypatch.setattr(threads, "n_threads", lambda: n)
        monkeypatch.setattr("protolearn.data.training_set.in_threads", counted)
        fitted = model.fit(*rows)
        monkeypatch.undo()
        return fitted.prototypes_, fitted.predict_proba(rows[0])

    alone = run(1)
    assert max(shared, default=1) == 1
    for n in (2, 3):
        for one, other in zip(alone, run(n), strict=True):
            np.testing.assert_array_equal(one, other)
    assert max(shared) > 1
