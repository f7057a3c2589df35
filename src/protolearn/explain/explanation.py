"""Why a row is classified as it is: which prototypes decide, what each column adds, what would have to change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.explain.border import Surroundings, forms
from protolearn.explain.inputs import check_explainable
from protolearn.explain.measured import MeasuredSurroundings
from protolearn.explain.units import Units, units_of
from protolearn.metrics import Metric

# A change this much larger than the one that reaches the border is on the other side, whatever rounding does.
BEYOND = 1e-6


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
class Change:
    """A value and what it would have to be; `leads_to` is the class from there on."""

    column: str
    value: Any
    border: Any
    leads_to: Any


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
    smallest_change : the numbers to change together for another decision, the shortest way in the learned metric to the
        border between the two prototypes (under a metric with neither weights nor maps, the way to the rival); empty
        where no change of numbers alone is enough
    single_changes : columns of which each alone can change the decision, the smallest change first; a border is the
        value of a number beyond which the decision changes, or another level of a category
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

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return asdict(self)


def explain(model: Any, rows: Any) -> list[Explanation]:
    """Explain the decisions of a model.

    Parameters
    ----------
    model : fitted classifier of protolearn, or a Pipeline that ends in one; behind a Preparation, a StandardScaler or a
        MinMaxScaler explanations are in raw units
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
    units, classifier = units_of(model)
    check_explainable(classifier)
    codes = np.searchsorted(classifier.classes_, model.predict(rows))
    Z = units.features(rows)
    cells = units.cells(rows, Z)
    metric, found = classifier._prototype_set()
    prototypes = found.astype(np.dtype(np.float64))
    if len(np.unique(prototypes.labels)) < 2:
        raise ValueError("All prototypes are of one class; there is no decision to explain.")
    order = np.argsort(np.searchsorted(classifier.classes_, classifier.prototype_labels_), kind="stable")
    values = units.values(prototypes.positions)
    return [
        _Decision(classifier, units, around, cell, int(code), values, order).explanation()
        for around, cell, code in zip(_surroundings(Z, metric, prototypes), cells, codes, strict=True)
    ]


def _surroundings(Z: np.ndarray, metric: Metric, prototypes: PrototypeSet) -> Iterator[Surroundings]:
    """Each row among the prototypes, by the form of the metric where it has one."""
    formed = forms(metric, prototypes)
    for z in Z:
        yield MeasuredSurroundings(z, prototypes, metric) if formed is None else Surroundings(z, formed)


def certainty(model: Any, rows: Any) -> np.ndarray:
    """How clear each decision is: (D_rival - D_own) / (D_rival + D_own), 0 on the border and 1 on a prototype.

    D are squared distances in the learned metric, to the nearest prototype and to the nearest one of another class.

    Parameters
    ----------
    model, rows : as in `explain`

    Returns
    -------
    certainty : ndarray of shape (n_rows,)
    """
    units, classifier = units_of(model)
    check_explainable(classifier)
    prepared = rows if units.before is None else units.before.transform(rows)
    D = np.sort(classifier._class_distances(prepared), axis=1)
    own, rival = D[:, 0], D[:, 1]
    total = own + rival
    with np.errstate(invalid="ignore"):
        relative = np.where(np.isinf(rival), 1.0, (rival - own) / np.where(total > 0, total, 1.0))
    return relative


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
    ) -> None:
        self.classifier, self.units, self.around, self.cells = classifier, units, around, cells
        self.values, self.order = values, order
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
        return Explanation(
            prediction=self.label(self.code),
            certainty=(rival - own) / (rival + own) if rival + own > 0 else 0.0,
            prototype=int(self.order[self.own]),
            rival=int(self.order[self.rival]),
            rival_label=self.label(self.around.prototypes.labels[self.rival]),
            distance=own,
            rival_distance=rival,
            contributions=self.contributions(),
            smallest_change=self.smallest_change(),
            single_changes=self.single_changes(),
        )

    def contributions(self) -> list[Contribution]:
        by_feature = self.around.parts[self.rival] - self.around.parts[self.own]
        by_column = np.zeros(len(self.units.columns))
        np.add.at(by_column, self.units.column_of, by_feature)
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
            if steps:
                size, sign, prototype = min(steps)
                label = self.label(self.around.prototypes.labels[prototype])
                found.append((size, self._number(int(feature), sign * size, label)))
        found += self._level_changes()
        return [change for _, change in sorted(found, key=lambda pair: pair[0])]

    def _level_changes(self) -> list[tuple[float, Change]]:
        """Other levels of a category that change the decision by themselves."""
        preparation = self.units.preparation
        found: list[tuple[float, Change]] = []
        if preparation is None:
            return found
        for column in np.flatnonzero(~preparation.is_number_):
            for level in preparation.levels_[column]:
                if level == self.cells[column]:
                    continue
                z = self.around.x.copy()
                preparation.set_level(z, int(column), level)
                code = int(np.searchsorted(self.classifier.classes_, self.classifier.predict(z[None]))[0])
                if code != self.code:
                    size = float(np.linalg.norm(z - self.around.x))
                    change = Change(self.units.columns[column], self.cells[column], level, self.label(code))
                    found.append((size, change))
        return found
