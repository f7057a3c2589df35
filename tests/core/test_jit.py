"""Kernels and helpers: plain for Python, compiled for the number type of the data, and a cache that may fail."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from protolearn.core.jit import helper, kernel, lazy_loop, types, vector, vectorised
from protolearn.solvers.kernels import pair_batch


@helper
def is_allowed(x):
    """Calls no other one."""
    if x < 0:
        raise ValueError("No number below zero.")
    return True


@vectorised
def total(x):
    """The sum."""
    found = 0.0
    for number in x:
        found += number
    return found


@kernel(lambda number: types.float64(vector(number)))
def total_where_allowed(x):
    """Calls both."""
    return total(x) if is_allowed(x[0]) else np.nan


@lazy_loop
def add_one(x):
    """Compiled for what it is given."""
    for i in range(x.shape[0]):
        x[i] += 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_and_python_call_the_same_helpers(dtype):
    x = np.arange(1, 100, dtype=dtype)
    assert total(x) == total_where_allowed.of(dtype)(x) == total_where_allowed(x) == 4950


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
def test_a_lazy_loop_takes_any_type(dtype):
    x = np.zeros(3, dtype=dtype)
    add_one(x)
    assert x.tolist() == [1, 1, 1]


def test_errors_of_helpers_reach_the_caller():
    with pytest.raises(ValueError, match="No number below zero"):
        total_where_allowed.of(np.float64)(np.array([-1.0]))


def test_kernels_keep_their_names_and_can_travel():
    assert pair_batch.__name__ == "pair_batch"
    assert pickle.loads(pickle.dumps(pair_batch)) is pair_batch


IMPORT_AND_PREDICT = """
import sys
import numpy as np
import protolearn, protolearn.export
from protolearn.explain import certified_radius, counterfactual, explain
model = protolearn.load(sys.argv[1])
X = np.random.default_rng(0).normal(size=(20, 4))
model.predict(X), model.predict_proba(X), model.decision_function(X), model.row_classifier()(X[0])
# Two million distances take less time than numba to import.
model.predict(np.resize(X, (-(-2_000_000 // len(model.prototypes_)), 4)))
explain(model, X[:1]), counterfactual(model, X[0]), certified_radius(model, X[:3])
assert not {"numba", "llvmlite"} & set(sys.modules), "numba was imported"
"""

FIT = """
import warnings
import numpy as np
from protolearn import LOGM
X = np.random.default_rng(0).normal(size=(40, 3))
y = np.arange(40) % 2
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        print(LOGM(random_state=0).fit(X, y).predict(X).sum())
print([str(one.message) for one in caught if one.category is RuntimeWarning])
"""


def in_python(code, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["LOGM", "GMLVQ", "LGMLVQ", "LPD", "MixtGauss"])
def test_import_load_predict_and_explain_import_no_compiler(name, tmp_path):
    import protolearn

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    protolearn.save(getattr(protolearn, name)(random_state=0).fit(X, y), tmp_path / "model.json")
    in_python(IMPORT_AND_PREDICT, tmp_path / "model.json")


NO_CACHE = """
import numba
njit = numba.njit
def refuse(*arguments, cache=False, **options):
    def decorate(function):
        if cache:
            raise RuntimeError(f"cannot cache function {function.__name__!r}: no locator available")
        return njit(*arguments, **options)(function)
    return decorate
numba.njit = refuse
"""


def test_without_a_folder_for_the_cache_each_process_compiles_with_one_warning():
    """numba refuses to decorate where neither the package's folder nor the user's can be written."""
    lines = in_python(NO_CACHE + FIT).splitlines()
    assert lines[0] == lines[1]
    assert lines[2].count("Compiled functions cannot be kept on disk") == 1


@pytest.mark.parametrize("suffix", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("length", [0, 40])
def test_a_torn_entry_of_the_cache_is_compiled_anew(tmp_path, suffix, length):
    wanted = in_python(FIT, NUMBA_CACHE_DIR=str(tmp_path))
    torn = list(tmp_path.rglob(suffix))
    assert torn
    for path in torn:
        path.write_bytes(path.read_bytes()[:length])
    assert in_python(FIT, NUMBA_CACHE_DIR=str(tmp_path)) == wanted
    assert all(path.stat().st_size > 40 for path in tmp_path.rglob("*.nbc"))


def test_an_entry_of_another_number_type_is_compiled_anew(tmp_path):
    fit32 = FIT.replace("size=(40, 3))", "size=(40, 3)).astype('float32')")
    wanted = in_python(fit32, NUMBA_CACHE_DIR=str(tmp_path / "narrow"))
    in_python(FIT, NUMBA_CACHE_DIR=str(tmp_path / "wide"))
    narrow = {path.name: path for path in (tmp_path / "narrow").rglob("*.nbc")}
    mixed = 0
    for path in (tmp_path / "wide").rglob("*.nbc"):
        if path.name in narrow:
            narrow[path.name].write_bytes(path.read_bytes())
            mixed += 1
    assert mixed >= 3
    assert in_python(fit32, NUMBA_CACHE_DIR=str(tmp_path / "narrow")) == wanted
