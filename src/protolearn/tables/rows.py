"""One raw row as features, without the checks of a whole table: for services that are asked row by row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from protolearn.tables.preparation import Preparation


def row_preparation(preparation: Preparation) -> Callable[[Any], np.ndarray]:
    """A function of one raw row that gives the features that `transform` gives.

    An odd value takes the way of `transform`, which mends it or says what is wrong with it.

    Parameters
    ----------
    preparation : fitted

    Returns
    -------
    prepare : callable taking the values of a row in the order of the training columns, or a dict by their names,
        returning an ndarray of shape (n_features_out,)
    """
    names = getattr(preparation, "feature_names_in_", None)
    of_values = _row_preparation(preparation)
    return lambda row: of_values(values_in_order(row, names) if type(row) is dict else row)


def values_in_order(row: dict[str, Any], names: Any) -> list[Any]:
    """The values of a row that is given by column.

    Parameters
    ----------
    row : values by the names of their columns; more columns than the model takes do no harm
    names : of the columns in the order of the training set, None where they had none
    """
    if names is None:
        raise ValueError("The model does not know the names of its columns; pass the values of a row in their order.")
    try:
        return [row[name] for name in names]
    except KeyError as error:
        raise ValueError(f"The row has no value for column {error.args[0]}; give None where it is missing.") from None


def _row_preparation(preparation: Preparation) -> Callable[[Any], np.ndarray]:
    factor, offset, n_columns = preparation.factor_, preparation.offset_, preparation.n_features_in_

    def of_odd_row(row: Any) -> np.ndarray:
        table = np.empty((1, len(row)), dtype=object)
        table[0] = list(row)
        with warnings.catch_warnings():
            # The values come in the order of the columns, without their names.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return preparation.transform(table)[0]

    def of_numbers(row: Any) -> np.ndarray:
        try:
            x = np.asarray(row, dtype=np.float64)
        except (TypeError, ValueError):
            return of_odd_row(row)
        if x.shape != (n_columns,) or not isfinite(x.sum()):
            return of_odd_row(row)
        return factor * (x - offset)

    if preparation.is_number_.all() and not preparation.had_missing_.any():
        return of_numbers
    places = _places(preparation)
    refuses, hot = preparation.missing == "refuse", preparation.categories == "onehot"

    def of_all_kinds(row: Any) -> np.ndarray:
        if len(row) != n_columns:
            return of_odd_row(row)
        v = np.zeros(len(offset))
        for value, (at, flag, codes, fill) in zip(row, places, strict=True):
            kind = type(value)
            if value is None or (kind is float and value != value):
                if refuses:
                    return of_odd_row(row)
                if flag is not None:
                    v[flag] = 1.0
                if codes is None or not hot:
                    v[at] = fill
            elif codes is None and kind in (int, float, np.float64):
                v[at] = value
            elif codes is not None and kind is str:
                if not hot:
                    v[at] = codes.get(value, fill)
                elif value in codes:
                    v[at + codes[value]] = 1.0
            else:
                return of_odd_row(row)
        return factor * (v - offset) if isfinite(v.sum()) else of_odd_row(row)

    return of_all_kinds


def _places(preparation: Preparation) -> list[tuple[int, int | None, dict[str, int] | None, float]]:
    """Of each column: its first feature, the one that says what was missing, the codes of its levels, what fills it."""
    found, at = [], 0
    for is_number, levels, fill, flagged in zip(
        preparation.is_number_, preparation.levels_, preparation.fill_, preparation.had_missing_, strict=True
    ):
        flag = at if flagged else None
        at += int(flagged)
        codes = None if is_number else {level: code for code, level in enumerate(levels)}
        found.append((at, flag, codes, float(fill)))
        at += len(levels) if codes is not None and preparation.categories == "onehot" else 1
    return found
