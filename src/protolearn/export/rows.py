"""The class of one row by NumPy alone: what an export to Python writes begins with the text of this file."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

_NEEDS = "A row needs finite numbers, none too large to square, and texts only where the training set had them."


class RowModel:
    """A nearest prototype classifier of one row of a table.

        weights   D_i = sum_j weights_sj (x_j - positions_ij)^2           s the slot of prototype i; None: weights of 1
        maps      D_i = |maps_s (x - origin) - positions_i|^2             positions in the space of the map

    classes : the labels
    feature_names : the names of the values of a row, in their order
    labels : the index of the class of each prototype, ascending
    slot : the row of weights or maps that each prototype uses
    bias : of a mixture, what is added to each distance; a class has -ln of the sum of its components then
    columns : which inputs are used, or None for all
    link, slope : how distances of classes become probabilities
    raw_columns : (name, levels, fill, flagged, coded, refuses) of each column of a table; None where rows are numbers
    """

    def __init__(
        self, classes, feature_names, labels, slot, positions, weights, maps, origin, bias, columns, link, slope,
        raw_columns,
    ):  # fmt: skip
        self.classes, self.feature_names, self.raw_columns = classes, feature_names, raw_columns
        self._labels, self._slot = labels.tolist(), slot
        self._positions, self._origin, self._bias, self._columns = positions, origin, bias, columns
        self._maps = None if maps is None else (maps[0] if len(maps) == 1 else maps)
        self._weights = None if weights is None else weights[slot]
        self._link, self._slope = link, slope

    def predict(self, row):
        """The class of a row.

        A row is a sequence of values in the order of `feature_names`, or a mapping with these names; of a table's
        columns texts and missing values (None, NaN or an empty text) as they are.
        """
        found = self.distances(row)
        if self._bias is not None:
            found = self.class_distances(row)
            return self.classes[found.index(min(found))]
        return self.classes[self._labels[found.argmin()]]

    def distances(self, row):
        """The distance of each prototype: squared, under its metric; of a mixture minus the log of its density."""
        x = self._inputs(row)
        if self._maps is None:
            difference = self._positions - x
        else:
            image = self._maps @ (x - self._origin)
            difference = self._positions - (image if image.ndim == 1 else image[self._slot])
        if self._weights is None:
            found = np.einsum("ij,ij->i", difference, difference)
        else:
            found = np.einsum("ij,ij,ij->i", self._weights, difference, difference)
        if self._bias is not None:
            found = found + self._bias
        # One number that is not finite makes every distance infinite or not a number.
        if not math.isfinite(found[found.argmin()]):
            raise ValueError(_NEEDS)
        return found

    def class_distances(self, row):
        """The distance of each class: that of its nearest prototype, of a mixture minus the log of its density."""
        groups = [[] for _ in self.classes]
        for label, distance in zip(self._labels, self.distances(row).tolist(), strict=True):
            groups[label].append(distance)
        found = []
        for group in groups:
            low = min(group, default=math.inf)
            if self._bias is not None and group:
                low -= math.log(sum(math.exp(low - distance) for distance in group))
            found.append(low)
        return found

    def probabilities(self, row):
        """The probability of each class."""
        scores = self.class_distances(row)
        low = min(scores)
        if self._bias is None and self._link in ("relative", "power"):
            exponent = self._slope / 2.0 if self._link == "power" else 1.0
            shares = [1.0 if score == low else (low / score) ** exponent for score in scores]
        else:
            if self._bias is None and self._link == "relative_sigmoid":
                total = sum(sorted(scores)[:2])
                scores = [_relative(score, total) for score in scores]
                low = min(scores)
            slope = 1.0 if self._bias is not None else self._slope
            shares = [math.exp(-slope * (score - low)) for score in scores]
        whole = sum(shares)
        return [share / whole for share in shares]

    def _inputs(self, row):
        """The numbers that the distances are measured from."""
        if isinstance(row, Mapping):
            try:
                row = [row[name] for name in self.feature_names]
            except KeyError as error:
                raise ValueError(f"A row needs a value of {error.args[0]}.") from None
        if len(row) != len(self.feature_names):
            raise ValueError(f"A row has {len(self.feature_names)} values here; got {len(row)}.")
        if self.raw_columns is not None:
            numbers = []
            for column, value in zip(self.raw_columns, row, strict=True):
                numbers += _numbers(value, *column)
            row = numbers
        try:
            x = np.asarray(row, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(_NEEDS) from None
        return x if self._columns is None else x[self._columns]


def _numbers(value, name, levels, fill, flagged, coded, refuses):
    """A value of a table as numbers: whether it is missing, then its number, its code, or 1 for its level."""
    missing = value is None or value == "" or value != value
    if missing and refuses:
        raise ValueError(f"A row needs a value of {name}.")
    flag = [1.0 if missing else 0.0] if flagged else []
    if levels is None:
        return [*flag, fill if missing else value]
    if coded:
        return [*flag, fill if missing or str(value) not in levels else levels.index(str(value))]
    return [*flag, *[0.0 if missing or level != str(value) else 1.0 for level in levels]]


def _relative(distance, total):
    """A class distance over the sum of the two smallest; 1/2 for each of several zeros."""
    if not math.isfinite(distance):
        return math.inf
    return distance / total if total > 0.0 else (math.inf if distance > 0.0 else 0.5)
