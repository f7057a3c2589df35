"""What every test runs with: a fresh compile cache, all processors, the papers' data where there is any."""

from __future__ import annotations

import hashlib
import os
import signal
import tempfile
from pathlib import Path

# Numba looks only at the file of the function it compiled, not at the files of the functions that one calls: a cache
# folder named after the whole source cannot be out of date.
_SOURCE = Path(__file__).parent / "src" / "protolearn"
_STATE = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_SOURCE.rglob("*.py")))).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"protolearn-compiled-{_STATE}"))

# A shell starts a background job with Ctrl-C ignored, and its children inherit that; the tests of Ctrl-C mean it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402

MOST_PROCESSES = 8


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """The whole suite runs on all processors; named files, and a worker's share, in one process.

    pytest-cov has set itself up for one process by now where no `-n` was given.
    """
    whole = config.args_source is not config.ArgsSource.ARGS and not config.pluginmanager.hasplugin("_cov")
    if whole and "PYTEST_XDIST_WORKER" not in os.environ and getattr(config.option, "numprocesses", 0) is None:
        config.option.numprocesses = "logical"
        config.option.maxprocesses = config.option.maxprocesses or MOST_PROCESSES


def pytest_collection_modifyitems(items):
    """Without the papers' data sets their tests say what to set."""
    if not os.environ.get("PROTOLEARN_DATA"):
        for item in items:
            if item.get_closest_marker("papers_data"):
                item.add_marker(pytest.mark.skip(reason="set PROTOLEARN_DATA to the folder of the papers' data sets"))
