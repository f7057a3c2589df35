"""Tiny models: the best within a budget of bytes, by validation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import qr
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from protolearn.core.parameters import check_choice, check_count, check_number, check_random
from protolearn.export.fixed_point import FixedPointModel, fixed_point_model
from protolearn.export.folding import plain_model
from protolearn.export.plain import PlainModel
from protolearn.export.size import index_bytes, model_size
from protolearn.metrics.omega import Omega
from protolearn.tables.choice import ColumnChoice

_ITEM = {"float32": 4, "int16": 2, "int8": 1}
# What shares of the budget a map may take beside its prototypes, and what shares of the columns are tried.
_MAP_SHARES = (0.35, 0.55, 0.75)
_COLUMN_SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09, 0.0625)
# A scale for each input is tried where all scales together take at most this share of the budget.
_SCALES_SHARE = 0.15
# A plan that leaves more of the budget than this is dropped, where others use more.
_LEAST_USED = 0.5
_LARGEST_RANK = 64
_SCREENING_EPOCHS = 10
_SECOND_ROUND = 4
# Rows that columns are ranked by.
_RANKING_ROWS = 5000


@dataclass(frozen=True)
class Plan:
    """One way to spend the bytes.

    rank : rows of the linear map, None for a model without one
    n_prototypes : for each class
    n_columns : inputs that are kept
    per_feature : whether each input has a scale of its own in fixed point
    """

    dtype: str
    rank: int | None
    n_prototypes: int
    n_columns: int
    per_feature: bool


@dataclass(frozen=True)
class Shrunk:
    """The model that fits.

    model : the fitted classifier or Pipeline, in floats
    exported : its numbers as they are counted and written: pass it to `export_c`
    dtype, n_bytes : of `exported`
    accuracy : of `exported` on the held-out part, before the last fit on all rows
    plan : how the bytes are spent
    tried : plans with their bytes and held-out accuracy, best first
    """

    model: Any
    exported: PlainModel | FixedPointModel
    dtype: str
    n_bytes: int
    accuracy: float
    plan: Plan
    tried: list[tuple[Plan, int, float]]


def shrink(
    model: Any,
    X: Any,
    y: Any,
    *,
    max_bytes: int = 2048,
    dtypes: Sequence[str] = ("int8", "int16"),
    validation_fraction: float = 0.2,
    screening_rows: int = 3000,
    random_state: Any = None,
) -> Shrunk:
    """Train a model again with fewer prototypes, a map of lower rank, fewer columns and integers, within a budget.

    Many ways to spend the bytes are tried on a part of the rows, quantised and judged on held-out rows; the best four
    are trained longer; the best of them is trained on all rows. A lower rank is tried where the classifier takes a
    metric or a number of components. Columns are kept in the order in which they tell classes apart, each judged by
    what the ones before leave unsaid.

    Parameters
    ----------
    model : classifier of protolearn with `n_prototypes`, or a Pipeline of scalers that ends in one; fitted or not
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    max_bytes : int, bytes in flash: every table that a prediction reads, as `export_c` counts them
    dtypes : numbers to try, of "int8", "int16", "float32"
    validation_fraction : float, share of the rows that judges
    screening_rows : int, rows at most that the first round learns from
    random_state : int, RandomState or None

    Returns
    -------
    shrunk : Shrunk

    Raises
    ------
    ValueError
        Where not even one prototype a class fits.
    """
    check_count("max_bytes", max_bytes)
    check_count("screening_rows", screening_rows)
    check_number("validation_fraction", validation_fraction, above=0, below=1)
    for dtype in dtypes:
        check_choice("dtypes", dtype, _ITEM)
    X = check_array(X, dtype=[np.float64, np.float32])
    y = np.asarray(y)
    random = check_random(random_state)
    seed = random.randint(2**31 - 1)
    steps = model.steps if isinstance(model, Pipeline) else [("classifier", model)]
    classifier = steps[-1][1]
    if "n_prototypes" not in classifier.get_params():
        raise ValueError(f"{type(classifier).__name__} has no n_prototypes to choose; shrink a classifier that has.")
    fit, held = train_test_split(np.arange(len(y)), test_size=validation_fraction, stratify=y, random_state=seed)
    few = fit if len(fit) <= screening_rows else _part(fit, y, screening_rows, seed)
    ranking = column_order(X[few[:_RANKING_ROWS]], y[few[:_RANKING_ROWS]])
    n_classes = len(np.unique(y))
    rarest = int(np.unique(y[few], return_counts=True)[1].min())
    plans = [
        plan
        for dtype in dtypes
        for plan in _plans(dtype, max_bytes, X.shape[1], n_classes, max(rarest // 2, 1), *_kinds(classifier))
    ]
    if not plans:
        raise ValueError(
            f"{max_bytes} bytes do not hold one prototype for each of {n_classes} classes; raise max_bytes."
        )
    epochs = classifier.get_params().get("max_iter")

    def spend(plan: Plan, rows: np.ndarray, max_iter: int | None) -> tuple[Plan, Any, Any] | None:
        """Train and quantise; with fewer prototypes where they bring more than a plan knows of, such as weights."""
        while True:
            fitted = _fitted(steps, plan, ranking, X[rows], y[rows], max_iter)
            exported = _exported(fitted, X[rows], plan, max_bytes)
            if exported is not None:
                return plan, fitted, exported
            if plan.n_prototypes == 1:
                return None
            plan = replace(plan, n_prototypes=plan.n_prototypes // 2)

    def judge(plan: Plan, rows: np.ndarray, max_iter: int | None) -> tuple[Plan, int, float] | None:
        found = spend(plan, rows, max_iter)
        if found is None:
            return None
        plan, _, exported = found
        return plan, model_size(exported).flash, float(np.mean(exported.predict(X[held]) == y[held]))

    short = None if epochs is None else min(epochs, _SCREENING_EPOCHS)
    first = list({found[0]: found for plan in plans if (found := judge(plan, few, short)) is not None}.values())
    if not first:
        raise ValueError(f"No model of {max_bytes} bytes was found; raise max_bytes.")
    first.sort(key=lambda found: (-found[2], found[1]))
    second = [found for plan, _, _ in first[:_SECOND_ROUND] if (found := judge(plan, fit, epochs)) is not None]
    second.sort(key=lambda found: (-found[2], found[1]))
    ranked = second + first[_SECOND_ROUND:]
    for plan, _, accuracy in second:
        last = spend(plan, np.arange(len(y)), epochs)
        if last is not None:
            spent, fitted, exported = last
            return Shrunk(fitted, exported, spent.dtype, model_size(exported).flash, accuracy, spent, ranked)
    raise ValueError(f"No model of {max_bytes} bytes was found on all rows; raise max_bytes.")


def _part(rows: np.ndarray, y: np.ndarray, n: int, seed: int) -> np.ndarray:
    return train_test_split(rows, train_size=n, stratify=y[rows], random_state=seed)[0]


def column_order(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Columns by how far apart they set the classes, each by what those before it do not tell.

    QR with pivoting of the standardised columns, each times its share of variance between the classes.
    """
    X = X.astype(np.float64)
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    between = np.zeros(X.shape[1])
    for label in np.unique(y):
        own = y == label
        between += own.mean() * Z[own].mean(axis=0) ** 2
    return np.asarray(qr(Z * np.sqrt(between), mode="r", pivoting=True)[1])


def _kinds(classifier: Any) -> tuple[bool, bool]:
    """Whether the classifier can do without a map, and whether it can have one of any rank."""
    parameters = classifier.get_params()
    named = str(parameters.get("metric", ""))
    return "n_components" not in parameters and "omega" not in named, bool({"n_components", "metric"} & set(parameters))


def _plans(
    dtype: str, max_bytes: int, n_inputs: int, n_classes: int, most: int, without_map: bool, with_map: bool
) -> list[Plan]:
    """Ways to fill the budget: without a map or with one of some share of it, over some of the columns."""
    item, integers = _ITEM[dtype], dtype != "float32"
    found: dict[Plan, int] = {}
    for n_columns in sorted({max(round(share * n_inputs), 1) for share in _COLUMN_SHARES}, reverse=True):
        listed = n_columns * index_bytes(n_inputs - 1) if n_columns < n_inputs else 0
        for per_feature in (False, True):
            scales = 8 * (n_columns if per_feature else 1) if integers else 0
            if per_feature and (scales > _SCALES_SHARE * max_bytes or not integers):
                continue
            # The ends of the classes come on top.
            left = max_bytes - 2 * n_classes - listed - scales
            weights = (2 * n_columns if per_feature else 0) if integers else 4 * n_columns
            n = min((left - weights) // (item * n_classes * n_columns), most)
            if n >= 1 and without_map:
                found[Plan(dtype, None, n, n_columns, per_feature)] = item * n * n_classes * n_columns
            # In fixed point a row of the map has a multiplier and a start besides; in float32 there is an origin.
            row, origin = (item * n_columns + 6, 0) if integers else (item * n_columns, 4 * n_columns)
            for share in _MAP_SHARES if with_map else ():
                rank = min(int(share * (left - origin) // row), n_columns, _LARGEST_RANK)
                n = min((left - origin - rank * row) // (item * n_classes * rank), most) if rank >= 1 else 0
                if n >= 1:
                    found[Plan(dtype, rank, n, n_columns, per_feature)] = rank * (row + item * n * n_classes)
    enough = [plan for plan, used in found.items() if used >= _LEAST_USED * max_bytes]
    return enough or list(found)


def _fitted(
    steps: Sequence[tuple[str, Any]],
    plan: Plan,
    ranking: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    max_iter: int | None,
) -> Any:
    """The model trained anew as a plan says."""
    classifier = clone(steps[-1][1]).set_params(n_prototypes=plan.n_prototypes)
    parameters = classifier.get_params()
    if plan.rank is not None:
        if "n_components" in parameters:
            classifier.set_params(n_components=plan.rank)
        else:
            given = parameters["metric"]
            like = given if hasattr(given, "n_components") else Omega()
            classifier.set_params(metric=replace(like, n_components=plan.rank, scope="global", start_at=None))
    elif "metric" in parameters and not isinstance(parameters["metric"], str):
        classifier.set_params(metric="euclidean")
    if max_iter is not None:
        classifier.set_params(max_iter=max_iter)
    kept = [(name, step if isinstance(step, str) else clone(step)) for name, step in steps[:-1]]
    if plan.n_columns < X.shape[1]:
        kept.insert(0, ("columns", ColumnChoice(sorted(ranking[: plan.n_columns].tolist()))))
    made = Pipeline([*kept, (steps[-1][0], classifier)]) if kept else classifier
    with warnings.catch_warnings():
        # A few epochs need not converge, and a plan that fails is not taken.
        warnings.simplefilter("ignore")
        return made.fit(X, y)


def _exported(fitted: Any, X: np.ndarray, plan: Plan, max_bytes: int) -> PlainModel | FixedPointModel | None:
    """The numbers that would be written, or None where they do not fit."""
    plain = plain_model(fitted)
    made = plain if plan.dtype == "float32" else fixed_point_model(plain, X, plan.dtype, per_feature=plan.per_feature)
    return made if model_size(made).flash <= max_bytes else None
