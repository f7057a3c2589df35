"""What `AutoPrototypes` tries: a preparation of the columns, and a learner under some metric.

The soft learners are RSLVQ under metrics of free scale with a ridge to their start, by L-BFGS; beside them GMLVQ and
LGMLVQ stopped early, and LOGM and RSLVQ with their own regulariser. Each does best on some tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from protolearn.estimators.generic import PrototypeClassifier
from protolearn.estimators.glvq import GMLVQ, LGMLVQ
from protolearn.estimators.soft import RSLVQ
from protolearn.metrics.omega import Omega
from protolearn.metrics.squared_diagonal import SquaredDiagonal
from protolearn.tables import NormalScores, PiecewiseLinearBins, Preparation

# Rows of a learned map: more cost accuracy on small tables and time on all of them.
LOCAL_RANK, SHARED_RANK = 12, 60


@dataclass(frozen=True)
class Candidate:
    """A way to learn a prototype set.

    name : as the table of results names it
    preparation : "standard" (columns as they are, scaled), "bins" (`PiecewiseLinearBins`) or "scores" (`NormalScores`)
    make : (cov, n_columns) -> the unfitted classifier; cov is the mean squared distance to the nearest start
    metric_numbers : (n_prototypes, n_columns) -> numbers that the metric stores
    soft : whether all prototypes of a class make its probability, not the nearest alone
    """

    name: str
    preparation: str
    make: Callable[[float, int], Any]
    metric_numbers: Callable[[int, int], int]
    soft: bool = False

    def numbers(self, n_prototypes: int, n_columns: int) -> int:
        """Numbers that a fitted set stores, without its preparation."""
        return n_prototypes * n_columns + self.metric_numbers(n_prototypes, n_columns)


def preparation_steps(name: str) -> list[tuple[str, Any]]:
    """The steps from raw columns to the features of a preparation."""
    steps: list[tuple[str, Any]] = [("prepare", Preparation(scaling="standard"))]
    if name == "bins":
        steps.append(("bins", PiecewiseLinearBins()))
    elif name == "scores":
        steps.append(("scores", NormalScores()))
    return steps


def prepared_numbers(steps: Pipeline) -> int:
    """Numbers that the fitted steps before a classifier store."""
    numbers = 0
    for _, step in steps.steps:
        numbers += step.n_numbers_ if hasattr(step, "n_numbers_") else len(step.offset_) + len(step.factor_)
    return numbers


def _rank(limit: int, n_columns: int) -> int | None:
    return None if n_columns <= limit else limit


def _soft(metric: Callable[[int], Any], slope: float, ridge: float) -> Callable[[float, int], Any]:
    """RSLVQ whose Gaussians have, at the start, `slope` / cov as half of their precision."""

    def make(cov: float, n_columns: int) -> Any:
        return RSLVQ(
            metric=metric(n_columns), solver="lbfgs", slope=2.0 * slope / cov, ridge=ridge, max_iter=_SOFT_STEPS
        )

    return make


# More steps bring no accuracy on held-out rows: 80 where there are 50 gain 0.0 points, and take 1.6 times as long.
_SOFT_STEPS, _REGULARISED_STEPS, _MATRIX_STEPS = 50, 50, 20


def _euclidean(n_columns: int) -> str:
    return "euclidean"


def _local_weights(n_columns: int) -> SquaredDiagonal:
    return SquaredDiagonal("prototype")


def _shared_map(limit: int) -> Callable[[int], Omega]:
    return lambda n_columns: Omega(_rank(limit, n_columns), normalization="free")


def _local_map(n_columns: int) -> Omega:
    return Omega(_rank(LOCAL_RANK, n_columns), scope="prototype", normalization="free")


def _local_matrices(cov: float, n_columns: int) -> LGMLVQ:
    return LGMLVQ(scope="prototype", n_components=_rank(LOCAL_RANK, n_columns), solver="lbfgs", max_iter=_MATRIX_STEPS)


def _local_margin(cov: float, n_columns: int) -> PrototypeClassifier:
    metric = Omega(_rank(LOCAL_RANK, n_columns), scope="prototype")
    return PrototypeClassifier(
        loss="logm", metric=metric, regularization=0.03, solver="lbfgs", max_iter=_REGULARISED_STEPS
    )


def _local_relevances(cov: float, n_columns: int) -> PrototypeClassifier:
    return PrototypeClassifier(
        loss="rslvq", metric="local_relevance", regularization=0.03, solver="lbfgs", max_iter=_REGULARISED_STEPS
    )


def _shared_matrix(cov: float, n_columns: int) -> GMLVQ:
    return GMLVQ(n_components=_rank(SHARED_RANK, n_columns), solver="lbfgs", max_iter=3 * _MATRIX_STEPS)


def _none(m: int, d: int) -> int:
    return 1


def _weights(m: int, d: int) -> int:
    return m * d


def _map_a_prototype(m: int, d: int) -> int:
    return m * d * min(LOCAL_RANK, d)


def _map(limit: int) -> Callable[[int, int], int]:
    return lambda m, d: d * min(limit, d)


CANDIDATES = (
    Candidate("soft, Euclidean", "standard", _soft(_euclidean, 0.3, 0.3), _none, True),
    Candidate("soft, local relevances", "standard", _soft(_local_weights, 0.3, 0.3), _weights, True),
    Candidate("soft, local relevances, held", "standard", _soft(_local_weights, 0.3, 3.0), _weights, True),
    Candidate("soft, local relevances, bins", "bins", _soft(_local_weights, 0.3, 0.3), _weights, True),
    Candidate("soft, local relevances, scores", "scores", _soft(_local_weights, 0.3, 0.3), _weights, True),
    Candidate("soft, matrix", "standard", _soft(_shared_map(SHARED_RANK), 0.3, 3.0), _map(SHARED_RANK), True),
    Candidate("soft, matrix, bins", "bins", _soft(_shared_map(LOCAL_RANK), 0.3, 3.0), _map(LOCAL_RANK), True),
    Candidate("soft, local matrices", "standard", _soft(_local_map, 0.3, 3.0), _map_a_prototype, True),
    Candidate("soft, local matrices, sharp", "standard", _soft(_local_map, 1.0, 3.0), _map_a_prototype, True),
    Candidate("soft, local matrices, bins", "bins", _soft(_local_map, 1.0, 3.0), _map_a_prototype, True),
    Candidate("LGMLVQ", "standard", _local_matrices, _map_a_prototype),
    Candidate("LGMLVQ, bins", "bins", _local_matrices, _map_a_prototype),
    Candidate("LOGM, local matrices", "standard", _local_margin, _map_a_prototype),
    Candidate("RSLVQ, local relevances", "standard", _local_relevances, _weights),
)
# What pays with hundreds of prototypes a class: the map is shared, and a row moves two prototypes.
GROWING = (Candidate("GMLVQ", "standard", _shared_matrix, _map(SHARED_RANK)),)
BY_NAME = {candidate.name: candidate for candidate in (*CANDIDATES, *GROWING)}
