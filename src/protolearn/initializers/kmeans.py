"""Prototypes at the k-means centres of their classes."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from protolearn.core.threads import one_thread
from protolearn.data import TrainingSet
from protolearn.initializers.base import class_by_class, initializer
from protolearn.initializers.class_mean import weighted_mean


@initializer("kmeans")
def kmeans(data: TrainingSet, counts: np.ndarray, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's k-means in each class, one run from k-means++ (LOGM 6.2).

    On one thread: k-means++ makes thousands of products too small to share, which beside a busy process took 25 times
    as long on two threads, and OpenMP's threads never answer in a forked process.
    """

    def choose(rows: np.ndarray, n: int) -> np.ndarray:
        if n == 1:
            return weighted_mean(data, rows)[0][None]
        if n == len(rows):
            return data.rows(rows)
        clusters = KMeans(n, n_init=1, random_state=random.randint(2**31 - 1), copy_x=False)
        X = data.X[rows].astype(data.dtype, copy=False)
        with warnings.catch_warnings():
            # Fewer distinct points than centres: the spare ones coincide, and the lowest index wins.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return clusters.fit(X, sample_weight=data.weights(rows)).cluster_centers_

    with one_thread():
        return class_by_class(data, counts, choose)
