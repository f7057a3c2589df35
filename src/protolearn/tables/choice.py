"""The step of a pipeline that keeps some of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from protolearn.core.parameters import stores_parameters


class ColumnChoice(SelectorMixin, BaseEstimator):
    """Keep the columns given by number, in their order in the table.

    Parameters
    ----------
    columns : sequence of int, or None for all

    Attributes
    ----------
    n_features_in_ : int
    """

    @stores_parameters
    def __init__(self, columns: Any = None) -> None: ...

    def fit(self, X: Any, y: Any = None) -> ColumnChoice:
        """Check the numbers against a table.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        columns = self._numbers()
        if not len(columns) or columns.min() < 0 or columns.max() >= self.n_features_in_:
            raise ValueError(f"columns must be numbers from 0 to {self.n_features_in_ - 1}; got {self.columns!r:.80}.")
        return self

    def _numbers(self) -> np.ndarray:
        return np.arange(self.n_features_in_) if self.columns is None else np.asarray(self.columns, dtype=np.int64)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self, "n_features_in_")
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self._numbers()] = True
        return mask
