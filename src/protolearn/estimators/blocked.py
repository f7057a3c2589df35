"""Samples in blocks as the input of estimators: which input they are, checks, prediction block by block."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from protolearn.data import Blocks, BlockSource, is_dask, is_large


def in_blocks_only(X: Any) -> bool:
    """Whether X is read block by block: dask collections, `Blocks`, large memory-mapped arrays."""
    return is_dask(X) or isinstance(X, Blocks) or is_large(X)


def block_source(X: Any, y: Any, sample_weight: Any) -> BlockSource:
    """The blocks of X with their labels and weights."""
    if isinstance(X, Blocks):
        if y is not None or sample_weight is not None:
            raise ValueError("Blocks hold y and the weights themselves: pairs (X, y) or triples; leave both out here.")
        return X
    if is_dask(X):
        from protolearn.data.dask import DaskSource

        return DaskSource(X, y, sample_weight)
    if y is None:
        raise ValueError("A memory-mapped X requires y to be passed, but the target y is None.")
    return Blocks.of_arrays(X, y, sample_weight)


def note_columns(model: Any, source: BlockSource, n_features: int) -> None:
    """Set `n_features_in_` and `feature_names_in_`, as scikit-learn does for what fits in memory."""
    model.n_features_in_ = n_features
    if source.feature_names is not None:
        model.feature_names_in_ = np.asarray(source.feature_names, dtype=object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_


@contextmanager
def same_columns(model: Any, source: BlockSource) -> Iterator[None]:
    """Compare names of columns where blocks are plain arrays that have them; scikit-learn would miss them in each."""
    names, known = source.feature_names, getattr(model, "feature_names_in_", None)
    with warnings.catch_warnings():
        if names is not None and known is not None:
            if list(names) != list(known):
                raise ValueError(f"The columns must be those of fit, in their order: {', '.join(known)}.")
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def in_blocks(columns: str) -> Callable[[Callable], Callable]:
    """Let a method of one argument X take samples in blocks too.

    A dask X gives a dask array that is not computed yet; other blocks give one array, put together block by block.
    columns : what the result holds: "labels", "classes", "scores" (one column where there are two classes), "features"
    """

    def wrap(method: Callable) -> Callable:
        @wraps(method)
        def of_any(self: Any, X: Any) -> Any:
            if not in_blocks_only(X):
                return method(self, X)
            check_is_fitted(self)
            of_block = partial(_of_block, self, method.__name__)
            if not is_dask(X):
                source = X if isinstance(X, Blocks) else Blocks.of_arrays(X)
                with same_columns(self, source):
                    return np.concatenate([of_block(number, rows) for number, rows in source.rows()])
            from protolearn.data.dask import by_blocks

            dtype = self.classes_.dtype if columns == "labels" else np.dtype(np.float64)
            if columns == "features":
                dtype = self.prototypes_.dtype
            return by_blocks(of_block, X, dtype, _n_columns(self, columns))

        return of_any

    return wrap


def _n_columns(model: Any, columns: str) -> int | None:
    n_classes = len(model.classes_)
    if columns == "labels" or (columns == "scores" and n_classes == 2):
        return None
    return model._n_features_out if columns == "features" else n_classes


def _of_block(model: Any, name: str, number: int, X: Any) -> np.ndarray:
    try:
        return getattr(model, name)(X)
    except ValueError as error:
        raise ValueError(f"Block {number}: {error}") from error


def score_by_blocks(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Weighted share of the samples whose class `predict` gives: two sums over blocks."""
    check_is_fitted(model)
    source = block_source(X, y, sample_weight)
    with same_columns(model, source):
        hits, total = source.reduce(partial(_hits, model), operator.add)
    return float(hits / total)


def _hits(model: Any, number: int, X: Any, y: Any, weight: Any) -> np.ndarray:
    right = _of_block(model, "predict", number, X) == np.asarray(y).ravel()
    weight = np.ones(len(right)) if weight is None else np.asarray(weight, dtype=np.float64)
    return np.array([weight @ right, weight.sum()])


def warn_of_sorted_rows(classes: np.ndarray, only_in: np.ndarray) -> None:
    """Say which class is in one block only, where blocks are learned from one after the other."""
    lonely = np.flatnonzero(only_in >= 0)
    if len(lonely):
        warnings.warn(
            f"Class {classes[lonely[0]]!s} is in block {only_in[lonely[0]]} only: online methods see it once a round, "
            "in a row. Shuffle the rows over the blocks, or choose solver='lbfgs', which does not mind.",
            UserWarning,
            stacklevel=2,
        )
