"""Sets of classes that hold the right one: how many classes it takes to be right in 90 of 100 rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.data.containers import rows_of
from protolearn.explain.conformal import ConformalClassifier
from protolearn.report.page import Section, paragraph, table
from protolearn.report.recall import Share

_ALPHA = 0.1
# Of fewer rows in each half the share of sets that hold the right class could be nearly anything.
_FEWEST = 20
_TITLE = "Sets of classes that hold the right one"


def class_sets(model: Any, test: Any, y_test: np.ndarray) -> Section:
    """Sets from one half of the test rows, counted on the other half."""
    known = np.flatnonzero(np.isin(y_test, model.classes_))
    rows = np.random.default_rng(0).permutation(known)
    half = len(rows) // 2
    if half < _FEWEST:
        told = f"Such sets are made from rows that were kept aside, at least {2 * _FEWEST}; here are {len(known)}."
        return Section("sets", _TITLE, paragraph(told, "soft"))
    first, second = np.sort(rows[:half]), np.sort(rows[half:])
    sets = ConformalClassifier(model, _ALPHA).calibrate(rows_of(test, first), y_test[first])
    found = sets.predict_set(rows_of(test, second))
    holds = found[np.arange(len(second)), np.searchsorted(sets.classes_, y_test[second])]
    size = found.sum(axis=1)
    said = (
        f"Where the model is unsure, it can name several classes instead of one: so many that {100 * (1 - _ALPHA):.0f} "
        f"of 100 sets hold the right class, whatever the model is worth. {len(first)} test rows set the size; of the "
        f"other {len(second)} rows the sets of {Share(int(holds.sum()), len(holds))} hold the right class. "
        "`protolearn predict --sets` gives such sets."
    )
    if not size.all():
        said += " An empty set says that the row is like none of the classes."
    lines = []
    for n in np.unique(size):
        share = Share(int(holds[size == n].sum()), int((size == n).sum()))
        kind = "no class" if n == 0 else "one class" if n == 1 else f"{n} classes"
        lines.append((kind, f"{share.of:,}", share.counts if n else "-"))
    shown = table(
        ("the set holds", "rows", "right class in it"),
        lines,
        caption=f"Sets of {len(second)} test rows",
        wrap=True,
    )
    return Section("sets", _TITLE, paragraph(said) + shown)
