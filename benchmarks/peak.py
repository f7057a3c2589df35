"""Peak memory of one call, apart from what imports and compiling left behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _status(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise OSError(f"/proc/self/status has no {name}; the memory benchmarks need Linux.")
    return int(found[1]) * 1024


def peak_of(call: Callable[[], Any], data_bytes: int) -> tuple[int, Any]:
    """The most bytes held during the call, `data_bytes` included, beyond those held before; and what it returns.

    Linux forgets the high mark of a process, which compiling would set, when a 5 is written to clear_refs.
    """
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    result = call()
    return _status("VmHWM") - before + data_bytes, result
