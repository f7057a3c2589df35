"""Explanations of several prototype sets that decide together, and of sets on bins or normal scores.

Bins and normal scores bend the columns, and a mean of probabilities has no border of a simple form: what would have to
change is searched, column by column, within the range of the training set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from protolearn.auto.automatic import AutoPrototypes
from protolearn.estimators.prediction import NearestPrototypeMixin
from protolearn.explain.border import Surroundings, forms
from protolearn.explain.measured import MeasuredSurroundings
from protolearn.explain.units import ENCODERS, Units, units_of

# A column is searched in so many steps over its range in training; the border then by halving a step.
_STEPS, _HALVINGS = 200, 40
_NUMBERS_AT_A_TIME = 1 << 22


@dataclass(frozen=True)
class OneSet:
    """A prototype set of a model.

    share : what its probabilities count in the mean
    units : of its features
    """

    share: float
    units: Units
    classifier: Any

    def features(self, Z: np.ndarray) -> np.ndarray:
        """Prepared rows as its classifier gets them."""
        return Z if self.units.encoder is None else self.units.encoder.transform(Z)

    @cached_property
    def around(self) -> Any:
        """Makes the surroundings of a row among the prototypes."""
        metric, found = self.classifier._prototype_set()
        wide = found.astype(np.dtype(np.float64))
        formed = forms(metric, wide)
        if formed is None:
            return lambda z: MeasuredSurroundings(z, wide, metric)
        return lambda z: Surroundings(z, formed)

    @cached_property
    def order(self) -> np.ndarray:
        """The row of `prototypes_` of each prototype as the surroundings have them."""
        return self.classifier._class_order()

    @cached_property
    def values(self) -> list[list[Any]]:
        """The raw values of the prototypes as the surroundings have them."""
        return self.units.values(np.asarray(self.classifier.prototypes_, dtype=np.float64)[self.order])


class SetsOfPrototypes:
    """A model that is a mean of prototype sets, or one set behind bins or normal scores, on prepared rows.

    units : of the prepared rows, before bins or scores
    """

    def __init__(self, model: Any) -> None:
        outer = model.steps[:-1] if isinstance(model, Pipeline) else []
        auto = model.steps[-1][1] if isinstance(model, Pipeline) else model
        self.classes_ = auto.classes_
        self._mean = auto if isinstance(auto, AutoPrototypes) else None
        pipelines, shares = [model], np.ones(1)
        if self._mean is not None:
            pipelines, shares = self._mean.estimators_, self._mean.shares_
        else:
            outer = []
        self.sets = []
        for pipeline, share in zip(pipelines, shares, strict=True):
            steps = [*outer, *((f"set_{name}", step) for name, step in pipeline.steps)]
            units, classifier = units_of(Pipeline(steps))
            self.sets.append(OneSet(float(share), units, classifier))
        first = self.sets[0].units
        encoded = first.encoder is not None
        # All sets have prepared their columns from the same rows in the same way.
        self.units = prepared_units(first, first.before[:-1] if encoded else first.before)

    def predict_proba(self, Z: np.ndarray) -> np.ndarray:
        """Probabilities of prepared rows."""
        if self._mean is None:
            return self.sets[0].classifier.predict_proba(self.sets[0].features(Z))
        by_classifier = {id(one.classifier): one for one in self.sets}
        return self._mean._mean_proba(lambda pipeline: by_classifier[id(pipeline[-1])].features(Z))

    def predict_codes(self, Z: np.ndarray) -> np.ndarray:
        """Class codes of prepared rows, as the model predicts them."""
        return self.predict_proba(Z).argmax(axis=1)

    def rivals(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The most probable class of each row, and the second."""
        P = self.predict_proba(Z)
        codes = P.argmax(axis=1)
        P[np.arange(len(P)), codes] = -1.0
        return codes, P.argmax(axis=1)

    def relative_distances(self, Z: np.ndarray, codes: np.ndarray, rivals: np.ndarray) -> np.ndarray:
        """D_own / (D_own + D_rival), the mean over the sets by their shares."""
        total = np.zeros(len(Z))
        for one in self.sets:
            D = one.classifier._class_distances(one.features(Z))
            known = [np.searchsorted(one.classifier.classes_, self.classes_[of]) for of in (codes, rivals)]
            own, rival = (D[np.arange(len(D)), np.minimum(k, D.shape[1] - 1)] for k in known)
            both = own + rival
            with np.errstate(invalid="ignore"):
                total += one.share * np.where(both > 0, own / np.where(both > 0, both, 1.0), 0.5)
        return total

    def rows(self, table: Any) -> np.ndarray:
        """Raw rows, prepared."""
        return self.units.features(table)

    def search_range(self) -> np.ndarray:
        """(2, n_features) the ends of each prepared feature in training; NaN where they are not known."""
        preparation = self.units.preparation
        if preparation is not None:
            found = np.array([preparation.data_min_, preparation.data_max_])[:, self.units.column_of]
            return np.sort(self.units.factor * (found - self.units.offset), axis=0)
        for one in self.sets:
            encoder = one.units.encoder
            if hasattr(encoder, "edges_"):
                return np.array([[edges[0], edges[-1]] for edges in encoder.edges_]).T
            if encoder is not None:
                return encoder.quantiles_[[0, -1]]
        return np.array([self.sets[0].classifier.data_min_, self.sets[0].classifier.data_max_])

    def nearest(self, z: np.ndarray, code: int, rival: int) -> Iterator[tuple[OneSet, Surroundings, int, int]]:
        """For each set that knows both classes: the surroundings of a row, the nearest prototypes of both classes."""
        for one in self.sets:
            around = one.around(one.features(z[None])[0])
            labels = one.classifier.classes_[around.prototypes.labels]
            own, other = labels == self.classes_[code], labels == self.classes_[rival]
            if own.any() and other.any():
                nearest = (int(np.where(of, around.distances, np.inf).argmin()) for of in (own, other))
                yield one, around, *nearest


def prepared_units(units: Units, before: Any) -> Units:
    """The units of what goes into bins or scores."""
    column_of, preparation = np.arange(len(units.columns)), units.preparation
    if preparation is not None:
        place = {name: j for j, name in enumerate(units.columns)}
        column_of = np.array([place[origin.column] for origin in preparation.origins()])
    return Units(units.columns, column_of, units.movable, units.factor, units.offset, preparation, before)


def sets_of(model: Any) -> SetsOfPrototypes | None:
    """The sets of a model that the formulas for one set do not serve; None for all others."""
    auto = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if isinstance(auto, AutoPrototypes):
        check_is_fitted(auto)
        bent = any(isinstance(step, ENCODERS) for one in auto.estimators_ for _, step in one.steps)
        return SetsOfPrototypes(model) if bent or not auto.nearest_decides_ else None
    steps = [step for _, step in model.steps[:-1]] if isinstance(model, Pipeline) else []
    if len(steps) > 1 and isinstance(steps[-1], ENCODERS) and isinstance(auto, NearestPrototypeMixin):
        return SetsOfPrototypes(model) if units_of(model)[0].encoder is not None else None
    return None


@dataclass(frozen=True)
class Found:
    """A change of one prepared row that changes the decision.

    size : its length
    delta : (n_features,)
    code : the class from there on
    """

    size: float
    delta: np.ndarray
    code: int


def first_changes(
    model: SetsOfPrototypes, z: np.ndarray, code: int, directions: np.ndarray, reach: np.ndarray
) -> Iterator[Found]:
    """For each direction the first step up to its reach at which the decision changes, where there is one.

    A region that is thinner than a step of the search may be passed over.
    """
    at_a_time = max(_NUMBERS_AT_A_TIME // (_STEPS * len(z)), 1)
    for first in range(0, len(directions), at_a_time):
        some = slice(first, first + at_a_time)
        yield from _changes_along(model, z, code, directions[some], reach[some])


def _changes_along(
    model: SetsOfPrototypes, z: np.ndarray, code: int, directions: np.ndarray, reach: np.ndarray
) -> Iterator[Found]:
    steps = reach[:, None] * np.linspace(0.0, 1.0, _STEPS + 1)[1:]
    points = z + steps[:, :, None] * directions[:, None, :]
    other = (model.predict_codes(points.reshape(-1, len(z))) != code).reshape(len(directions), -1)
    some = np.flatnonzero(other.any(axis=1))
    if not len(some):
        return
    at = other[some].argmax(axis=1)
    high = steps[some, at]
    low = np.where(at > 0, steps[some, np.maximum(at - 1, 0)], 0.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        changed = model.predict_codes(z + middle[:, None] * directions[some]) != code
        low, high = np.where(changed, low, middle), np.where(changed, middle, high)
    deltas = high[:, None] * directions[some]
    for delta, new in zip(deltas, model.predict_codes(z + deltas), strict=True):
        yield Found(float(np.linalg.norm(delta)), delta, int(new))
