"""The arrays that decide a class, and the loop over them that every export writes in its own language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from protolearn.losses.links import class_probabilities

_BATCH_NUMBERS = 1 << 20
# An array, or None where the model has none of that kind; which ones go together the docstrings say.
MaybeArray = Any


@dataclass(frozen=True)
class RawColumn:
    """A column of a table as a Preparation turns it into inputs: first whether it is missing, where it ever was, then
    its number, its code, or 1 for its level.

    levels : of a text, None for a number
    fill : what stands for a missing number or code
    flagged : whether an input says that the value is missing
    coded : whether a text is one number, the place of its level
    refuses : whether a missing value is an error
    """

    name: str
    levels: tuple[str, ...] | None
    fill: float
    flagged: bool
    coded: bool
    refuses: bool


@dataclass(frozen=True)
class PlainModel:
    """Prototypes in the units of the input, with the scaling of a pipeline folded in.

        weights   D_i = sum_j weights_sj (x_j - positions_ij)^2           s the slot of prototype i; None: weights of 1
        maps      D_i = |maps_s (x - origin) - positions_i|^2             positions in the space of the map

    classes : (n_classes,) labels, sorted
    feature_names : the names of the inputs
    columns : the inputs that are used, or None for all of them
    labels : (n_prototypes,) class codes, ascending: the lowest index on a tie is also the first class
    order : (n_prototypes,) the row of the estimator's `prototypes_`
    scope : which prototypes share a slot: "global", "class" (slot = class code) or "prototype" (slot = index)
    bias : (n_prototypes,) or None; MixtGauss's mixture rule: D_i + bias_i is -ln(P(c) alpha_i N_i(x)) then, and a class
        has -ln of the sum of its components
    link, slope : how class distances become probabilities (protolearn.losses.links)
    raw_columns : the columns of the table that the inputs are made of, where they are not those columns themselves
    """

    classes: np.ndarray
    feature_names: tuple[str, ...]
    labels: np.ndarray
    order: np.ndarray
    positions: np.ndarray
    weights: MaybeArray = None
    maps: MaybeArray = None
    origin: MaybeArray = None
    bias: MaybeArray = None
    columns: MaybeArray = None
    scope: str = "global"
    link: str = "difference"
    slope: float = 1.0
    raw_columns: tuple[RawColumn, ...] | None = None

    @property
    def n_inputs(self) -> int:
        """Numbers in a row."""
        return len(self.feature_names)

    @property
    def n_used(self) -> int:
        """Numbers of a row that are used."""
        return self.n_inputs if self.columns is None else len(self.columns)

    @property
    def n_prototypes(self) -> int:
        """Number of prototypes."""
        return len(self.positions)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def slot(self) -> np.ndarray:
        """The row of weights or maps that each prototype uses."""
        if self.scope == "global":
            return np.zeros(self.n_prototypes, dtype=np.int64)
        return self.labels if self.scope == "class" else np.arange(self.n_prototypes)

    @cached_property
    def class_ends(self) -> np.ndarray:
        """For each class the index after its last prototype."""
        return np.searchsorted(self.labels, np.arange(self.n_classes), side="right")

    def used(self, X: np.ndarray) -> np.ndarray:
        """The columns that count."""
        X = np.asarray(X, dtype=np.float64)
        return X if self.columns is None else X[:, self.columns]

    def _groups(self) -> Iterator[tuple[int, np.ndarray]]:
        for slot in np.unique(self.slot):
            yield int(slot), np.flatnonzero(self.slot == slot)

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Squared distances (with the bias, where there is one) in float64, by differences."""
        X = self.used(X)
        D = np.empty((len(X), self.n_prototypes))
        if self.maps is not None:
            for slot, members in self._groups():
                D[:, members] = _differences((X - self.origin) @ self.maps[slot].T, self.positions[members], None)
        else:
            for slot, members in self._groups():
                weights = None if self.weights is None else self.weights[slot]
                D[:, members] = _differences(X, self.positions[members], weights)
        return D if self.bias is None else D + self.bias

    def class_distances(self, X: np.ndarray) -> np.ndarray:
        """The distance of the nearest prototype of each class, or -ln P(c) P(x | c) of a mixture."""
        return self.reduced(self.distances(X))

    def reduced(self, D: np.ndarray) -> np.ndarray:
        """One distance for each class; infinite for a class without prototypes."""
        result = np.full((len(D), self.n_classes), np.inf)
        start = 0
        for code, end in enumerate(self.class_ends):
            if end > start:
                part = D[:, start:end]
                result[:, code] = part.min(axis=1) if self.bias is None else -logsumexp(-part, axis=1)
            start = end
        return result

    def predict_codes(self, X: np.ndarray) -> np.ndarray:
        """Class codes."""
        return self.class_distances(X).argmin(axis=1)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels."""
        return self.classes[self.predict_codes(X)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes."""
        distances = self.class_distances(X)
        return class_probabilities(distances, self.link, self.slope) if self.bias is None else softmax(-distances, 1)

    def with_arrays(self, **arrays: object) -> PlainModel:
        """The same model with other arrays."""
        return replace(self, **arrays)  # type: ignore[arg-type]


def _differences(X: np.ndarray, positions: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    D = np.empty((len(X), len(positions)))
    size = max(_BATCH_NUMBERS // positions.size, 1)
    for start in range(0, len(X), size):
        square = (X[start : start + size, None, :] - positions) ** 2
        D[start : start + size] = square.sum(axis=2) if weights is None else square @ weights
    return D
