"""Counterfactuals: the nearest row that gets another class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from protolearn.core.parameters import check_choice, check_count
from protolearn.explain.certificate import precision
from protolearn.explain.inputs import Inputs
from protolearn.explain.rows import Row
from protolearn.explain.search import Category, Found, Search
from protolearn.tables.columns import json_value

# Values are rounded to this share of their change, outwards, where the class stays the one asked for.
_ROUNDED_TO = 0.01
_MOST_SHOWN = 6


@dataclass(frozen=True)
class Change:
    """A value and what it would have to be; `leads_to` is the class from there on."""

    column: str
    value: Any
    border: Any
    leads_to: Any


@dataclass(frozen=True)
class Counterfactual:
    """A row near the one that was given, which gets another class; false where none was found.

    row : the changed row, in the form in which the row was given; None where there is none
    label : the class of the changed row, or the one asked for
    before : the class of the row that was given
    changes : columns and their new values, the largest change first
    distance : squared, in the metric of the model (the mean over the prototypes where they have several)
    is_nearest : whether it is proved, but for the rounding of the values, that no nearer row gets the class: under a
        shared metric, where neither a category nor many whole numbers are involved; where there is none, whether it is
        proved that no row gets the class
    reason : why there is none; empty where there is one
    """

    row: Any
    label: Any
    before: Any
    changes: list[Change]
    distance: float
    is_nearest: bool
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON has it, but the row."""
        known = {"label": self.label, "before": self.before, "distance": self.distance if self else None}
        changes = [asdict(change) for change in self.changes]
        return known | {"changes": changes, "is_nearest": self.is_nearest, "reason": self.reason}

    def __bool__(self) -> bool:
        return not self.reason

    def __str__(self) -> str:
        if self.reason:
            return self.reason
        steps = [f"{change.column} {_shown(change.value)} -> {_shown(change.border)}" for change in self.changes]
        more = [f"{len(steps) - _MOST_SHOWN} smaller changes"] if len(steps) > _MOST_SHOWN else []
        return f"{self.label} instead of {self.before} with {', '.join(steps[:_MOST_SHOWN] + more)}"


def counterfactual(
    model: Any,
    row: Any,
    *,
    to: Any = None,
    fixed: Iterable[str] = (),
    only_up: Iterable[str] = (),
    only_down: Iterable[str] = (),
    integers: Any = "data",
    one_hot: Iterable[Iterable[str]] = (),
    ranges: Any = "data",
    fewest: bool = False,
    count: int | None = None,
) -> Any:
    """The nearest row, in the model's own metric, that gets another class.

        minimise (v - x)' Lambda (v - x)   where   D_r(v) < D_o(v)   for a prototype r of the class asked for, all o of
        the others, and within the limits

    Under a shared metric this is a quadratic programme for each r, solved for the nearest ones only, so that the row is
    the nearest one there is. Where each class or prototype has its own metric the borders bend; tangents lead to a row
    that is near, and Lambda is the mean of the prototypes' matrices. `model.predict` gives the class to every row that
    is returned. Values are rounded to a hundredth of their change.

    Parameters
    ----------
    model : fitted classifier of protolearn, or a Pipeline of scalers, PCA or Preparation that ends in one
    row : one row: a table of one row, a Series, a dict, a list or an array
    to : class, optional
        The class wanted; None takes the nearest other one.
    fixed : names of columns that do not change
    only_up, only_down : names of columns that may only grow, or only fall
    integers : "data" or names of columns
        Columns that hold whole numbers; "data": those that do so in all of the training set, which a Preparation
        records. A classifier alone, or behind a scaler, knows none; there "data" takes them from a table of `ranges`.
    one_hot : lists of names of columns
        Groups of columns of which one is 1 and the others are 0. A Preparation's own groups are known.
    ranges : "data", None, table or dict from column to (low, high)
        Limits of the values: those of the training set, none, those of another table, or given ones (columns that a
        dict lacks have those of the training set).
    fewest : bool, default=False
        Change as few columns as possible, and only then as little as possible. One column alone is found where one is
        enough; of several, the number may be larger than necessary.
    count : int, optional
        A list of so many rows, if there are so many, each of which leaves a column as it is that another one changes.

    Returns
    -------
    found : Counterfactual, or a list of them with `count`
        False, with the reason, where no row within the limits gets the class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import GMLVQ
    >>> from protolearn.explain import counterfactual
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GMLVQ(random_state=0).fit(X, y)
    >>> print(counterfactual(model, X.iloc[[70]], fixed=["sepal length (cm)", "sepal width (cm)"]))
    1 instead of 2 with petal length (cm) 4.8 -> 4.7104, petal width (cm) 1.8 -> 1.7473
    """
    question = Question(model, row, to, fixed, only_up, only_down, integers, one_hot, ranges)
    check_count("count", count, optional=True)
    if count is None:
        return question.answer(question.free, fewest)
    return question.answers(fewest, count)


class Question:
    """One row, the class asked for, and the limits."""

    def __init__(
        self,
        model: Any,
        row: Any,
        to: Any,
        fixed: Iterable[str],
        only_up: Iterable[str],
        only_down: Iterable[str],
        integers: Any,
        one_hot: Iterable[Iterable[str]],
        ranges: Any,
    ) -> None:
        self.inputs = inputs = model if isinstance(model, Inputs) else Inputs.of(model)
        self.row = Row(row, inputs)
        table = self.row.table
        x = inputs.rows(table)[0]
        self.values = self.row.values
        code = int(np.searchsorted(inputs.classes, self.row.predicted(table)[0]))
        self.before = inputs.classes[code : code + 1].tolist()[0]
        self.to, self.asked = to, self._codes(to, code)
        self.given_limits = ranges is not None
        low, high = self.low, self.high = self._ranges(ranges)
        up, down = inputs.named(only_up, "only_up"), inputs.named(only_down, "only_down")
        still = inputs.named(fixed, "fixed") | inputs.empty(table)[0]
        whole = self._whole(integers, ranges)
        column = inputs.column_of
        is_number = inputs.roles == "number"
        is_code = inputs.roles == "code"
        if inputs.preparation is not None:
            levels = np.array([max(len(found) - 1, 0) for found in inputs.preparation.levels_], dtype=float)
            low, high = np.where(inputs.is_number, low, 0.0), np.where(inputs.is_number, high, levels)
        movable = (is_number | is_code) & ~still[column]
        # A value outside its range may stay or come nearer.
        lows, highs = np.minimum(low[column], x), np.maximum(high[column], x)
        lows, highs = np.where(up[column], x, lows), np.where(down[column], x, highs)
        lows, highs = np.where(movable, lows, x), np.where(movable, highs, x)
        self.groups, grouped = self._categories(x, still, one_hot)
        lows[grouped], highs[grouped] = x[grouped], x[grouped]
        self.width = self._width()
        target = np.isin(inputs.cells.labels, self.asked)
        # Twice, for distances of both sides.
        lost = float(inputs.cells.rounding(x[None], precision(table, inputs))[0])
        self.search = Search(
            inputs.cells, x, target, lows, highs, is_code | whole[column], self.width[column], self.groups, lost
        )
        self.free = np.flatnonzero((lows < x) | (highs > x))
        # The inputs of each column; that of a missing value comes first, levels last.
        self.features = [np.flatnonzero(column == j) for j in range(len(inputs.columns))]

    def _codes(self, to: Any, code: int) -> np.ndarray:
        classes = self.inputs.classes
        if to is None:
            return np.setdiff1d(np.unique(self.inputs.cells.labels), [code])
        place = np.flatnonzero(classes == to)
        if not len(place):
            listed = ", ".join(str(label) for label in classes[:8])
            raise ValueError(f"to={to!r} is no class of the model; it has {listed}.")
        if place[0] == code:
            raise ValueError(f"The row is of class {to!s} already; leave `to` out, or ask for another class.")
        return place

    def _ranges(self, ranges: Any) -> tuple[np.ndarray, np.ndarray]:
        inputs, n = self.inputs, len(self.inputs.columns)
        unlimited = np.full(n, -np.inf), np.full(n, np.inf)
        if ranges is None:
            return unlimited
        known = inputs.data_min, inputs.data_max
        if isinstance(ranges, str | Mapping):
            if isinstance(ranges, str):
                check_choice("ranges", ranges, ("data",))
                ranges = {}
                if np.isnan(known[0][inputs.is_number]).any():
                    raise ValueError(
                        "This model does not know the ranges of its training set (it was fitted on blocks, behind a "
                        "step that mixes columns, or by an older version); pass a table or a dict as ranges, or None "
                        "for no limits."
                    )
            inputs.named(ranges, "ranges")
            low, high = (np.where(np.isnan(part), ends, part) for part, ends in zip(known, unlimited, strict=True))
            for j, name in enumerate(inputs.columns):
                if name in ranges:
                    low[j], high[j] = (float(end) for end in ranges[name])
                    if not low[j] <= high[j]:
                        raise ValueError(f"The range of {name} must be (low, high); got {ranges[name]!r}.")
            return low, high
        V = inputs.rows(ranges)
        low, high = np.full((2, n), np.nan)
        numbers = np.flatnonzero(inputs.roles == "number")
        low[inputs.column_of[numbers]], high[inputs.column_of[numbers]] = V[:, numbers].min(0), V[:, numbers].max(0)
        return low, high

    def _whole(self, integers: Any, ranges: Any) -> np.ndarray:
        inputs = self.inputs
        if not (isinstance(integers, str) and integers == "data"):
            return inputs.named(integers, "integers")
        if inputs.preparation is not None or ranges is None or isinstance(ranges, str | Mapping):
            return inputs.is_whole
        V = inputs.rows(ranges)
        return (V == np.floor(V)).all(axis=0)

    def _categories(
        self, x: np.ndarray, still: np.ndarray, one_hot: Iterable[Iterable[str]]
    ) -> tuple[tuple[Category, ...], np.ndarray]:
        inputs = self.inputs
        members = [np.flatnonzero(inputs.named(names, "one_hot")[inputs.column_of]) for names in one_hot]
        levels = inputs.roles == "level"
        members += [np.flatnonzero(levels & (inputs.column_of == j)) for j in np.unique(inputs.column_of[levels])]
        found, grouped = [], np.zeros(len(x), dtype=bool)
        for group in members:
            grouped[group] = True
            if not np.isin(x[group], (0.0, 1.0)).all() or x[group].sum() > 1:
                names = ", ".join(inputs.columns[inputs.column_of[j]] for j in group[:4])
                raise ValueError(f"The one_hot group {names} must hold one 1 and zeros; the row does not.")
            own = int(x[group].argmax()) if x[group].any() else -1
            allowed = np.array([place for place in range(len(group)) if place != own], dtype=int)
            # An empty cell stays empty; a level that the training set lacks may change.
            if len(allowed) and not still[inputs.column_of[group]].any():
                found.append(Category(group, own, allowed))
        return tuple(found), grouped

    def _width(self) -> np.ndarray:
        width = self.inputs.data_max - self.inputs.data_min
        return np.where(np.isfinite(width) & (width > 0), width, 1.0)

    def answer(
        self, free: np.ndarray, fewest: bool = False, groups: tuple[Category, ...] | None = None
    ) -> Counterfactual:
        """The nearest row when only these inputs and groups change."""
        groups = self.groups if groups is None else groups
        found = self._found(free, groups, fewest)
        result = None if found is None else self._presented(found)
        return self._none(free, groups) if result is None else result

    def answers(self, fewest: bool, count: int) -> list[Counterfactual]:
        """Several rows: each next one leaves a column as it is that an earlier one changes."""
        found: list[Counterfactual] = []
        waiting = [(self.answer(self.free, fewest), frozenset[str]())]
        seen = {frozenset[str]()}
        while waiting and len(found) < count:
            waiting.sort(key=lambda pair: (not pair[0], len(pair[0].changes) if fewest else 0, pair[0].distance))
            best, without = waiting.pop(0)
            if not best:
                break
            columns = {change.column for change in best.changes}
            if all({change.column for change in other.changes} != columns for other in found):
                found.append(best)
            for change in best.changes[:count]:
                left = without | {change.column}
                if left not in seen:
                    seen.add(left)
                    keep = ~np.isin(self.inputs.columns, list(left))[self.inputs.column_of]
                    groups = tuple(one for one in self.groups if keep[one.members].all())
                    waiting.append((self.answer(self.free[keep[self.free]], fewest, groups), left))
        return found or [self.answer(self.free, fewest)]

    def _found(self, free: np.ndarray, groups: tuple[Category, ...], fewest: bool) -> Found | None:
        """The nearest row; a number outside its range stays as it is or comes inside."""
        search, column = self.search, self.inputs.column_of

        def find(search: Search, free: np.ndarray) -> Found | None:
            return self._fewest(search, free, groups) if fewest else search.nearest(free, groups)

        def is_outside(v: np.ndarray) -> np.ndarray:
            return (self.inputs.roles == "number") & ((v < self.low[column]) | (v > self.high[column]))

        found = find(search, free)
        if found is None or not (is_outside(found.v) & (found.v != search.x)).any():
            return found
        outside = is_outside(search.x)
        comes = outside & np.isin(np.arange(len(outside)), free)
        low, high = np.where(comes, self.low[column], search.low), np.where(comes, self.high[column], search.high)
        candidates = [find(search, free[~outside[free]]), find(replace(search, low=low, high=high), free)]
        best = min((one for one in candidates if one is not None), key=lambda one: one.cost, default=None)
        return None if best is None else replace(best, is_nearest=False)

    def _fewest(self, search: Search, free: np.ndarray, groups: tuple[Category, ...]) -> Found | None:
        """One column if one is enough; otherwise the columns that change most, and none that is needless."""
        column = self.inputs.column_of
        kinds: list[tuple[np.ndarray, tuple[Category, ...]]] = [(np.array([j]), ()) for j in free]
        kinds += [(np.empty(0, dtype=int), (one,)) for one in groups]
        singles = [found for inputs, some in kinds if (found := search.nearest(inputs, some)) is not None]
        if singles:
            return min(singles, key=lambda found: found.cost)
        full = search.nearest(free, groups)
        if full is None:
            return None
        by_column = self._sizes(full.v)
        order = [j for j in np.argsort(-by_column, kind="stable") if by_column[j] > 0]
        best = full
        for k in range(2, len(order) + 1):
            found = self._among(search, order[:k], free, groups)
            if found is not None:
                best = found
                break
        changed = [j for j in order if (best.v != search.x)[column == j].any()]
        for j in reversed(changed):
            found = self._among(search, [k for k in changed if k != j], free, groups)
            if found is not None:
                best, changed = found, [k for k in changed if k != j]
        return best

    def _among(
        self, search: Search, columns: list, free: np.ndarray, groups: tuple[Category, ...]
    ) -> Found | None:
        column = self.inputs.column_of
        some = tuple(one for one in groups if np.isin(column[one.members], columns).all())
        return search.nearest(free[np.isin(column[free], columns)], some)

    def _sizes(self, v: np.ndarray) -> np.ndarray:
        """What the change of each column adds to the cost."""
        step = v - self.search.x
        M = self.search.metric
        parts = step * (M * step if M.ndim == 1 else M @ step)
        moved = np.bincount(self.inputs.column_of, np.abs(step) > 0, minlength=len(self.inputs.columns)) > 0
        size = np.bincount(self.inputs.column_of, np.abs(parts), minlength=len(self.inputs.columns))
        return np.where(moved, size + np.finfo(float).tiny, 0.0)

    def _presented(self, found: Found) -> Counterfactual | None:
        sizes = self._sizes(found.v)
        columns = [int(j) for j in np.argsort(-sizes, kind="stable") if sizes[j] > 0]
        rounded = [self._cells(found.v, columns, share) for share in (_ROUNDED_TO, _ROUNDED_TO**2, 0.0)]
        labels = self.row.predicted(self.row.tables(rounded))
        wanted = np.isin(np.searchsorted(self.inputs.classes, labels), self.asked)
        if not wanted.any():
            return None
        k = int(wanted.argmax())
        cells, label = rounded[k], labels[k : k + 1].tolist()[0]
        v = found.v.copy()
        for feature in np.flatnonzero((self.inputs.roles == "number") & (v != self.search.x)):
            v[feature] = cells[self.inputs.column_of[feature]]
        # Without the little weight on what the metric does not see.
        distance = float(self._model_cost(v[None])[0])
        names, before = self.inputs.columns, self.values
        changes = [Change(names[j], json_value(before[j]), json_value(cells[j]), label) for j in columns]
        return Counterfactual(self.row.like(cells), label, self.before, changes, distance, found.is_nearest)

    def _model_cost(self, V: np.ndarray) -> np.ndarray:
        cells, steps = self.inputs.cells, V - self.search.x
        share = np.bincount(cells.slot, minlength=cells.slot.max() + 1) / len(cells.slot)
        total = np.zeros(len(V))
        for s, part in enumerate(share):
            if part > 0:
                form = cells.form(s)
                total += part * (steps**2 @ form if form.ndim == 1 else np.einsum("ij,ij->i", steps @ form, steps))
        return total

    def _cells(self, v: np.ndarray, columns: list[int], share: float) -> list[Any]:
        """The values of the row, changed numbers rounded to that share of their change, away from the old value."""
        cells = list(self.values)
        for j in columns:
            features = self.features[j]
            role = self.inputs.roles[features[-1]]
            if role == "number":
                cells[j] = self._number(features[-1], float(v[features[-1]]), share)
            elif self.inputs.preparation is not None:
                levels = self.inputs.preparation.levels_[j]
                place = v[features[-1]] if role == "code" else v[features[-len(levels) :]].argmax()
                cells[j] = levels[round(float(place))]
        return cells

    def _number(self, feature: int, value: float, share: float) -> Any:
        search = self.search
        if search.is_whole[feature] or any(feature in one.members for one in self.groups):
            return round(value) if abs(value - round(value)) < 1e-6 else value
        step = value - search.x[feature]
        if share == 0.0 or step == 0.0:
            return value
        decimals = int(np.ceil(-np.log10(abs(step) * share)))
        unit = 10.0**-decimals
        rounded = round(float((np.ceil if step > 0 else np.floor)(value / unit)) * unit, max(decimals, 0))
        return rounded if search.low[feature] <= rounded <= search.high[feature] else value

    def _none(self, free: np.ndarray, groups: tuple[Category, ...]) -> Counterfactual:
        where = " within the ranges of the data" if self.given_limits else ""
        columns = {self.inputs.column_of[j] for j in free} | {self.inputs.column_of[one.members[0]] for one in groups}
        less = len(columns) < len(self.inputs.columns)
        change = "changes" if len(columns) == 1 else "change"
        what = f"when only {_listed([self.inputs.columns[j] for j in sorted(columns)])} {change}" if less else ""
        if less and not columns:
            what = "when no column may change"
        wanted = "another class" if self.to is None else f"class {self.to!s}"
        proved = self.inputs.cells.is_shared and not groups and not self.search.is_whole[free].any()
        verb = f"No row{where} gets" if proved else f"No row was found{where} that gets"
        reason = f"{verb} {wanted} {what}".rstrip() + "."
        return Counterfactual(None, self.to, self.before, [], np.inf, proved, reason)


def _shown(value: Any) -> str:
    if isinstance(value, bool | str) or value is None:
        return "missing" if value is None else str(value)
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.12g}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")
