"""Pieces of a work by two threads: what one after the other finds, whoever does which."""

import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import types

from protolearn import partner
from protolearn.compiled import compiled, matrix, vector
from protolearn.function_arguments import FunctionOf
from protolearn.partner import BOX, in_company, in_pieces, put_flag, run_pieces, types_in_pieces

DTYPE = np.dtype(np.float64)


def types_of_sum(number):
    return types.void(vector(number), vector(types.int64), vector(types.float64), types.int64)


@compiled(types_of_sum)
def repeated_sum(x, times, sums, piece):
    if times[piece] < 0:
        raise ValueError("So many times are none.")
    sums[piece] = 0.0
    for _ in range(times[piece]):
        for number in x:
            sums[piece] += number


@compiled(
    lambda number: types.void(
        FunctionOf(types_of_sum(number)), vector(number), vector(types.int64), vector(types.float64), BOX
    )
)
def repeated_sums(add, x, times, sums, box):
    run_pieces(box, add, times.shape[0], x, times, sums)


def types_of_squares(number):
    return types.void(matrix(number), matrix(number), types.int64)


@compiled(types_of_squares)
def put_squares(A, B, i):
    for j in range(A.shape[1]):
        B[i, j] = A[i, j] ** 2


@compiled(lambda number: types_in_pieces(types_of_squares(number)))
def put_all_squares(put, A, B, n, box):
    run_pieces(box, put, n, A, B)


def sums(x, *times, worth=True):
    found = np.full(len(times), np.nan)
    in_company(repeated_sums, DTYPE, repeated_sum.argument(DTYPE), x, np.array(times, int), found, worth=worth)
    return found.tolist()


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setattr(partner, "n_threads", lambda: 2)


@pytest.mark.parametrize("worth", [True, False])
@pytest.mark.parametrize("size", [1, 100_000])
def test_all_pieces_are_done(two_threads, worth, size):
    x = np.arange(size, dtype=DTYPE)
    for n_pieces in (0, 1, 2, 3, 7) * 10:
        times = range(n_pieces)
        assert sums(x, *times, worth=worth) == [n * x.sum() for n in times]


def types_of_waiting(number):
    return types.void(vector(types.int64), vector(types.int64), types.int64)


@compiled(types_of_waiting)
def wait_for_the_other(flags, met, piece):
    """Note whether the other one is there before this one loses its patience."""
    for _ in range(3_000_000):
        put_flag(flags, 8 * piece, 1)
        if flags[8 * (1 - piece)] == 1:
            met[piece] = 1
            return


@compiled(
    lambda number: types.void(FunctionOf(types_of_waiting(number)), vector(types.int64), vector(types.int64), BOX)
)
def wait_for_each_other(wait, flags, met, box):
    run_pieces(box, wait, 2, flags, met)


def test_two_pieces_are_done_at_the_same_time(two_threads):
    """Each waits for the other one; on a busy machine it may take several attempts."""

    def meet():
        flags, met = np.zeros(16, dtype=np.int64), np.zeros(2, dtype=np.int64)
        in_company(wait_for_each_other, DTYPE, wait_for_the_other.argument(DTYPE), flags, met)
        return met.all()

    assert any(meet() for _ in range(100))


def test_without_compiling_nobody_is_called(monkeypatch):
    monkeypatch.setattr(partner._SETTINGS, "DISABLE_JIT", 1)
    monkeypatch.setattr(partner, "_Partner", None)
    monkeypatch.setattr(partner, "_IDLE", [])
    x = np.ones(3)
    found = np.zeros(2)
    repeated_sums.function(repeated_sum.function, x, np.array([1, 2]), found, None)
    assert found.tolist() == sums(x, 1, 2) == [3.0, 6.0]


@pytest.mark.parametrize("times", [(1, -1), (-1, 1), (-1, -1), (1, 2, -1, 3, 4)])
def test_an_error_of_any_piece_is_raised_and_the_next_work_is_done(two_threads, times):
    x = np.ones(10_000)
    for _ in range(20):
        with pytest.raises(ValueError, match="none"):
            sums(x, *times)
        assert sums(x, 1, 2) == [10_000, 20_000]


def test_several_threads_have_a_partner_each(two_threads):
    x = np.arange(20_000, dtype=DTYPE)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda times: sums(x, times, times + 1), range(1, 200)))
    assert found == [[times * x.sum(), (times + 1) * x.sum()] for times in range(1, 200)]


def test_a_partner_without_work_sleeps(two_threads):
    sums(np.ones(10), 1, 1)
    one = partner._IDLE[-1]
    for _ in range(500):
        if not one.box[partner._PRESENT]:
            break
        time.sleep(0.01)
    assert not one.box[partner._PRESENT]
    assert sums(np.ones(10), 1, 1) == [10, 10]


def _in_a_fork(pipe):
    pipe.send((len(partner._IDLE), sums(np.ones(10), 1, 2)))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_finds_its_own_partner(two_threads):
    sums(np.ones(10), 1, 1)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_in_a_fork, args=(there,))
    process.start()
    assert here.poll(60)
    assert here.recv() == (0, [10.0, 20.0])
    process.join()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("multiply_adds", [10.0, 1e7, 1e9])
def test_pieces_on_any_number_of_threads(monkeypatch, threads, n, multiply_adds):
    monkeypatch.setattr(partner, "n_threads", lambda: threads)
    monkeypatch.setattr(partner, "threads_for", lambda work: threads if work > 1e8 else 1)
    A = np.random.default_rng(0).normal(size=(n, 3))
    B = np.full((n, 3), np.nan)
    in_pieces(put_squares, put_all_squares, DTYPE, (A, B), n, multiply_adds)
    np.testing.assert_array_equal(B, A**2)
