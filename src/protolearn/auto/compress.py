"""A given model, whatever it is, replaced by a few prototypes: the smallest within a loss, or the best within bytes."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from protolearn.auto.automatic import AutoPrototypes
from protolearn.auto.choice import choose
from protolearn.auto.race import Entry, Problem
from protolearn.auto.timing import microseconds_a_row
from protolearn.core.parameters import check_count, check_number, check_random
from protolearn.data.containers import rows_of

# Points of accuracy that a small model may lose where the user says neither bytes nor points.
DEFAULT_LOSS = 0.01
# Rows that are held out, as a share and at most.
HELD_OUT, MOST_HELD_OUT = 0.25, 20_000


@dataclass(frozen=True)
class Side:
    """One of the two models on the held-out rows.

    accuracy : share of the held-out rows that are right, after learning from the others alone
    n_bytes : of the given model as pickle writes it, of the small one by its numbers
    microseconds : a row, where many are predicted at once by one thread
    """

    name: str
    accuracy: float
    n_bytes: int
    microseconds: float


@dataclass(frozen=True)
class Compression:
    """The given model and the small one, side by side.

    within : whether the small model keeps what was asked
    verdict : one sentence
    """

    given: Side
    small: Side
    within: bool
    verdict: str

    def __str__(self) -> str:
        lines = [f"{'':32}{'accuracy':>9}{'bytes':>12}{'us a row':>10}"]
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
    learn in the same cross-validation, which chooses: the smallest set whose accuracy is at most `max_loss` below the
    given model's, or the best model within `max_bytes`. Both are then measured on the held-out rows, and the chosen one
    learns from all rows.

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
    steps: list[tuple[str, Any]] = []
    if X is None:
        steps, model, X, y = rows_of_neighbours(model)
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed for X, but compress takes dense tables; reduce X by TruncatedSVD first."
        )
    given_labels = y is not None
    labels = np.asarray(y if given_labels else model.predict(X))
    seed = int(check_random(random_state).randint(2**31 - 1))
    train, held = _parts(labels, seed)
    X_train, y_train, X_held, y_held = rows_of(X, train), labels[train], rows_of(X, held), labels[held]
    given = _learned(model, X_train, y_train) if given_labels else model
    given_accuracy = float(np.mean(given.predict(X_held) == y_held))

    judge = _Choice(model, X_train, y_train, max_loss, seed, refit=given_labels)
    small = AutoPrototypes(max_bytes=max_bytes, random_state=seed)._fit(X_train, y_train, choice=judge)
    small_accuracy = float(np.mean(small.predict(X_held) == y_held))
    times = microseconds_a_row([given, small], X_held)
    sides = (
        Side(f"given: {_name(model)}", given_accuracy, _pickled(model), times[0]),
        Side(f"small: {small.n_numbers_} numbers", small_accuracy, small.size_bytes_, times[1]),
    )
    kept = small
    small = AutoPrototypes(max_bytes=max_bytes, random_state=seed)._refit(kept, X, labels)
    if max_bytes is not None and small.size_bytes_ > max_bytes:
        small = kept
    small.compression_ = Compression(*sides, judge.within, _verdict(sides, len(held), judge, given_labels))
    if verbose:
        print(small.compression_)
    if not judge.within:
        warnings.warn(small.compression_.verdict, stacklevel=2)
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
    return steps, last, rows, last.classes_[codes]


class _Choice:
    """Chooses among the entries of a race by the given model's accuracy in the same cross-validation."""

    def __init__(self, model: Any, X: Any, y: np.ndarray, max_loss: float | None, seed: int, *, refit: bool) -> None:
        self.model, self.X, self.y, self.max_loss, self.seed, self.refit = model, X, y, max_loss, seed, refit
        self.within = True
        self.wanted: float | None = None

    def __call__(self, entries: list[Entry], problem: Problem, most_numbers: float) -> dict[int, int]:
        if self.max_loss is None:
            return choose(entries, 3, lambda P: problem.loss(P, entries[0].rows), most_numbers)
        rows = entries[0].rows
        own = problem.y[rows]
        right = self._given_right(rows)
        self.wanted = float(right.mean()) - self.max_loss
        accuracy = [float((entry.log_proba.argmax(axis=1) == own).mean()) for entry in entries]
        enough = [j for j, one in enumerate(entries) if accuracy[j] >= self.wanted and one.numbers <= most_numbers]
        if enough:
            return {min(enough, key=lambda j: entries[j].numbers): 1}
        several = choose(entries, 3, lambda P: problem.loss(P, rows), most_numbers)
        mean = sum(share * np.exp(entries[j].log_proba) for j, share in several.items())
        self.within = bool((mean.argmax(axis=1) == own).mean() >= self.wanted)
        return several

    def _given_right(self, rows: np.ndarray) -> np.ndarray:
        """Which rows the given model has right, each time after learning from the other folds."""
        part, y = rows_of(self.X, rows), self.y[rows]
        if not self.refit:
            return self.model.predict(part) == y
        try:
            cv = StratifiedKFold(3, shuffle=True, random_state=self.seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return cross_val_predict(clone(self.model), part, y, cv=cv) == y
        except (TypeError, AttributeError):
            return self.model.predict(part) == y


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


def _pickled(model: Any) -> int:
    try:
        return len(pickle.dumps(model))
    except (pickle.PicklingError, TypeError, AttributeError):
        return 0


def _name(model: Any) -> str:
    return type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__


def _verdict(sides: tuple[Side, Side], n_rows: int, judge: _Choice, given_labels: bool) -> str:
    given, small = sides
    points = 100 * (small.accuracy - given.accuracy)
    error = 100 * np.sqrt(max(given.accuracy * (1 - given.accuracy), 1 / n_rows) / n_rows)
    figures = f"({points:+.1f} points, standard error {error:.1f})"
    if not given_labels:
        told = f"Agrees with the given model on {100 * small.accuracy:.1f} % of {n_rows} held-out rows"
    elif abs(points) <= error:
        told = f"As accurate as the given model within the noise of {n_rows} held-out rows {figures}"
    else:
        more = "More" if points > 0 else "LESS"
        told = f"{more} accurate than the given model on {n_rows} held-out rows {figures}"
    size = f", in {small.n_bytes} bytes where it takes {given.n_bytes}." if given.n_bytes else "."
    if judge.within:
        return told + size
    return (
        f"No prototype model within {100 * (judge.max_loss or 0):g} points of the given model was found; the best is "
        f"kept. {told}{size}"
    )
