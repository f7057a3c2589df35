"""Shared data and a compile cache that is never stale."""

from __future__ import annotations

import hashlib
import os
import signal
import tempfile
from pathlib import Path

# Numba looks only at the file of the function it compiled, not at the files of the functions that one calls: a cache
# folder named after the whole source cannot be out of date.
_SOURCE = Path(__file__).parents[1] / "src" / "protolearn"
_STATE = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_SOURCE.rglob("*.py")))).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"protolearn-compiled-{_STATE}"))
os.environ.setdefault("PROTOLEARN_DATA", str(Path(__file__).parents[2] / "shared" / "data"))

# A shell starts a background job with Ctrl-C ignored, and its children inherit that; the tests of Ctrl-C mean it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def blobs():
    """Three overlapping classes of 40 samples in 4 dimensions."""
    rng = np.random.default_rng(7)
    y = np.repeat(np.arange(3), 40)
    X = rng.normal(size=(120, 4)) + 1.5 * rng.normal(size=(3, 4))[y]
    return X, y
