"""How often each class is recognised, with intervals: the first section of the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from protolearn.report.page import paragraph, table

_LEVEL = 0.95
# Of two classes that are nearly as frequent none is the finding unless the user names it.
_RARE = 2 / 3


@dataclass(frozen=True)
class Share:
    """So many of so many, with the interval of Wilson (1927) that holds the true share in 95 of 100 such tests.

    low, high : its ends; of no rows 0 and 1
    """

    found: int
    of: int

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self._interval()[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self._interval()[1]

    def _interval(self) -> tuple[float, float]:
        if not self.of:
            return 0.0, 1.0
        interval = binomtest(self.found, self.of).proportion_ci(_LEVEL, method="wilson")
        return float(interval.low), float(interval.high)

    @property
    def percent(self) -> str:
        """The share in percent; of no rows a dash."""
        return f"{100 * self.found / self.of:.1f}" if self.of else "-"

    @property
    def between(self) -> str:
        """The interval in percent."""
        return f"{100 * self.low:.0f}\u00a0to\u00a0{100 * self.high:.0f}" if self.of else "-"

    @property
    def counts(self) -> str:
        """So many of so many, in one line."""
        return f"{self.found:,}\u00a0of\u00a0{self.of:,}"

    def __str__(self) -> str:
        return f"{self.percent}\u00a0% ({self.between}\u00a0%)"


@dataclass(frozen=True)
class Recognised:
    """How a class fares on the test rows.

    recall : rows of the class that are given it
    precision : rows given the class that are of it
    taken_for : the class that its other rows are given most often, and how many; None where all are recognised
    """

    label: Any
    recall: Share
    precision: Share
    taken_for: tuple[Any, int] | None


def recognised(y: np.ndarray, predicted: np.ndarray) -> list[Recognised]:
    """Every class of the test rows, the one that is recognised least often first."""
    found = []
    for label in np.unique(y):
        own, said = y == label, predicted == label
        others, counts = np.unique(predicted[own & ~said], return_counts=True)
        most = (others[counts.argmax()], int(counts.max())) if len(others) else None
        both = int(np.sum(own & said))
        found.append(Recognised(label, Share(both, int(own.sum())), Share(both, int(said.sum())), most))
    return sorted(found, key=lambda one: one.recall.found / one.recall.of)


def rarer_class(y: np.ndarray) -> Any:
    """Of two classes the one that has at most two thirds as many rows as the other, else None."""
    labels, counts = np.unique(y, return_counts=True)
    return labels[counts.argmin()] if len(labels) == 2 and counts.min() <= _RARE * counts.max() else None


def recall_table(y: np.ndarray, predicted: np.ndarray, finding: Any, chosen: str = "") -> str:
    """Sentences and a table on the classes, the worst one first.

    Parameters
    ----------
    y, predicted : labels of the test rows, true and predicted
    finding : the class whose recall is the sensitivity; None leaves sensitivity and specificity out
    chosen : why this class is the finding, in brackets
    """
    classes = recognised(y, predicted)
    worst = classes[0]
    said = (
        f"Of {worst.recall.of} test rows of class {worst.label}, {worst.recall.found} are recognised: {worst.recall}."
    )
    if worst.taken_for is not None:
        other, count = worst.taken_for
        said += f" {count} {'is' if count == 1 else 'are'} taken for {other}."
    if len(classes) > 1:
        said += " It is the class recognised least often."
    sentences = [paragraph(said, "lead")]
    if finding is not None:
        own = y == finding
        sensitivity = Share(int(np.sum(predicted[own] == finding)), int(own.sum()))
        specificity = Share(int(np.sum(predicted[~own] != finding)), int((~own).sum()))
        sentences.append(
            paragraph(
                f"With {finding} as the finding{f' ({chosen})' if chosen else ''}, sensitivity is {sensitivity}: so "
                f"many rows with the finding are given it. Specificity is {specificity}: so many rows without the "
                "finding are not given it."
            )
        )
    right = Share(int(np.sum(y == predicted)), len(y))
    sentences.append(
        paragraph(
            f"Of all {len(y):,} test rows, {right.found:,} are right: {right}. In brackets stands the 95 % interval "
            "(Wilson): where the true share is likely to lie, for so few rows leave room for chance."
        )
    )
    rows = [
        (
            one.label,
            one.recall.counts,
            f"{one.recall.percent} ({one.recall.between})",
            f"{one.precision.percent} ({one.precision.between})",
        )
        for one in classes
    ]
    shown = table(
        ("class", "recognised", "recall, %", "right when said, %"),
        rows,
        caption="Recall: how many rows of the class get it. Right when said: rows that get the class and are of it",
        wrap=True,
    )
    return "".join(sentences) + shown
