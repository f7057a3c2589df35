"""Counterfactuals of several prototype sets, and of sets on bins or scores: a search that asks for classes only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from protolearn.explain.inputs import Inputs
from protolearn.explain.search import Category, Found
from protolearn.explain.sets import OneSet, SetsOfPrototypes, sets_of
from protolearn.explain.walk import Walk
from protolearn.export.folding import deciding_model
from protolearn.tables import PiecewiseLinearBins

# Rows that are brought back to the row that was given, and how they are tried nearer and nearer.
_BROUGHT_BACK, _PROPOSED, _SCALES = 4, 128, np.geomspace(0.5, 0.003, 30)


@dataclass(frozen=True)
class NoCells:
    """What stands for cells where no single distance decides: classes, and columns measured by their ranges."""

    classes: np.ndarray
    width: np.ndarray
    is_shared: bool = False

    @property
    def labels(self) -> np.ndarray:
        """The class codes."""
        return np.arange(len(self.classes))

    @property
    def slot(self) -> np.ndarray:
        """One form for all."""
        return np.zeros(len(self.classes), dtype=int)

    def form(self, slot: int) -> np.ndarray:
        """Weights of squared changes: a column's whole range counts 1."""
        return 1.0 / self.width**2


@dataclass(frozen=True)
class SeveralInputs(Inputs):
    """Inputs of a model in which no single distance decides."""

    sets: Any = None

    @classmethod
    def on_bins(cls, model: Any) -> SeveralInputs | None:
        """The inputs of one set on bins whose nearest prototype decides; None of any other model."""
        inner = deciding_model(model)
        binned = isinstance(inner, Pipeline) and len(inner) > 1 and isinstance(inner[-2], PiecewiseLinearBins)
        return cls.of(model) if binned else None

    @property
    def first(self) -> OneSet:
        """The first set, the only one on bins."""
        return self.sets.sets[0]

    def steepest(self, moving: np.ndarray, norm: float) -> np.ndarray:
        """How far at most each bin moves where an input moves by `moving`.

        A value goes through one bin after the other. In the maximum norm each bin moves by at most its own slope; in
        the 2-norm all bins of an input together move by at most the steepest slope.
        """
        encoder = self.first.units.encoder
        found = np.zeros(len(encoder.scale_))
        for j, (edges, bins) in enumerate(zip(encoder.edges_, encoder.bins_of_columns(), strict=True)):
            if len(edges) > 1:
                slopes = 1.0 / (np.diff(edges) * encoder.scale_[bins])
                found[bins] = moving[j] * abs(self.sets.units.factor[j]) * (slopes.max() if norm == 2 else slopes)
        return found

    def lost(self, V: np.ndarray, moving: np.ndarray, eps: float, norm: float) -> np.ndarray:
        """What rounding of each row of inputs may count, before they become bins."""
        edges = np.array([np.abs(ends).max() for ends in self.first.units.encoder.edges_])
        units, free = self.sets.units, moving > 0
        size = np.abs(V) + np.abs(units.offset) + edges / np.abs(units.factor)
        return (
            np.linalg.norm(16.0 * eps * size[:, free] / moving[free], axis=1, ord=norm)
            if free.any()
            else np.zeros(len(V))
        )

    @property
    def width(self) -> np.ndarray:
        """What counts as a change of 1 in each input."""
        return 1.0 / np.sqrt(self.cells.form(0))

    @classmethod
    def of(cls, model: Any) -> SeveralInputs | None:  # type: ignore[override]
        """None for a model that has cells."""
        sets = sets_of(model)
        if sets is None:
            return None
        units, preparation = sets.units, sets.units.preparation
        n = len(units.columns)
        if preparation is not None:
            low, high, whole = preparation.data_min_, preparation.data_max_, preparation.is_whole_
            roles = np.array([origin.role for origin in preparation.origins()])
        else:
            low, high = np.sort(sets.search_range() / units.factor + units.offset, axis=0)
            whole, roles = np.zeros(n, dtype=bool), np.full(n, "number")
        width = high - low
        width = np.where(np.isfinite(width) & (width > 0), width, 1.0)[units.column_of]
        # Another level moves two inputs, and counts as much as a whole range.
        width[roles == "level"] = np.sqrt(2.0)
        cells: Any = NoCells(sets.classes_, width)
        names = [str(name) for name in units.columns]
        return cls(model, cells, names, units.column_of, roles, preparation, low, high, whole, sets)

    @cached_property
    def classes(self) -> np.ndarray:
        """The labels."""
        return self.sets.classes_

    def rows(self, X: Any) -> np.ndarray:
        """Rows of the table as inputs."""
        return self.sets.rows(X) / self.sets.units.factor + self.sets.units.offset


@dataclass(frozen=True)
class FreeSearch:
    """Rows near one row x that get one of some classes, found by asking for the classes of rows only.

    Where prototypes are, and rows spread over the box, are brought back along straight ways; inputs and levels that are
    not needed go back; random steps, smaller and smaller, shorten the rest. Fields as in `search.Search`.
    """

    sets: SetsOfPrototypes
    x: np.ndarray
    asked: np.ndarray
    low: np.ndarray
    high: np.ndarray
    is_whole: np.ndarray
    width: np.ndarray

    @property
    def metric(self) -> np.ndarray:
        """Weights of squared changes."""
        return 1.0 / self.width**2

    def cost(self, V: np.ndarray) -> np.ndarray:
        """Squared changes in shares of the ranges."""
        return (((V - self.x) / self.width) ** 2).sum(axis=1)

    def is_reached(self, V: np.ndarray) -> np.ndarray:
        """Whether rows get a class asked for."""
        units = self.sets.units
        return np.isin(self.sets.predict_codes(units.factor * (V - units.offset)), self.asked)

    @cached_property
    def _walk(self) -> Walk:
        return Walk(self.x, self.low, self.high, self.is_whole, self.cost, self.is_reached)

    @cached_property
    def _sites(self) -> np.ndarray:
        """Where the prototypes of all sets are."""
        found = []
        for one in self.sets.sets:
            Z = np.asarray(one.classifier.prototypes_, dtype=np.float64)
            found.append(Z if one.units.encoder is None else one.units.encoder.inverse_transform(Z))
        return np.concatenate(found) / self.sets.units.factor + self.sets.units.offset

    def nearest(self, free: np.ndarray, categories: tuple[Category, ...]) -> Found | None:
        """A near row that differs from x in `free` numbers and in levels of `categories`; None where none was found."""
        walk, rng = self._walk, np.random.default_rng(0)
        V = walk.samples(free, self._sites)
        for category in categories:
            places = rng.choice(np.append(category.allowed, category.own), len(V))
            # Half of the rows keep the level.
            places = np.where(rng.random(len(V)) < 0.5, category.own, places)
            V[:, category.members] = places[:, None] == np.arange(len(category.members))
        V = V[self.is_reached(V)]
        if not len(V):
            return None
        ends = V[np.argsort(self.cost(V), kind="stable")[:_BROUGHT_BACK]]
        best = walk.best(np.array([self._brought_back(end, free, categories) for end in ends]))
        return None if best is None else Found(best, float(self.cost(best[None])[0]), False)

    def _brought_back(self, end: np.ndarray, free: np.ndarray, categories: tuple[Category, ...]) -> np.ndarray:
        walk = self._walk
        for category in categories:
            back = end.copy()
            back[category.members] = self.x[category.members]
            end = back if self.is_reached(back[None])[0] else end
        start = end.copy()
        start[free] = self.x[free]
        found = walk.between(start, end, free)
        v = walk.improved(end if found is None else found, free)
        v = self._shortened(v, free)
        return walk.improved(v, free)

    def _shortened(self, v: np.ndarray, free: np.ndarray) -> np.ndarray:
        rng, walk = np.random.default_rng(0), self._walk
        for scale in _SCALES:
            size = np.abs(v - self.x)[free] + 0.02 * self.width[free]
            some = rng.random((_PROPOSED, len(free))) < min(1.0, 3.0 / max(len(free), 1))
            V = np.repeat(v[None], _PROPOSED, axis=0)
            V[:, free] += scale * size * some * rng.normal(size=some.shape)
            V[:, free] += scale * rng.random((_PROPOSED, 1)) * (self.x - v)[free]
            V = walk.valid(V, free)
            V = V[self.cost(V) < self.cost(v[None])[0] * (1.0 - 1e-9)]
            found = walk.best(V) if len(V) else None
            v = v if found is None else found
        return v
