"""The decision on one raw row by several prototype sets, without the checks of a whole table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from protolearn.auto.race import class_log_sums
from protolearn.losses.links import class_probabilities
from protolearn.tables.rows import row_preparation


def row_classifier_of_sets(
    pipelines: Sequence[Pipeline],
    shares: np.ndarray,
    temperatures: np.ndarray,
    soft: Sequence[bool],
    classes: np.ndarray,
) -> Callable[[Any], Any]:
    """A function from a raw row to the most probable class of the mean over the sets."""
    # All sets have prepared their columns from the same rows in the same way.
    prepare = row_preparation(pipelines[0][0])
    measures = [
        _measure(pipeline, classes, float(share), float(t), is_soft)
        for pipeline, share, t, is_soft in zip(pipelines, shares, temperatures, soft, strict=True)
    ]

    def classify(row: Any) -> Any:
        z = prepare(row)
        total = np.zeros(len(classes))
        for add in measures:
            add(z, total)
        return classes[total.argmax()]

    return classify


def _measure(
    pipeline: Pipeline, classes: np.ndarray, share: float, temperature: float, soft: bool
) -> Callable[[np.ndarray, np.ndarray], None]:
    """A function that adds the probabilities of a set, from the prepared features of one row, to those of others."""
    classifier = pipeline[-1]
    metric, prototypes = classifier._prototype_set()
    prototypes = prototypes.astype(np.dtype(np.float64))
    measure, codes = metric.row_distances(prototypes), prototypes.labels
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    places = np.searchsorted(classes, classifier.classes_)
    link, slope = classifier._link_and_slope()
    encoders = [step.row_function() for _, step in pipeline.steps[1:-1]]

    def add(z: np.ndarray, total: np.ndarray) -> None:
        for encode in encoders:
            z = encode(z)
        D = measure(z)
        if soft:
            logs = class_log_sums(-slope * D, codes)
            weights = np.exp(temperature * (logs - logs.max()))
        else:
            weights = class_probabilities(np.minimum.reduceat(D, first)[None], link, slope)[0] ** temperature
        total[places] += share / weights.sum() * weights

    return add
