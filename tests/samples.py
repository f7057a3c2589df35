"""Tables with what real ones have: classes that overlap, columns of other scales, equal rows, a constant column."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification


def overlapping(n=600, n_features=10, n_classes=4, seed=0):
    """Several clusters a class that overlap, each column on a scale of its own."""
    X, y = make_classification(
        n, n_features, n_informative=n_features - 2, n_classes=n_classes, n_clusters_per_class=2, class_sep=1.0,
        random_state=seed,
    )  # fmt: skip
    return X * np.logspace(-2, 3, n_features), y


def grades(n=400, seed=0):
    """Nine grades from 1 to 10, most of them 1, as a pathologist gives them: many equal rows, the rarer class above."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.35).astype(int)
    severity = np.where(y == 1, rng.uniform(3, 9, n), rng.exponential(0.7, n))
    return np.clip(np.round(1 + severity[:, None] * rng.uniform(0.3, 1.3, (n, 9))), 1, 10), y


def with_a_constant(n=350, seed=0):
    """Two classes that overlap much, one column that never changes and one of noughts and ones."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 6)) + 0.8 * y[:, None]
    X[:, 2] = 7.0
    X[:, 4] = X[:, 4] > 0.5
    return X, y


def many_classes(n_classes=11, a_class=48, n_features=10, seed=0):
    """As many classes as vowels have, few rows of each."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), a_class)
    return 2.0 * rng.normal(size=(n_classes, n_features))[y] + rng.normal(size=(len(y), n_features)), y


SAMPLES = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "overlapping": overlapping,
    "grades": grades,
    "with a constant": with_a_constant,
    "many classes": many_classes,
}
