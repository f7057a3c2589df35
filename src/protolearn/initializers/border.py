"""Prototypes near the decision border: the future work of LPD's section 4."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from protolearn.core.threads import no_threads_in_forks
from protolearn.data import TrainingSet
from protolearn.initializers.base import INITIALIZERS, class_by_class
from protolearn.initializers.random import distinct_rows


@dataclass(frozen=True)
class BorderStart:
    """Samples drawn from those of each class that lie nearest to other classes.

    A sample is on the right side where its nearest other sample of the same class is not farther than its nearest
    sample of another class. Of these the `share` that is nearest to another class are candidates, and the prototypes
    are drawn from them, so that they do not all sit at the one narrowest spot. Where a class has fewer than are asked
    for, the next nearest follow, and last those of the wrong side, which are no place to start.
    """

    share: float = 1 / 3

    def __call__(
        self, data: TrainingSet, counts: np.ndarray, random: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and labels."""

        def choose(rows: np.ndarray, n: int) -> np.ndarray:
            points = rows[distinct_rows(data, rows)]
            n = min(n, len(points))
            own, rival = _neighbours(data, points, np.flatnonzero(data.y != data.y[points[0]]))
            right = own <= rival
            order = np.lexsort((rival, ~right))
            candidates = order[: max(int(np.ceil(self.share * right.sum())), n)]
            return data.rows(points[random.choice(candidates, n, replace=False)])

        return class_by_class(data, counts, choose)


INITIALIZERS.add("border", BorderStart())


def _neighbours(data: TrainingSet, points: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each point to the nearest other one, and to the nearest of `others`; infinite where there is none."""
    X, Z = data.X[points].astype(data.dtype, copy=False), data.X[others].astype(data.dtype, copy=False)
    nowhere = np.full(len(points), np.inf)
    with no_threads_in_forks():
        own = NearestNeighbors(n_neighbors=1).fit(X).kneighbors()[0][:, 0] if len(points) > 1 else nowhere
        rival = NearestNeighbors(n_neighbors=1).fit(Z).kneighbors(X)[0][:, 0] if len(others) else nowhere
    return own, rival
