"""The first look at each block of samples: what it holds, and whether it can be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from protolearn.data.ranges import column_extremes
from protolearn.data.training_set import class_codes


@dataclass(frozen=True)
class Survey:
    """What some blocks hold together; surveys of different blocks join into one.

    blocks : number of the first block, for messages
    classes : sorted labels; counts, weights : rows of each and the sum of their weights
    only_in : for each class the block that holds all of its rows, -1 where there are several
    low, high : the least and the largest value of each column
    """

    block: int
    n_blocks: int
    n_columns: int
    dtype: np.dtype
    low: np.ndarray
    high: np.ndarray
    classes: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    only_in: np.ndarray

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return float(max(-self.low.min(), self.high.max()))

    def joined(self, other: Survey) -> Survey:
        """The survey of both."""
        if self.n_columns != other.n_columns:
            raise ValueError(
                f"Block {other.block} has {other.n_columns} columns and block {self.block} has {self.n_columns}; give "
                "every block the same columns."
            )
        if (self.classes.dtype.kind in "OSU") != (other.classes.dtype.kind in "OSU"):
            raise ValueError(
                f"The labels of block {other.block} are {other.classes.dtype} and those of block {self.block} are "
                f"{self.classes.dtype}; give every block labels of one kind."
            )
        classes, codes = np.unique(np.concatenate([self.classes, other.classes]), return_inverse=True)
        only_in = np.full(len(classes), -1)
        only_in[codes] = np.concatenate([self.only_in, other.only_in])
        only_in[np.bincount(codes, minlength=len(classes)) > 1] = -1
        return Survey(
            min(self.block, other.block),
            self.n_blocks + other.n_blocks,
            self.n_columns,
            np.result_type(self.dtype, other.dtype),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            classes,
            np.bincount(codes, np.concatenate([self.counts, other.counts])).astype(np.int64),
            np.bincount(codes, np.concatenate([self.weights, other.weights])),
            only_in,
        )


def join_surveys(one: Survey, other: Survey) -> Survey:
    """As a function that another process can import."""
    return one.joined(other)


def survey_block(number: int, X: Any, y: Any, weight: Any) -> Survey | None:
    """Check one block; None where all of its weights are zero. Each error names the block."""
    X, y, weight = as_rows(number, X, y, weight)
    values = X.data if sparse.issparse(X) else X
    # As in scikit-learn: a finite sum has finite terms, and reads the block once without a copy.
    with np.errstate(over="ignore", invalid="ignore"):
        doubtful = not np.isfinite(values.sum(dtype=np.float64))
    if doubtful and not np.isfinite(values).all():
        kind = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(f"Block {number} of X contains {kind}; remove or mend these rows.")
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError(f"Block {number} of y contains NaN or infinity; every row needs a label.")
        if (y != np.floor(y)).any():
            raise ValueError(f"Unknown label type: block {number} of y is continuous; a classifier needs classes.")
    elif y.dtype.kind == "O" and any(label is None or label != label for label in y):
        raise ValueError(f"Block {number} of y contains a missing label; every row needs one.")
    if weight is not None:
        if not np.isfinite(weight).all() or (weight < 0).any():
            raise ValueError(
                f"sample_weight of block {number} must hold finite numbers of at least 0; remove or mend the others."
            )
        if not weight.any():
            return None
        y, weight = y[weight > 0], weight[weight > 0]
    classes, codes = class_codes(y)
    counts = np.bincount(codes)
    weights = counts.astype(np.float64) if weight is None else np.bincount(codes, weight)
    only_in = np.full(len(classes), number)
    return Survey(number, 1, X.shape[1], X.dtype, *column_extremes(X), classes, counts, weights, only_in)


def as_rows(number: int, X: Any, y: Any, weight: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """A block as a matrix of float32 or float64, labels and weights of the same length."""
    X = as_matrix(X)
    if X is None:
        raise ValueError(f"Block {number} of X is not a matrix of numbers; give rows and columns.")
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.dtype.kind == "O" and len(y) and all(isinstance(label, str) for label in y):
        y = y.astype(str)
    if X.shape[0] == 0:
        raise ValueError(f"Block {number} is empty; leave it out, or divide the rows into other blocks.")
    if y.shape != (X.shape[0],):
        raise ValueError(f"Block {number} has {X.shape[0]} rows and labels of shape {y.shape}; give each row a label.")
    if weight is None:
        return X, y, None
    # A copy: compiled code is declared for arrays that can be written to, and columns of files cannot.
    weight = np.array(weight, dtype=np.float64)
    if weight.shape != (X.shape[0],):
        raise ValueError(f"Block {number} has {X.shape[0]} rows and {weight.shape} weights; give each row a weight.")
    return X, y, weight


def as_matrix(X: Any) -> Any | None:
    """Dense or CSR rows in float32 or float64, without a copy where possible; None where X is neither."""
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    if X.ndim != 2 or X.shape[1] == 0 or X.dtype.kind not in "biuf" + "O":
        return None
    if X.dtype in (np.float32, np.float64):
        return X
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError):
        return None
