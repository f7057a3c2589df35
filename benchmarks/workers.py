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


def so_many(threads: int) -> str:
    """The number of threads in words."""
    return f"{threads} thread" if threads == 1 else f"{threads} threads"


def environment(threads: int | None = None, **more: str) -> dict[str, str]:
    """Variables of a new process: it finds this package, and holds BLAS and OpenMP to so many threads."""
    found = {**os.environ, **more}
    found["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_SCRIPT.parents[2]), os.environ.get("PYTHONPATH")]))
    if threads is not None:
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
        found.update(dict.fromkeys(names, str(threads)))
    return found


def last_line(code: str, *arguments: str, threads: int | None = None, **more: str) -> str:
    """The last line that Python code prints in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(threads, **more), check=False)
    if done.returncode:
        words = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise RuntimeError(f"A process of the benchmark failed: {words}")
    return done.stdout.strip().splitlines()[-1]


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
            env=environment(threads, PYTHONWARNINGS="ignore"),
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
