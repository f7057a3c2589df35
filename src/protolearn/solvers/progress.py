"""One live line for a fit that a user watches."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class ProgressLine:
    """`LOGM  37/100  loss 0.1234  2.1 s left`, rewritten in place on a terminal, every tenth part otherwise."""

    def __init__(self, title: str, n_epochs: int, out: TextIO | None = None) -> None:
        self.title, self.n_epochs = title, n_epochs
        self.out = sys.stderr if out is None else out
        self.live = self.out.isatty()
        self.started = self.shown = time.monotonic()

    def epoch(self, epoch: int, loss: float) -> None:
        """Show where the fit is."""
        now = time.monotonic()
        last = epoch == self.n_epochs
        if self.live:
            if not last and epoch > 1 and now - self.shown < 0.1:
                return
        elif not last and epoch % max(self.n_epochs // 10, 1):
            return
        self.shown = now
        left = (now - self.started) / epoch * (self.n_epochs - epoch)
        text = f"{self.title}  {epoch:>{len(str(self.n_epochs))}}/{self.n_epochs}  loss {loss:.4g}  {left:.1f} s left"
        self.out.write(f"\r\x1b[K{text}" if self.live else f"{text}\n")
        self.out.flush()

    def end(self) -> None:
        """Leave the line behind."""
        if self.live:
            self.out.write("\n")
            self.out.flush()
