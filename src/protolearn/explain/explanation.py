"""Why a row is classified as it is: which prototypes decide, what each column adds, what would have to change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from protolearn.data.containers import rows_of
from protolearn.explain.border import Surroundings
from protolearn.explain.certificate import certified_radius
from protolearn.explain.counterfactuals import Change, Counterfactual, Question
from protolearn.explain.importance import added, added_by_sets
from protolearn.explain.inputs import Inputs, check_explainable
from protolearn.explain.measured import surroundings
from protolearn.explain.sets import Found, OneSet, SetsOfPrototypes, first_changes, sets_of
from protolearn.explain.units import Units, units_of


@dataclass(frozen=True)
class Contribution:
    """What a column adds to D_rival - D_own; above zero it speaks for the prediction.

    value, own, rival : the column in the row, in the nearest prototype of the predicted class and in the nearest rival
    """

    column: str
    value: Any
    own: Any
    rival: Any
    contribution: float


@dataclass(frozen=True)
class Outside:
    """A number outside the range of its column in the training set."""

    column: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Explanation:
    """A decision by the nearest prototype, in the columns and units of the table.

    prediction : the class
    certainty : (D_rival - D_own) / (D_rival + D_own), 0 on the border and 1 on a prototype
    prototype, rival : indices in `prototypes_` of the nearest prototype of the predicted class and of the nearest one
        of another class
    rival_label : the class of the rival
    distance, rival_distance : squared, in the learned metric
    contributions : one a column, largest first; their sum is rival_distance - distance
    smallest_change : the values to change together for another decision, by `counterfactual`, within the ranges of the
        training set where they are known (under a metric with neither weights nor maps, the way to the rival); empty
        where no change is enough
    single_changes : columns of which each alone can change the decision, the smallest change first; a border is the
        value of a number beyond which the decision changes, within the range of the column in training where it is
        known, or another level of a category; of a column that is known to hold whole numbers the first value that
        changes the decision, an int
    radius : the share of its range in training by which every number may change at once, and the decision stays; None
        where it is not known (see `certified_radius`)
    outside : numbers of the row that lie outside the range of their column in training
    own_case, rival_case : the training rows nearest to prototype and rival, where the model knows them; the first is 0
    estimator : index in `estimators_` of the set that prototype and rival belong to, 0 where the model is one set
    is_least : whether it is proved that nothing smaller than smallest_change changes the decision, or nothing at all
        where that is empty

    Where several sets decide by the mean of their probabilities, the rival is of the second most probable class, and
    distance, rival_distance and contributions are the means over the sets by their shares, in each set as parts of
    D_own + D_rival. Prototype and rival are of the set with the largest share that decides alike. Changes of such a
    model, and of one set on bins or normal scores, are searched within the range of each column in training: the
    smallest change is then the shortest one found, towards a rival prototype or along one column.
    """

    prediction: Any
    certainty: float
    prototype: int
    rival: int
    rival_label: Any
    distance: float
    rival_distance: float
    contributions: list[Contribution]
    smallest_change: list[Change]
    single_changes: list[Change]
    radius: float | None = None
    outside: list[Outside] = field(default_factory=list)
    own_case: int | None = None
    rival_case: int | None = None
    estimator: int = 0
    is_least: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON has it; an infinite radius is None."""
        return asdict(self) | {"radius": None if self.radius == np.inf else self.radius}


def explain(model: Any, rows: Any) -> list[Explanation]:
    """Explain the decisions of a model.

    Parameters
    ----------
    model : fitted classifier of protolearn, or a Pipeline that ends in one; behind a Preparation, a StandardScaler or a
        MinMaxScaler, and behind bins or normal scores after these, explanations are in raw units
    rows : what `model.predict` takes

    Returns
    -------
    explanations : list of Explanation, one a row

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protolearn import LOGM
    >>> from protolearn.explain import explain
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> why = explain(LOGM(random_state=0).fit(X, y), X.iloc[[100]])[0]
    >>> why.prediction, why.rival_label, sorted(part.column for part in why.contributions[:2])
    (2, 1, ['petal length (cm)', 'petal width (cm)'])
    """
    sets = sets_of(model)
    if sets is not None:
        Z = sets.rows(rows)
        cells = sets.units.cells(rows, Z)
        return [_SetsDecision(sets, z, cell).explanation() for z, cell in zip(Z, cells, strict=True)]
    units, classifier = units_of(model)
    check_explainable(classifier)
    codes = np.searchsorted(classifier.classes_, model.predict(rows))
    Z = units.features(rows)
    cells = units.cells(rows, Z)
    metric, found = classifier._prototype_set()
    prototypes = found.astype(np.dtype(np.float64))
    if len(np.unique(prototypes.labels)) < 2:
        raise ValueError("All prototypes are of one class; there is no decision to explain.")
    order = classifier._class_order()
    values = units.values(prototypes.positions)
    limits = _Limits(model, units, rows)
    return [
        _Decision(classifier, units, around, cell, int(code), values, order, limits, row).explanation()
        for row, (around, cell, code) in enumerate(zip(surroundings(Z, metric, prototypes), cells, codes, strict=True))
    ]


def certainty(model: Any, rows: Any) -> np.ndarray:
    """How clear each decision is: (D_rival - D_own) / (D_rival + D_own), 0 on the border and 1 on a prototype.

    D are squared distances in the learned metric, to the nearest prototype and to the nearest one of another class. Of
    several sets it is the mean by their shares, for the two most probable classes; below 0 where most of them disagree.

    Parameters
    ----------
    model, rows : as in `explain`

    Returns
    -------
    certainty : ndarray of shape (n_rows,)
    """
    sets = sets_of(model)
    if sets is not None:
        Z = sets.rows(rows)
        return 1.0 - 2.0 * sets.relative_distances(Z, *sets.rivals(Z))
    units, classifier = units_of(model)
    check_explainable(classifier)
    prepared = rows if units.before is None else units.before.transform(rows)
    D = np.sort(classifier._class_distances(prepared), axis=1)
    own, rival = D[:, 0], D[:, 1]
    total = own + rival
    with np.errstate(invalid="ignore"):
        relative = np.where(np.isinf(rival), 1.0, (rival - own) / np.where(total > 0, total, 1.0))
    return relative


class _Limits:
    """What the model knows of its training set, and what follows for the rows: nothing where a step mixes columns."""

    def __init__(self, model: Any, units: Units, rows: Any) -> None:
        self.rows, self.inputs = rows, None
        try:
            inputs = Inputs.of(model)
        except ValueError:
            # A metric without weights and maps.
            inputs = None
        unknown = np.full(len(units.columns), np.nan)
        self.low = self.high = unknown
        if inputs is not None and inputs.columns == [str(name) for name in units.columns]:
            self.inputs, self.low, self.high = inputs, inputs.data_min, inputs.data_max
        elif units.before is None:
            # The ranges are known without a form of the distance; a radius is not.
            self.low, self.high = (getattr(model, name, unknown) for name in ("data_min_", "data_max_"))
        self.is_whole = np.zeros(len(units.columns), dtype=bool) if self.inputs is None else self.inputs.is_whole
        self.middle, self.width = self.low / 2.0 + self.high / 2.0, self.high - self.low
        self.is_known = self.inputs is not None and not np.isnan(self.low[self.inputs.is_number]).any()
        self.radius = certified_radius(model, rows, "inf", scale="range") if self.is_known else None

    def outside(self, columns: list[str], cells: list[Any]) -> list[Outside]:
        """The numbers of a row that are outside their ranges."""
        return [
            Outside(columns[j], value, float(self.low[j]), float(self.high[j]))
            for j, value in enumerate(cells)
            # Ranges behind a scaler are known but for rounding.
            if isinstance(value, int | float) and abs(value - self.middle[j]) > (0.5 + 1e-9) * self.width[j]
        ]

    def counterfactual(self, row: int) -> Counterfactual | None:
        """The nearest row of another class; None where the columns of the table are not known."""
        if self.inputs is None:
            return None
        one = rows_of(self.rows if hasattr(self.rows, "shape") else np.asarray(self.rows), np.array([row]))
        question = Question(self.inputs, one.toarray() if sparse.issparse(one) else one, None,
                            (), (), (), "data", (), "data" if self.is_known else None)  # fmt: skip
        return question.answer(question.free)


class _Decision:
    """One row; every change that is returned does change the decision."""

    def __init__(
        self,
        classifier: Any,
        units: Units,
        around: Surroundings,
        cells: list[Any],
        code: int,
        values: list[list[Any]],
        order: np.ndarray,
        limits: _Limits,
        row: int,
    ) -> None:
        self.classifier, self.units, self.around, self.cells = classifier, units, around, cells
        self.values, self.order, self.limits, self.row = values, order, limits, row
        self.is_own = around.prototypes.labels == code
        self.code = code
        present = np.array([cell is not None for cell in cells])
        self.movable = np.flatnonzero(units.movable & present[units.column_of])
        self.own = int(np.where(self.is_own, around.distances, np.inf).argmin())
        self.rival = int(np.where(self.is_own, np.inf, around.distances).argmin())

    def label(self, code: int) -> Any:
        """A class as JSON has it."""
        return self.classifier.classes_[code : code + 1].tolist()[0]

    def explanation(self) -> Explanation:
        own, rival = float(self.around.distances[self.own]), float(self.around.distances[self.rival])
        nearest = self.limits.counterfactual(self.row)
        return Explanation(
            prediction=self.label(self.code),
            certainty=(rival - own) / (rival + own) if rival + own > 0 else 0.0,
            prototype=int(self.order[self.own]),
            rival=int(self.order[self.rival]),
            rival_label=self.label(self.around.prototypes.labels[self.rival]),
            distance=own,
            rival_distance=rival,
            contributions=self.contributions(),
            smallest_change=self.smallest_change() if nearest is None else nearest.changes,
            single_changes=self.single_changes(),
            is_least=nearest is not None and nearest.is_nearest,
            radius=None if self.limits.radius is None else float(self.limits.radius[self.row]),
            outside=self.limits.outside(self.units.columns, self.cells),
            own_case=self._case(self.own),
            rival_case=self._case(self.rival),
        )

    def _case(self, prototype: int) -> int | None:
        cases = getattr(self.classifier, "prototype_cases_", None)
        return None if cases is None else int(cases[self.order[prototype]])

    def contributions(self) -> list[Contribution]:
        by_column = added(self.units, self.around, self.own, self.rival)
        return [
            Contribution(
                self.units.columns[j],
                self.cells[j],
                self.values[self.own][j],
                self.values[self.rival][j],
                float(by_column[j]),
            )
            for j in np.argsort(-np.abs(by_column), kind="stable")
        ]

    def smallest_change(self) -> list[Change]:
        """The way to the rival as far as the border, where there are no limits to search within."""
        free = self.movable
        if not len(free):
            return []
        towards = (self.around.prototypes.positions[self.rival] - self.around.x)[free]
        # The border of the two may belong to a third prototype of the own class: the way to the rival leads past it.
        for step in (self.around.smallest_change(self.own, self.rival, free), towards):
            if step is None or not np.isfinite(step).all():
                continue
            direction = np.zeros(len(self.around.x))
            direction[free] = step
            found = self.around.first_change(direction, self.is_own)
            if found is not None:
                return self._changes(direction * found[0], found[1])
        return []

    def _changes(self, delta: np.ndarray, prototype: int) -> list[Change]:
        label = self.label(self.around.prototypes.labels[prototype])
        features = [j for j in np.argsort(-np.abs(delta), kind="stable") if delta[j] != 0]
        return [self._number(j, delta[j], label) for j in features]

    def _number(self, feature: int, step: float, label: Any) -> Change:
        column = self.units.column_of[feature]
        border = self.units.raw(feature, self.around.x[feature] + step)
        return Change(self.units.columns[column], self.cells[column], border, label)

    def single_changes(self) -> list[Change]:
        found: list[tuple[float, Change]] = []
        for feature in self.movable:
            unit = np.zeros(len(self.around.x))
            unit[feature] = 1.0
            ways = [(sign, self.around.first_change(sign * unit, self.is_own)) for sign in (1.0, -1.0)]
            steps = [(way[0], sign, way[1]) for sign, way in ways if way is not None]
            for size, sign, prototype in sorted(steps):
                change = self._number(int(feature), sign * size, self.label(self.around.prototypes.labels[prototype]))
                change = self._allowed(int(feature), change)
                if change is not None:
                    found.append((size, change))
                    break
        found += self._level_changes()
        return [change for _, change in sorted(found, key=lambda pair: pair[0])]

    def _allowed(self, feature: int, change: Change) -> Change | None:
        def label_at(border: float) -> Any:
            z = self.around.x.copy()
            z[feature] = self.units.factor[feature] * (border - self.units.offset[feature])
            return self.label(self._predicted(z))

        limits, column = self.limits, self.units.column_of[feature]
        return allowed(change, limits.low[column], limits.high[column], limits.is_whole[column], label_at)

    def _predicted(self, z: np.ndarray) -> int:
        return int(np.searchsorted(self.classifier.classes_, self.classifier.predict(z[None]))[0])

    def _level_changes(self) -> list[tuple[float, Change]]:
        """Other levels of a category that change the decision by themselves."""

        return [
            (size, Change(self.units.columns[column], self.cells[column], level, self.label(code)))
            for size, column, level, code in other_levels(
                self.units, self.around.x, self.cells, self.code, self._predicted
            )
        ]


def allowed(
    change: Change, low: float, high: float, is_whole: bool, label_at: Callable[[float], Any]
) -> Change | None:
    """A change of one number as its column can have it: within its range, and whole; None where it cannot.

    label_at : the class with a value; the decision may have changed back on the way there
    """
    up = change.border > change.value
    # A value outside the range comes as far as its end.
    border = max(change.border, low) if up else min(change.border, high)
    if is_whole:
        border = int(np.floor(border) + 1 if up else np.ceil(border) - 1)
    if border < low or border > high:
        return None
    label = change.leads_to if border == change.border else label_at(border)
    return None if label != change.leads_to else replace(change, border=border)


def other_levels(
    units: Units, z: np.ndarray, cells: list[Any], code: int, predict: Callable[[np.ndarray], int]
) -> Iterator[tuple[float, int, str, int]]:
    """Levels of categories that change the decision: how far each moves the row, its column, the level, the class."""
    preparation = units.preparation
    if preparation is None:
        return
    for column in np.flatnonzero(~preparation.is_number_):
        for level in preparation.levels_[column]:
            changed = z.copy()
            preparation.set_level(changed, int(column), level)
            new = predict(changed)
            if level != cells[column] and new != code:
                yield float(np.linalg.norm(changed - z)), int(column), level, new


class _SetsDecision:
    """One row of a model of several sets, or of one on bins or normal scores."""

    def __init__(self, sets: SetsOfPrototypes, z: np.ndarray, cells: list[Any]) -> None:
        self.sets, self.units, self.z, self.cells = sets, sets.units, z, cells
        codes, rivals = sets.rivals(z[None])
        self.code, self.rival = int(codes[0]), int(rivals[0])
        present = np.array([cell is not None for cell in cells])
        self.movable = np.flatnonzero(self.units.movable & present[self.units.column_of])
        self.found = list(sets.nearest(z, self.code, self.rival))

    def explanation(self) -> Explanation:
        leading, own, rival = self._leading()
        relative = float(self.sets.relative_distances(self.z[None], np.array([self.code]), np.array([self.rival]))[0])
        single = self.single_changes()
        return Explanation(
            prediction=self.label(self.code),
            certainty=1.0 - 2.0 * relative,
            prototype=int(leading.order[own]),
            rival=int(leading.order[rival]),
            rival_label=self.label(self.rival),
            distance=relative,
            rival_distance=1.0 - relative,
            contributions=self.contributions(leading.values[own], leading.values[rival]),
            smallest_change=self.smallest_change(),
            single_changes=[change for _, change in single],
            estimator=self.sets.sets.index(leading),
        )

    def label(self, code: int) -> Any:
        return self.sets.classes_[code : code + 1].tolist()[0]

    def _leading(self) -> tuple[OneSet, int, int]:
        """The set with the largest share of those that decide alike, with its nearest prototypes of both classes."""
        alike = [found for found in self.found if found[1].distances[found[2]] <= found[1].distances[found[3]]]
        one, _, own, rival = max(alike or self.found, key=lambda found: found[0].share)
        return one, own, rival

    def contributions(self, own_values: list[Any], rival_values: list[Any]) -> list[Contribution]:
        by_column = added_by_sets(self.found, len(self.units.columns))
        return [
            Contribution(self.units.columns[j], self.cells[j], own_values[j], rival_values[j], float(by_column[j]))
            for j in np.argsort(-np.abs(by_column), kind="stable")
        ]

    @cached_property
    def _along_columns(self) -> list[Found]:
        """The first change of each number upwards and downwards."""
        low, high = self.sets.search_range()
        axes = np.eye(len(self.z))[self.movable]
        directions = np.concatenate([axes, -axes])
        reach = np.concatenate([(high - self.z)[self.movable], (self.z - low)[self.movable]])
        kept = np.isfinite(reach) & (reach > 0)
        return list(first_changes(self.sets, self.z, self.code, directions[kept], reach[kept]))

    def single_changes(self) -> list[tuple[float, Change]]:
        best: dict[int, tuple[float, Change]] = {}
        for found in sorted(self._along_columns, key=lambda found: found.size):
            feature = int(np.abs(found.delta).argmax())
            change = None if feature in best else self._allowed(feature, self._number(feature, found))
            if change is not None:
                best[feature] = found.size, change
        return sorted([*best.values(), *self._level_changes()], key=lambda pair: pair[0])

    def _allowed(self, feature: int, change: Change) -> Change | None:
        def label_at(border: float) -> Any:
            z = self.z.copy()
            z[feature] = self.units.factor[feature] * (border - self.units.offset[feature])
            return self.label(int(self.sets.predict_codes(z[None])[0]))

        column, preparation = self.units.column_of[feature], self.units.preparation
        if preparation is None:
            return change
        ends = float(preparation.data_min_[column]), float(preparation.data_max_[column])
        return allowed(change, *ends, bool(preparation.is_whole_[column]), label_at)

    def _number(self, feature: int, found: Found) -> Change:
        column = self.units.column_of[feature]
        border = self.units.raw(feature, self.z[feature] + found.delta[feature])
        return Change(self.units.columns[column], self.cells[column], border, self.label(found.code))

    def smallest_change(self) -> list[Change]:
        ways = []
        for one, around, _, rival in self.found:
            position = around.prototypes.positions[rival][None]
            towards = (position if one.units.encoder is None else one.units.encoder.inverse_transform(position))[0]
            step = np.zeros(len(self.z))
            step[self.movable] = (towards - self.z)[self.movable]
            ways.append(step)
        lengths = np.linalg.norm(ways, axis=1)
        kept = lengths > 0
        directions = np.array(ways)[kept] / lengths[kept, None]
        candidates = [*first_changes(self.sets, self.z, self.code, directions, lengths[kept]), *self._along_columns]
        if not candidates:
            return []
        best = min(candidates, key=lambda found: found.size)
        order = np.argsort(-np.abs(best.delta), kind="stable")
        return [self._number(int(j), best) for j in order if best.delta[j] != 0]

    def _level_changes(self) -> list[tuple[float, Change]]:
        """Other levels of a category that change the decision by themselves."""

        def predict(z: np.ndarray) -> int:
            return int(self.sets.predict_codes(z[None])[0])

        return [
            (size, Change(self.units.columns[column], self.cells[column], level, self.label(code)))
            for size, column, level, code in other_levels(self.units, self.z, self.cells, self.code, predict)
        ]
