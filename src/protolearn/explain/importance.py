"""What each column adds to decisions: to one, and in the mean over many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from protolearn.explain.border import Surroundings
from protolearn.explain.inputs import check_explainable
from protolearn.explain.measured import surroundings
from protolearn.explain.sets import OneSet, sets_of
from protolearn.explain.units import Units, units_of


def added(units: Units, around: Surroundings, own: int, rival: int) -> np.ndarray:
    """What each column adds to D_rival - D_own, (n_columns,)."""
    by_column = np.zeros(len(units.columns))
    np.add.at(by_column, units.column_of, around.parts[rival] - around.parts[own])
    return by_column


def added_by_sets(nearest: Iterable[tuple[OneSet, Surroundings, int, int]], n_columns: int) -> np.ndarray:
    """The mean of (D_rival - D_own) / (D_rival + D_own) by column, over several sets by their shares."""
    by_column = np.zeros(n_columns)
    for one, around, own, rival in nearest:
        both = around.distances[own] + around.distances[rival]
        parts = (around.parts[rival] - around.parts[own]) * (one.share / both if both > 0 else 0.0)
        np.add.at(by_column, one.units.column_of, parts)
    return by_column


def mean_contributions(model: Any, rows: Any) -> tuple[list[str], np.ndarray]:
    """How much each column decides: the mean size of what it adds, as a share of all columns.

        share_j = sum_x |C_j(x)| / sum_k sum_x |C_k(x)|      C_j : `Explanation.contributions`

    Parameters
    ----------
    model, rows : as in `explain`

    Returns
    -------
    columns : names
    shares : ndarray of shape (n_columns,)
        They sum to 1.
    """
    sets = sets_of(model)
    if sets is not None:
        units, Z = sets.units, sets.rows(rows)
        codes, rivals = sets.rivals(Z)
        found = [
            added_by_sets(sets.nearest(z, int(code), int(rival)), len(units.columns))
            for z, code, rival in zip(Z, codes, rivals, strict=True)
        ]
    else:
        units, classifier = units_of(model)
        check_explainable(classifier)
        metric, prototypes = classifier._prototype_set()
        found = []
        for around in surroundings(units.features(rows), metric, prototypes.astype(np.dtype(np.float64))):
            own = int(around.distances.argmin())
            others = around.prototypes.labels != around.prototypes.labels[own]
            found.append(added(units, around, own, int(np.where(others, around.distances, np.inf).argmin())))
    sizes = np.abs(found).mean(axis=0)
    total = sizes.sum()
    return [str(name) for name in units.columns], sizes / total if total > 0 else np.full(len(sizes), 1 / len(sizes))
