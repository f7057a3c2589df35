"""The prototypes as a reader of the table knows them: in its units, each beside the training row most like it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protolearn.data.containers import rows_of
from protolearn.explain.held_out import nearest_rows
from protolearn.explain.units import units_of
from protolearn.report.columns import Line
from protolearn.report.page import name, text
from protolearn.report.source import Source

MOST_LINES = 20


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
    nearest = nearest_rows(model, train, y_train)
    values = units.values(np.asarray(classifier.prototypes_, dtype=np.float64))
    listed: list[Case] = []
    for label in classifier.classes_:
        for i in np.flatnonzero(classifier.prototype_labels_ == label)[:most]:
            row = None if nearest[i] < 0 else int(nearest[i])
            cells = [[None] * len(values[i])]
            if row is not None:
                case = rows_of(train, np.array([row]))
                cells = units.cells(case, units.features(case))
            listed.append(Case(int(i), label, values[i], row, cells[0]))
    return [str(name) for name in units.columns], listed


def case_cards(lines: list[Line], found: list[Case], shares: np.ndarray, source: Source) -> str:
    """A card a prototype: its values and those of its training row.

    Parameters
    ----------
    lines : what `lines_of` gives
    found : what `cases` gives
    shares : how much each line decides, which gives the order; of very many lines the first are shown
    source : names the training rows
    """
    shown = [lines[k] for k in np.argsort(-shares, kind="stable")[:MOST_LINES]]
    return f'<div class="cards">{"".join(_card(shown, one, source) for one in found)}</div>'


def _card(lines: list[Line], one: Case, source: Source) -> str:
    row = "no training row" if one.row is None else source.train_row(one.row)
    values = [_rounded(*both) for both in zip(one.values, one.row_values, strict=True)]
    shown = "".join(
        f'<tr><th scope="row">{name(line.name)}</th><td class="number">{name(line.of_prototype(values))}</td>'
        f'<td class="number">{name(line.of_row(one.row_values))}</td></tr>'
        for line in lines
    )
    return (
        f'<article class="card"><h3>Prototype {one.prototype + 1}: {text(one.label)}</h3><div class="scroll">'
        '<table class="wrap"><thead><tr><th scope="col">column</th><th scope="col" class="number">prototype</th>'
        f'<th scope="col" class="number">{text(row)}</th></tr></thead><tbody>{shown}</tbody></table></div></article>'
    )


def _rounded(value: Any, other: Any) -> Any:
    """A number without what rounding left of a zero: a prototype has been scaled and back."""
    if isinstance(value, float) and isinstance(other, int | float):
        return 0.0 if abs(value) < 1e-12 * abs(other) else value
    return value
