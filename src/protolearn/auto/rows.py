"""The decision on one raw row by several prototype sets, without the checks of a whole table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from protolearn.losses.links import log_class_probabilities
from protolearn.tables.rows import row_preparation

Step = Callable[[np.ndarray], np.ndarray]


def row_classifier_of_sets(
    pipelines: Sequence[Pipeline],
    shares: np.ndarray,
    temperatures: np.ndarray,
    soft: Sequence[bool],
    classes: np.ndarray,
) -> Callable[[Any], Any]:
    """A function from a raw row to the most probable class of the mean over the sets.

    A call of NumPy takes a microsecond whatever the number of numbers, so the sets share them: a preparation runs
    once, and the probabilities of all sets are taken together.
    """
    # All sets have prepared their columns from the same rows in the same way.
    prepare = row_preparation(pipelines[0][0])
    ways: dict[tuple[type, ...], list[Step]] = {}
    measures: list[tuple[int, Step]] = []
    codes: list[np.ndarray] = []
    for number, (pipeline, is_soft) in enumerate(zip(pipelines, soft, strict=True)):
        encoders = [step for _, step in pipeline.steps[1:-1]]
        kind = tuple(type(step) for step in encoders)
        if kind not in ways:
            ways[kind] = [step.row_function() for step in encoders]
        measure, labels = _exponents(pipeline[-1], is_soft)
        measures.append((list(ways).index(kind), measure))
        codes.append(number * len(classes) + np.searchsorted(classes, labels))
    steps = list(ways.values())
    code = np.concatenate(codes)
    first = np.flatnonzero(np.diff(code, prepend=-1))
    alone = len(first) == len(code)
    group = np.repeat(np.arange(len(first)), np.diff(first, append=len(code)))
    # A set that lacks a class gives it no share.
    known, shape = code[first], (len(pipelines), len(classes))
    complete = len(known) == shape[0] * shape[1]
    tempered = np.repeat(temperatures.astype(float), len(classes))[known]

    def mean_of(logs: np.ndarray) -> np.ndarray:
        if not alone:
            largest = np.maximum.reduceat(logs, first)
            logs = largest + np.log(np.add.reduceat(np.exp(logs - largest[group]), first))
        logs = logs * tempered
        if not complete:
            found = np.full(shape[0] * shape[1], -np.inf)
            found[known] = logs
            logs = found
        logs = logs.reshape(shape)
        weights = np.exp(logs - logs.max(axis=1)[:, None])
        return (shares / weights.sum(axis=1)) @ weights

    def classify(row: Any) -> Any:
        z = prepare(row)
        features = []
        for encode in steps:
            x = z
            for step in encode:
                x = step(x)
            features.append(x)
        logs = np.concatenate([measure(features[way]) for way, measure in measures])
        if isfinite(logs.sum()):
            return classes[mean_of(logs).argmax()]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = mean_of(logs)
        if not isfinite(mean.sum()):
            raise ValueError("The row holds a number too large to square; check its unit.")
        return classes[mean.argmax()]

    return classify


def _exponents(classifier: Any, soft: bool) -> tuple[Step, np.ndarray]:
    """A function of one row of features, and the class of each number that it gives, in the order of the classes.

    Their exponentials, summed over a class, are in proportion to the probabilities of the classes.
    """
    metric, prototypes = classifier._prototype_set()
    prototypes = prototypes.astype(np.dtype(np.float64))
    measure, codes = metric.row_distances(prototypes), prototypes.labels
    link, slope = classifier._link_and_slope()
    if soft:
        return (lambda z: -slope * measure(z)), classifier.classes_[codes]
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    labels = classifier.classes_[codes[first]]

    def exponents(z: np.ndarray) -> np.ndarray:
        D = np.minimum.reduceat(measure(z), first)
        if link == "difference":
            return -slope * D
        nearest = sorted(D.tolist())[:2]
        total = sum(nearest)
        if link == "relative_sigmoid" and 0 < total < np.inf and len(nearest) == 2:
            return D * (-slope / total)
        return log_class_probabilities(D[None], link, slope)[0]

    return exponents, labels
