"""The OLVQ1 epoch of `balance` never makes a start worse."""

import numpy as np

from protolearn.data import TrainingSet
from protolearn.initializers import INITIALIZERS
from protolearn.metrics import METRICS
from protolearn.solvers.batch import classification_error


def test_balance_keeps_prototypes_in_the_data():
    rng = np.random.RandomState(0)
    # Noise of many classes: nearly every winner is wrong, and OLVQ1 pushes it away.
    data = TrainingSet(rng.randn(3000, 64), rng.randint(26, size=3000), None, 26)
    counts = np.full(26, 3)
    positions, labels = INITIALIZERS["balance"](data, counts, np.random.RandomState(0))
    assert np.abs(positions).max() < 100
    start = METRICS["euclidean"].start(positions, labels, data)
    plain = METRICS["euclidean"].start(*INITIALIZERS["eveninit"](data, counts, np.random.RandomState(0)), data)
    assert classification_error(start, data, METRICS["euclidean"]) <= classification_error(
        plain, data, METRICS["euclidean"]
    )
