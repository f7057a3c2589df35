"""Streams: data whose classes move, and accuracy on each block before it is learned from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


def drifting_blocks(
    n_blocks: int, rows: int, *, speed: float = 1.0, random_state: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Three classes in the plane that go round in a circle, `speed` times a full turn over the whole stream.

    After a third of a turn each class is where another one began: what was learned first is then wrong.
    """
    rng = np.random.default_rng(random_state)
    for block in range(n_blocks):
        y = rng.integers(0, 3, rows)
        angle = 2.0 * np.pi * (y / 3.0 + speed * block / n_blocks)
        yield 3.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(rows, 2)), y


def prequential_accuracy(model: Any, blocks: Iterable[tuple[Any, Any]], classes: Any) -> list[float]:
    """Accuracy on each block but the first, by the model as it was before: test, then learn by `partial_fit`.

    No row is ever tested after it was learned from, so that the mean estimates what the model does on what comes next.
    """
    found = []
    for number, (X, y) in enumerate(blocks):
        if number:
            found.append(float(model.score(X, y)))
        model.partial_fit(X, y, classes=classes if number == 0 else None)
    if not found:
        raise ValueError("Prequential accuracy needs at least two blocks: the first is learned from only.")
    return found
