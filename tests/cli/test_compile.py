"""protolearn compile: everything is in the cache afterwards, and errors are one sentence."""

import os
import re
import subprocess
import sys
from pathlib import Path

from core.test_jit import NO_CACHE
from protolearn.cli import compile as command
from protolearn.core.jit import Kernel

SOURCE = Path(__file__).parents[2] / "src" / "protolearn"

FIT = """
import sys
import numpy as np
import protolearn
X = np.random.default_rng(0).normal(size=(40, 3))
for name in ("LOGM", "GMLVQ", "LVQ3", "RSLVQ", "LMNN"):
    getattr(protolearn, name)().fit(X, np.arange(40) % 2)
"""


def in_python(cache, *arguments):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=600
    )


def entries(cache):
    return {path.name for path in cache.rglob("*.nbc")}


def test_every_kernel_of_the_source_is_compiled():
    command.every_task()
    written = sum(len(re.findall(r"(?m)^( *@|\w+ = )kernel\(", path.read_text())) for path in SOURCE.rglob("*.py"))
    known = {kernel for kernel in Kernel.known if kernel.__module__.startswith("protolearn.")}
    assert len(known) == written > 20


def test_fits_compile_nothing_after_the_command(tmp_path):
    done = in_python(tmp_path, "-m", "protolearn.cli", "compile")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ functions compiled for float32 or float64 in [\d.]+ s\.\n", done.stdout)
    before = entries(tmp_path)
    assert in_python(tmp_path, "-c", FIT).returncode == 0
    assert entries(tmp_path) == before


def test_a_cache_that_cannot_be_written_is_one_sentence():
    done = in_python(Path(), "-c", NO_CACHE + "from protolearn.cli import main; raise SystemExit(main(['compile']))")
    assert done.returncode == 1
    assert re.fullmatch(r"protolearn: Compiled functions cannot be kept on disk, .* NUMBA_CACHE_DIR .*\n", done.stderr)
