"""A plain model in integers of 8 or 16 bits: the arithmetic that the C program does, number for number.

    q_j  = round((x_j - offset_j) factor_j), clipped to +-row_top           row_top = 127 or 32767, or 16383 (below)
    weights   D_i = sum_j v_sj (q_j - p_ij)^2                                     v unsigned 16 bits, or 1
    maps      z_k = start_sk + round(multiplier_sk sum_j a_skj q_j / 2^shift), clipped to +-limit
              D_i = sum_k (z_k - p_ik)^2

Nothing overflows: see `bounds`. The scales come from rows like those the model will see; which of several ways to set
them is taken is decided by how many of those rows keep their class, and by how well their margins are kept.

Prototypes that lie closer together than a 127th of the data's range fall together in 8 bits. Where that changes too
many classes, the row has 15 bits and its step is that of the prototypes alone: the tables keep 8 bits and their size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from protolearn.core.parameters import check_choice
from protolearn.export.plain import MaybeArray, PlainModel

TOPS = {"int8": 127, "int16": 32767}
# Sums of differences of 8 bits, (2 x 127)^2 each, stay below 2^32 where the weights sum to this or less.
_WEIGHT_SUM = (2**32 - 1) // (2 * 127) ** 2
_WEIGHT_TOP = 65535
_MULTIPLIER_BITS = 15
# How far out a mapped row may lie before it is clipped: this many times the farthest of the rows the scales come from,
# and at least as many times the farthest prototype.
_ROOM = 2
# The largest image: as many bits as 2 or 4 bytes hold, with room for the difference to a prototype.
_LARGEST_IMAGE = {"int8": 2**14 - 1, "int16": 2**23 - 1}
# Weights that lose more than this share of their sum to rounding are given 64-bit sums instead.
_WEIGHT_LOSS = 0.005
# The inputs that the integers span: a factor of the range of the data, or where its middle share lies. 16 bits are fine
# enough to leave room for rows farther out; 8 bits may do better to cut the farthest off.
_RANGES = {"int8": (1.25, 1.0, 0.999, 0.99), "int16": (4.0, 1.5)}
# More rows than this share with another class, and rows of 15 bits are tried.
_FEW_LOST = 0.005
_MOST_ROWS = 2000
_MOST_FEATURES = 1 << 16


@dataclass(frozen=True)
class FixedPointModel:
    """The integers, and what makes them from a row.

    plain : the model in floats
    dtype : "int8" or "int16", the type of positions and maps
    row_top : the largest integer of a row
    offset, factor : of one number, or one for each used input; an input of factor 0 does not count
    positions : (n_prototypes, n_used) or, under maps, (n_prototypes, rank)
    weights : (n_slots, n_used) unsigned 16 bits, or None for weights of 1
    maps : (n_slots, rank, n_used); multiplier, start : (n_slots, rank); shift, limit : int
    unit : the squared distance that 1 stands for
    """

    plain: PlainModel
    dtype: str
    offset: np.ndarray
    factor: np.ndarray
    positions: np.ndarray
    unit: float
    row_top: int
    weights: MaybeArray = None
    maps: MaybeArray = None
    multiplier: MaybeArray = None
    start: MaybeArray = None
    shift: int = 0
    limit: int = 0

    @property
    def top(self) -> int:
        """The largest integer of a position or map."""
        return TOPS[self.dtype]

    @property
    def row_dtype(self) -> str:
        """The type of a row: that of the tables, or wider."""
        return self.dtype if self.row_top <= self.top else "int16"

    @property
    def bounds(self) -> tuple[int, int]:
        """The largest value that a sum of a map can have, and the largest distance."""
        if self.maps is None:
            mass = self.plain.n_used if self.weights is None else int(self.weights.sum(axis=1, dtype=np.int64).max())
            return 0, mass * (self.row_top + self.top) ** 2
        rows = np.abs(self.maps.astype(np.int64)).sum(axis=2) * self.row_top
        return int(rows.max()), self.positions.shape[1] * (self.limit + self.top) ** 2

    @property
    def sum_bits(self) -> int:
        """Bits of the sums of a map: 32 where those of the largest possible row fit, else 64."""
        return 32 if self.bounds[0] < 2**31 else 64

    @property
    def distance_bits(self) -> int:
        """Bits of a distance: 32 where the largest possible one fits, else 64."""
        return 32 if self.bounds[1] < 2**32 else 64

    def quantised(self, X: np.ndarray) -> np.ndarray:
        """Rows as integers, as the C program makes them: in float32, halves away from zero, clipped; NaN is lowest."""
        with np.errstate(over="ignore", invalid="ignore"):
            X = self.plain.used(X).astype(np.float32)
            t = (X - self.offset.astype(np.float32)) * self.factor.astype(np.float32)
            t = np.where(t > -self.row_top, np.minimum(t, np.float32(self.row_top)), np.float32(-self.row_top))
        return np.trunc(t + np.where(t < 0, np.float32(-0.5), np.float32(0.5))).astype(np.int64)

    def images(self, q: np.ndarray, slot: int) -> np.ndarray:
        """Quantised rows under the map of a slot."""
        scaled = (q @ self.maps[slot].astype(np.int64).T) * self.multiplier[slot].astype(np.int64)
        half = np.int64(1) << np.int64(self.shift - 1)
        z = np.sign(scaled) * ((np.abs(scaled) + half) >> np.int64(self.shift))
        return np.clip(z + self.start[slot].astype(np.int64), -self.limit, self.limit)

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Integer squared distances."""
        return self.distances_of(self.quantised(X))

    def distances_of(self, q: np.ndarray) -> np.ndarray:
        """Integer squared distances of quantised rows."""
        plain = self.plain
        D = np.empty((len(q), plain.n_prototypes), dtype=np.uint64)
        for slot in np.unique(plain.slot):
            members = np.flatnonzero(plain.slot == slot)
            rows = q if self.maps is None else self.images(q, int(slot))
            weights = None if self.weights is None else self.weights[slot].astype(np.int64)
            D[:, members] = _expanded(rows, self.positions[members].astype(np.int64), weights)
        return D

    def predict_codes(self, X: np.ndarray) -> np.ndarray:
        """Class codes."""
        return self.plain.labels[self.distances(X).argmin(axis=1)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels."""
        return self.plain.classes[self.predict_codes(X)]


def _expanded(q: np.ndarray, p: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """sum_j v_j (q_j - p_ij)^2 by matrix products; exact, since every sum stays below 2^53 or wraps around twice."""
    wq = q if weights is None else q * weights
    wp = p if weights is None else p * weights
    squares_q, squares_p = (q * wq).sum(axis=1), (p * wp).sum(axis=1)
    largest = float(squares_q.max(initial=0)) + float(squares_p.max(initial=0))
    number = np.float64 if largest < 2.0**51 else np.int64
    products = (wq.astype(number) @ p.T.astype(number)).astype(np.int64)
    # Differences modulo 2^64 of sums that wrapped are right again, since the distance itself is below 2^64.
    return (squares_q[:, None] - 2 * products + squares_p).astype(np.uint64)


def fixed_point_model(
    plain: PlainModel, X: Any, dtype: str = "int8", *, per_feature: bool | None = None
) -> FixedPointModel:
    """Integers for a plain model, with scales learned from data.

    Parameters
    ----------
    plain : PlainModel
    X : array of shape (n_rows, n_inputs), rows like those the model will see
    dtype : {"int8", "int16"}
    per_feature : whether each input has a scale of its own; None takes one scale for all where that is as good

    Returns
    -------
    model : FixedPointModel
    """
    check_choice("dtype", dtype, TOPS)
    if plain.bias is not None:
        raise ValueError("The mixture rule of MixtGauss has no fixed point; export it as float32.")
    if X is None:
        raise ValueError(f"{dtype} learns its scales from data; pass X, rows like those the model will see.")
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != plain.n_inputs or not len(X) or not np.isfinite(X).all():
        raise ValueError(f"X must hold rows of {plain.n_inputs} finite numbers to learn the scales from.")
    if plain.n_used > _MOST_FEATURES:
        raise ValueError(f"Fixed point takes at most {_MOST_FEATURES} features; the model has {plain.n_used}.")
    rows = X[:: max(len(X) // _MOST_ROWS, 1)]
    real = plain.distances(rows)
    wanted = plain.labels[real.argmin(axis=1)]
    margins = _margins(real)

    def judged(model: FixedPointModel) -> tuple[float, float, int, FixedPointModel]:
        D = model.distances(rows)
        lost = float(np.mean(plain.labels[D.argmin(axis=1)] != wanted))
        # Errors within a factor of two are one as good as the other: the smaller model then.
        error = np.ceil(np.log2(np.abs(_margins(D.astype(np.float64)) - margins).mean() + 1e-12))
        return lost, float(error), tables_size(model), model

    found = [
        judged(model)
        for low, high in _spans(plain, plain.used(X), dtype)
        for model in _candidates(plain, low, high, dtype, per_feature, plain.used(rows))
    ]
    best = min(found, key=lambda entry: entry[:3])
    if dtype == "int8" and best[0] > _FEW_LOST:
        found = [best, *map(judged, _with_wide_rows(plain, plain.used(X), per_feature))]
        best = min(found, key=lambda entry: entry[:3])
    return best[3]


def _margins(D: np.ndarray) -> np.ndarray:
    """How much nearer the nearest prototype is than the second nearest, as a share of both."""
    if D.shape[1] < 2:
        return np.zeros(len(D))
    two = np.partition(D, 1, axis=1)[:, :2]
    return (two[:, 1] - two[:, 0]) / np.maximum(two.sum(axis=1), 1e-300)


def tables_size(model: FixedPointModel) -> int:
    """Bytes of the integers and scales."""
    item = 1 if model.dtype == "int8" else 2
    total = model.positions.size * item + 4 * (model.offset.size + model.factor.size)
    if model.weights is not None:
        total += 2 * model.weights.size
    if model.maps is not None:
        total += item * model.maps.size + 2 * model.multiplier.size + 4 * model.start.size
    return total


def _spans(plain: PlainModel, X: np.ndarray, dtype: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Where the inputs lie, once for each of `_RANGES`; prototypes always inside."""
    lowest, highest = X.min(axis=0), X.max(axis=0)
    shares = np.array([share for share in _RANGES[dtype] if share < 1.0])
    # Quantiles of some rows are as good, and sorting all of a large table takes long.
    some = X[:: max(len(X) // _MOST_ROWS, 1)]
    middles = np.quantile(some, np.concatenate([(1.0 - shares) / 2.0, (1.0 + shares) / 2.0]), axis=0)
    for share in _RANGES[dtype]:
        if share < 1.0:
            place = int(np.flatnonzero(shares == share)[0])
            low, high = middles[place], middles[place + len(shares)]
        else:
            room = (share - 1.0) / 2.0 * (highest - lowest)
            low, high = lowest - room, highest + room
        if plain.maps is None:
            low, high = np.minimum(low, plain.positions.min(axis=0)), np.maximum(high, plain.positions.max(axis=0))
        yield low, high


def _candidates(
    plain: PlainModel, low: np.ndarray, high: np.ndarray, dtype: str, per_feature: bool | None, rows: np.ndarray
) -> Iterator[FixedPointModel]:

    def quantised(offset: np.ndarray, half: np.ndarray) -> FixedPointModel:
        step = half / TOPS[dtype]
        if plain.maps is None:
            return _quantised_inputs(plain, offset, step, dtype)
        return _quantised_maps(plain, offset, step, dtype, rows)

    middle, half = (low + high) / 2.0, (high - low) / 2.0
    for offset, size in _scales(low, high, per_feature):
        yield quantised(offset, size)
    if per_feature is not False and plain.maps is None and plain.weights is not None and len(plain.weights) == 1:
        # One step of the metric for all inputs: an input of a small weight needs few levels, and no weight.
        roots = np.sqrt(plain.weights[0])
        largest = float((roots * half).max()) or 1.0
        with np.errstate(divide="ignore"):
            yield _quantised_inputs(plain, middle, largest / TOPS[dtype] / roots, dtype, uniform=True)


def _scales(low: np.ndarray, high: np.ndarray, per_feature: bool | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Middle and half of the range: of all inputs in common, of each on its own."""
    if per_feature is not True:
        yield np.array([(low.min() + high.max()) / 2.0]), np.array([max((high.max() - low.min()) / 2.0, 1e-30)])
    if per_feature is not False:
        half = (high - low) / 2.0
        yield (low + high) / 2.0, np.where(half > 0, half, 1.0)


def _with_wide_rows(plain: PlainModel, X: np.ndarray, per_feature: bool | None) -> Iterator[FixedPointModel]:
    """Tables of 8 bits for rows of 15: the step follows the prototypes as far as the farthest row lets it."""
    row_top = _LARGEST_IMAGE["int8"]
    lowest, highest = X.min(axis=0), X.max(axis=0)
    if plain.maps is not None:
        room = (_ROOM - 1.0) / 2.0 * (highest - lowest)
        for offset, half in _scales(lowest - room, highest + room, per_feature):
            yield _quantised_maps(plain, offset, half / row_top, "int8", X, row_top=row_top)
        return
    for offset, half in _scales(plain.positions.min(axis=0), plain.positions.max(axis=0), per_feature):
        farthest = np.maximum(np.abs(highest - offset), np.abs(lowest - offset))
        farthest = np.broadcast_to(farthest if offset.size > 1 else farthest.max(), offset.shape)
        step = np.maximum(half / TOPS["int8"], _ROOM * farthest / row_top)
        yield _quantised_inputs(plain, offset, np.where(step > 0, step, 1.0), "int8", row_top=row_top)


def _quantised_inputs(
    plain: PlainModel,
    offset: np.ndarray,
    step: np.ndarray,
    dtype: str,
    *,
    uniform: bool = False,
    row_top: int | None = None,
) -> FixedPointModel:
    top = TOPS[dtype]
    row_top = row_top or top
    factor = 1.0 / step
    kind = np.int8 if dtype == "int8" else np.int16
    positions = np.rint((plain.positions - offset) * factor).clip(-top, top).astype(kind)
    if uniform:
        counts = plain.weights[0] > 0
        unit = float((step[counts] ** 2 * plain.weights[0][counts]).max(initial=0.0)) or 1.0
        return FixedPointModel(plain, dtype, offset, factor, positions, unit, row_top)
    real = np.ones((1, plain.n_used)) if plain.weights is None else plain.weights
    real = np.broadcast_to(real * step**2, real.shape)
    if (real == real.flat[0]).all() and real.flat[0] > 0:
        return FixedPointModel(plain, dtype, offset, factor, positions, float(real.flat[0]), row_top)
    weights, unit = _integer_weights(real, row_top)
    return FixedPointModel(plain, dtype, offset, factor, positions, unit, row_top, weights=weights)


def _integer_weights(real: np.ndarray, row_top: int) -> tuple[np.ndarray, float]:
    """Weights in 16 bits: with sums below 2^32 where that is fine enough, else as large as they can be."""
    most = real.max() or 1.0
    units = [most / _WEIGHT_TOP]
    if row_top == TOPS["int8"]:
        # Rounding adds a half to each weight at most.
        room = _WEIGHT_SUM - real.shape[1]
        units.insert(0, max(real.sum(axis=1).max() / room, units[0]) if room > 0 else np.inf)
    for unit in units:
        weights = np.rint(real / unit)
        lost = np.abs(weights * unit - real).sum(axis=1) / np.maximum(real.sum(axis=1), 1e-300)
        if lost.max() < _WEIGHT_LOSS:
            break
    return weights.astype(np.uint16), float(unit)


def _quantised_maps(
    plain: PlainModel, offset: np.ndarray, step: np.ndarray, dtype: str, rows: np.ndarray, *, row_top: int | None = None
) -> FixedPointModel:
    """Maps row by row in integers; their images and the prototypes on one grid, measured from the prototypes' middle.

        |M (x - origin) - p| = |M (x - offset) + s - (p - c)|,    s = M (offset - origin) - c

    The grid is as fine as the prototype farthest from its middle c lets it be: prototypes may be close together and the
    data far. c is moved a little, so that s is on the grid.
    """
    top = TOPS[dtype]
    kind = np.int8 if dtype == "int8" else np.int16
    used = np.unique(plain.slot)
    middle = np.zeros(plain.maps.shape[:2])
    for slot in used:
        own = plain.positions[plain.slot == slot]
        middle[slot] = (own.min(axis=0) + own.max(axis=0)) / 2.0
    # Where all prototypes sit on their middle the images decide, and they must fit in any case.
    farthest = max(np.abs((rows - plain.origin) @ plain.maps[slot].T - middle[slot]).max() for slot in used)
    finest = _ROOM * float(farthest) / _LARGEST_IMAGE[dtype]
    # Half a grid less than the top, for the move of c.
    grid = max(float(np.abs(plain.positions - middle[plain.slot]).max()) / (top - 0.5), finest) or 1.0
    limit = int(np.clip(np.ceil(_ROOM * max(float(farthest) / grid, top)), 1, _LARGEST_IMAGE[dtype]))
    image = np.einsum("srd,d->sr", plain.maps, offset - plain.origin)
    start = np.rint(np.clip((image - middle) / grid, -(2**30), 2**30))
    integers = np.rint((plain.positions - (image - start * grid)[plain.slot]) / grid).clip(-top, top).astype(kind)
    real = plain.maps * step
    largest = np.abs(real).max(axis=2)
    row_unit = np.where(largest > 0, largest, 1.0) / top
    maps = np.rint(real / row_unit[:, :, None]).astype(kind)
    ratio = np.where(largest > 0, row_unit, 0.0) / grid
    most = float(ratio.max() or 1.0)
    # 2^(bits - 1) <= most 2^shift < 2^bits; images that 2^-shift cannot reach down to would be all zeros anyway.
    shift = int(np.clip(_MULTIPLIER_BITS - 1 - np.floor(np.log2(most)), 1, 46))
    multiplier = np.minimum(np.rint(ratio * 2.0**shift), 2**_MULTIPLIER_BITS - 1).astype(np.int16)
    return FixedPointModel(
        plain,
        dtype,
        offset,
        1.0 / step,
        integers,
        grid**2,
        row_top or top,
        maps=maps,
        multiplier=multiplier,
        start=start.astype(np.int32),
        shift=shift,
        limit=limit,
    )
