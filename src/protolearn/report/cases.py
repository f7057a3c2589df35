"""The prototypes as a reader of the table knows them: in its units, each beside the training row most like it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.data import TrainingSet
from protolearn.data.containers import rows_of
from protolearn.estimators.cases import nearest_cases
from protolearn.explain.units import units_of
from protolearn.report.page import text
from protolearn.report.source import Source

_MOST_COLUMNS = 30


@dataclass(frozen=True)
class Case:
    """A prototype and the training row of its class that is nearest to it.

    prototype : its index in `prototypes_`
    label : its class
    values, row_values : by column of the table, None where a value is missing
    row : index of the training row, None where the class has none
    """

    prototype: int
    label: Any
    values: list[Any]
    row: int | None
    row_values: list[Any]


def cases(model: Any, train: Any, y_train: np.ndarray, most: int) -> tuple[list[str], list[Case]]:
    """The columns of the table, and the first `most` prototypes of each class."""
    units, classifier = units_of(model)
    metric, found = classifier._prototype_set()
    found = found.astype(np.dtype(np.float64))
    order = classifier._class_order()
    members = [np.flatnonzero(found.labels == code)[:most] for code in range(len(classifier.classes_))]
    shown = np.concatenate(members)
    some = PrototypeSet(found.positions[shown], found.labels[shown], found.theta, found.slot[shown])
    known = np.flatnonzero(np.isin(y_train, classifier.classes_))
    Z = units.features(train)
    codes = np.searchsorted(classifier.classes_, y_train[known])
    nearest = nearest_cases(some, TrainingSet(Z[known], codes, None, len(classifier.classes_)), metric)
    listed: list[Case] = []
    for prototype, code, case, values in zip(
        order[shown], some.labels, nearest, units.values(some.positions), strict=True
    ):
        row = None if case < 0 else int(known[case])
        cells = [[None] * len(values)]
        if row is not None:
            cells = units.cells(rows_of(train, np.array([row])), Z[[row]])
        listed.append(Case(int(prototype), classifier.classes_[code], values, row, cells[0]))
    return [str(name) for name in units.columns], listed


def case_cards(columns: list[str], found: list[Case], shares: np.ndarray, source: Source) -> str:
    """A card a prototype: its values and those of its training row.

    Parameters
    ----------
    columns : names
    found : what `cases` gives
    shares : how much each column decides; of very many columns those are shown that decide most
    source : names the training rows
    """
    shown = np.arange(len(columns))
    if len(columns) > _MOST_COLUMNS:
        shown = np.sort(np.argsort(-shares, kind="stable")[:_MOST_COLUMNS])
    return f'<div class="cards">{"".join(_card(columns, one, shown, source) for one in found)}</div>'


def said_of_columns(n_columns: int) -> str:
    """A sentence where the cards leave columns out."""
    return (
        f" Of {n_columns} columns the {_MOST_COLUMNS} that decide most are shown." if n_columns > _MOST_COLUMNS else ""
    )


def _card(columns: list[str], one: Case, shown: np.ndarray, source: Source) -> str:
    row = "no training row" if one.row is None else source.train_row(one.row)
    lines = "".join(
        f'<tr><th scope="row">{text(columns[j])}</th><td class="number">'
        f"{text(shown_value(_rounded(one.values[j], one.row_values[j])))}</td>"
        f'<td class="number">{text(shown_value(one.row_values[j]))}</td></tr>'
        for j in shown
    )
    return (
        f'<article class="card"><h3>Prototype {one.prototype + 1}: {text(one.label)}</h3><table class="wrap">'
        f'<thead><tr><th scope="col">column</th><th scope="col" class="number">prototype</th>'
        f'<th scope="col" class="number">{text(row)}</th></tr></thead><tbody>{lines}</tbody></table></article>'
    )


def _rounded(value: Any, other: Any) -> Any:
    """A number without what rounding left of a zero: a prototype has been scaled and back."""
    if isinstance(value, float) and isinstance(other, int | float):
        return 0.0 if abs(value) < 1e-12 * abs(other) else value
    return value


def shown_value(value: Any) -> str:
    """A value of the table in few digits."""
    if value is None:
        return "missing"
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
