"""Small problems with every metric and scope, for tests that run over the registries."""

from __future__ import annotations

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.data import TrainingSet
from protolearn.losses import LOSSES, Loss
from protolearn.metrics import METRICS
from protolearn.metrics.diagonal import Diagonal
from protolearn.metrics.omega import Omega
from protolearn.solvers import Objective
from protolearn.solvers.batch import whole_gradient

ALL_METRICS = {
    **dict(METRICS.items()),
    "relevance, sum 1": Diagonal("global", "sum"),
    "relevance, free scale": Diagonal("prototype", "free"),
    "low-rank omega": Omega(n_components=2),
    "class omega, free scale": Omega(n_components=3, scope="class", normalization="free"),
    "low-rank local omega": Omega(n_components=2, scope="prototype", normalization="sum"),
}
DIFFERENTIABLE = {name: loss for name, loss in LOSSES.items() if loss.differentiable}
RULES = {name: loss for name, loss in LOSSES.items() if not loss.differentiable}


def random_problem(metric, n_samples=9, seed=3, dtype=np.float64, n_features=5):
    """Samples of three classes, two prototypes a class (three of the last), metric parameters off their start."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)).astype(dtype)
    y = np.arange(n_samples) % 3
    data = TrainingSet(X, y, None, 3)
    labels = np.array([0, 0, 1, 1, 2, 2, 2])
    start = metric.start(rng.normal(size=(len(labels), n_features)), labels, data)
    theta = metric.project(start.theta * rng.uniform(0.5, 1.5, start.theta.shape).astype(dtype))
    return data, PrototypeSet(start.positions, start.labels, theta, start.slot)


def objective_of(loss_name, metric, slope=0.7, regularization=0.05):
    return Objective(LOSSES[loss_name](), metric, slope, regularization)


def mean_gradient(prototypes, data, objective):
    """Mean loss over all samples, with its gradient."""
    return whole_gradient(prototypes, data, objective) / data.total_weight


def stepwise_objective(loss_name, metric):
    """Without a penalty of the prototypes alone (learn1NN), which the online solver follows after each block."""
    alone = LOSSES[loss_name].penalty is not Loss.penalty
    return objective_of(loss_name, metric, regularization=0.0 if alone else 0.05)


# Classifiers that the engine's solvers train, and all that have its prototypes.
LEARNERS = [
    "LVQ1", "OLVQ1", "LVQ2", "LVQ21", "LVQ3", "DSM", "GLVQ", "GRLVQ", "GMLVQ", "LGMLVQ", "MCE", "SNPC",
    "MAXP1", "RSLVQ", "RSLVQ1", "LOGM", "PrototypeClassifier",
]  # fmt: skip
ENGINE = [*LEARNERS, "NearestPrototype"]
