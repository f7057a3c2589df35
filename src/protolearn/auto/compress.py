"""A given model, whatever it is, replaced by a few prototypes: the smallest within a loss, or the best within bytes."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted

from protolearn.auto.automatic import AutoPrototypes
from protolearn.auto.candidates import prepared_numbers
from protolearn.auto.choice import choose
from protolearn.auto.race import Entry, Fold, Problem, classifier_numbers
from protolearn.auto.search import BYTES
from protolearn.auto.timing import microseconds_a_row
from protolearn.core.parameters import check_count, check_number, check_random
from protolearn.data.containers import rows_of
from protolearn.estimators.prediction import NearestPrototypeMixin
from protolearn.tables import Preparation

# Points of accuracy that a small model may lose where the user says neither bytes nor points.
DEFAULT_LOSS = 0.01
# Rows that are held out, as a share and at most.
HELD_OUT, MOST_HELD_OUT = 0.25, 20_000
_BYTES_ARE = "bytes: of prototypes 4 a number, of other models what pickle writes"


@dataclass(frozen=True)
class Side:
    """One of the two models on the held-out rows.

    accuracy : share of the held-out rows that are right, after learning from the others alone
    n_bytes : of prototypes 4 a number, of other models as pickle writes them
    microseconds : a row, where many are predicted at once by one thread
    """

    name: str
    accuracy: float
    n_bytes: int
    microseconds: float


@dataclass(frozen=True)
class Compression:
    """The given model and the small one, side by side.

    within : whether the small model loses no more than was allowed, by the held-out rows and within their noise, the
        standard error of the paired difference
    verdict : one sentence
    """

    given: Side
    small: Side
    within: bool
    verdict: str

    def __str__(self) -> str:
        lines = [_BYTES_ARE, f"{'':32}{'accuracy':>9}{'bytes':>12}{'us a row':>10}"]
        for side in (self.given, self.small):
            lines.append(f"{side.name:32.32}{side.accuracy:9.3f}{side.n_bytes:12d}{side.microseconds:10.2f}")
        return "\n".join([*lines, self.verdict])


def compress(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    max_bytes: int | None = None,
    max_loss: float | None = None,
    random_state: Any = None,
    verbose: int = 1,
) -> Any:
    """Replace a fitted model by the smallest prototype model that loses little, or by the best within a budget.

    A quarter of the rows is held out. On the others a clone of the given model and the candidates of `AutoPrototypes`
    learn in the same folds, which choose: the smallest set that loses at most `max_loss`, the standard error of the
    difference included, or the best model within `max_bytes`; where no single set will do, the mean of up to three.
    Both models are then measured on the held-out rows, which say whether the loss is kept, and the chosen one learns
    from all rows.

    Parameters
    ----------
    model : fitted classifier with `predict`
        Of scikit-learn or with its interface; a Pipeline too. A model that cannot be cloned is measured as it is.
    X : table of shape (n_samples, n_columns), optional
        Raw rows, as the model takes them. A fitted KNeighborsClassifier, alone or at the end of a Pipeline, holds its
        rows and labels: both may be left out.
    y : array-like of shape (n_samples,), optional
        True labels; without them the model labels the rows, and accuracy means agreement with the model.
    max_bytes : int, optional
        What the small model may store, 4 bytes a number.
    max_loss : float, optional
        Accuracy that the small model may lose: 0.01 is one point. 0.01 where neither limit is given; with max_bytes
        alone, the best within the bytes.
    random_state : int, RandomState or None
    verbose : int, default=1
        0 does not print the two sides.

    Returns
    -------
    small : AutoPrototypes, or a Pipeline that ends in one
        Fitted on all rows. `compression_` of the AutoPrototypes holds both sides and the verdict.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from protolearn import compress
    >>> X, y = load_digits(return_X_y=True)
    >>> small = compress(KNeighborsClassifier(3).fit(X, y), max_bytes=20_000, random_state=0, verbose=0)
    >>> small.size_bytes_ <= 20_000, small.compression_.small.accuracy > 0.93
    (True, True)
    """
    check_count("max_bytes", max_bytes, optional=True)
    check_number("max_loss", max_loss, at_least=0, below=1, optional=True)
    if max_bytes is None and max_loss is None:
        max_loss = DEFAULT_LOSS
    _check_model(model)
    steps: list[tuple[str, Any]] = []
    if X is None:
        steps, model, X, y = rows_of_neighbours(model)
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed for X, but compress takes dense tables; reduce X by TruncatedSVD first."
        )
    given_labels = y is not None
    labels = column_or_1d(y) if given_labels else _predicted(model, X)
    check_consistent_length(X, labels)
    seed = int(check_random(random_state).randint(2**31 - 1))
    train, held = _parts(labels, seed)
    X_train, y_train, X_held, y_held = rows_of(X, train), labels[train], rows_of(X, held), labels[held]
    given = _learned(model, X_train, y_train) if given_labels else model
    given_right = _predicted(given, X_held) == y_held

    choice = _Choice(model, X_train, y_train, max_loss, refit=given_labels)
    small = AutoPrototypes(max_bytes=max_bytes, random_state=seed)._fit(X_train, y_train, choice=choice)
    small_right = small.predict(X_held) == y_held
    loss, error = paired_loss(given_right, small_right)
    within = max_loss is None or loss <= max_loss + error
    times = microseconds_a_row([given, small], X_held)
    sides = (
        Side(f"given: {_name(model)}", float(given_right.mean()), _bytes_of(model), times[0]),
        Side(f"small: {small.n_numbers_} numbers", float(small_right.mean()), small.size_bytes_, times[1]),
    )
    told = _difference(sides, len(held), loss, error, given_labels)
    if not within:
        told = (
            f"No prototype model within {100 * (max_loss or 0):g} points of the given model was found, "
            f"the noise of the held-out rows included. {told}"
        )
    kept = small
    small = AutoPrototypes(max_bytes=max_bytes, random_state=seed)._refit(kept, X, labels)
    if max_bytes is not None and small.size_bytes_ > max_bytes:
        small = kept
    small.compression_ = Compression(*sides, within, told)
    if verbose:
        print(small.compression_)
    if not within:
        warnings.warn(told, stacklevel=2)
    return Pipeline([*steps, ("prototypes", small)]) if steps else small


def rows_of_neighbours(model: Any) -> tuple[list[tuple[str, Any]], Any, Any, np.ndarray]:
    """The fitted steps before a k-NN classifier, the classifier, and the rows and labels that it keeps."""
    steps = list(model.steps[:-1]) if isinstance(model, Pipeline) else []
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    rows, codes = getattr(last, "_fit_X", None), getattr(last, "_y", None)
    if not isinstance(last, KNeighborsClassifier) or rows is None or codes is None:
        raise ValueError(
            f"{_name(model)} does not hold the rows that it learned from; pass X, and y where the labels are known."
        )
    if hasattr(last, "feature_names_in_"):
        rows = _frame(rows, last.feature_names_in_)
    return steps, last, rows, last.classes_[codes]


def _frame(rows: np.ndarray, names: np.ndarray) -> Any:
    """Rows as a data frame, of pandas or polars as it is there: the model learned its names from one of these."""
    try:
        import pandas
    except ImportError:
        import polars

        return polars.DataFrame(rows, schema=list(names))
    return pandas.DataFrame(rows, columns=names)


def _check_model(model: Any) -> None:
    """Refuse what is no fitted classifier of rows."""
    name = _name(model)
    if not callable(getattr(model, "predict", None)) or (isinstance(model, BaseEstimator) and not is_classifier(model)):
        raise TypeError(f"compress replaces a classifier by prototypes, and {name} is none; pass a fitted classifier.")
    if not isinstance(model, BaseEstimator):
        return
    check_is_fitted(model)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if get_tags(last).input_tags.pairwise:
        raise ValueError(f"{name} takes distances or a kernel in place of rows; pass a classifier that takes rows.")
    if isinstance(getattr(last, "classes_", None), list):
        raise ValueError(f"{name} gives several labels to a row; pass a classifier for one of them.")


def paired_loss(given_right: np.ndarray, small_right: np.ndarray) -> tuple[float, float]:
    """The accuracy that the small model loses, and the standard error of this difference between paired rows."""
    lost = given_right.astype(float) - small_right
    # One row that the two sides decide otherwise is one standard error, however the root rounds.
    return float(lost.mean()), float(np.sqrt(lost.var() / max(len(lost) - 1, 1)) + 1e-9)


class _Choice:
    """Chooses among the entries of a race by what each loses to the given model in the same folds."""

    def __init__(self, model: Any, X: Any, y: np.ndarray, max_loss: float | None, *, refit: bool) -> None:
        self.model, self.X, self.y, self.max_loss, self.refit = model, X, y, max_loss, refit

    def __call__(self, entries: list[Entry], problem: Problem, most_numbers: float) -> dict[int, int]:
        rows = entries[0].rows
        if self.max_loss is not None:
            given_right = np.concatenate([self._given_right(fold) for fold in entries[0].folds])
            for j in sorted(range(len(entries)), key=lambda j: entries[j].numbers):
                small_right = entries[j].log_proba.argmax(axis=1) == problem.y[rows]
                # The smallest of many that seem to be good enough is there by luck: the noise counts against it.
                if entries[j].numbers <= most_numbers and sum(paired_loss(given_right, small_right)) <= self.max_loss:
                    return {j: 1}
        return choose(entries, 3, lambda P: problem.loss(P, rows), most_numbers)

    def _given_right(self, fold: Fold) -> np.ndarray:
        """Which rows of a fold the given model has right, after learning from the others."""
        model = self.model
        if self.refit:
            model = _learned(model, rows_of(self.X, fold.train), self.y[fold.train])
        return _predicted(model, rows_of(self.X, fold.test)) == self.y[fold.test]


def _predicted(model: Any, X: Any) -> np.ndarray:
    """The labels that a model gives to rows; CatBoost gives them as a column."""
    return column_or_1d(model.predict(X))


def _parts(labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rows = np.arange(len(labels))
    counts = np.unique(labels, return_counts=True)[1]
    n_held = max(min(int(HELD_OUT * len(labels)), MOST_HELD_OUT), 1)
    stratify = labels if counts.min() >= 2 and n_held >= len(counts) else None
    train, held = train_test_split(rows, test_size=n_held, stratify=stratify, random_state=seed)
    return np.sort(train), np.sort(held)


def _learned(model: Any, X: Any, y: np.ndarray) -> Any:
    """A clone that learned from these rows; the model itself where it cannot be cloned."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clone(model).fit(X, y)
    except (TypeError, AttributeError):
        return model


def _bytes_of(model: Any) -> int:
    """Of prototypes and what prepares their columns 4 bytes a number, of all else what pickle writes; 0 if unknown."""
    if isinstance(model, Pipeline):
        return sum(_bytes_of(step) for _, step in model.steps)
    if hasattr(model, "n_numbers_"):
        return BYTES * model.n_numbers_
    if isinstance(model, Preparation):
        return BYTES * prepared_numbers(Pipeline([("prepare", model)]))
    if isinstance(model, NearestPrototypeMixin):
        return BYTES * classifier_numbers(model)
    return _pickled(model)


def _pickled(model: Any) -> int:
    try:
        return len(pickle.dumps(model))
    except (pickle.PicklingError, TypeError, AttributeError):
        return 0


def _name(model: Any) -> str:
    return type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__


def _difference(sides: tuple[Side, Side], n_rows: int, loss: float, error: float, given_labels: bool) -> str:
    """The two sides in a sentence."""
    given, small = sides
    figures = f"({100 * (small.accuracy - given.accuracy):+.1f} points, standard error {100 * error:.1f})"
    if not given_labels:
        agreement = f"{100 * small.accuracy:.1f} % of {n_rows} held-out rows (standard error {100 * error:.1f})"
        told = f"Agrees with the given model on {agreement}"
    elif abs(loss) <= error:
        told = f"As accurate as the given model within the noise of {n_rows} held-out rows {figures}"
    else:
        more = "LESS" if loss > 0 else "More"
        told = f"{more} accurate than the given model on {n_rows} held-out rows {figures}"
    return told + (f", in {small.n_bytes} bytes where it takes {given.n_bytes}." if given.n_bytes else ".")
