"""Columns of a table as a reader knows them: those of 0 and 1 that are the levels of one thing stand in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from protolearn.explain.as_text import short
from protolearn.explain.units import units_of
from protolearn.tables.columns import column_arrays, is_frame

# Of the levels of a prototype so many are named, none with a smaller share.
_MOST_LEVELS = 3
_LEAST = 0.05


@dataclass(frozen=True)
class Line:
    """A column, or several columns of 0 and 1 of which each row has 1 in one.

    name : of the column, or what the names of the columns begin with
    columns : indices
    levels : what the names of the columns end with; none for a column by itself
    indicator : whether a column by itself holds only 0 and 1
    """

    name: str
    columns: list[int]
    levels: list[str]
    indicator: bool = False

    def of_row(self, values: Sequence[Any]) -> str:
        """What a row of the table has, a dash where there is no row."""
        if not self.levels:
            return short(values[self.columns[0]])
        found = [level for level, j in zip(self.levels, self.columns, strict=True) if values[j] == 1]
        return " + ".join(found) or "none"

    def of_prototype(self, values: Sequence[Any]) -> str:
        """What a prototype has, which lies between the rows: of 0 and 1 a share, of levels their parts of the sum."""
        first = values[self.columns[0]]
        if self.levels:
            shares = np.maximum([values[j] for j in self.columns], 0.0)
            shares /= max(float(shares.sum()), 1e-12)
            most = np.argsort(-shares, kind="stable")[:_MOST_LEVELS]
            return ", ".join(f"{self.levels[k]}\u00a0{_percent(shares[k])}" for k in most if shares[k] >= _LEAST)
        return f"1 in {_percent(first)}" if self.indicator and isinstance(first, float) else short(first)


def lines_of(model: Any, rows: Any) -> list[Line]:
    """The columns of a model as lines, each in the place of its first column.

    Columns form a line where their names begin alike up to "_", "=" or ".", and where they add up to 1 in each row.

    Parameters
    ----------
    model : fitted classifier with prototypes, or a pipeline ending in one
    rows : raw training rows
    """
    units = units_of(model)[0]
    names = [str(name) for name in units.columns]
    binary: dict[int, np.ndarray] = {}
    for j, values in enumerate(_arrays(names, rows) if units.are_raw else []):
        if values.dtype.kind in "biuf" and set(np.unique(values).tolist()) == {0, 1}:
            binary[j] = values.astype(np.float64)
    begins: dict[str, list[int]] = {}
    for j in binary:
        for mark in re.finditer(r"(?<=\w)[_=.](?=\w)", names[j]):
            begins.setdefault(names[j][: mark.end()], []).append(j)
    line_of: dict[int, Line] = {}
    # The longest beginning first: work_type_ before work_.
    for begin, members in sorted(begins.items(), key=lambda pair: -len(pair[0])):
        alone = not any(j in line_of for j in members)
        if len(members) > 1 and alone and np.all(sum(binary[j] for j in members) == 1):
            line = Line(begin[:-1], members, [names[j][len(begin) :] for j in members])
            line_of.update(dict.fromkeys(members, line))
    lines = [line_of.get(j) or Line(name, [j], [], j in binary) for j, name in enumerate(names)]
    return list({line.columns[0]: line for line in lines}.values())


def _arrays(names: list[str], rows: Any) -> list[np.ndarray]:
    """The training values of the columns of those names."""
    if sparse.issparse(rows):
        return []
    arrays = column_arrays(rows)
    if is_frame(rows):
        by_name = {str(name): values for name, values in zip(rows.columns, arrays, strict=True)}
        return [by_name[name] for name in names] if by_name.keys() >= set(names) else []
    return arrays if len(arrays) == len(names) else []


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.0f}\u00a0%"
