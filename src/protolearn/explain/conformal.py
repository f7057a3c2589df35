"""Sets of classes that hold the right one with a chosen frequency, and how often decisions like one are right.

    threshold = the ceil((n + 1) (1 - alpha))-th smallest score of the n calibration rows for their own classes
    set of x  = { c : score(x, c) <= threshold }

Rows that come from where the calibration rows came from have their own class in the set with a probability of at least
1 - alpha, and at most 1 - alpha + 1 / (n + 1) where no scores are equal, whatever the model. Vovk, Gammerman and Shafer
(2005), Algorithmic learning in a random world; Sadinle, Lei and Wasserman (2019) for one threshold a class; Romano,
Sesia and Candes (2020) for the adaptive score.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from protolearn.core.parameters import check_choice, check_number
from protolearn.estimators.prediction import NearestPrototypeMixin
from protolearn.tables.columns import is_missing

SCORES = ("ratio", "probability", "adaptive")
# Calibration rows that answer how often decisions of a like score are right.
_ALIKE = 100


def check_labels(y: np.ndarray) -> None:
    """Raise where the class of a row is missing."""
    if y.dtype.kind not in "Of":
        return
    missing = np.flatnonzero([is_missing(label) for label in y.ravel()])
    if len(missing):
        raise ValueError(f"y has no class for row {missing[0] + 1}; remove the rows without one.")


class ConformalClassifier:
    """A fitted classifier that answers with a set of classes, which holds the right one in 1 - alpha of all cases.

    A set with one class is a clear decision. A set with several says that the row could be of any of them, and one with
    all classes that the model knows nothing. An empty set says that the row is like no class: a row of the calibration
    set as unlike its own class would be among the alpha that are left out.

    Parameters
    ----------
    model : fitted classifier of protolearn or scikit-learn, or a Pipeline that ends in one
    alpha : float
        The share of rows whose class may be missing from their set.
    score : {"ratio", "probability", "adaptive"}, optional
        How unlike a class a row is. "ratio": the squared distance to the nearest prototype of the class over that to
        the nearest of the other classes; "probability": 1 - the probability of the class; "adaptive": the probability
        of the class and of all more probable ones, less a random part of its own, which makes the sets of unclear rows
        larger and leaves none empty by design. None takes "ratio" for models with prototypes, else "probability".
    by_class : bool
        One threshold for each class: each class, however rare, is in its sets in 1 - alpha of its rows.
    random_state : int, RandomState or None
        For the random part of "adaptive".

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The columns of the sets.
    thresholds_ : array of shape (n_classes,)
        Equal, unless by_class. Infinite where there are too few calibration rows for alpha: the class is in every set.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from protolearn import LOGM
    >>> from protolearn.explain import ConformalClassifier
    >>> X, X_new, y, y_new = train_test_split(*load_breast_cancer(return_X_y=True), test_size=300, random_state=0)
    >>> model = make_pipeline(StandardScaler(), LOGM(random_state=0)).fit(X, y)
    >>> sets = ConformalClassifier(model, alpha=0.02).calibrate(X_new[:200], y_new[:200]).predict_set(X_new[200:])
    >>> sets.shape, bool(sets[range(100), y_new[200:]].mean() > 0.95)
    ((100, 2), True)
    """

    def __init__(
        self,
        model: Any,
        alpha: float = 0.1,
        *,
        score: str | None = None,
        by_class: bool = False,
        random_state: Any = 0,
    ) -> None:
        check_is_fitted(model)
        if not hasattr(model, "classes_"):
            raise ValueError(f"A set of classes needs a classifier; {type(model).__name__} has no classes_.")
        check_number("alpha", alpha, above=0, below=1)
        last = model[-1] if isinstance(model, Pipeline) else model
        prototypes = isinstance(last, NearestPrototypeMixin) and getattr(last, "classify_by", None) != "mixture"
        score = ("ratio" if prototypes else "probability") if score is None else score
        check_choice("score", score, SCORES)
        if score == "ratio" and not prototypes:
            raise ValueError(
                f"score='ratio' needs distances to prototypes, which {type(last).__name__} has not; choose "
                "'probability' or 'adaptive'."
            )
        if score != "ratio" and not hasattr(model, "predict_proba"):
            raise ValueError(
                f"score={score!r} needs predict_proba, which {type(last).__name__} has not; put the model into "
                "CalibratedClassifierCV first."
            )
        self.model, self.alpha, self.score, self.by_class = model, alpha, score, by_class
        self.random_state = random_state
        self.classes_ = np.asarray(model.classes_)

    def calibrate(self, X: Any, y: Any) -> ConformalClassifier:
        """Take the thresholds from rows that the model did not learn.

        Parameters
        ----------
        X : what `model.predict` takes
        y : array-like of shape (n_samples,)
            The true classes.

        Returns
        -------
        self
        """
        y = np.asarray(y)
        check_labels(y)
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = np.flatnonzero(self.classes_[codes] != y)
        if len(unknown):
            raise ValueError(f"y holds class {y[unknown[0]]!s}, which the model has not learned; remove its rows.")
        scores = self._scores(X, check_random_state(self.random_state))
        if y.shape != (len(scores),) or not len(y):
            raise ValueError(f"Give one class for each of at least one row; got {len(scores)} rows and y {y.shape}.")
        own = scores[np.arange(len(y)), codes]
        thresholds = [
            self._threshold(own[codes == code] if self.by_class else own) for code in range(len(self.classes_))
        ]
        self.thresholds_ = np.array(thresholds)
        plain = self._plain(X) if self.score == "adaptive" else scores
        decided = plain.min(axis=1)
        order = np.argsort(decided, kind="stable")
        self._decided_scores, self._right = decided[order], (plain.argmin(axis=1) == codes)[order]
        return self

    def _check_calibrated(self) -> None:
        if not hasattr(self, "thresholds_"):
            raise NotFittedError("This ConformalClassifier has no thresholds yet; call calibrate first.")

    def _threshold(self, own: np.ndarray) -> float:
        place = int(np.ceil((len(own) + 1) * (1.0 - self.alpha)))
        return float(np.sort(own)[place - 1]) if place <= len(own) else np.inf

    def predict_set(self, X: Any) -> np.ndarray:
        """Which classes each row may be of.

        Parameters
        ----------
        X : what `model.predict` takes

        Returns
        -------
        sets : boolean ndarray of shape (n_samples, n_classes)
        """
        self._check_calibrated()
        # Other random numbers than those of the calibration rows: with the same ones n rows of which the model is sure
        # are covered as often as the n calibration rows are, not as often as one row more.
        random = check_random_state(self.random_state)
        return self._scores(X, check_random_state(random.randint(2**31 - 1))) <= self.thresholds_

    def frequency(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """How sure each decision is, as a frequency: of the calibration rows decided as clearly, how many were right.

        Parameters
        ----------
        X : what `model.predict` takes

        Returns
        -------
        right, of : ndarrays of shape (n_samples,)
            "Among `of` rows like this one, `right` were classified rightly": the 100 calibration rows, or a fifth of
            all where they are fewer than 500, whose decisions were nearest in clearness.
        """
        self._check_calibrated()
        n = len(self._right)
        size = max(min(_ALIKE, n // 5), 1)
        at = np.searchsorted(self._decided_scores, self._decided(X))
        first = np.clip(at - size // 2, 0, n - size)
        sums = np.concatenate([[0], np.cumsum(self._right)])
        return sums[first + size] - sums[first], np.full(len(at), size)

    def _decided(self, X: Any) -> np.ndarray:
        """The score of the class that each row is decided for."""
        return self._plain(X).min(axis=1)

    def _plain(self, X: Any) -> np.ndarray:
        """Scores without a random part: the ratio of distances, or 1 - the probability."""
        if self.score != "ratio":
            return 1.0 - np.asarray(self.model.predict_proba(X), dtype=np.float64)
        last, rows = self.model, X
        if isinstance(self.model, Pipeline):
            last = self.model[-1]
            rows = self.model[:-1].transform(X) if len(self.model) > 1 else X
        D = last._class_distances(rows)
        two = np.partition(D, 1, axis=1)[:, :2]
        nearest, second = two[:, :1], two[:, 1:]
        other = np.where(np.arange(D.shape[1]) == D.argmin(axis=1)[:, None], second, nearest)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Two distances of 0 are equal; a class without prototypes is infinitely far.
            ratio = np.where(other == D, 1.0, D / other)
        return np.where(np.isinf(D), np.inf, ratio)

    def _scores(self, X: Any, random: np.random.RandomState) -> np.ndarray:
        """How unlike each class each row is, (n_samples, n_classes)."""
        if self.score != "adaptive":
            return self._plain(X)
        p = np.asarray(self.model.predict_proba(X), dtype=np.float64)
        order = np.argsort(-p, axis=1, kind="stable")
        sums = np.empty_like(p)
        np.put_along_axis(sums, order, np.cumsum(np.take_along_axis(p, order, axis=1), axis=1), axis=1)
        return sums - random.uniform(size=(len(p), 1)) * p
