"""What the figures of `fit` allow to say: accuracy first, and no difference that the noise of the test could make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Half the width of an interval that holds 95 % of a normal distribution, in standard errors.
_WIDTH = 1.96
# Classes are uneven where the largest has so many times the rows of the smallest.
UNEVEN = 1.5
# Where the noise of a test is more points than these, the test cannot show that two models are alike.
_MOST_NOISE = 10.0
# Points by which the recall of a class is below the accuracy before `fit` speaks of it, and classes listed.
_LOW_RECALL, _MOST_CLASSES = 10.0, 6


@dataclass(frozen=True)
class Line:
    """A row of the table of `fit`.

    method : as it is printed
    model : takes raw rows
    numbers : stored, None where they cannot be counted
    predicted : of the tested rows
    """

    method: str
    model: Any
    numbers: int | None
    n_bytes: int
    predicted: np.ndarray


@dataclass(frozen=True)
class Difference:
    """How many points a model is above another one on the same rows, and what chance could make of none."""

    points: float
    noise: float

    @property
    def beyond(self) -> bool:
        """Whether the difference is more than the noise of the test."""
        return abs(self.points) > self.noise

    def __str__(self) -> str:
        return f"{self.points:+.1f} points, noise of the test {self.noise:.1f}"


def difference(y: np.ndarray, own: np.ndarray, other: np.ndarray, *, balanced: bool = False) -> Difference:
    """Compare two models on the same test rows.

        points = (b - c) / n      noise = 1.96 sqrt(p + q - (p - q)^2) / sqrt(n + 2) + |(b - c) / n - (p - q)|
        p = (b + 1) / (n + 2),   q = (c + 1) / (n + 2)

    b rows are right by the first model alone, c by the second alone. The interval about p - q is that of Bonett and
    Price (2012) for shares of the same rows; the last term is how far its middle lies from what is printed. For
    balanced accuracy the same of each class, averaged.

    Parameters
    ----------
    y : true labels
    own, other : predicted labels
    balanced : compare the mean recall of the classes instead of the accuracy

    Returns
    -------
    difference : Difference
    """
    groups = [y == label for label in np.unique(y)] if balanced else [np.ones(len(y), dtype=bool)]
    right, other_right = own == y, other == y
    found, middle, variance = 0.0, 0.0, 0.0
    for rows in groups:
        n = int(rows.sum())
        b, c = int(np.sum(right & ~other_right & rows)), int(np.sum(~right & other_right & rows))
        p, q = (b + 1) / (n + 2), (c + 1) / (n + 2)
        found += (b - c) / n / len(groups)
        middle += (p - q) / len(groups)
        variance += (p + q - (p - q) ** 2) / (n + 2) / len(groups) ** 2
    return Difference(100 * found, 100 * (_WIDTH * float(np.sqrt(variance)) + abs(found - middle)))


def score(y: np.ndarray, predicted: np.ndarray, *, balanced: bool) -> float:
    """Accuracy, or the mean recall of the classes."""
    return float(np.mean(list(recalls(y, predicted).values()) if balanced else predicted == y))


def recalls(y: np.ndarray, predicted: np.ndarray) -> dict[Any, float]:
    """The share of each class that is found."""
    return {label: float(np.mean(predicted[y == label] == label)) for label in np.unique(y).tolist()}


def uneven(y: np.ndarray) -> bool:
    """Whether accuracy alone says little of the rare classes."""
    counts = np.unique(y, return_counts=True)[1]
    return bool(counts.max() >= UNEVEN * counts.min())


def recall_sentence(y: np.ndarray, predicted: np.ndarray) -> str:
    """The recall of each class, the worst ones of many."""
    found = sorted(recalls(y, predicted).items(), key=lambda item: item[1])
    shown = [f"{label} {recall:.3f}" for label, recall in found[:_MOST_CLASSES]]
    left = f" (the lowest {_MOST_CLASSES} of {len(found)})" if len(found) > _MOST_CLASSES else ""
    return f"Recall of each class: {', '.join(shown)}{left}."


def neglects(y: np.ndarray, predicted: np.ndarray) -> bool:
    """Whether a class is found far less often than rows are right."""
    return 100 * (np.mean(predicted == y) - min(recalls(y, predicted).values())) > _LOW_RECALL


def verdict(
    y: np.ndarray, lines: Sequence[Line], microseconds: Sequence[float], remedy: str, *, balanced: bool
) -> list[str]:
    """The last sentences of `fit`, the one about k-NN first.

    Parameters
    ----------
    y : labels of the tested rows
    lines : the majority class, k-NN, other references, and the prototypes last
    microseconds : of each line, for a row
    remedy : what to try where the prototypes are less accurate
    balanced : whether balanced accuracy counts
    """
    own, neighbours = lines[-1], lines[1]
    by_line = [difference(y, own.predicted, line.predicted, balanced=balanced) for line in lines[:-1]]
    measure = "balanced accuracy" if balanced else "accuracy"
    against = by_line[1]
    name = neighbours.method.split(" on ")[0]
    rows = f"{len(y)} test rows"
    if not against.beyond:
        points = f"({against.points:+.1f} points{' of balanced accuracy' if balanced else ''} +-{against.noise:.1f})"
        if against.noise > _MOST_NOISE:
            head = f"No difference from {name} can be seen in {rows} {points}: test on more"
        else:
            head = f"As accurate as {name} within the noise of {rows} {points}"
    else:
        more = "More" if against.points > 0 else "LESS"
        head = (
            f"{more} accurate than {name}, by {abs(against.points):.1f} points of {measure} on {rows} "
            f"(noise +-{against.noise:.1f})"
        )
    sizes = []
    if own.n_bytes and neighbours.n_bytes:
        sizes.append(about(neighbours.n_bytes / own.n_bytes, "smaller", "larger"))
    sizes.append(about(microseconds[1] / microseconds[-1], "faster", "slower"))
    sentences = [f"{head}; {' and '.join(sizes)}."]
    best = max(range(len(by_line)), key=lambda i: -by_line[i].points)
    losing = by_line[best].points < 0 and by_line[best].beyond
    if losing and best != 1:
        ahead = by_line[best]
        sentences.append(
            f"{_short(lines[best])} is more accurate, by {-ahead.points:.1f} points (noise +-{ahead.noise:.1f})."
        )
    if not (by_line[0].beyond and by_line[0].points > 0):
        above = [difference(y, line.predicted, lines[0].predicted, balanced=balanced) for line in lines[1:-1]]
        known = any(one.beyond and one.points > 0 for one in above)
        sentences.append(
            f"In {measure} it is NOT above always answering with the largest class, beyond the noise"
            + ("." if known else ": the columns may say little about the classes.")
        )
    if losing:
        sentences.append(remedy)
    return sentences


def about(ratio: float, more: str, less: str) -> str:
    """A ratio of sizes or times in one or two figures: what is measured is no more exact."""
    if 1 / 1.25 < ratio < 1.25:
        return f"about as {more.removesuffix('er')}"
    word, ratio = (more, ratio) if ratio > 1 else (less, 1 / ratio)
    figures = ratio if ratio < 9.5 else float(f"{ratio:.2g}" if ratio < 1000 else f"{ratio:.1g}")
    return f"about {figures:.1f} x {word}" if ratio < 3 else f"about {figures:.0f} x {word}"


def _short(line: Line) -> str:
    """The name of a method without what it stores."""
    name = line.method.split(",")[0]
    return name[0].upper() + name[1:]
