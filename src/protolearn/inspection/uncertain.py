"""The rows of which a model is least certain, each explained on a card of the report."""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.inspection.fitted import fitted_model
from protolearn.inspection.page import paragraph, text
from protolearn.inspection.rejection import relative_distance

_ROWS = 10


def uncertain_rows(model: Any, X: Any, y: Any) -> str:
    """The HTML of the cards.

    Parameters
    ----------
    model : fitted classifier with prototypes, or a pipeline ending in one
    X, y : raw rows and their labels
    """
    fitted = fitted_model(model)
    certainty = relative_distance(model, X)
    rows = np.argsort(certainty, kind="stable")[:_ROWS]
    labels = np.asarray(y)
    predicted = fitted.predict(fitted.features(X))
    cards = "".join(_card(int(row), certainty[row], labels[row], predicted[row]) for row in rows)
    about = f"The {len(rows)} test rows nearest to a border between two classes, row 0 being the first of the test set."
    return paragraph(about) + f'<div class="cards">{cards}</div>'


def _card(row: int, certainty: float, true: Any, predicted: Any) -> str:
    right = predicted == true
    verdict = (
        f'<span class="{"right" if right else "wrong"}">{"right" if right else "wrong: it is " + text(true)}</span>'
    )
    return (
        f'<article class="card"><h3>Row {row}: {text(predicted)} ({verdict})</h3>'
        f"<p>Certainty {certainty:.3f} of 1.</p></article>"
    )
