"""Every method on one data set: same folds, settings tuned inside each training part, one row a fold in a file.

Protocol of Jin, Liu and Hou (2010), section 6: stratified folds; inside each training part a stratified third is held
out, every setting of a small grid fitted on the rest, the best one (the first of equals) fitted again on all of it.
Features are scaled to [-1, 1] by the training part, or prepared as the caller wants. The rows come in a fixed order,
whatever runs in parallel, and each goes to the file when it is done: a run that was killed goes on where it stopped,
and ends with the same rows (but for the seconds, which are measured).
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.multiclass import check_classification_targets
from threadpoolctl import threadpool_limits

from protolearn.auto.automatic import AutoPrototypes
from protolearn.auto.timing import microseconds_a_row
from protolearn.auto.validation import choose_on_validation
from protolearn.compare.methods import METHODS, Method, chosen_methods
from protolearn.compare.processes import in_processes
from protolearn.compare.rows import Columns, Row, RowFile
from protolearn.core.parameters import check_count
from protolearn.data.containers import rows_of
from protolearn.estimators.nearest import NearestPrototype

HOLD_OUT = 1 / 3
COLUMNS: Columns = {
    "dataset": str,
    "method": str,
    "fold": int,
    "accuracy": float,
    "prototypes": int,
    "numbers": int,
    "tuning_seconds": float,
    "fit_seconds": float,
    "microseconds": float,
    "chosen": str,
    "error": str,
}
FIELDS = tuple(COLUMNS)


def compare(
    X: Any,
    y: Any,
    *,
    methods: Sequence[str] | None = None,
    folds: int = 10,
    rows: str | Path | None = None,
    resume: bool = False,
    prepare: Any = None,
    name: str = "data",
    seed: int = 0,
    jobs: int = 2,
    watch: Callable[[Row, int, int], None] | None = None,
) -> list[Row]:
    """Cross-validate methods on the same folds, each tuned inside the training part.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Numbers, or whatever `prepare` takes.
    y : array-like of shape (n_samples,)
    methods : names of `METHODS`; None takes all
    folds : int
    rows : path of a CSV file to which each row goes when it is done; None writes nothing
    resume : bool
        Go on with a file that is there; without it, such a file is an error.
    prepare : transformer, optional
        Fitted on each training part; None scales each feature to [-1, 1].
    name : str
        Of the data set, for the rows.
    seed : int
    jobs : int
        Processes, each on one thread; inside `joblib.parallel_config(backend="dask")` those of the cluster.
    watch : called with each new row, the number of rows done and the number of all

    Returns
    -------
    rows : list of dict
        One for each fold and method, with the keys of `FIELDS`. KeyboardInterrupt is passed on; what is done is in
        the file.
    """
    check_count("folds", folds, at_least=2)
    check_count("jobs", jobs)
    names = chosen_methods(list(methods) if methods else None)
    y = np.asarray(y)
    _check_labels(y, folds)
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))
    made_from = _fingerprint(X, y, folds, seed, name, prepare)
    store = RowFile(Path(rows), COLUMNS, made_from, resume) if rows is not None else None
    found = {(row["method"], row["fold"]): row for row in (store.rows() if store is not None else [])}
    wanted = [(method, fold) for fold in range(folds) for method in names]
    work = [key for key in wanted if key not in found]
    tasks = (delayed(one_row)(METHODS[method], X, y, *splits[fold], prepare, seed) for method, fold in work)
    with closing(in_processes(tasks, len(work), jobs)) as results:
        for (method, fold), result in zip(work, results, strict=True):
            row = {"dataset": name, "method": method, "fold": fold, **result}
            found[method, fold] = row
            if store is not None:
                store.append(row)
            if watch is not None:
                watch(row, sum(key in found for key in wanted), len(wanted))
    return [found[key] for key in wanted]


def one_row(
    method: Method, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, prepare: Any, seed: int
) -> dict[str, Any]:
    """Tune and fit one method on one fold. A method that cannot do it gets no accuracy, and the reason."""
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _one_row(method, X, y, train, test, prepare, seed)
    except (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return dict.fromkeys(FIELDS[3:9], float("nan")) | {
            "prototypes": 0,
            "numbers": 0,
            "chosen": "{}",
            "error": reason,
        }


def _one_row(
    method: Method, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, prepare: Any, seed: int
) -> dict[str, Any]:
    X_train, X_test = _scaled(rows_of(X, train), y[train], rows_of(X, test), prepare)
    y_train, y_test = y[train], y[test]
    begin = time.perf_counter()
    settings = _tuned(method, X_train, y_train, seed)
    tuned = time.perf_counter()
    model = method.seeded(seed).set_params(**settings).fit(X_train, y_train)
    fitted = time.perf_counter()
    predicted = model.predict(X_test)
    prototypes, numbers = stored(model, X_train)
    return {
        "accuracy": float(np.mean(predicted == y_test)),
        "prototypes": prototypes,
        "numbers": numbers,
        "tuning_seconds": tuned - begin,
        "fit_seconds": fitted - tuned,
        "microseconds": microseconds_a_row([model], X_test)[0],
        "chosen": json.dumps(_described(settings)),
        "error": "",
    }


def _scaled(X: Any, y: np.ndarray, X_test: Any, prepare: Any) -> tuple[np.ndarray, np.ndarray]:
    """Training and test part as dense numbers, prepared as the training part says."""
    scale = MinMaxScaler((-1, 1)) if prepare is None else clone(prepare)
    parts = scale.fit(X, y).transform(X), scale.transform(X_test)
    train, test = (part.toarray() if sparse.issparse(part) else np.asarray(part) for part in parts)
    return train, test


def _tuned(method: Method, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    """The settings of the best accuracy on a held-out third; `init` is then the k-means of the whole training part."""
    if not method.grid:
        return {}
    counts = np.unique(y, return_counts=True)[1]
    X_fit, X_held, y_fit, y_held = train_test_split(
        X, y, test_size=HOLD_OUT, stratify=y if counts.min() > 1 else None, random_state=seed
    )
    grid: dict[str, Any] = dict(method.grid)
    if method.kmeans_start:
        grid["init"] = [NearestPrototype(n, random_state=seed).fit(X_fit, y_fit) for n in grid.pop("n_prototypes")]
    settings, _ = choose_on_validation(method.seeded(seed), grid, X_fit, y_fit, X_held, y_held)
    if method.kmeans_start:
        settings = {**settings, "init": clone(settings["init"]).fit(X, y)}
    return settings


def _described(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON takes them: a start is its number of prototypes."""
    plain = {("n_prototypes" if key == "init" else key): value for key, value in settings.items()}
    return {key: getattr(value, "n_prototypes", value) for key, value in plain.items()}


def stored(model: Any, X: np.ndarray) -> tuple[int, int]:
    """How many vectors a fitted model keeps (0 where it keeps none), and how many numbers with its metric."""
    if isinstance(model, Pipeline):
        metric = model[0].components_
        vectors, _ = stored(model[-1], X)
        return vectors, int(vectors * metric.shape[0] + metric.size)
    if isinstance(model, AutoPrototypes):
        return sum(len(one[-1].prototypes_) for one in model.estimators_), model.n_numbers_
    if hasattr(model, "support_vectors_"):
        return len(model.support_vectors_), int(model.support_vectors_.size + model.dual_coef_.size)
    if hasattr(model, "coef_"):
        return 0, int(model.coef_.size + model.intercept_.size)
    if hasattr(model, "estimators_"):
        trees = [tree.tree_ for tree in model.estimators_]
        leaves = sum(tree.n_leaves for tree in trees)
        # A split has a column, a threshold and two branches; a leaf the shares of the classes.
        return 0, int(4 * (sum(tree.node_count for tree in trees) - leaves) + leaves * len(model.classes_))
    if not hasattr(model, "prototypes_"):
        return len(X), int(X.size)
    metric = sum(np.size(getattr(model, name, ())) for name in ("relevances_", "omega_"))
    return len(model.prototypes_), int(model.prototypes_.size + metric)


def _fingerprint(X: Any, y: np.ndarray, folds: int, seed: int, name: str, prepare: Any) -> dict[str, Any]:
    """What makes rows comparable: the data, the folds, the protocol."""
    digest = hashlib.sha256()
    for part in _bytes_of(X):
        digest.update(part)
    digest.update(json.dumps([str(label) for label in y]).encode())
    return {
        "dataset": name,
        "data": digest.hexdigest(),
        "preparation": repr(prepare),
        "folds": folds,
        "seed": seed,
        "hold_out": HOLD_OUT,
        "grids": hashlib.sha256(repr(METHODS).encode()).hexdigest(),
    }


def _bytes_of(X: Any) -> Iterator[bytes]:
    if sparse.issparse(X):
        X = X.tocsr()
        yield from (part.tobytes() for part in (X.indptr, X.indices, X.data))
    elif hasattr(X, "columns"):
        for column in X.columns:
            values = np.asarray(X[column])
            yield str(column).encode()
            yield values.tobytes() if values.dtype.kind in "biuf" else repr(values.tolist()).encode()
    else:
        yield np.ascontiguousarray(X).tobytes()


def _check_labels(y: np.ndarray, folds: int) -> None:
    check_classification_targets(y)
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError("A comparison needs at least two classes; check the target column.")
    if counts.min() < 2:
        raise ValueError(
            f"Class {classes[counts.argmin()]!s} has one row, too few to learn from and to test on; leave it out."
        )
    if counts.max() < folds:
        raise ValueError(f"The largest class has {counts.max()} rows, too few for {folds} folds; ask for fewer folds.")
