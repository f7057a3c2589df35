"""Local search for a row near another one, where no more is known than which rows are accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

# Points on a way, and how often the piece before the first accepted one is divided again.
_POINTS, _DIVISIONS = 32, 3
# Steps of whole inputs, how many of them are taken two at a time, and rounds of improvement.
_SIZES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
_PAIRED, _ROUNDS = 120, 60
# Rows that are improved, and rows that are tried where nothing else leads anywhere.
_IMPROVED, _SAMPLES = 3, 4096


@dataclass(frozen=True)
class Walk:
    """Rows that differ from a row in some inputs, within a box, whole numbers where they are asked for.

    x : (n_inputs,) where a whole input keeps a value that is no whole number
    low, high : (n_inputs,)
    is_whole : (n_inputs,)
    cost : of rows; what is to be small
    is_accepted : of rows
    """

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    is_whole: np.ndarray
    cost: Callable[[np.ndarray], np.ndarray]
    is_accepted: Callable[[np.ndarray], np.ndarray]

    def valid(self, V: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Rows with the inputs `free` inside the box and whole where they must be."""
        V = np.array(V)
        inside = np.clip(V[:, free], self.low[free], self.high[free])
        lowest, highest = np.ceil(self.low[free]), np.floor(self.high[free])
        whole = self.is_whole[free] & (lowest <= highest) & (inside != self.x[free])
        V[:, free] = np.where(whole, np.clip(np.rint(inside), lowest, highest), inside)
        return V

    def samples(self, free: np.ndarray, sites: np.ndarray) -> np.ndarray:
        """Rows spread over the box: each input as in x, as in a site, at an end or anywhere between."""
        rng = np.random.default_rng(0)
        known = np.vstack([sites, self.x])
        low = np.where(np.isfinite(self.low), self.low, known.min(axis=0))
        high = np.where(np.isfinite(self.high), self.high, known.max(axis=0))
        shape = _SAMPLES, len(self.x)
        anywhere = rng.uniform(size=shape) * (high - low) + low
        at_end = np.where(rng.random(shape) < 0.5, low, high)
        at_site = known[rng.integers(len(known), size=shape), np.arange(len(self.x))]
        kind = rng.integers(4, size=shape)
        V = np.repeat(self.x[None], _SAMPLES, axis=0)
        V[:, free] = np.choose(kind, [V, anywhere, at_end, at_site])[:, free]
        return self.valid(V, free)

    def best(self, V: np.ndarray) -> np.ndarray | None:
        """The accepted row of the least cost."""
        costs = np.where(self.is_accepted(V), self.cost(V), np.inf)
        return V[costs.argmin()] if np.isfinite(costs.min()) else None

    def between(self, v: np.ndarray, end: np.ndarray, free: np.ndarray) -> np.ndarray | None:
        """Of the rows on the way from v to an end, all made valid, an accepted one of little cost."""
        first, last, best = 0.0, 1.0, None
        for _ in range(_DIVISIONS):
            t = np.linspace(first, last, _POINTS + 1)
            V = self.valid(v + t[:, None] * (end - v), free)
            accepted = self.is_accepted(V)
            if not accepted.any():
                break
            place = int(accepted.argmax())
            best, first, last = V[place], t[max(place - 1, 0)], t[place]
        return best

    def improved(self, v: np.ndarray, free: np.ndarray) -> np.ndarray:
        """An accepted row of less cost, by steps of whole inputs, one by one and in pairs, and back to x."""
        back = np.repeat(v[None], len(free), axis=0)
        whole = free[self.is_whole[free]]
        for _ in range(_ROUNDS):
            V = v + self._steps(v, whole)
            V = V[((V[:, whole] >= self.low[whole]) & (V[:, whole] <= self.high[whole])).all(axis=1)]
            back[:] = v
            back[np.arange(len(free)), free] = self.x[free]
            V = np.concatenate([V, back])
            better = self.cost(V) < self.cost(v[None])[0] * (1.0 - 1e-9)
            found = self.best(V[better]) if better.any() else None
            if found is None:
                return v
            v = found
        return v

    def _steps(self, v: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Steps of one whole input and of two, as wide as a wide range takes."""
        # A value that is no whole number stays as it is, or goes back.
        whole = whole[v[whole] == np.rint(v[whole])]
        room = (self.high - self.low)[whole]
        sizes = _SIZES[:, None] * (room >= _SIZES[:, None])
        steps = np.concatenate([sign * size[:, None] * np.eye(len(v))[whole] for size in sizes for sign in (1.0, -1.0)])
        steps = steps[steps.any(axis=1)]
        few = steps[:_PAIRED]
        one, other = np.triu_indices(len(few), 1)
        return np.concatenate([steps, few[one] + few[other]])

    def nearest(self, v: np.ndarray, ends: Iterable[np.ndarray], free: np.ndarray) -> np.ndarray | None:
        """The best of the ways from v to some ends, improved."""
        found = [end for end in (self.between(v, end, free) for end in ends) if end is not None]
        if not found:
            return None
        V = np.unique(found, axis=0)
        V = V[np.argsort(self.cost(V), kind="stable")[:_IMPROVED]]
        return self.best(np.array([self.improved(v, free) for v in V]))
