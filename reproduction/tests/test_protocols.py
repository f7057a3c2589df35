"""Each paper's protocol on a small set: folds, scaling, hold-out, shares of a set."""

import numpy as np
import pytest

from reproduction import protocols
from reproduction.datasets import DataSet, load
from reproduction.protocols import (
    LAMALVQ_TABLES,
    LOGM_LARGE,
    LOGM_SMALL,
    LPD_TABLES,
    MIXTGAUSS_TABLES,
    Protocol,
)

ALL = {name: value for name, value in vars(protocols).items() if isinstance(value, Protocol)}


@pytest.mark.parametrize("name", [name for name, protocol in ALL.items() if protocol.folds])
def test_folds_cover_the_set_once_and_keep_the_shares_of_the_classes(name):
    protocol = ALL[name]
    data = load("iris")
    parts = [protocol.split(data, fold, seed=5) for fold in range(protocol.rows_a_repeat)]
    assert len(parts) == protocol.folds
    tests = np.concatenate([test for _, test in parts])
    np.testing.assert_array_equal(np.sort(tests), np.arange(150))
    for train, test in parts:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(150))
        assert np.ptp(np.bincount(data.y[test])) == 0
    again = protocol.split(data, 0, seed=5)
    np.testing.assert_array_equal(again[1], parts[0][1])
    assert not np.array_equal(protocol.split(data, 0, seed=6)[1], parts[0][1])


@pytest.mark.parametrize("name", [name for name, protocol in ALL.items() if protocol.folds is None])
def test_the_official_split(name):
    protocol = ALL[name]
    data = DataSet("made", np.zeros((1250, 2)), np.arange(1250) % 2, np.arange(1250) >= 250)
    train, test = protocol.split(data, 0, seed=0)
    assert (len(train), len(test), protocol.rows_a_repeat) == (250, 1000, 1)
    with pytest.raises(ValueError, match="no official split"):
        protocol.split(load("iris"), 0, seed=0)


def test_scaling_looks_at_the_training_part_only():
    X, X_test = np.array([[0.0, 1.0], [4.0, 3.0]]), np.array([[8.0, 2.0]])
    np.testing.assert_allclose(LOGM_SMALL.scaled(X, X_test)[0], [[-1, -1], [1, 1]])
    np.testing.assert_allclose(LOGM_SMALL.scaled(X, X_test)[1], [[3, 0]])
    np.testing.assert_allclose(LAMALVQ_TABLES.scaled(X, X_test)[1], [[3, 0]])
    assert LPD_TABLES.scaled(X, X_test)[1] is X_test
    assert MIXTGAUSS_TABLES.inner_folds == 5


def test_the_grid_is_the_papers():
    for protocol, sizes in ((LOGM_SMALL, (1, 2, 3, 4, 5)), (LOGM_LARGE, (5, 10, 15, 20, 25))):
        assert protocol.grid["n_prototypes"] == sizes
        assert np.prod([len(values) for values in protocol.grid.values()]) == 125
    assert (LOGM_SMALL.folds, LOGM_SMALL.repeats, LOGM_SMALL.epochs, LOGM_LARGE.epochs) == (10, 10, 100, 40)


def test_the_hold_out_is_a_stratified_third():
    y = np.repeat([0, 1, 2], [60, 30, 9])
    fit, held = LOGM_SMALL.held_out(y, 0)
    np.testing.assert_array_equal(np.bincount(y[held]), [20, 10, 3])
    np.testing.assert_array_equal(np.sort(np.concatenate([fit, held])), np.arange(99))


@pytest.mark.papers_data
def test_of_letter_a_new_fortieth_of_each_class_for_each_fold():
    data = load("letter")
    drawn = [np.sort(np.concatenate(LAMALVQ_TABLES.split(data, fold, seed=0))) for fold in (0, 1)]
    assert len(drawn[0]) == pytest.approx(500, abs=10)
    assert set(np.bincount(data.y[drawn[0]])) <= {18, 19, 20}
    assert not np.array_equal(*drawn)


def test_fewer_folds_for_a_quick_run_are_the_first_ones():
    data, quick = load("iris"), LOGM_SMALL.changed(first_folds=3)
    assert quick.rows_a_repeat == 3
    np.testing.assert_array_equal(quick.split(data, 2, 0)[1], LOGM_SMALL.split(data, 2, 0)[1])
