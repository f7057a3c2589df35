"""The nearest row of another class in the metric of the model, within limits: what a counterfactual searches for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from protolearn.explain.border import first_overtaken
from protolearn.explain.cells import Cells, least_norm
from protolearn.explain.walk import Walk

# Of the metric's weight, what keeps columns still that the metric does not see.
_STIFFNESS = 1e-6
# How far beyond a border a row is placed, as a share of the way there, and how often rounding is allowed for.
_BEYOND, _ROUNDINGS = 1e-6, 4.0
_CUTS, _TANGENTS = 200, 12
_BEAM, _TRIED = 4, 48
# Combinations of levels, and of whole numbers, that are all judged.
_COMBINATIONS, _WHOLE_COMBINATIONS = 256, 1 << 14

Box = tuple[np.ndarray, np.ndarray]
Steps = Iterator[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Category:
    """Inputs of which one is 1 and the others are 0 (one-hot); `allowed` are the places it may take.

    own : the place in the row, -1 where all are 0
    """

    members: np.ndarray
    own: int
    allowed: np.ndarray


@dataclass(frozen=True)
class Found:
    """A row of inputs: the cost (v - x)' M (v - x), and whether no other allowed row of the class is nearer."""

    v: np.ndarray
    cost: float
    is_nearest: bool


@dataclass(frozen=True)
class Search:
    """Rows near one row x that get one of some classes; inputs move between `low` and `high`, categories by levels.

        minimise (v - x)' M (v - x)   where   D_r(v) < D_o(v)   for a prototype r of the classes and all o of the others

    M is the metric of the model, the mean over its prototypes where they have several. For each r this is a quadratic
    programme under a shared metric, whose halfspaces are added as they are violated; under local metrics the borders
    bend, and each is replaced by its tangent where the way to the point found so far meets it, some times over.

    x : (n_inputs,)
    is_target : (n_prototypes,) whether a prototype's class is asked for
    low, high : (n_inputs,) equal to x where an input may not move; categories and whole inputs aside
    is_whole : (n_inputs,) whether an input takes whole numbers only
    width : (n_inputs,) the unit of each input
    lost : what rounding can make of a difference of two distances
    """

    cells: Cells
    x: np.ndarray
    is_target: np.ndarray
    low: np.ndarray
    high: np.ndarray
    is_whole: np.ndarray
    width: np.ndarray
    categories: tuple[Category, ...]
    lost: float

    @cached_property
    def metric(self) -> np.ndarray:
        """M, with a little weight on what the metric does not see: its diagonal, or the matrix."""
        share = np.bincount(self.cells.slot, minlength=self.cells.slot.max() + 1) / len(self.cells.slot)
        mean = sum(part * self.cells.form(s) for s, part in enumerate(share) if part > 0)
        diagonal = mean if self.cells.is_diagonal else np.diag(mean)
        stiff = _STIFFNESS * float((diagonal * self.width**2).mean()) / self.width**2
        return mean + (stiff if self.cells.is_diagonal else np.diag(stiff))

    def cost(self, V: np.ndarray) -> np.ndarray:
        """(v - x)' M (v - x) of each row."""
        steps = V - self.x
        return steps**2 @ self.metric if self.cells.is_diagonal else np.einsum("ij,ij->i", steps @ self.metric, steps)

    def is_reached(self, V: np.ndarray) -> np.ndarray:
        """Whether rows are in a cell of the classes asked for, by more than rounding."""
        D = self.cells.distances(V)
        own = np.where(self.is_target, D, np.inf).min(axis=1)
        return own + _ROUNDINGS * self.lost < np.where(self.is_target, np.inf, D).min(axis=1)

    def numbers(self, v: np.ndarray, free: np.ndarray, below: float = np.inf, box: Box | None = None) -> Found | None:
        """The nearest row that differs from v in `free` inputs only, of a cost below `below`."""
        box = (self.low, self.high) if box is None else box
        if not self.cells.is_shared:
            # The ways along which borders are met begin within the box.
            v = v.copy()
            v[free] = np.clip(v[free], box[0][free], box[1][free])
        inside = (v[free] >= box[0][free]).all() and (v[free] <= box[1][free]).all()
        if inside and self.is_reached(v[None])[0]:
            cost = float(self.cost(v[None])[0])
            if self.cells.is_diagonal or not len(free) or np.array_equal(v, self.x):
                return Found(v, cost, True) if cost < below else None
        if not len(free):
            return None
        place = Place(self, v, free, box)
        best: Found | None = None
        for tried, (bound, target) in enumerate(place.targets()):
            if bound >= below or (best is not None and not self.cells.is_shared and tried >= _BEAM):
                break
            found = place.convex(target, below) if self.cells.is_shared else place.bent(target)
            if found is not None and found.cost < below:
                best, below = found, found.cost
        return best

    def whole(self, v: np.ndarray, free: np.ndarray, below: float = np.inf) -> Found | None:
        """The same with whole numbers where they are asked for.

        Few combinations are all judged. Otherwise the numbers between whole ones bound the cost from below; rows of
        whole numbers on the way from there into the cells asked for are improved unit by unit.
        """
        whole = free[self.is_whole[free]]
        if not len(whole):
            return self.numbers(v, free, below)
        V = self._all_whole(v, whole) if len(whole) == len(free) else None
        if V is not None:
            row = self.walk.best(V)
            cost = np.inf if row is None else float(self.cost(row[None])[0])
            return Found(row, cost, self.cells.is_shared) if row is not None and cost < below else None
        found = self.numbers(v, free, below)
        if found is None:
            return None
        row = self.walk.valid(found.v[None], free)[0]
        if np.allclose(row, found.v, rtol=0.0, atol=1e-9) and self.is_reached(row[None])[0]:
            return Found(row, float(self.cost(row[None])[0]), found.is_nearest)
        row = self.walk.nearest(found.v, self._ends(found.v, free), free)
        if row is None:
            return None
        others = free[~self.is_whole[free]]
        if len(others):
            again = self.numbers(row, others)
            row = row if again is None else self.walk.improved(again.v, free)
        cost = float(self.cost(row[None])[0])
        return Found(row, cost, False) if cost < below else None

    @cached_property
    def walk(self) -> Walk:
        """Rows within the box that are in a cell asked for."""
        return Walk(self.x, self.low, self.high, self.is_whole, self.cost, self.is_reached)

    def _all_whole(self, v: np.ndarray, whole: np.ndarray) -> np.ndarray | None:
        """All rows with other whole numbers there, if they are few."""
        lowest, highest = np.ceil(self.low[whole]), np.floor(self.high[whole])
        if not np.prod(np.maximum(highest - lowest, 0.0) + 2.0) <= _WHOLE_COMBINATIONS:
            return None
        values = [
            np.union1d(np.arange(first, last + 1.0), own)
            for first, last, own in zip(lowest, highest, v[whole], strict=True)
        ]
        V = np.repeat(v[None], np.prod([len(some) for some in values]), axis=0)
        V[:, whole] = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(len(V), -1)
        return V

    def _ends(self, v: np.ndarray, free: np.ndarray) -> list[np.ndarray]:
        """Where prototypes asked for are, and the corners of the box where they gain the most; nearest first."""
        D, pulls = self.cells.distances(v[None])[0], self.cells.pulls(v)[:, free]
        targets = np.flatnonzero(self.is_target)
        other = int(np.where(self.is_target, np.inf, D).argmin())
        ends = []
        for target in targets[np.argsort(D[targets], kind="stable")][:_BEAM]:
            site, corner = v.copy(), v.copy()
            site[free] = self.cells.site(int(target))[free]
            away = np.where(pulls[target] > pulls[other], self.low[free], self.high[free])
            corner[free] = np.where(np.isfinite(away) & (pulls[target] != pulls[other]), away, site[free])
            ends += [corner, site]
        return ends

    def nearest(self, free: np.ndarray, categories: tuple[Category, ...]) -> Found | None:
        """The nearest row that differs from x in `free` numbers and in levels of `categories`.

        Few combinations of levels are tried one by one. Of many, by a beam: the best rows so far get one more level
        each, judged by their cost and by what the rest of the way takes along a straight slope; and the levels of each
        prototype asked for. Then levels that are not needed go back.
        """
        best = self._by_categories(free, categories)
        return self._sampled(free, categories) if best is None and not self.cells.is_shared else best

    def _sampled(self, free: np.ndarray, categories: tuple[Category, ...]) -> Found | None:
        """Where the tangents of bent borders lead nowhere: the best of many rows, brought back as near as it may be."""
        rows = self.walk.samples(free, self.cells.positions if self.cells.is_diagonal else self._sites)
        rng = np.random.default_rng(0)
        for category in categories:
            places = rng.choice(np.append(category.allowed, category.own), len(rows))
            rows[:, category.members] = places[:, None] == np.arange(len(category.members))
        end = self.walk.best(rows)
        if end is None:
            return None
        levels = [one for one in categories if not np.array_equal(end[one.members], self.x[one.members])]
        for category in levels:
            back = self._with_level(end, category, category.own)
            end = back if self.is_reached(back[None])[0] else end
        start = end.copy()
        start[free] = self.x[free]
        row = self.walk.nearest(start, [end], free)
        return None if row is None else Found(row, float(self.cost(row[None])[0]), False)

    @cached_property
    def _sites(self) -> np.ndarray:
        return np.array([self.cells.site(i) for i in range(len(self.cells.slot))])

    def _by_categories(self, free: np.ndarray, categories: tuple[Category, ...]) -> Found | None:
        best = self.whole(self.x, free)
        if not categories:
            return best
        moving = np.union1d(free, np.concatenate([one.members for one in categories]))
        guide = Place(self, self.x, moving, (self.low, self.high))
        if np.prod([len(one.allowed) + 1.0 for one in categories]) <= _COMBINATIONS:
            steps = self._combined([self.x], categories, guide)
        else:
            steps = self._beamed(categories, guide)
        for V, judged in steps:
            below = np.inf if best is None else best.cost
            for k in np.argsort(judged, kind="stable")[:_TRIED]:
                if judged[k] >= below:
                    break
                found = self.whole(V[k], free, below)
                if found is not None:
                    best, below = Found(found.v, found.cost, False), found.cost
        return None if best is None else self._without_needless(best, free, categories)

    def _combined(self, rows: list[np.ndarray], categories: tuple[Category, ...], guide: Place) -> Steps:
        for category in categories:
            rows = rows + [self._with_level(v, category, int(place)) for v in rows for place in category.allowed]
        V = np.array(rows[1:])
        yield V, guide.judged(V)

    def _beamed(self, categories: tuple[Category, ...], guide: Place) -> Steps:
        beam: list[tuple[dict[int, int], np.ndarray]] = [({}, self.x)]
        for _ in categories:
            wider = {
                tuple(sorted((levels | {c: place}).items())): (
                    levels | {c: place},
                    self._with_level(v, categories[c], place),
                )
                for levels, v in beam
                for c in range(len(categories))
                if c not in levels
                for place in categories[c].allowed.tolist()
            }
            rows = list(wider.values())
            if not rows:
                break
            V = np.array([v for _, v in rows])
            judged = guide.judged(V)
            kept = np.argsort(judged, kind="stable")[:_BEAM]
            beam = [rows[k] for k in kept]
            yield V[kept], judged[kept]
        sites = []
        for target in np.flatnonzero(self.is_target):
            v, site = self.x.copy(), self.cells.site(int(target))
            for category in categories:
                places = np.append(category.allowed, category.own)
                at = np.where(places >= 0, site[category.members[places]], -np.inf)
                v = self._with_level(v, category, int(places[at.argmax()]))
            sites.append(v)
        yield np.array(sites), guide.judged(np.array(sites))

    def _with_level(self, v: np.ndarray, category: Category, place: int) -> np.ndarray:
        v = v.copy()
        v[category.members] = 0.0
        if place >= 0:
            v[category.members[place]] = 1.0
        return v

    def _without_needless(self, best: Found, free: np.ndarray, categories: tuple[Category, ...]) -> Found:
        for category in categories:
            if np.array_equal(best.v[category.members], self.x[category.members]):
                continue
            v = self._with_level(best.v, category, category.own)
            v[free] = self.x[free]
            found = self.whole(v, free, best.cost)
            best = best if found is None else Found(found.v, found.cost, False)
        return best


class Place:
    """A row v from which some inputs move: distances, slopes and the metric of what moves."""

    def __init__(self, search: Search, v: np.ndarray, free: np.ndarray, box: Box) -> None:
        self.search, self.v, self.free, self.box = search, v, free, box
        self.cells = search.cells
        self.D = self.cells.distances(v[None])[0]
        self.pulls = self.cells.pulls(v)[:, free]
        self.low, self.high = box[0][free] - v[free], box[1][free] - v[free]
        M, moved = search.metric, v - search.x
        if self.cells.is_diagonal:
            self.root = np.sqrt(M[free])
            self.ahead = -moved[free]
        else:
            self.root = np.linalg.cholesky(M[np.ix_(free, free)])
            towards = M[free] @ moved
            self.ahead = -np.linalg.solve(self.root.T, np.linalg.solve(self.root, towards))
        # What the cost keeps when the free inputs are where they cost the least.
        least = v.copy()
        least[free] += self.ahead
        self.base = float(search.cost(least[None])[0])
        self.targets_, self.others = np.flatnonzero(search.is_target), np.flatnonzero(~search.is_target)

    def whitened(self, G: np.ndarray) -> np.ndarray:
        """Rows g of g'd as rows of g'u, where the cost is base + |u|^2 and d = ahead + root^-T u."""
        return G / self.root if self.cells.is_diagonal else solve_triangular(self.root, G.T, lower=True).T

    def steps(self, u: np.ndarray) -> np.ndarray:
        """The d of a u."""
        if self.cells.is_diagonal:
            return self.ahead + u / self.root
        return self.ahead + solve_triangular(self.root, u, lower=True, trans="T")

    def beyond(self, gaps: np.ndarray) -> np.ndarray:
        """How much nearer than the others a target must be."""
        return _BEYOND * np.abs(gaps) + 2.0 * _ROUNDINGS * self.search.lost

    def targets(self) -> list[tuple[float, int]]:
        """The prototypes asked for, with a bound below the cost of a row in their cells; nearest first."""
        gaps = self.D[self.targets_, None] - self.D[None, self.others]
        if not self.cells.is_shared:
            # A bent border has no bound that is worth its time: by the tangents at v, which tell good from bad.
            nearest = int(self.D[self.others].argmin())
            G = self.whitened(2.0 * (self.pulls[self.targets_] - self.pulls[self.others[nearest]]))
            with np.errstate(divide="ignore", invalid="ignore"):
                guess = np.maximum(gaps[:, nearest], 0.0) / np.linalg.norm(G, axis=1)
            return [(0.0, int(self.targets_[k])) for k in np.argsort(guess, kind="stable")]
        lengths = self._lengths
        ahead = 2.0 * (self.pulls[self.targets_] @ self.ahead)[:, None] - 2.0 * (self.pulls[self.others] @ self.ahead)
        gaps = gaps + ahead
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = np.where(gaps > 0, gaps / lengths, 0.0).max(axis=1)
        bounds = self.base + roots**2
        return [(float(bounds[k]), int(self.targets_[k])) for k in np.argsort(bounds) if np.isfinite(bounds[k])]

    @cached_property
    def _lengths(self) -> np.ndarray:
        """|slope| of each difference of a target's and another prototype's distance."""
        slopes = self.whitened(2.0 * self.pulls)
        squares = (slopes**2).sum(axis=1)
        between = squares[self.targets_, None] + squares[None, self.others]
        between -= 2.0 * slopes[self.targets_] @ slopes[self.others].T
        return np.sqrt(np.maximum(between, 0.0))

    def judged(self, V: np.ndarray) -> np.ndarray:
        """For rows with other levels: their cost, and what the rest of the way costs along a straight slope."""
        D = self.cells.distances(V)
        gaps = np.maximum(D[:, self.targets_, None] - D[:, None, self.others], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(gaps > 0, gaps / self._lengths, 0.0).max(axis=2).min(axis=1)
        return self.search.cost(V) + rest**2

    def convex(self, target: int, below: float) -> Found | None:
        """The nearest row in the cell of one target, under a shared metric: the quadratic programme, cut by cut."""
        gaps = self.D[target] - self.D[self.others]
        slopes = 2.0 * (self.pulls[target] - self.pulls[self.others])
        needed = self.beyond(gaps)
        G, h = np.empty((0, len(self.free))), np.empty(0)
        taken: set[int] = set()
        d = self.ahead
        for _ in range(_CUTS):
            left = gaps + slopes @ d + needed
            worst = int(left.argmax())
            rows, limits = [], []
            if left[worst] > 0.5 * needed[worst] and worst not in taken:
                taken.add(worst)
                rows.append(-slopes[worst])
                limits.append(gaps[worst] + needed[worst])
            G, h, added = self._boxed(G, h, d, rows, limits)
            if not added:
                break
            found = least_norm(self.whitened(G), h - G @ self.ahead, 2)
            if found is None or self.base + found[1] ** 2 >= below:
                return None
            d = self.steps(found[0])
        return self._verified(d, True)

    def _boxed(
        self, G: np.ndarray, h: np.ndarray, d: np.ndarray, rows: list[np.ndarray], limits: list[float]
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """The halfspaces with those of the box that d leaves."""
        slack = 1e-9 * (np.abs(self.low) + np.abs(self.high) + np.abs(d))
        identity = np.eye(len(d))
        for j in np.flatnonzero(d < self.low - np.where(np.isfinite(slack), slack, 0.0)):
            rows.append(identity[j])
            limits.append(self.low[j])
        for j in np.flatnonzero(d > self.high + np.where(np.isfinite(slack), slack, 0.0)):
            rows.append(-identity[j])
            limits.append(-self.high[j])
        if not rows:
            return G, h, False
        return np.vstack([G, *rows]), np.append(h, limits), True

    def bent(self, target: int) -> Found | None:
        """A near row in the cell of one target, where the borders bend: tangents where the way to it meets them.

        The first tangents are those at v, and where they lead nowhere those on the way to the prototype.
        """
        found = self._by_tangents(target, np.zeros(len(self.free)))
        if found is not None:
            return found
        towards = self.cells.site(target)[self.free] - self.v[self.free]
        inside = np.clip(towards, self.low, self.high)
        reached = self._along(inside)
        return self._by_tangents(target, inside if reached is None else reached)

    def _by_tangents(self, target: int, point: np.ndarray) -> Found | None:
        best: Found | None = None
        if point.any():
            best = self._verified(point, False)
        for _ in range(_TANGENTS):
            moved = self.v.copy()
            moved[self.free] += point
            D, pulls = self.cells.distances(moved[None])[0], self.cells.pulls(moved)[:, self.free]
            gaps, slopes = D[target] - D[self.others], 2.0 * (pulls[target] - pulls[self.others])
            needed = self.beyond(self.D[target] - self.D[self.others])
            # gap + slope'(d - point) <= -needed, for those that are near
            near = np.argsort(-gaps)[:8]
            d = self._in_box(-slopes[near], (gaps + needed - slopes @ point)[near])
            if d is None:
                break
            reached = self._along(d)
            candidate = None if reached is None else self._verified(reached, False)
            if candidate is not None and (best is None or candidate.cost < best.cost * (1.0 - 1e-4)):
                best = candidate
            elif best is not None:
                break
            after = d if reached is None else reached
            if np.allclose(after, point, rtol=1e-4, atol=0.0):
                break
            point = after
        return best

    def _in_box(self, G: np.ndarray, h: np.ndarray) -> np.ndarray | None:
        """The cheapest step within the box with G d >= h."""
        d = None
        for _ in range(_CUTS):
            found = least_norm(self.whitened(G), h - G @ self.ahead, 2)
            if found is None:
                return None
            d = self.steps(found[0])
            G, h, added = self._boxed(G, h, d, [], [])
            if not added:
                break
        return d

    def _along(self, d: np.ndarray) -> np.ndarray | None:
        """The first point of the way along d that is in a cell asked for, and a little further."""
        direction = np.zeros(len(self.v))
        direction[self.free] = d
        if self.cells.is_diagonal:
            squares = (self.cells.weights @ direction**2)[self.cells.slot]
        else:
            squares = ((self.cells.maps @ direction) ** 2).sum(axis=1)[self.cells.slot]
        found = first_overtaken(squares, 2.0 * (self.pulls @ d), self.D, ~self.search.is_target)
        if found is None:
            return None
        t = found[0] * (1.0 + 10.0 * _BEYOND)
        for _ in range(4):
            v = self.v + t * direction
            if self.search.is_reached(v[None])[0]:
                return t * d
            t *= 1.0 + 1e-4
        return None

    def _verified(self, d: np.ndarray, is_nearest: bool) -> Found | None:
        v = self.v.copy()
        v[self.free] = np.clip(self.v[self.free] + d, self.box[0][self.free], self.box[1][self.free])
        # Steps of rounding are no steps.
        for ends in (*self.box, self.search.x):
            close = np.abs(v - ends) <= 1e-10 * self.search.width
            v[close] = ends[close]
        if not self.search.is_reached(v[None])[0]:
            return None
        return Found(v, float(self.search.cost(v[None])[0]), is_nearest)
