"""The arrays that decide a class, and the loop over them that every export writes in its own language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp, ndtri, softmax

from protolearn.losses.links import class_probabilities, log_class_probabilities
from protolearn.losses.temperature import LEAST_LOG, tempered

_BATCH_NUMBERS = 1 << 20
# Normal scores end here; quantiles of a column that are nearer than this share of its range are one.
LARGEST_SCORE, SAME_QUANTILE = 3.0, 1e-12
# Log probabilities of a set below this one count as this one, as AutoPrototypes learned the temperature.
LEAST_SET_LOG = 4.0 * float(LEAST_LOG)
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
class Encoding:
    """Inputs as the features that distances are measured in, where columns bend (protolearn.tables.encoding).

        t_k = factor_k (x_j - offset_j)      j = columns_k, the input of feature k

        bins     z_k = clip(rate_k (t_k - begin_k), 0, 1)
        scores   z_k = clip(Phi^-1(F_k(t_k)), -3, 3)      F_k linear between the quantiles of feature k

    begin, rate : of bins, where each begins and one over its width, 0 for one that nothing fills; None for scores
    quantiles : of scores, (n_features, n_quantiles); None for bins
    """

    columns: np.ndarray
    factor: np.ndarray
    offset: np.ndarray
    begin: MaybeArray = None
    rate: MaybeArray = None
    quantiles: MaybeArray = None

    def of(self, X: np.ndarray) -> np.ndarray:
        """The features of rows of inputs."""
        t = self.factor * (X[:, self.columns] - self.offset)
        if self.quantiles is None:
            return np.clip((t - self.begin) * self.rate, 0.0, 1.0)
        last, places = self.quantiles.shape[1] - 1, np.arange(len(self.columns))
        same = SAME_QUANTILE * (self.quantiles[:, -1] - self.quantiles[:, 0])
        below = np.maximum((self.quantiles <= (t + same)[:, :, None]).sum(axis=2) - 1, 0)
        above = np.minimum((self.quantiles < (t - same)[:, :, None]).sum(axis=2), last)
        start = self.quantiles[places, below]
        width = self.quantiles[places, above] - start
        between = below + (t - start) / np.where(width > 0, width, 1.0)
        share = np.where(width > 0, between, 0.5 * (below + above)) / last
        return np.clip(ndtri(share), -LARGEST_SCORE, LARGEST_SCORE)

    def after(self, factor: np.ndarray, offset: np.ndarray) -> Encoding:
        """The encoding of x where this one is of factor (x - offset)."""
        factor, offset = factor[self.columns], offset[self.columns]
        return replace(self, factor=self.factor * factor, offset=offset + self.offset / factor)

    def taken(self, features: np.ndarray) -> Encoding:
        """Some of the features."""
        arrays: dict[str, Any] = {name: None if v is None else v[features] for name, v in vars(self).items()}
        return Encoding(**arrays)

    def in_inputs(self) -> Encoding:
        """The same in the units of the inputs, but for rounding: with factors of 1 and offsets of 0."""
        arrays: dict[str, np.ndarray] = {"factor": np.ones(len(self.factor)), "offset": np.zeros(len(self.offset))}
        if self.quantiles is None:
            arrays |= {"begin": self.offset + self.begin / self.factor, "rate": self.rate * self.factor}
        else:
            arrays["quantiles"] = self.offset[:, None] + self.quantiles / self.factor[:, None]
        return replace(self, **arrays)


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
    encoding : bins or normal scores of the inputs; x is what they give then, and `columns` is None
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
    encoding: Encoding | None = None

    @property
    def n_inputs(self) -> int:
        """Numbers in a row."""
        return len(self.feature_names)

    @property
    def n_used(self) -> int:
        """Numbers of a row that are used, or that its encoding makes."""
        if self.encoding is not None:
            return len(self.encoding.columns)
        return self.n_inputs if self.columns is None else len(self.columns)

    @property
    def n_prototypes(self) -> int:
        """Number of prototypes."""
        return len(self.positions)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def has_radius(self) -> bool:
        """Whether arithmetic alone tells how far a row may move: the border of two prototypes is a plane."""
        return self.scope == "global" and self.bias is None and self.encoding is None

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
        """The columns that count, or their encoding."""
        X = np.asarray(X, dtype=np.float64)
        if self.encoding is not None:
            return self.encoding.of(X)
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

    def log_proba(self, X: np.ndarray) -> np.ndarray:
        """The logarithms of the probabilities."""
        distances = self.class_distances(X)
        if self.bias is not None:
            return log_softmax(-distances, axis=1)
        return log_class_probabilities(distances, self.link, self.slope)

    def with_arrays(self, **arrays: object) -> PlainModel:
        """The same model with other arrays."""
        return replace(self, **arrays)  # type: ignore[arg-type]


@dataclass(frozen=True)
class PlainSets:
    """Several prototype sets of the same inputs and classes that decide by the mean of their probabilities.

        P(c) = sum_k share_k p_k(c)^t_k / sum over c' of p_k(c')^t_k

    A set whose prototypes of a class are summed is one with a bias of 0: sum exp(-D_i) is the class's share there.
    """

    sets: tuple[PlainModel, ...]
    shares: np.ndarray
    temperatures: np.ndarray

    @property
    def first(self) -> PlainModel:
        """The set that says what all have in common: classes, inputs and raw columns."""
        return self.sets[0]

    @property
    def classes(self) -> np.ndarray:
        """Labels, sorted."""
        return self.first.classes

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes."""
        total = np.zeros((1, len(self.classes)))
        for one, share, t in zip(self.sets, self.shares, self.temperatures, strict=True):
            total = total + share * np.exp(tempered(np.maximum(one.log_proba(X), LEAST_SET_LOG), t))
        return total / total.sum(axis=1, keepdims=True)

    def predict_codes(self, X: np.ndarray) -> np.ndarray:
        """Class codes."""
        return self.predict_proba(X).argmax(axis=1)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels."""
        return self.classes[self.predict_codes(X)]


def _differences(X: np.ndarray, positions: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    D = np.empty((len(X), len(positions)))
    size = max(_BATCH_NUMBERS // positions.size, 1)
    for start in range(0, len(X), size):
        square = (X[start : start + size, None, :] - positions) ** 2
        D[start : start + size] = square.sum(axis=2) if weights is None else square @ weights
    return D
