"""Which sets of a race become the model: the least loss with a small price on size, alone or as a mean of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from protolearn.auto.race import Entry
from protolearn.losses.temperature import LEAST_LOG

# What the natural logarithm of the numbers counts in log loss: half the size is worth 0.7 thousandths.
SIZE_PRICE = 0.003

Loss = Callable[[np.ndarray], float]


def choose(entries: Sequence[Entry], members: int, loss: Loss, most_numbers: float = np.inf) -> dict[int, int]:
    """The chosen entries by index, each with how often it counts in the mean of probabilities.

    One set: the least loss with the price on its numbers. Several: greedy with repeats (Caruana and others 2004), the
    set that lowers the loss of the mean most, until no step lowers it further.

    Parameters
    ----------
    entries : judged on the same rows, in the same order
    members : how many different sets at most
    loss : of log probabilities of these rows
    most_numbers : that the chosen sets may store together
    """
    numbers = np.array([entry.numbers for entry in entries], dtype=float)
    small_enough = [j for j, entry in enumerate(entries) if entry.numbers <= most_numbers]
    if not small_enough:
        return {int(numbers.argmin()): 1}
    priced = np.array([entry.loss for entry in entries]) + SIZE_PRICE * np.log(numbers)
    if members == 1:
        return {min(small_enough, key=lambda j: priced[j]): 1}
    chosen: dict[int, int] = {}
    total = np.zeros_like(entries[0].log_proba)
    before = np.inf
    for step in range(2 * members - 1):
        kept = sum(numbers[j] for j in chosen)
        allowed = [
            j for j in small_enough if j in chosen or (len(chosen) < members and kept + numbers[j] <= most_numbers)
        ]
        losses = []
        for j in allowed:
            mean = np.log(np.maximum((total + np.exp(entries[j].log_proba)) / (step + 1), np.exp(LEAST_LOG)))
            size = kept + (0 if j in chosen else numbers[j])
            losses.append(loss(mean) + SIZE_PRICE * np.log(size))
        best = int(np.argmin(losses))
        if step and losses[best] >= before:
            break
        before, j = losses[best], allowed[best]
        chosen[j] = chosen.get(j, 0) + 1
        total += np.exp(entries[j].log_proba)
    return chosen


class KnownPredictions(ClassifierMixin, BaseEstimator):
    """Probabilities that are known already, as the classifier that a scorer asks: a row is a number of theirs."""

    def __init__(self, probabilities: np.ndarray, classes: np.ndarray) -> None:
        self.probabilities = probabilities
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        """The classes."""
        return self.classes

    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        """The probabilities of some rows."""
        return self.probabilities[rows[:, 0]]

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Their most probable classes."""
        return self.classes[self.predict_proba(rows).argmax(axis=1)]
