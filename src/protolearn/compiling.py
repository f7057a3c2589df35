"""Every compiled function of the package, compiled now into numba's disk cache: no later process waits for it."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import active_children, get_context
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numba import config, njit, types
from numba.core import event
from numba.core.caching import IndexDataCacheFile

import protolearn
from protolearn.compiled import Compiled, Helper
from protolearn.interrupts import deaf_children, heard_in_any_case

NUMBERS = ("float32", "float64")
_SETTINGS: Any = config
_REMEDY = "set NUMBA_CACHE_DIR to a folder that can be written, for every later process too"
_PATIENCE = 5.0
# Their fits need functions without a signature and no others, so that they need not wait for the others.
_ALONE = ("LMNN", "NearestPrototype")

# A function and a number type, or an estimator.
Task = tuple[Compiled, str] | tuple[str]
Watch = Callable[[float], None]


class CannotCompile(Exception):
    """Why, and what helps, in one sentence."""


@dataclass(frozen=True)
class Outcome:
    """What was compiled.

    n_compiled : functions that were not in the cache, for one number type at least
    seconds : by the clock
    folder : where the cache is
    """

    n_compiled: int
    seconds: float
    folder: Path


def every_compiled() -> list[Compiled]:
    """All functions that have a signature to be compiled for, those that take longest first."""
    found: dict[int, Compiled] = {}
    for name in _modules():
        for value in list(vars(import_module(name)).values()):
            inner = list(vars(value).values()) if isinstance(value, type) else []
            found.update((id(one), one) for one in [value, *inner] if isinstance(one, Compiled))
    return sorted(found.values(), key=cost, reverse=True)


def _modules() -> Iterator[str]:
    """Names of the modules that have something to compile; the others, and what they import, are not needed."""
    root = Path(protolearn.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if "from protolearn.compiled import" in path.read_text(encoding="utf-8"):
            yield ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")


def cost(one: Compiled) -> int:
    """Bytes of Python's code of the function and of the helpers that it calls by name: seconds grow with them."""
    codes: dict[Any, int] = {}

    def add(function: Any) -> None:
        code = function.__code__
        if code not in codes:
            codes[code] = len(code.co_code)
            for name in code.co_names:
                value = function.__globals__.get(name)
                called = value.function if isinstance(value, Helper) else getattr(value, "py_func", value)
                if isinstance(called, FunctionType):
                    add(called)

    add(one.function)
    return sum(codes.values())


def compile_everything(
    jobs: int = 1,
    *,
    watch: Watch | None = None,
    functions: Sequence[Compiled] | None = None,
    estimators: Sequence[str] | None = None,
) -> Outcome:
    """Compile what is not in the cache, for float32 and float64.

    Numba compiles one function at a time in a process, so more processes are faster. Functions without a signature are
    compiled where they are first called: by fits on a few rows.

    Parameters
    ----------
    jobs : int
        Processes, this one among them.
    watch : callable, optional
        Called with the share of the functions that are compiled, weighted by how long they take.
    functions, estimators : sequence, optional
        Some of them, for tests and measurements.

    Returns
    -------
    outcome : Outcome
        KeyboardInterrupt is passed on; what is compiled is in the cache.
    """
    begin = time.perf_counter()
    if _SETTINGS.DISABLE_JIT:
        raise CannotCompile("NUMBA_DISABLE_JIT is set, with which numba compiles nothing; unset it.")
    with _kept_or_a_sentence():
        chosen = every_compiled() if functions is None else functions
        fitted = protolearn.__all__ if estimators is None else estimators
        folder = cache_folder(chosen)
        missing = [(one, number) for one, number in _for_each_number(chosen) if not _is_cached(one, number)]
        alone = [(name,) for name in fitted if name in _ALONE and jobs > 1 and missing]
        names = _compile([*alone, *missing], jobs, watch or (lambda share: None))
        with event.install_listener("numba:compile", _Compiling()) as compiling:
            # From the cache; what should not have got there is compiled here.
            for one, number in missing:
                one.of(number)
            call_helpers(fitted)
    return Outcome(len(names | compiling.names), time.perf_counter() - begin, folder)


def _for_each_number(functions: Sequence[Compiled]) -> Iterator[tuple[Compiled, str]]:
    """Each function for each number type; once, where its signature is the same for all (losses of two distances)."""
    for one in functions:
        signatures = {one.signature(getattr(types, number)): number for number in reversed(NUMBERS)}
        yield from ((one, number) for number in reversed(signatures.values()))


def cache_folder(functions: Sequence[Compiled]) -> Path:
    """Where numba keeps these functions: one folder, or those of the modules somewhere in it."""
    paths = {os.path.abspath(str(njit(cache=True)(one.function).stats.cache_path)) for one in functions}
    folder = Path(os.path.commonpath(paths))
    if not _SETTINGS.CACHE_DIR:
        return folder
    # Numba takes the next best folder without a word; this one was asked for.
    wanted = Path(os.path.abspath(_SETTINGS.CACHE_DIR))
    if wanted not in (folder, *folder.parents):
        raise CannotCompile(f"the folder in NUMBA_CACHE_DIR, {_SETTINGS.CACHE_DIR}, cannot be written; {_REMEDY}.")
    return wanted


def call_helpers(estimators: Sequence[str]) -> None:
    """Fit each of these in both number types on a few rows, and predict many: what has no signature is called."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 4)) + y[:, None]
    many = np.tile(X, (300, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in estimators:
            for number in NUMBERS:
                model = getattr(protolearn, name)()
                if "max_iter" in model.get_params():
                    model.set_params(max_iter=1)
                model.fit(X.astype(number), y)
                if hasattr(model, "predict_proba"):
                    model.predict_proba(many.astype(number))


@contextmanager
def _kept_or_a_sentence() -> Iterator[None]:
    """Says what to do where numba cannot write its cache."""
    try:
        yield
    except OSError as error:
        raise CannotCompile(f"the cache of compiled functions cannot be written ({error}); {_REMEDY}.") from error
    except RuntimeError as error:
        # Numba says so when it decorates a function, which is when our modules are imported.
        if "cannot cache function" not in str(error):
            raise
        raise CannotCompile(f"numba finds no folder for compiled functions that can be written; {_REMEDY}.") from error


class _Compiling(event.Listener):
    """Notes the functions that numba compiles, not those that it compiles on the way."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._depth = 0

    def on_start(self, event: Any) -> None:
        """Before it compiles."""
        if self._depth == 0:
            self.names.add(_name(event.data["dispatcher"].py_func))
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """After it, also after a failure."""
        self._depth -= 1


class _Refusing(event.Listener):
    """Stops numba before it compiles, which is when it has not found a function in its cache."""

    def on_start(self, event: Any) -> None:
        """Before it compiles."""
        raise _NotCached

    def on_end(self, event: Any) -> None:
        """After the refusal."""


class _NotCached(Exception):
    """The function would have to be compiled."""


def _name(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _is_cached(one: Compiled, number: str) -> bool:
    """Whether a function comes from the cache, which also loads it."""
    try:
        with event.install_listener("numba:compile", _Refusing()):
            one.of(number)
    except _NotCached:
        return False
    return True


def _compile(tasks: Sequence[Task], jobs: int, watch: Watch) -> set[str]:
    """Compile into the cache, here or in several processes; the names of what was compiled."""
    costs = [cost(task[0]) if isinstance(task[0], Compiled) else 0 for task in tasks]
    names: set[str] = set()
    whole, done = sum(costs), 0
    jobs = min(jobs, len(tasks))
    finished = _in_processes(tasks, jobs) if jobs > 1 else _in_turn(tasks)
    # Closed at once where it is interrupted between two tasks, so that the other processes end.
    with heard_in_any_case() as end_if_asked, closing(finished):
        for number, compiled in finished:
            end_if_asked()
            names |= compiled
            done += costs[number]
            watch(done / whole)
    return names


def _compile_one(*task: Any) -> set[str]:
    with event.install_listener("numba:compile", _Compiling()) as compiling:
        if isinstance(task[0], str):
            call_helpers(task)
        else:
            one, number = task
            one.of(number)
    return compiling.names


# The number of a task that is done, and what was compiled for it.
Done = tuple[int, set[str]]


def _in_turn(tasks: Sequence[Task]) -> Generator[Done, None, None]:
    for number, task in enumerate(tasks):
        yield number, _compile_one(*task)


def _in_processes(tasks: Sequence[Task], jobs: int) -> Generator[Done, None, None]:
    """Tasks as they are done, by this process and others; each takes the next one when it is free."""
    context = get_context("spawn")
    lock = context.Lock()
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs - 1, mp_context=context, initializer=_begin, initargs=(lock,))
    try:
        with deaf_children():
            waiting = {pool.submit(_compile_one, *task): number for number, task in enumerate(tasks)}
        with _one_at_a_time(lock):
            for future, number in list(waiting.items()):
                # What can be cancelled, no other process has taken.
                if future.cancel():
                    del waiting[future]
                    yield number, _compile_one(*tasks[number])
                yield from _done(waiting)
        for future in as_completed(list(waiting)):
            yield waiting[future], future.result()
    except BrokenProcessPool as error:
        raise CannotCompile(
            "a process that compiled was ended from outside, as happens where memory is short; take fewer --jobs "
            "(what is compiled stays)."
        ) from error
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        # With the lock here no process is writing: each can be ended, and leaves no half of an entry.
        taken = lock.acquire(timeout=_PATIENCE)
        for child in set(active_children()) - others:
            child.terminate()
        if taken:
            lock.release()
        raise
    finally:
        pool.shutdown()


def _done(waiting: dict[Future, int]) -> Iterator[Done]:
    """Take those out that are done."""
    for future in [future for future in waiting if future.done()]:
        yield waiting.pop(future), future.result()


def _begin(lock: Any) -> None:
    """Start of another process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _one_at_a_time(lock).__enter__()


@contextmanager
def _one_at_a_time(lock: Any) -> Iterator[None]:
    """One process at a time reads or writes the cache.

    Numba reads an index, adds an entry and writes it, without a lock. Two processes that do so with one index at a time
    give one name to two files of compiled code: one entry is lost, or worse, it names the code of the other.
    """
    plain = {name: getattr(IndexDataCacheFile, name) for name in ("load", "save")}
    for name, method in plain.items():
        setattr(IndexDataCacheFile, name, _alone(method, lock))
    try:
        yield
    finally:
        for name, method in plain.items():
            setattr(IndexDataCacheFile, name, method)


def _alone(method: Callable, lock: Any) -> Callable:
    def with_lock(*arguments: Any) -> Any:
        # A process that was ended from outside may have taken the lock with it.
        taken = lock.acquire(timeout=_PATIENCE)
        try:
            return method(*arguments)
        finally:
            if taken:
                lock.release()

    return with_lock
