"""Streams: partial_fit block by block, on data that stays and on data that drifts."""

import numpy as np
import pytest

from protolearn import GLVQ, GMLVQ, LOGM, LVQ1, NearestPrototype
from reproduction.streams import drifting_blocks, prequential_accuracy

N_BLOCKS, ROWS = 60, 100


def stream(speed, seed=0):
    return drifting_blocks(N_BLOCKS, ROWS, speed=speed, random_state=seed)


@pytest.mark.parametrize("model", [GLVQ, LOGM, LVQ1, GMLVQ])
def test_a_learner_follows_the_drift_and_a_still_one_does_not(model):
    learner = model(n_prototypes=2, random_state=0)
    moving = prequential_accuracy(learner, stream(speed=1.0), classes=[0, 1, 2])
    first = next(iter(stream(speed=1.0)))
    still = NearestPrototype(2, random_state=0).fit(*first)
    frozen = [still.score(X, y) for X, y in stream(speed=1.0)][1:]
    late = slice(N_BLOCKS // 2, None)
    assert np.mean(moving[late]) > 0.9
    assert np.mean(frozen[late]) < 0.6


def test_without_drift_the_prequential_accuracy_nears_that_of_a_whole_fit():
    found = prequential_accuracy(GLVQ(n_prototypes=2, random_state=0), stream(speed=0.0), classes=[0, 1, 2])
    blocks = list(stream(speed=0.0))
    X, y = (np.concatenate(part) for part in zip(*blocks, strict=True))
    whole = GLVQ(n_prototypes=2, random_state=0).fit(X, y).score(X, y)
    assert np.mean(found[-20:]) == pytest.approx(whole, abs=0.03)


def test_each_block_is_tested_before_it_is_learned():
    """A model that saw the labels first would be right on rows that repeat with other labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) + np.where(np.arange(50) % 2 == 0, -5.0, 5.0)[:, None]
    y = np.arange(50) % 2
    found = prequential_accuracy(LVQ1(random_state=0), [(X, y), (X, 1 - y)], classes=[0, 1])
    assert found == [0.0]


def test_a_stream_of_one_block_has_nothing_to_test_on():
    with pytest.raises(ValueError, match="at least two blocks"):
        prequential_accuracy(GLVQ(), [(np.zeros((2, 1)), [0, 1])], classes=[0, 1])
