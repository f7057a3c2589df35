"""Columns of numbers in another form: piecewise-linear bins, and quantiles as scores of a normal distribution.

Both are for columns that a straight scale does not suit: skewed ones, and ones whose effect bends. `AutoPrototypes`
tries both beside the plain scale.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from protolearn.core.pages import HasPage
from protolearn.core.parameters import check_count, stores_parameters

# Scores beyond three standard deviations are those of a few rows.
_LARGEST_SCORE = 3.0


class PiecewiseLinearBins(HasPage, TransformerMixin, BaseEstimator):
    """Each column as several: how far a value has gone through each of its quantile bins.

        z_jb = (clip((x_j - e_b) / (e_{b+1} - e_b), 0, 1) - mean_jb) / scale_j        e the quantiles of column j

    A distance in z bends with the column: a learned weight for each bin is a piecewise-linear scale. The bins of one
    column have a total variance of 1, so that a column counts as much as a standardised one. A column of two values has
    one bin, a constant column one bin of zeros. Gorishniy, Rubachev and Babenko (2022).

    Parameters
    ----------
    n_bins : int, default=6
        Bins of each column; fewer where quantiles coincide.

    Attributes
    ----------
    edges_ : list of arrays
        The ends of the bins of each column.
    mean_ : array of shape (n_features_out,)
    scale_ : array of shape (n_features_out,)
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> import numpy as np
    >>> from protolearn.tables import PiecewiseLinearBins
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0]])
    >>> PiecewiseLinearBins(n_bins=3).fit(X).edges_
    [array([ 0.,  1.,  2., 10.])]
    """

    @stores_parameters
    def __init__(self, n_bins: int = 6) -> None: ...

    def fit(self, X: Any, y: Any = None) -> PiecewiseLinearBins:
        """Learn the bins.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        check_count("n_bins", self.n_bins)
        X = validate_data(self, X, dtype=np.float64)
        self.edges_ = []
        for column in X.T:
            values = np.unique(column)
            ends = values if len(values) <= 2 else np.unique(np.quantile(column, np.linspace(0, 1, self.n_bins + 1)))
            self.edges_.append(ends)
        Z = self._binned(X)
        self.mean_, self.scale_ = Z.mean(axis=0), np.ones(Z.shape[1])
        for bins in self.bins_of_columns():
            variance = Z[:, bins].var(axis=0).sum()
            self.scale_[bins] = np.sqrt(variance) if variance > 0 else 1.0
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Rows as bins.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (self._binned(X) - self.mean_) / self.scale_

    def row_function(self) -> Callable[[np.ndarray], np.ndarray]:
        """A function of one row that gives what `transform` gives, without checks.

        Returns
        -------
        encode : callable taking an ndarray of shape (n_features,) of float64, returning one of shape (n_features_out,)
        """
        check_is_fitted(self)
        column, begin, width = self._flat
        mean, scale = self.mean_, self.scale_
        return lambda x: (np.minimum(np.maximum((x[column] - begin) / width, 0.0), 1.0) - mean) / scale

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """Rows whose bins are nearest to Z in the sum over a column: each column from its mean progress.

        Parameters
        ----------
        Z : array of shape (n_samples, n_features_out), such as prototypes

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        filled = np.clip(np.asarray(Z, dtype=np.float64) * self.scale_ + self.mean_, 0.0, 1.0)
        columns = []
        for ends, bins in zip(self.edges_, self.bins_of_columns(), strict=True):
            columns.append(
                ends[0] + filled[:, bins] @ np.diff(ends) if len(ends) > 1 else np.full(len(filled), ends[0])
            )
        return np.column_stack(columns)

    def bins_of_columns(self) -> list[slice]:
        """The places of each column's bins among the features."""
        ends = np.cumsum([0, *(max(len(edges) - 1, 1) for edges in self.edges_)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: the column's, with the place of the bin behind it.

        Parameters
        ----------
        input_features : array-like of str, optional

        Returns
        -------
        names : ndarray of objects
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        names = [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)
        found = [
            f"{name}_bin{b}"
            for name, bins in zip(names, self.bins_of_columns(), strict=True)
            for b in range(bins.stop - bins.start)
        ]
        return np.array(found, dtype=object)

    @property
    def n_numbers_(self) -> int:
        """Numbers that a transformation reads."""
        return sum(map(len, self.edges_)) + len(self.mean_) + len(self.edges_)

    def _binned(self, X: np.ndarray) -> np.ndarray:
        column, begin, width = self._flat
        with np.errstate(over="ignore"):
            return np.clip((X[:, column] - begin) / width, 0.0, 1.0)

    @property
    def _flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each bin its column, its lower end and its width; a constant column has a bin that nothing fills."""
        found = []
        for j, ends in enumerate(self.edges_):
            if len(ends) < 2:
                found.append((j, ends[0], np.inf))
            found += [(j, a, b - a) for a, b in pairwise(ends)]
        column, begin, width = zip(*found, strict=True)
        return np.array(column), np.array(begin), np.array(width)


class NormalScores(HasPage, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Each column by its rank in the training set, as a score of the standard normal distribution.

        z_j = (clip(Phi^-1(F_j(x_j)), -3, 3) - mean_j) / scale_j    F_j linear between `n_quantiles` quantiles

    A skewed column becomes even, and an outlier no farther than the last rank. Values in the middle of equal quantiles
    get the middle of their ranks.

    Parameters
    ----------
    n_quantiles : int, default=25
        Quantiles that are kept of each column.

    Attributes
    ----------
    quantiles_ : array of shape (n_quantiles, n_features)
    mean_, scale_ : arrays of shape (n_features,)
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> import numpy as np
    >>> from protolearn.tables import NormalScores
    >>> X = np.exp(np.random.default_rng(0).normal(size=(200, 1)) * 3)
    >>> Z = NormalScores().fit_transform(X)
    >>> bool(abs(Z).max() < 4)
    True
    """

    @stores_parameters
    def __init__(self, n_quantiles: int = 25) -> None: ...

    def fit(self, X: Any, y: Any = None) -> NormalScores:
        """Learn the quantiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        check_count("n_quantiles", self.n_quantiles, at_least=2)
        X = validate_data(self, X, dtype=np.float64)
        self.quantiles_ = np.quantile(X, self._shares(min(self.n_quantiles, max(len(X), 2))), axis=0)
        Z = self._scores(X)
        spread = Z.std(axis=0)
        self.mean_, self.scale_ = Z.mean(axis=0), np.where(spread > 0, spread, 1.0)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Rows as scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (self._scores(X) - self.mean_) / self.scale_

    def row_function(self) -> Callable[[np.ndarray], np.ndarray]:
        """A function of one row that gives what `transform` gives, without checks.

        Returns
        -------
        encode : callable taking an ndarray of shape (n_features,) of float64, returning one of shape (n_features_out,)
        """
        check_is_fitted(self)
        quantiles, mean, scale = self.quantiles_, self.mean_, self.scale_
        last, columns = len(quantiles) - 1, np.arange(quantiles.shape[1])

        def encode(x: np.ndarray) -> np.ndarray:
            # All columns at once: a search in each by itself takes ten times as long.
            below = np.maximum((quantiles <= x).sum(axis=0) - 1, 0)
            above = np.minimum((quantiles < x).sum(axis=0), last)
            start = quantiles[below, columns]
            width = quantiles[above, columns] - start
            between = below + (x - start) / np.where(width > 0, width, 1.0)
            share = np.where(width > 0, between, 0.5 * (below + above)) / last
            return (np.minimum(np.maximum(ndtri(share), -_LARGEST_SCORE), _LARGEST_SCORE) - mean) / scale

        return encode

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """The values that have given scores, within the training range.

        Parameters
        ----------
        Z : array of shape (n_samples, n_features)

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        shares = ndtr(np.asarray(Z, dtype=np.float64) * self.scale_ + self.mean_)
        known = self._shares(len(self.quantiles_))
        columns = [
            np.interp(share, known, quantiles) for share, quantiles in zip(shares.T, self.quantiles_.T, strict=True)
        ]
        return np.column_stack(columns)

    @property
    def n_numbers_(self) -> int:
        """Numbers that a transformation reads."""
        return self.quantiles_.size + self.mean_.size + self.scale_.size

    @staticmethod
    def _shares(n: int) -> np.ndarray:
        return np.linspace(0.0, 1.0, n)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        shares = self._shares(len(self.quantiles_))
        Z = np.empty(X.shape)
        for j, (column, quantiles) in enumerate(zip(X.T, self.quantiles_.T, strict=True)):
            # From both ends, so that a value on several equal quantiles gets the middle of their shares.
            below = np.interp(column, quantiles, shares)
            above = -np.interp(-column, -quantiles[::-1], -shares[::-1])
            Z[:, j] = ndtri((below + above) / 2.0)
        return np.clip(Z, -_LARGEST_SCORE, _LARGEST_SCORE)
