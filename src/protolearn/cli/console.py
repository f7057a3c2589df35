"""What commands print: tables, emphasis on a terminal, progress of long jobs, notes."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_PATIENCE = 2.0


def emphasised(text: str, code: str = "1") -> str:
    """Bold (or another ANSI code) on a terminal, plain elsewhere."""
    if sys.stdout is None or not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{code}m{text}\033[0m"


def table(rows: Sequence[Sequence[str]], *, right: Sequence[bool], strong: int | None = None) -> str:
    """Rows of texts as aligned columns, the first row as the head; `strong` is the row to emphasise."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(right))]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            text.rjust(width) if is_right else text.ljust(width)
            for text, width, is_right in zip(row, widths, right, strict=True)
        ]
        line = "  ".join(cells).rstrip()
        lines.append(emphasised(line, "2") if number == 0 else emphasised(line) if number == strong else line)
    return "\n".join(lines)


def wrapped(text: str, stream: Any = None) -> str:
    """A sentence in lines of the terminal, broken between words; as it is where it goes to a file or a pipe."""
    stream = sys.stdout if stream is None else stream
    if stream is None or not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def note(text: str) -> None:
    """A remark that is no error."""
    print(wrapped(f"protolearn: note: {text}", sys.stderr), file=sys.stderr)


@contextmanager
def notes() -> Iterator[None]:
    """Show warnings as notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in caught):
                note(" ".join(text.split()))


class Progress:
    """A bar on the terminal for jobs of more than two seconds; nothing elsewhere, or where rich is not installed."""

    def __init__(self, title: str, total: float | None = None) -> None:
        self._title, self._total, self._done, self._left = title, total, 0.0, ""
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Progress:
        if sys.stderr is not None and sys.stderr.isatty():
            self._timer = threading.Timer(_PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def _show(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar
        except ImportError:
            return
        with self._lock:
            if self._timer is None:
                return
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"),
            )
            # What is printed meanwhile goes above the bar, where it goes to the terminal at all.
            to_terminal = sys.stdout is not None and sys.stdout.isatty()
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=to_terminal)
            self._task = self._bar.add_task(self._title, total=self._total, completed=self._done, left=self._left)
            self._bar.start()

    def advance(self, amount: float = 1.0, left: str = "") -> None:
        """So much more is done; `left` says how long the rest will take."""
        with self._lock:
            self._done += amount
            self._left = left
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done, left=left)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._bar is not None:
                self._bar.stop()
                self._bar = None
