"""Processes that are asked in turn, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_SCRIPT = Path(__file__).parent / "elsewhere" / "worker.py"


class NoAnswer(Exception):
    """Why a worker gave none, in one sentence."""


def threads_of(threads: int) -> dict[str, str]:
    """Settings that hold BLAS and OpenMP to so many threads."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return dict.fromkeys(names, str(threads))


class Worker:
    """One library on one data set in a process of its own (elsewhere/worker.py)."""

    def __init__(self, job: dict[str, Any], python: Path | str = sys.executable, threads: int = 1) -> None:
        self.job = job
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            [str(python), "-W", "ignore", str(_SCRIPT), json.dumps(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, **threads_of(threads), "PYTHONWARNINGS": "ignore"},
        )

    def ask(self, timeout: float | None = None, **request: Any) -> dict[str, Any]:
        """The answer to one request."""
        who = f"{self.job['library']} {self.job.get('model', '')}".strip()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise NoAnswer(self._last_words(who)) from None
        if not select.select([process.stdout], [], [], timeout)[0]:
            self.close()
            raise NoAnswer(f"{who} was stopped after {timeout:.0f} s")
        line = process.stdout.readline()
        if not line:
            raise NoAnswer(self._last_words(who))
        answer = json.loads(line)
        if "error" in answer:
            raise NoAnswer(f"{who} failed: {answer['error']}")
        return answer

    def _last_words(self, who: str) -> str:
        self._process.wait()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return f"{who} ended without an answer" + (f": {lines[-1][:200]}" if lines else "")

    def close(self) -> None:
        """End the process."""
        process = self._process
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._said.close()


@contextlib.contextmanager
def workers(jobs: Sequence[tuple[dict[str, Any], Path | str]], threads: int = 1) -> Iterator[list[Worker]]:
    """Workers for jobs, each with its interpreter, which end with the block."""
    started: list[Worker] = []
    try:
        for job, python in jobs:
            started.append(Worker(job, python, threads))
        yield started
    finally:
        for worker in started:
            worker.close()
