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
    encoding : columns, factor, offset, and begin and rate of bins or the quantiles of normal scores; None where x are
        the inputs themselves
    """

    def __init__(
        self, classes, feature_names, labels, slot, positions, weights, maps, origin, bias, columns, link, slope,
        raw_columns, encoding=None,
    ):  # fmt: skip
        self._encoding = encoding
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
        return self._distances(_inputs(row, self.feature_names, self.raw_columns))

    def _distances(self, x):
        if self._encoding is not None:
            x = _encoded(x, *self._encoding)
        elif self._columns is not None:
            x = x[self._columns]
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
        return self._class_distances(_inputs(row, self.feature_names, self.raw_columns))

    def _class_distances(self, x):
        groups = [[] for _ in self.classes]
        for label, distance in zip(self._labels, self._distances(x).tolist(), strict=True):
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
        return [math.exp(one) for one in self._logs(_inputs(row, self.feature_names, self.raw_columns))]

    def _logs(self, x):
        """The logarithms of the probabilities."""
        scores, slope = self._class_distances(x), self._slope
        if self._bias is not None:
            slope = 1.0
        elif self._link in ("relative", "power"):
            scores = [math.log(score) if score > 0.0 else -math.inf for score in scores]
            slope = slope / 2.0 if self._link == "power" else 1.0
        elif self._link == "relative_sigmoid":
            total = sum(sorted(scores)[:2])
            scores = [_relative(score, total) for score in scores]
        low = min(scores)
        behind = [0.0 if score == low else slope * (low - score) for score in scores]
        whole = math.log(sum(math.exp(one) for one in behind))
        return [one - whole for one in behind]


class RowSets:
    """Several prototype sets that decide by the mean of their probabilities, each to the power of its temperature."""

    def __init__(self, sets, shares, temperatures, least):
        self.classes, self.feature_names = sets[0].classes, sets[0].feature_names
        self._sets = list(zip(sets, shares, temperatures, strict=True))
        self._raw_columns, self._least = sets[0].raw_columns, least

    def predict(self, row):
        """The class of the largest probability; a row is as for `RowModel`."""
        found = self.probabilities(row)
        return self.classes[found.index(max(found))]

    def probabilities(self, row):
        """The probability of each class."""
        x = _inputs(row, self.feature_names, self._raw_columns)
        found = [0.0] * len(self.classes)
        for one, share, temperature in self._sets:
            powers = [math.exp(temperature * max(log, self._least)) for log in one._logs(x)]
            whole = sum(powers)
            found = [p + share * power / whole for p, power in zip(found, powers, strict=True)]
        return found


def _inputs(row, names, raw_columns):
    """The values of a row as numbers."""
    if isinstance(row, Mapping):
        try:
            row = [row[name] for name in names]
        except KeyError as error:
            raise ValueError(f"A row needs a value of {error.args[0]}.") from None
    if len(row) != len(names):
        raise ValueError(f"A row has {len(names)} values here; got {len(row)}.")
    if raw_columns is not None:
        numbers = []
        for column, value in zip(raw_columns, row, strict=True):
            numbers += _numbers(value, *column)
        row = numbers
    try:
        return np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(_NEEDS) from None


def _encoded(x, columns, factor, offset, begin, rate, quantiles):
    """Piecewise-linear bins, or normal scores, of the inputs."""
    t = factor * (x[columns] - offset)
    if not math.isfinite(t.sum()):
        raise ValueError(_NEEDS)
    if quantiles is None:
        return np.minimum(np.maximum((t - begin) * rate, 0.0), 1.0)
    last, places = quantiles.shape[1] - 1, np.arange(len(t))
    same = 1e-12 * (quantiles[:, -1] - quantiles[:, 0])
    below = np.maximum((quantiles <= (t + same)[:, None]).sum(axis=1) - 1, 0)
    above = np.minimum((quantiles < (t - same)[:, None]).sum(axis=1), last)
    start = quantiles[places, below]
    width = quantiles[places, above] - start
    between = below + (t - start) / np.where(width > 0, width, 1.0)
    return _normal(np.where(width > 0, between, 0.5 * (below + above)) / last)


# The share of the standard normal distribution below -3.
LEAST_SHARE = 0.0013498980316300945
# Wichura (1988), AS 241: two ratios of polynomials, the highest power first.
MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
TAIL = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)  # fmt: skip


def _normal(share):
    """The quantiles of the standard normal distribution at some shares, from -3 to 3."""
    share = np.minimum(np.maximum(share, LEAST_SHARE), 1.0 - LEAST_SHARE)
    q = share - 0.5
    middle, tail = 0.180625 - q * q, np.sqrt(-np.log(np.minimum(share, 1.0 - share))) - 1.6
    middle, tail = ([np.polyval(part, r) for part in parts] for parts, r in ((MIDDLE, middle), (TAIL, tail)))
    return np.where(np.abs(q) <= 0.425, q * middle[0] / middle[1], np.copysign(tail[0] / tail[1], q))


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
