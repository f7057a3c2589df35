"""Columns of a table as features: categories, missing values, scaling; learned, and undone for explanations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from protolearn.core.pages import HasPage
from protolearn.core.parameters import check_choice, check_count, stores_parameters
from protolearn.tables.columns import column_arrays, holds_numbers, is_frame, numbers, texts
from protolearn.tables.spelling import FORMS

CATEGORIES = ("onehot", "ordinal")
MISSING = ("impute", "refuse")
SCALING = ("minmax", "standard", "none")


@dataclass(frozen=True)
class Origin:
    """Where a feature comes from.

    column : name of the column
    role : "number", "level" (1 where the column has this level), "code" (ordinal) or "missing" (1 where it is empty)
    level : the level, for that role
    """

    column: str
    role: str
    level: str | None = None

    @property
    def name(self) -> str:
        """The name of the feature."""
        return {"level": f"{self.column}={self.level}", "missing": f"{self.column}_missing"}.get(self.role, self.column)


class Preparation(HasPage, TransformerMixin, BaseEstimator):
    """Raw rows as numbers that distances can be taken of.

        z = factor (v - offset),  v a number, the code of a category, or 1 and 0 for a level or a missing value

    A column is one of numbers or one of texts, as the training set has it. Numbers are scaled; the levels of a text
    become one feature each ("onehot") or one number in alphabetical order ("ordinal"). The factor of one-hot features
    is such that two levels are as far apart as the two ends of a scaled number (scaling="minmax": squared distance 4)
    or as two rows typically are ("standard": 2).

    A missing number counts as the median, a missing text has no level (one-hot) or the most frequent one (ordinal);
    where the training set has missing values in a column, a further feature says which. Levels that the training set
    lacks are treated as missing, without saying so in that feature. Columns of a frame are found by their names, in any
    order; more columns than in training do no harm, fewer are an error.

    Parameters
    ----------
    categories : {"onehot", "ordinal"}, default="onehot"
        How texts become numbers.
    missing : {"impute", "refuse"}, default="impute"
        What to do about missing values; "refuse" makes them an error.
    scaling : {"minmax", "standard", "none"}, default="minmax"
        "minmax": training values from -1 to 1; "standard": mean 0, standard deviation 1.
    max_categories : int, default=100
        A text column with more levels is an error: it is an identifier rather than a category.
    spelled : dict of str, default=None
        By name of a column, how its texts spell numbers: "decimal comma" (1.234,5), "date", "date, day first" or
        "date, month first" (the last two say how 03/04/2020 is read). Dates count as days since 1970-01-01.

    Attributes
    ----------
    is_number_ : array of shape (n_columns,)
        Whether each column is one of numbers.
    levels_ : list of lists
        The levels of each column, in alphabetical order; empty for numbers.
    fill_ : array of shape (n_columns,)
        What stands for a missing value before scaling: the median, or the code of the most frequent level.
    had_missing_ : array of shape (n_columns,)
        Whether the training set has missing values there.
    data_min_, data_max_ : arrays of shape (n_columns,)
        The smallest and the largest number of each column; NaN for texts.
    is_whole_ : array of shape (n_columns,)
        Whether each column holds whole numbers only.
    offset_, factor_ : arrays of shape (n_features_out,)
        z = factor (v - offset).
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> import numpy as np
    >>> from protolearn.tables import Preparation
    >>> rows = np.array([[1.0, "red"], [3.0, "blue"], [None, "red"]], dtype=object)
    >>> Preparation(scaling="none").fit_transform(rows)
    array([[0., 1., 0., 1.],
           [0., 3., 1., 0.],
           [1., 2., 0., 1.]])
    """

    @stores_parameters
    def __init__(
        self,
        categories: str = "onehot",
        missing: str = "impute",
        scaling: str = "minmax",
        max_categories: int = 100,
        spelled: dict[str, str] | None = None,
    ) -> None: ...

    def fit(self, X: Any, y: Any = None) -> Preparation:
        """Learn levels, medians and scales.

        Parameters
        ----------
        X : data frame of pandas or polars, or array-like, of shape (n_samples, n_columns)
        y : ignored

        Returns
        -------
        self
        """
        check_choice("categories", self.categories, CATEGORIES)
        check_choice("missing", self.missing, MISSING)
        check_choice("scaling", self.scaling, SCALING)
        check_count("max_categories", self.max_categories)
        columns = self._checked_columns(X, reset=True)
        names = self.column_names()
        for form in (self.spelled or {}).values():
            check_choice("spelled", form, FORMS)
        self.is_number_ = np.array(
            [bool(self._form(name)) or holds_numbers(column, name) for column, name in zip(columns, names, strict=True)]
        )
        self.levels_: list[list[str]] = []
        self.fill_ = np.zeros(len(columns))
        self.had_missing_ = np.zeros(len(columns), dtype=bool)
        self.data_min_, self.data_max_ = np.full((2, len(columns)), np.nan)
        self.is_whole_ = np.zeros(len(columns), dtype=bool)
        for j, (column, name) in enumerate(zip(columns, names, strict=True)):
            empty = self._learn_number(j, column, name) if self.is_number_[j] else self._learn_text(j, column, name)
            self._refuse_missing(empty, name)
            self.had_missing_[j] = empty.any()
        self.offset_ = np.zeros(len(self.origins()))
        self.factor_ = np.ones(len(self.origins()))
        self._learn_scale(self._encoded(columns))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Rows as features.

        Parameters
        ----------
        X : as in `fit`; columns of a frame are found by name

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        columns = self._checked_columns(X, reset=False)
        return self.factor_ * (self._encoded(columns) - self.offset_)

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """Features as raw rows: numbers as they were, for texts the level of the largest feature or the nearest code.

        Features that say what was missing are left out: what stood for the missing value is returned.

        Parameters
        ----------
        Z : array of shape (n_samples, n_features_out), such as prototypes

        Returns
        -------
        X : ndarray of objects, of shape (n_samples, n_columns)
        """
        check_is_fitted(self)
        V = np.asarray(Z, dtype=np.float64) / self.factor_ + self.offset_
        result = np.empty((len(V), self.n_features_in_), dtype=object)
        for j, features in enumerate(self._features_of_columns()):
            levels = self.levels_[j]
            if not levels:
                result[:, j] = V[:, features[0]] if self.is_number_[j] else None
            elif self.categories == "onehot":
                result[:, j] = [levels[code] for code in V[:, features].argmax(axis=1)]
            else:
                codes = np.clip(np.rint(V[:, features[0]]), 0, len(levels) - 1).astype(int)
                result[:, j] = [levels[code] for code in codes]
        return result

    def origins(self) -> list[Origin]:
        """Where each feature comes from, in the order of the features."""
        found = []
        for j, name in enumerate(self.column_names()):
            if self.had_missing_[j]:
                found.append(Origin(name, "missing"))
            if self.is_number_[j]:
                found.append(Origin(name, "number"))
            elif self.categories == "onehot":
                found += [Origin(name, "level", level) for level in self.levels_[j]]
            else:
                found.append(Origin(name, "code"))
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: the column's, with "=level" or "_missing" behind it.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns, for a fit without names.

        Returns
        -------
        names : ndarray of objects
        """
        check_is_fitted(self)
        return np.array([origin.name for origin in self._renamed(input_features)], dtype=object)

    def set_level(self, z: np.ndarray, column: int, level: str) -> None:
        """Give a row of features another level of a category, in place.

        Parameters
        ----------
        z : array of shape (n_features_out,)
        column : index of the column
        level : one of its levels
        """
        name = self.column_names()[column]
        code = self.levels_[column].index(level)
        for j, origin in enumerate(self.origins()):
            if origin.column == name:
                value = {"missing": 0.0, "code": float(code), "level": float(origin.level == level)}[origin.role]
                z[j] = self.factor_[j] * (value - self.offset_[j])

    def unknown_levels(self, X: Any) -> dict[str, list[str]]:
        """Levels in X that the training set lacks, by column.

        Parameters
        ----------
        X : as in `transform`

        Returns
        -------
        levels : dict of lists; empty where all are known
        """
        check_is_fitted(self)
        found = {}
        for j, (column, name) in enumerate(
            zip(self._checked_columns(X, reset=False), self.column_names(), strict=True)
        ):
            if not self.is_number_[j]:
                unknown = sorted({text for text in texts(column) if text is not None} - set(self.levels_[j]))
                if unknown:
                    found[name] = unknown
        return found

    def _renamed(self, input_features: Any) -> list[Origin]:
        if input_features is None:
            return self.origins()
        names = np.asarray(input_features, dtype=object)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), got "
                f"{len(names)}"
            )
        known = getattr(self, "feature_names_in_", None)
        if known is not None and not np.array_equal(known, names):
            raise ValueError("input_features is not equal to feature_names_in_")
        new = dict(zip(self.column_names(), names, strict=True))
        return [Origin(new[origin.column], origin.role, origin.level) for origin in self.origins()]

    def column_names(self) -> list[str]:
        """Names of the columns; x0, x1, ... where the training set had none."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

    def _form(self, name: str) -> str:
        return (self.spelled or {}).get(name, "")

    def _checked_columns(self, X: Any, *, reset: bool) -> list[np.ndarray]:
        names = getattr(self, "feature_names_in_", None)
        if not reset and names is not None and is_frame(X):
            lacking = [name for name in names if name not in X.columns]
            if lacking:
                listed = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
                raise ValueError(
                    f"The table lacks {'column' if len(lacking) == 1 else 'columns'} {listed} of the training set."
                )
            X = X[list(names)]
        columns = column_arrays(X)
        if not columns:
            raise ValueError(f"Found array with 0 feature(s) (shape=({len(X)}, 0)) while a minimum of 1 is required.")
        if not len(columns[0]):
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {len(columns)})) while a minimum of 1 is required."
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        return columns

    def _refuse_missing(self, empty: np.ndarray, name: str) -> None:
        if self.missing == "refuse" and empty.any():
            raise ValueError(
                f"Column {name} has no value (NaN or empty) in {empty.sum()} rows, row {int(empty.argmax())} among "
                'them (the first is 0); fill them in, or impute them (missing="impute", --missing impute).'
            )

    def _learn_number(self, j: int, column: np.ndarray, name: str) -> np.ndarray:
        values = numbers(column, name, self._form(name))
        empty = np.isnan(values)
        self.levels_.append([])
        if not empty.all():
            present = values[~empty]
            self.fill_[j] = np.median(present)
            self.data_min_[j], self.data_max_[j] = present.min(), present.max()
            self.is_whole_[j] = (present == np.floor(present)).all()
        return empty

    def _learn_text(self, j: int, column: np.ndarray, name: str) -> np.ndarray:
        values = texts(column)
        counts = Counter(text for text in values if text is not None)
        if len(counts) > self.max_categories:
            raise ValueError(
                f"Column {name} has {len(counts)} different texts, more than max_categories={self.max_categories}; "
                "leave it out (--drop), turn it into numbers, or, in Python, raise max_categories."
            )
        levels = sorted(counts)
        self.levels_.append(levels)
        if levels:
            self.fill_[j] = levels.index(max(levels, key=counts.__getitem__))
        return np.array([text is None for text in values])

    def _encoded(self, columns: list[np.ndarray]) -> np.ndarray:
        """v of the formula."""
        V = np.zeros((len(columns[0]), len(self.origins())))
        at = 0
        for j, (column, name) in enumerate(zip(columns, self.column_names(), strict=True)):
            if self.is_number_[j]:
                values = numbers(column, name, self._form(name))
                empty = np.isnan(values)
            else:
                index = {level: code for code, level in enumerate(self.levels_[j])}
                found = texts(column)
                empty = np.array([text is None for text in found])
                values = np.array([np.nan if text is None else index.get(text, np.nan) for text in found], dtype=float)
            self._refuse_missing(empty, name)
            if self.had_missing_[j]:
                V[:, at] = empty
                at += 1
            known = ~np.isnan(values)
            if self.is_number_[j] or self.categories == "ordinal":
                V[:, at] = np.where(known, values, self.fill_[j])
                at += 1
            else:
                rows = np.flatnonzero(known)
                V[rows, at + values[rows].astype(int)] = 1.0
                at += len(self.levels_[j])
        return V

    def _learn_scale(self, V: np.ndarray) -> None:
        if self.scaling == "none":
            return
        hot = np.array([origin.role == "level" for origin in self.origins()], dtype=bool)
        # Half at a time, so that the range of the largest numbers does not overflow.
        if self.scaling == "minmax":
            low, high = V.min(axis=0), V.max(axis=0)
            offset, spread = low / 2 + high / 2, high / 2 - low / 2
        else:
            # In units of a power of two, so that no square overflows or vanishes, and no digit changes.
            unit = np.ldexp(1.0, np.frexp(np.abs(V).max(axis=0))[1] - 1)
            offset, spread = unit * (V / unit).mean(axis=0), unit * (V / unit).std(axis=0)
        usable = np.isfinite(spread) & (spread > 0) & np.isfinite(1.0 / np.where(spread > 0, spread, 1.0))
        self.offset_ = np.where(hot, 0.0, offset)
        # Two rows of different levels differ in two features: the squared factor is half the squared distance wanted.
        self.factor_ = np.where(
            hot, np.sqrt(2.0) if self.scaling == "minmax" else 1.0, 1.0 / np.where(usable, spread, 1.0)
        )

    def _features_of_columns(self) -> list[list[int]]:
        """The features that hold each column, without those that say what was missing."""
        found: list[list[int]] = [[] for _ in range(self.n_features_in_)]
        place = {name: j for j, name in enumerate(self.column_names())}
        for feature, origin in enumerate(self.origins()):
            if origin.role != "missing":
                found[place[origin.column]].append(feature)
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "impute"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
