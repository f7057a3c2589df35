"""Classifiers that return the best prototypes of the way, judged on the training set or on a held-out part of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from protolearn.core.parameters import check_choice, check_count, check_number
from protolearn.core.prototypes import PrototypeSet
from protolearn.data import Blocks, Samples, TrainingSet, blocked_set
from protolearn.estimators.blocked import block_source, in_blocks_only
from protolearn.estimators.learning import LearningClassifier
from protolearn.metrics import Metric
from protolearn.solvers import Plan
from protolearn.solvers.stopping import KEEP


class KeepingClassifier(LearningClassifier):
    """A subclass has the parameters keep, validation_fraction, check_every and patience."""

    keep: str
    validation_fraction: float
    check_every: int
    patience: int | None

    def _check_parameters(self):
        check_choice("keep", self.keep, KEEP)
        check_number("validation_fraction", self.validation_fraction, above=0, below=1)
        check_count("check_every", self.check_every)
        check_count("patience", self.patience, optional=True)
        return super()._check_parameters()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, X_val: Any = None, y_val: Any = None):
        """Learn prototypes (and metric) from a training set.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or data frame of shape (n_samples, n_features), or `Blocks`
            float32 stays float32. Large memory-mapped arrays are read in blocks (docs/scale.md).
        y : array-like of shape (n_samples,)
            Class labels of any kind; left out where X is `Blocks`, which hold them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a row of weight 2 counts as that row twice, one of weight 0 is left out.
        X_val, y_val : as X and y, optional
            The samples that keep="validation" looks at; without them it holds out `validation_fraction` of X.

        Returns
        -------
        self
        """
        if (X_val is None) != (y_val is None) and not isinstance(X_val, Blocks):
            raise ValueError("X_val and y_val belong together; give both or neither.")
        return self._fit(X, y, sample_weight, None if X_val is None else (X_val, y_val))

    def _hold_out(
        self, data: Samples, given: tuple[Any, Any] | None, random: np.random.RandomState
    ) -> tuple[Samples, Samples | None]:
        if self.keep != "validation":
            return data, None
        if given is not None:
            return data, self._given_validation(given, data)
        kept, held = data.split(self.validation_fraction, random)
        if not held.n_samples:
            raise ValueError(
                'keep="validation" found no class with two samples to hold one out; give X_val and y_val, or choose '
                'keep="best".'
            )
        return kept, held

    def _given_validation(self, given: tuple[Any, Any], data: Samples) -> Samples:
        if in_blocks_only(given[0]):
            held, survey = blocked_set(block_source(*given, None), lambda survey: None)
            unknown = np.setdiff1d(survey.classes, self.classes_)
            if len(unknown):
                raise ValueError(f"y_val holds class {unknown[0]!s}, which y does not; remove its rows.")
            return replace(held, reader=replace(held.reader, classes=self.classes_, dtype=data.dtype))
        # scikit-learn sums float32 rows to see whether all are finite; the sum may overflow both ways.
        with np.errstate(over="ignore", invalid="ignore"):
            X, y = validate_data(self, *given, reset=False, accept_sparse="csr", dtype=data.input_dtype)
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if not np.array_equal(self.classes_[codes], y):
            unknown = y[self.classes_[codes] != y][0]
            raise ValueError(f"y_val holds class {unknown!s}, which y does not; remove its rows.")
        return TrainingSet(X, codes, None, data.n_classes)

    def _adjusted_plan(
        self, plan: Plan, start: PrototypeSet, data: Samples, metric: Metric, validation: Samples | None
    ) -> Plan:
        # A block of a stream is walked once: there is no way to choose from.
        keep = "last" if plan.n_steps is not None else self.keep
        return replace(plan, keep=keep, validation=validation, check_every=self.check_every, patience=self.patience)
