"""The classifiers: each with its defaults and a space to draw configurations from, as its users would tune it.

Every space is searched in the same way: up to `CONFIGURATIONS` configurations, the default first and the others drawn
at random, by the same three stratified folds, until `SECONDS` of processor time are over. The configuration with the
best accuracy gives the accuracy, the one with the best log loss the log loss, the calibration error and the AUC.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import ParameterSampler, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

CONFIGURATIONS, SECONDS, FOLDS = 20, 5.0, 3
LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class Method:
    """One row of the table of results.

    make : (settings, seed) -> an unfitted classifier of data frames
    space : what `ParameterSampler` draws from; empty: one configuration
    default : the first configuration
    package : whose version belongs to the row
    """

    name: str
    make: Callable[[dict[str, Any], int], Any]
    space: dict[str, Any] = field(default_factory=dict)
    default: dict[str, Any] = field(default_factory=dict)
    package: str = "scikit-learn"


def prepared(classifier: Any, *, scaler: Any = None, ordinal: bool = False) -> Any:
    """Categories in indicator columns (or texts as they are), missing numbers as the median, numbers scaled."""
    numbers = [SimpleImputer(strategy="median"), *([scaler] if scaler is not None else [])]
    columns = make_column_transformer(
        (make_pipeline(*numbers), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, classifier)


def _majority(settings: dict[str, Any], seed: int) -> Any:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


def _neighbours(settings: dict[str, Any], seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    settings = dict(settings)
    scaling = settings.pop("scaling", "standard")
    scaler = (
        StandardScaler()
        if scaling == "standard"
        else QuantileTransformer(n_quantiles=100, output_distribution="normal")
    )
    return prepared(KNeighborsClassifier(**settings), scaler=scaler)


def _logistic(settings: dict[str, Any], seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return prepared(LogisticRegression(max_iter=2000, **settings), scaler=StandardScaler())


def _vectors(settings: dict[str, Any], seed: int) -> Any:
    from sklearn.svm import SVC

    return prepared(SVC(**settings), scaler=StandardScaler())


def _forest(settings: dict[str, Any], seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return prepared(RandomForestClassifier(300, random_state=seed, n_jobs=1, **settings))


def _boosting(settings: dict[str, Any], seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return prepared(HistGradientBoostingClassifier(random_state=seed, **settings))


def _lightgbm(settings: dict[str, Any], seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return prepared(LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1, **settings))


def _catboost(settings: dict[str, Any], seed: int) -> Any:
    from catboost import CatBoostClassifier

    settings = {"iterations": 200, **settings}
    return prepared(
        CatBoostClassifier(random_seed=seed, thread_count=1, verbose=0, allow_writing_files=False, **settings)
    )


def _ebm(settings: dict[str, Any], seed: int) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=seed, n_jobs=1, outer_bags=4)


class _Network:
    """A network of pytabkit: gaps as medians, texts as categories, labels as texts."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.seed = name, seed

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> _Network:
        import pytabkit

        self.medians = X.median(numeric_only=True)
        self.model = getattr(pytabkit, self.name)(device="cpu", random_state=self.seed, n_threads=1, verbosity=0)
        self.model.fit(self._frame(X), y)
        self.classes_ = self.model.classes_
        return self

    def _frame(self, X: pd.DataFrame) -> pd.DataFrame:
        found = X.fillna(self.medians)
        texts = found.columns.difference(self.medians.index)
        return found.astype(dict.fromkeys(texts, str)).astype(dict.fromkeys(texts, "category"))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return self.model.predict(self._frame(X))

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return self.model.predict_proba(self._frame(X))


def _network(name: str) -> Callable[[dict[str, Any], int], Any]:
    return lambda settings, seed: _Network(name, seed)


def _automatic(members: int) -> Callable[[dict[str, Any], int], Any]:
    def make(settings: dict[str, Any], seed: int) -> Any:
        from protolearn import AutoPrototypes

        return AutoPrototypes(members=members, random_state=seed)

    return make


def _ours(name: str, **fixed: Any) -> Callable[[dict[str, Any], int], Any]:
    def make(settings: dict[str, Any], seed: int) -> Any:
        import protolearn

        return prepared(getattr(protolearn, name)(random_state=seed, **fixed, **settings), scaler=StandardScaler())

    return make


_PROTOTYPES = {"n_prototypes": [1, 2, 3, 5, 8, 12]}
METHODS = (
    Method("majority class", _majority),
    Method(
        "k-NN",
        _neighbours,
        {
            "n_neighbors": [1, 2, 3, 4, 5, 7, 9, 12, 16, 22, 30, 40, 55, 75, 100, 200],
            "weights": ["uniform", "distance"], "p": [1, 1.5, 2], "scaling": ["standard", "quantile"],
        },
        {"n_neighbors": 5},
    ),
    Method("logistic regression", _logistic, {"C": np.logspace(-3, 3, 60).tolist()}, {"C": 1.0}),
    Method(
        "RBF SVM",
        _vectors,
        {"C": np.logspace(-1, 3, 40).tolist(), "gamma": np.logspace(-3.5, 0.5, 40).tolist()},
        {"C": 1.0, "gamma": "scale"},
    ),
    Method(
        "random forest",
        _forest,
        {
            "max_features": ["sqrt", 0.2, 0.4, 0.7, 1.0], "min_samples_leaf": [1, 2, 4, 8],
            "criterion": ["gini", "entropy"],
        },
    ),
    Method(
        "gradient boosting",
        _boosting,
        {
            "learning_rate": np.logspace(-2, -0.3, 30).tolist(), "max_leaf_nodes": [7, 15, 31, 63],
            "min_samples_leaf": [5, 10, 20, 40], "l2_regularization": [0.0, 0.01, 0.1, 1.0, 10.0],
        },
    ),
    Method(
        "LightGBM",
        _lightgbm,
        {
            "learning_rate": np.logspace(-2, -0.5, 30).tolist(), "num_leaves": [7, 15, 31, 63],
            "min_child_samples": [5, 10, 20, 40], "n_estimators": [50, 100, 200, 400],
            "reg_lambda": [0.0, 0.1, 1.0, 10.0], "colsample_bytree": [0.5, 0.75, 1.0],
        },
        package="lightgbm",
    ),
    Method(
        "CatBoost",
        _catboost,
        {
            "learning_rate": np.logspace(-2, -0.5, 30).tolist(), "depth": [4, 6, 8], "iterations": [100, 200, 400],
            "l2_leaf_reg": [1, 3, 10],
        },
        package="catboost",
    ),
    Method("EBM", _ebm, package="interpret-core"),
    Method("RealMLP", _network("RealMLP_TD_Classifier"), package="pytabkit"),
    Method("TabM", _network("TabM_D_Classifier"), package="pytabkit"),
    Method("AutoPrototypes", _automatic(3), package="protolearn"),
    Method("AutoPrototypes, one set", _automatic(1), package="protolearn"),
    Method("LOGM", _ours("LOGM"), _PROTOTYPES, {"n_prototypes": 1}, "protolearn"),
    Method("GLVQ", _ours("GLVQ", solver="lbfgs"), _PROTOTYPES, {"n_prototypes": 1}, "protolearn"),
    Method("GMLVQ", _ours("GMLVQ", solver="lbfgs", max_iter=30), _PROTOTYPES, {"n_prototypes": 1}, "protolearn"),
    Method("LGMLVQ", _ours("LGMLVQ", solver="lbfgs", max_iter=30), _PROTOTYPES, {"n_prototypes": 1}, "protolearn"),
    Method("RSLVQ", _ours("RSLVQ", solver="lbfgs"), _PROTOTYPES, {"n_prototypes": 1}, "protolearn"),
)  # fmt: skip
DEFAULTS = ", defaults"
# The same methods as they come, without the search: one fit.
UNTUNED = tuple(
    replace(method, name=method.name + DEFAULTS, space={})
    for method in METHODS
    if method.space and method.package != "protolearn"
)
BY_NAME = {method.name: method for method in (*METHODS, *UNTUNED)}


def configurations(method: Method, seed: int) -> list[dict[str, Any]]:
    """The default, then random draws."""
    if not method.space:
        return [method.default]
    size = int(np.prod([len(values) for values in method.space.values()]))
    drawn = ParameterSampler(method.space, min(CONFIGURATIONS - 1, size), random_state=seed)
    return [method.default, *(one for one in drawn if one != method.default)]


def probabilities(model: Any, X: pd.DataFrame, classes: np.ndarray) -> np.ndarray | None:
    """Columns in the order of `classes`; None where a model has none."""
    if not hasattr(model, "predict_proba"):
        return None
    found = np.full((len(X), len(classes)), LEAST_PROBABILITY)
    found[:, np.searchsorted(classes, model.classes_)] = np.maximum(model.predict_proba(X), LEAST_PROBABILITY)
    return found / found.sum(axis=1, keepdims=True)


def calibration_error(P: np.ndarray, right: np.ndarray, bins: int = 15) -> float:
    """The expected calibration error of the largest probability, in bins of equal width."""
    sure = P.max(axis=1)
    place = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = [abs(sure[place == b].mean() - right[place == b].mean()) * (place == b).mean() for b in np.unique(place)]
    return float(np.sum(gaps))


def numbers_of(model: Any) -> int:
    """What a prototype model stores; 0 for others."""
    if hasattr(model, "n_numbers_"):
        return int(model.n_numbers_)
    last = model[-1] if hasattr(model, "steps") else model
    if not hasattr(last, "prototypes_"):
        return 0
    metric = [getattr(last, name, None) for name in ("relevances_", "omega_")]
    return last.prototypes_.size + sum(np.size(part) for part in metric if part is not None)


def bytes_of(model: Any) -> int:
    """Four bytes a number of a prototype model, else the length of the pickle."""
    numbers = numbers_of(model)
    return 4 * numbers if numbers else len(pickle.dumps(model))


def outcome(
    method: Method, X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame, y_test: np.ndarray, seed: int
) -> dict:
    """Tune, fit, measure: the figures of one row."""
    classes = np.unique(y)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_accuracy, by_loss, tried = _tuned(method, X, y, classes, seed)
        model = method.make(by_accuracy, seed).fit(X, y)
        surer = model if by_loss == by_accuracy else method.make(by_loss, seed).fit(X, y)
        seconds = time.process_time() - began
        predicted = np.asarray(model.predict(X_test)).astype(str).ravel()
        microseconds = min(_timed(model, X_test) for _ in range(3))
        P = probabilities(surer, X_test, classes)
    found = {
        "accuracy": float(np.mean(predicted == y_test)),
        "balanced": float(balanced_accuracy_score(y_test, predicted)),
        "log_loss": np.nan, "ece": np.nan, "auc": np.nan,
        "bytes": bytes_of(model), "numbers": numbers_of(model), "microseconds": microseconds, "seconds": seconds,
        "configurations": tried, "settings": repr(by_accuracy),
    }  # fmt: skip
    if P is not None:
        found["log_loss"] = float(log_loss(y_test, P, labels=classes))
        found["ece"] = calibration_error(P, classes[P.argmax(axis=1)] == y_test)
        found["auc"] = float(_auc(y_test, P, classes))
    return found


def _auc(y: np.ndarray, P: np.ndarray, classes: np.ndarray) -> float:
    if len(classes) == 2:
        return roc_auc_score(y == classes[1], P[:, 1])
    if len(np.unique(y)) < len(classes):
        return np.nan
    return roc_auc_score(y, P, multi_class="ovr", labels=classes)


def _timed(model: Any, X: pd.DataFrame) -> float:
    begin = time.process_time()
    model.predict(X)
    return 1e6 * (time.process_time() - begin) / len(X)


def _tuned(
    method: Method, X: pd.DataFrame, y: np.ndarray, classes: np.ndarray, seed: int
) -> tuple[dict[str, Any], dict[str, Any], int]:
    """The configurations with the best accuracy and the best log loss of held-out folds, and how many were tried."""
    drawn = configurations(method, seed)
    if len(drawn) == 1:
        return drawn[0], drawn[0], 1
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y))
    end = time.process_time() + SECONDS
    accuracies, losses = [], []
    for settings in drawn:
        if accuracies and time.process_time() > end:
            break
        right, loss = 0.0, 0.0
        for train, test in folds:
            try:
                model = method.make(settings, seed).fit(X.iloc[train], y[train])
                right += float(np.mean(np.asarray(model.predict(X.iloc[test])).astype(str).ravel() == y[test]))
                P = probabilities(model, X.iloc[test], classes)
            except ValueError:
                # A configuration that these rows do not allow, such as more neighbours than rows.
                right, loss = -np.inf, np.inf
                break
            loss += np.nan if P is None else float(log_loss(y[test], P, labels=classes))
        accuracies.append(right)
        losses.append(loss)
    best = int(np.argmax(accuracies))
    surest = best if np.isnan(losses).any() else int(np.argmin(losses))
    return drawn[best], drawn[surest], len(accuracies)
