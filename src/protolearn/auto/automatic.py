"""AutoPrototypes: a small prototype model of any table, with nothing to choose."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from protolearn.auto.candidates import BY_NAME, CANDIDATES, preparation_steps
from protolearn.auto.choice import KnownPredictions, choose
from protolearn.auto.race import Budget, Entry, Problem, numbers_of, refitted, set_log_proba
from protolearn.auto.rows import row_classifier_of_sets
from protolearn.auto.search import BYTES, Reporter, Search, row_of
from protolearn.core.pages import HasPage
from protolearn.core.parameters import check_choice, check_count, check_number, check_random, stores_parameters
from protolearn.data.containers import rows_of
from protolearn.export.pipeline import row_classifier
from protolearn.losses.temperature import tempered

# Scores of scikit-learn that judge numbers, beside those with "error" or "deviance" in their names.
_OF_NUMBERS = ("r2", "explained_variance")


class AutoPrototypes(HasPage, ClassifierMixin, BaseEstimator):
    """A small prototype model of any table, with nothing to choose: held-out rows choose.

    Fourteen candidates race: soft prototypes under local and shared metrics with a ridge to their start, LGMLVQ, LOGM
    and RSLVQ, on columns as they are, in piecewise-linear bins and as normal scores. All of them start with one
    prototype a class on one fold, the best nine see all folds, the best four grow while the loss falls. The model is
    the mean of the probabilities of up to three sets, each at its own temperature, chosen greedily by the log loss of
    held-out rows with a small price on size. With members=1 the model is one set in the units of the columns, which
    decides by the nearest prototype: for decisions that must be read, explained or exported.

    Above 10,000 rows the race runs on a part of the rows; the best two candidates and GMLVQ then grow on all of them,
    up to thousands of prototypes, while the loss of held-out rows falls.

    Parameters
    ----------
    max_bytes : int, optional
        What the model may store, 4 bytes a number; None leaves it to the loss.
    time_limit : float, optional
        Seconds after which no further fit begins: the model is the best so far. None runs the whole race.
    members : int, default=3
        Prototype sets at most, whose probabilities are averaged.
    scoring : str or callable, optional
        What the choice maximises, as in scikit-learn ("accuracy", "balanced_accuracy", "roc_auc_ovr", ...); None takes
        the log loss.
    cv : int, default=3
        Stratified folds of the race; 5 gain a tenth of a point and take 1.7 times as long.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, in learning and in the log loss that chooses.
    n_jobs : int, optional
        Threads of the race.
    random_state : int, RandomState or None, default=None
        Of the folds and of k-means.
    verbose : int, default=0
        1 prints a line for each candidate as it is judged: by the first fold, and those that go on by all of them.
    callback : callable, optional
        Called with the row of `results_` of each candidate as it is judged; "folds" in the row says by how many folds.
        A true answer ends the race with the best so far.

    Attributes
    ----------
    estimators_ : list of Pipeline
        The fitted sets, the one with the largest share first.
    shares_ : array
        The share of each set in the mean of probabilities.
    temperatures_ : array
        The temperature of each set's probabilities; 1 with members=1, where the set itself gives calibrated ones.
    best_estimator_ : Pipeline
        The set with the largest share; with members=1 the whole model, with the same probabilities.
    prototypes_, prototype_labels_ : arrays of shape (n_prototypes, n_columns) and (n_prototypes,)
        The prototypes of that set as rows of the table, in raw units, and their classes.
    nearest_decides_ : bool
        Whether the model is one set that decides by its nearest prototype, as int8 and int16 exports need it.
    cv_results_ : dict of lists
        One entry for each candidate that was judged: candidate, preparation, prototypes (of each class), loss, spread
        (standard error), accuracy, numbers, bytes, seconds, folds, share.
    results_ : pandas.DataFrame
        The same as a data frame, best first; needs pandas.
    n_numbers_ : int
        Numbers that the model stores, with what its preparation keeps.
    size_bytes_ : int
        Four times as many.
    stopped_by_ : str or None
        What ended the race early: "time_limit", "Ctrl-C" or "callback".
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from protolearn import AutoPrototypes
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AutoPrototypes(members=1, max_bytes=1000, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97, model.size_bytes_ <= 1000
    (True, True)
    """

    @stores_parameters
    def __init__(
        self,
        max_bytes: int | None = None,
        time_limit: float | None = None,
        members: int = 3,
        scoring: Any = None,
        cv: int = 3,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None: ...

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AutoPrototypes:
        """Choose and learn a model.

        Ctrl-C ends the race; the model is then the best so far, and a warning says so.

        Parameters
        ----------
        X : data frame of pandas or polars, or array-like, of shape (n_samples, n_columns)
            Numbers, texts and missing values, as a table has them.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in learning and in what chooses; the preparation of the columns counts each row once.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        choice: Callable[[list[Entry], Problem, float], dict[int, int]] | None = None,
    ) -> AutoPrototypes:
        """Fit with another rule of choice: (judged entries, problem, most numbers) -> how often each counts."""
        self._check_parameters()
        began = time.monotonic()
        problem = self._problem(X, y, sample_weight)
        deadline = None if self.time_limit is None else began + self.time_limit
        problem.budget = Budget(deadline, self._most_numbers(problem))
        search = Search(
            problem,
            # One set that must be read is in the units of the columns.
            [one for one in CANDIDATES if self.members > 1 or one.preparation == "standard"],
            cv=self.cv,
            n_jobs=self.n_jobs,
            tell=Reporter(self.verbose, self.callback, problem),
        )
        entries = search.run()
        most = np.inf if self.max_bytes is None else self.max_bytes / BYTES
        if choice is None:
            chosen = choose(entries, self.members, lambda P: problem.loss(P, entries[0].rows), most)
        else:
            chosen = choice(entries, problem, most)
        self._keep(problem, entries, chosen, refit=not search.large)
        self.stopped_by_ = problem.budget.ended or None
        if problem.budget.ended in ("time_limit", "Ctrl-C"):
            message = (
                f"{problem.budget.ended} ended the race after {len(entries)} candidates; the best of them is kept."
            )
            warnings.warn(message, stacklevel=2)
        return self

    def _check_parameters(self) -> None:
        check_count("max_bytes", self.max_bytes, optional=True)
        check_number("time_limit", self.time_limit, above=0, optional=True)
        check_count("members", self.members)
        check_count("cv", self.cv, at_least=2)
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("balanced",))
        elif self.class_weight is not None and not isinstance(self.class_weight, dict):
            raise ValueError(f"class_weight must be None, 'balanced' or a dict by class; got {self.class_weight!r}.")
        if self.scoring is not None and not callable(self.scoring):
            get_scorer(self.scoring)
            if self.scoring in _OF_NUMBERS or "error" in self.scoring or "deviance" in self.scoring:
                raise ValueError(
                    f"scoring={self.scoring!r} judges numbers, and AutoPrototypes predicts classes; choose "
                    "'accuracy', 'balanced_accuracy' or another of scikit-learn's scores of classes."
                )

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        """The table, checked once as a whole."""
        if sparse.issparse(X):
            raise TypeError(
                "Sparse data was passed for X, but AutoPrototypes takes dense tables. Reduce X to some hundred columns "
                "first, for example by TruncatedSVD, or choose LOGM or GMLVQ, which take sparse rows."
            )
        if y is None:
            raise ValueError("AutoPrototypes requires y to be passed, but the target y is None.")
        checked = preparation_steps("standard")[0][1].fit(X)
        self.n_features_in_ = checked.n_features_in_
        if hasattr(checked, "feature_names_in_"):
            self.feature_names_in_ = checked.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        X = X if hasattr(X, "columns") else np.asarray(X)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(codes) != len(X):
            raise ValueError(f"X has {len(X)} rows and y has {len(codes)}; give each row a class.")
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class only, {self.classes_[0]!s}; a classifier needs rows of at least two.")
        weight = None
        if sample_weight is not None:
            weight = np.asarray(sample_weight, dtype=float)
            if weight.ndim and weight.shape != codes.shape:
                raise ValueError(
                    f"X has {len(codes)} rows and sample_weight is of shape {weight.shape}; give each row one weight."
                )
            weight = np.broadcast_to(weight, codes.shape).copy()
            if not np.isfinite(weight).all() or (weight < 0).any():
                raise ValueError("sample_weight must hold finite numbers of at least 0; remove or mend the others.")
            kept = np.flatnonzero(weight > 0)
            X, codes, weight = rows_of(X, kept), codes[kept], weight[kept]
            if len(np.unique(codes)) < 2:
                raise ValueError("Rows of at least two classes must have a sample_weight above zero.")
        if isinstance(self.class_weight, dict):
            known = self.classes_.tolist()
            unknown = [label for label in self.class_weight if label not in known]
            if unknown:
                held = ", ".join(map(repr, known[:6])) + (", ..." if len(known) > 6 else "")
                raise ValueError(f"class_weight names class {unknown[0]!r}, and y holds {held}; name these.")
        by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])
        if not (np.isfinite(by_class) & (by_class > 0)).all():
            raise ValueError("class_weight must be above zero for every class; leave out the rows of a class instead.")
        judged = by_class[codes] * (1.0 if weight is None else weight)
        return Problem(
            X,
            codes,
            weight,
            len(self.classes_),
            class_weight=None if self.class_weight is None else dict(enumerate(by_class)),
            judged_weight=None if self.class_weight is None and weight is None else judged,
            judge=self._judge(codes),
            nearest=self.members == 1,
            seed=int(check_random(self.random_state).randint(2**31 - 1)),
        )

    def _judge(self, codes: np.ndarray) -> Callable[[np.ndarray, np.ndarray], float] | None:
        if self.scoring is None:
            return None
        scorer = self.scoring if callable(self.scoring) else get_scorer(self.scoring)
        classes = self.classes_

        def judge(log_proba: np.ndarray, rows: np.ndarray) -> float:
            known = KnownPredictions(softmax(log_proba, axis=1), classes)
            return -float(scorer(known, np.arange(len(rows))[:, None], classes[codes[rows]]))

        # What cannot judge these classes is said before anything learns: here by all rows, each of them right.
        right = np.where(codes[:, None] == np.arange(len(classes)), 1.0, 0.0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value, reason = judge(right, np.arange(len(codes))), "it gives no finite number"
        except Exception as error:
            value, reason = np.nan, str(error)
        if not np.isfinite(value):
            others = [name for name in get_scorer_names() if name.startswith(f"{self.scoring}_")]
            choose_another = f" Choose {' or '.join(others)}." if others else ""
            raise ValueError(
                f"scoring={self.scoring!r} cannot judge these {len(classes)} classes: {reason}{choose_another}"
            )
        return judge

    def _most_numbers(self, problem: Problem) -> float:
        if self.max_bytes is not None:
            return self.max_bytes / BYTES
        # As many as a quarter of the training set; of small tables more, and of many classes more.
        return max(len(problem.y) * self.n_features_in_ / 4, 6000, 900 * problem.n_classes)

    def _keep(self, problem: Problem, entries: list[Entry], chosen: dict[int, int], *, refit: bool) -> None:
        """Fit the chosen sets on all rows, and store everything that the user may look at."""
        total = sum(chosen.values())
        order = sorted(chosen, key=lambda j: (-chosen[j], entries[j].loss))
        self._chosen = [(entries[j].candidate.name, entries[j].count, entries[j].temperature) for j in order]
        fitted = [entries[j].fitted for j in order]
        if refit and not problem.budget.over:
            fitted = self._refitted([entries[j] for j in order], problem) or fitted
        self.estimators_ = [with_labels(one, self.classes_) for one in fitted]
        self.shares_ = np.array([chosen[j] / total for j in order])
        self.temperatures_ = np.array([entries[j].temperature for j in order])
        # With one prototype a class the sum over the prototypes of a class is the nearest.
        self._soft = [entries[j].candidate.soft and not problem.nearest and entries[j].count > 1 for j in order]
        self._calibrate()
        rows = [row_of(entry, problem) | {"share": chosen.get(j, 0) / total} for j, entry in enumerate(entries)]
        rows.sort(key=lambda row: (-row["folds"], row["loss"]))
        self.cv_results_ = {name: [row[name] for row in rows] for name in rows[0]}

    def _refitted(self, entries: list[Entry], problem: Problem) -> list[Pipeline] | None:
        """The sets learned from all rows; None where that was ended early, or takes more than max_bytes."""
        try:
            found = [refitted(entry.candidate, entry.count, problem) for entry in entries]
        except KeyboardInterrupt:
            problem.budget.ended = "Ctrl-C"
        if problem.budget.over:
            return None
        # All rows may give rare classes and bins more numbers than the folds gave them.
        within = self.max_bytes is None or BYTES * sum(map(numbers_of, found)) <= self.max_bytes
        return found if within else None

    def _refit(self, other: AutoPrototypes, X: Any, y: Any) -> AutoPrototypes:
        """Take what another fit chose, and learn the same sets from other rows."""
        problem = self._problem(X, y, None)
        problem.budget = Budget(None, np.inf)
        for name in ("shares_", "_soft", "_chosen", "cv_results_"):
            setattr(self, name, getattr(other, name))
        self.temperatures_ = np.array([temperature for *_, temperature in self._chosen])
        self.estimators_ = [
            with_labels(refitted(BY_NAME[name], count, problem), self.classes_) for name, count, _ in self._chosen
        ]
        self._calibrate()
        return self

    def _calibrate(self) -> None:
        """Give a model of one set its temperature inside the set, so that exports and explanations have it too."""
        if self.nearest_decides_:
            self.estimators_[0][-1]._sharpen(float(self.temperatures_[0]))
            self.temperatures_ = np.ones(1)

    @property
    def best_estimator_(self) -> Pipeline:
        """The set with the largest share."""
        return self.estimators_[0]

    @property
    def prototypes_(self) -> np.ndarray:
        """The prototypes of the set with the largest share, as rows of the table."""
        rows = self.best_estimator_[-1].prototypes_
        for _, step in reversed(self.best_estimator_.steps[:-1]):
            rows = step.inverse_transform(rows)
        return rows.astype(np.float64) if self.best_estimator_[0].is_number_.all() else rows

    @property
    def prototype_labels_(self) -> np.ndarray:
        """The classes of these prototypes."""
        return self.best_estimator_[-1].prototype_labels_

    @property
    def nearest_decides_(self) -> bool:
        """Whether the nearest prototype of one set decides."""
        return len(self.estimators_) == 1 and not self._soft[0]

    @property
    def n_numbers_(self) -> int:
        """Numbers that the model stores."""
        return sum(numbers_of(pipeline) for pipeline in self.estimators_)

    @property
    def size_bytes_(self) -> int:
        """Bytes that the model stores."""
        return BYTES * self.n_numbers_

    @property
    def results_(self) -> Any:
        """`cv_results_` as a data frame of pandas."""
        check_is_fitted(self)
        try:
            import pandas
        except ImportError as error:
            raise ImportError("results_ is a data frame of pandas; install pandas, or read cv_results_.") from error
        return pandas.DataFrame(self.cv_results_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class: the mean over the sets, each at its temperature.

        Parameters
        ----------
        X : as in `fit`; columns of a frame are found by name

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._mean_proba(lambda pipeline: pipeline[:-1].transform(X))

    def _mean_proba(self, features: Callable[[Pipeline], np.ndarray]) -> np.ndarray:
        """The mean over the sets, of rows as each classifier gets them."""
        if self.nearest_decides_:
            pipeline = self.estimators_[0]
            known = np.searchsorted(self.classes_, pipeline[-1].classes_)
            probabilities = pipeline[-1].predict_proba(features(pipeline))
            found = np.zeros((len(probabilities), len(self.classes_)))
            found[:, known] = probabilities
            return found
        total = np.zeros((1, len(self.classes_)))
        for pipeline, share, t, soft in zip(
            self.estimators_, self.shares_, self.temperatures_, self._soft, strict=True
        ):
            log_proba = set_log_proba(pipeline[-1], features(pipeline), self.classes_, soft)
            total = total + share * np.exp(tempered(log_proba, t))
        return total / total.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """Class of the largest probability; with one set, that of the nearest prototype.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if self.nearest_decides_:
            return self.estimators_[0].predict(X)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def row_classifier(self) -> Callable[[Any], Any]:
        """A function of one raw row that returns its class, for services that are asked row by row.

        `predict` spends most of the time for one row on the checks of a table. What is learned later does not change
        the function.

        Returns
        -------
        classify : callable taking the values of a row in the order of the training columns, or a dict by
            their names, and returning a label
        """
        check_is_fitted(self)
        if self.nearest_decides_:
            return row_classifier(self.estimators_[0])
        return row_classifier_of_sets(self.estimators_, self.shares_, self.temperatures_, self._soft, self.classes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def with_labels(pipeline: Pipeline, classes: np.ndarray) -> Pipeline:
    """A pipeline that was fitted on class codes, with the labels of the user in their place."""
    classifier = pipeline[-1]
    classifier.prototype_labels_ = classes[np.asarray(classifier.prototype_labels_, dtype=np.int64)]
    classifier.classes_ = classes[np.asarray(classifier.classes_, dtype=np.int64)]
    if isinstance(classifier.class_weight, dict):
        # The weights stand by the codes that the classifier was fitted on.
        classifier.set_params(class_weight={classes[code]: w for code, w in classifier.class_weight.items()})
    return pipeline
