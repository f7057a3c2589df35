"""Everything that numba compiles, compiled before it is needed."""

import os
import pickle
import re
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from numba import types
from numba.core.caching import IndexDataCacheFile

from protolearn import compiling
from protolearn.compiling import CannotCompile, compile_everything, cost, every_compiled

SOURCE = Path(__file__).parents[1] / "src" / "protolearn"

# Two functions that call the same helpers, one of their own, and the estimator that calls one without a signature.
SOME = """
import numpy as np
from numba.core import event
from protolearn.compiling import compile_everything, every_compiled

some = [one for one in every_compiled() if one.__name__ in ("fill_rows", "step_row", "normalise_trace")]
"""
COMPILE = """
with event.install_recorder("numba:compile") as recorder:
    found = compile_everything(2, functions=some, estimators=["NearestPrototype"])
begun = [one.data["dispatcher"] for _, one in recorder.buffer]
here = {one.py_func.__name__ for one in begun if one.overloads}
print(found.n_compiled, len(here))
"""


def in_python(code, cache, **more):
    """What a new process prints, with its compile cache in this folder."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **more}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_every_compiled_function_is_found():
    found = every_compiled()
    written = sum(len(re.findall(r"(?m)^( *@|\w+ = )compiled\(", path.read_text())) for path in SOURCE.rglob("*.py"))
    assert len(found) == len({id(one) for one in found}) == written
    # Processes are told by pickles what to compile.
    assert all(pickle.loads(pickle.dumps(one)) is one for one in found)


def test_those_that_take_longest_come_first():
    costs = [cost(one) for one in every_compiled()]
    assert costs == sorted(costs, reverse=True)
    first, last = every_compiled()[0], every_compiled()[-1]
    # Most of a kernel is in the helpers that it calls.
    assert cost(first) > len(first.function.__code__.co_code)
    assert cost(last) == len(last.function.__code__.co_code)


def test_a_signature_that_is_the_same_for_both_number_types_is_compiled_once():
    found = every_compiled()
    tasks = list(compiling._for_each_number(found))
    signatures = {(id(one), one.signature(getattr(types, number))) for one, number in tasks}
    every = {(id(one), one.signature(number)) for one in found for number in (types.float32, types.float64)}
    assert signatures == every
    assert len(found) < len(tasks) == len(every) < 2 * len(found)
    assert [number for one, number in tasks if one is found[0]] == ["float32", "float64"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache that two processes have filled."""
    folder = tmp_path_factory.mktemp("cache")
    # The helper of the distances is the fourth.
    assert in_python(SOME + COMPILE, folder)[0] == "4"
    assert len(list(folder.rglob("*distances_from_products*.nbc"))) == 2
    return folder


def written(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb[ci]")}


def test_a_second_run_compiles_nothing(cache):
    before = written(cache)
    assert before
    assert in_python(SOME + COMPILE, cache) == ["0", "0"]
    assert written(cache) == before


def test_the_cache_holds_each_number_type_under_its_own_name(cache):
    code = "for one in some: print(*(one.of(number).signatures == [one.signature(t).args] for number, t in types))"
    types = "from numba import types as t; types = (('float32', t.float32), ('float64', t.float64))\n"
    assert set(in_python(SOME + types + code, cache)) == {"True"}


def test_what_is_lost_is_compiled_again(cache):
    (lost,) = cache.rglob("*normalise_trace*.1.nbc")
    lost.unlink()
    assert in_python(SOME + COMPILE, cache)[0] == "1"
    assert lost.exists()


def test_in_one_process_with_its_progress():
    shares = []
    found = compile_everything(functions=every_compiled()[-2:], estimators=[], watch=shares.append)
    assert found.folder == Path(os.environ["NUMBA_CACHE_DIR"]).absolute()
    assert shares == sorted(shares)
    # Those of the folder that all tests share may be there already.
    assert shares[-1:] in ([], [1.0])
    assert compile_everything(functions=every_compiled()[-2:], estimators=[]).n_compiled == 0


def test_a_full_disk_is_one_sentence(tmp_path):
    code = """
    from numba.core.caching import IndexDataCacheFile

    def full(self, key, data):
        raise OSError(28, "No space left on device")

    IndexDataCacheFile.save = full
    try:
        compile_everything(functions=some, estimators=[])
    except CannotCompile as error:
        print(error)
    """
    code = SOME + "from protolearn.compiling import CannotCompile\n" + textwrap.dedent(code)
    said = " ".join(in_python(code, tmp_path))
    assert "([Errno 28] No space left on device); set NUMBA_CACHE_DIR to a folder" in said


def test_without_numba_there_is_nothing_to_compile(monkeypatch):
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    with pytest.raises(CannotCompile, match="NUMBA_DISABLE_JIT is set"):
        compile_everything()


def test_other_errors_keep_their_own_words(monkeypatch):
    def fails(estimators):
        raise RuntimeError("something else")

    monkeypatch.setattr(compiling, "call_helpers", fails)
    with pytest.raises(RuntimeError, match="^something else$"):
        compile_everything(functions=every_compiled()[-1:])


def test_a_process_that_is_ended_from_outside_is_one_sentence(tmp_path):
    script = tmp_path / "dying.py"
    script.write_text(
        textwrap.dedent("""
        import os
        import time
        from multiprocessing import parent_process
        from protolearn import compiling

        class Dying:
            def of(self, number):
                if parent_process() is not None:
                    os._exit(1)
                time.sleep(1)

        if __name__ == "__main__":
            try:
                list(compiling._in_processes([(Dying(), "float32")] * 4, 2))
            except compiling.CannotCompile as error:
                print(error)
        """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("a process that compiled was ended from outside")


def test_the_lock_of_the_cache_is_taken_off_again():
    plain = IndexDataCacheFile.load, IndexDataCacheFile.save
    with compiling._one_at_a_time(threading.Lock()):
        assert (IndexDataCacheFile.load, IndexDataCacheFile.save) != plain
    assert (IndexDataCacheFile.load, IndexDataCacheFile.save) == plain


def test_a_lock_that_nobody_gives_back_is_passed_over(monkeypatch):
    monkeypatch.setattr(compiling, "_PATIENCE", 0.05)
    lock = threading.Lock()
    assert compiling._alone(lambda: "read", lock)() == "read"
    assert not lock.locked()
    lock.acquire()
    assert compiling._alone(lambda: "read", lock)() == "read"
    assert lock.locked()


@pytest.mark.slow
def test_after_everything_no_estimator_compiles(tmp_path):
    """Fits and predictions of all estimators in both number types, with each of their solvers."""
    code = """
    import warnings
    import protolearn
    from sklearn.datasets import load_digits, load_iris
    from protolearn.solvers import SOLVERS

    warnings.simplefilter("ignore")
    fits = 0
    with event.install_recorder("numba:compile") as recorder:
        for name in protolearn.__all__:
            for X, y in (load_iris(return_X_y=True), load_digits(return_X_y=True)):
                for number in (np.float32, np.float64):
                    parameters = getattr(protolearn, name)().get_params()
                    for solver in SOLVERS if "solver" in parameters else [None]:
                        chosen = {"max_iter": 2, "solver": solver}
                        model = getattr(protolearn, name)(**{key: chosen[key] for key in chosen if key in parameters})
                        try:
                            model.fit(X.astype(number), y)
                        except ValueError:
                            continue  # a solver that is not for this method
                        fits += 1
                        if hasattr(model, "predict_proba"):
                            model.predict(X.astype(number))
                            model.predict_proba(X.astype(number))
    assert fits > 4 * len(protolearn.__all__)
    print({str(one.data["dispatcher"].py_func) for _, one in recorder.buffer} or "nothing")
    """
    subprocess.run(
        [sys.executable, "-m", "protolearn.cli", "compile", "--jobs", "2"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        check=True,
    )
    assert in_python(SOME + textwrap.dedent(code), tmp_path) == ["nothing"]
