"""A plain model in integers of 8 or 16 bits: the arithmetic that the C program does, number for number.

    q_j  = round((x_j - offset_j) factor_j), clipped to +-top                     top = 127 or 32767
    weights   D_i = sum_j v_sj (q_j - p_ij)^2                                     v unsigned 16 bits, or 1
    maps      z_k = round(multiplier_sk sum_j a_skj q_j / 2^shift), clipped to +-8 top
              D_i = sum_k (z_k - p_ik)^2

Nothing overflows: see `bounds`. The scales come from rows like those the model will see; which of several ways to set
them is taken is decided by how many of those rows keep their class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from protolearn.parameters import check_choice
from protolearn.plain.model import PlainModel

TOPS = {"int8": 127, "int16": 32767}
# Sums of differences of 8 bits, (2 x 127)^2 each, stay below 2^32 where the weights sum to this or less.
_WEIGHT_SUM = (2**32 - 1) // (2 * 127) ** 2
_WEIGHT_TOP = 65535
_MULTIPLIER_BITS = 15
# How far outside the range of the data a mapped row may lie, in units of that range, before it is clipped.
_MAP_MARGIN = 8
# Weights that lose more than this share of their sum to rounding are given 64-bit sums instead.
_WEIGHT_LOSS = 0.005
_RANGES = (1.0, 0.999, 0.99)
_MOST_ROWS = 2000
# A smaller model is preferred to one that keeps at most this share of rows more.
_WORTH_BYTES = 0.002
_MOST_FEATURES = 1 << 16


@dataclass(frozen=True)
class FixedPointModel:
    """The integers, and what makes them from a row.

    plain : the model in floats
    dtype : "int8" or "int16", the type of inputs, positions and maps
    offset, factor : of one number, or one for each used input; an input of factor 0 does not count
    positions : (n_prototypes, n_used) or, under maps, (n_prototypes, rank)
    weights : (n_slots, n_used) unsigned 16 bits, or None for weights of 1
    maps : (n_slots, rank, n_used); multiplier : (n_slots, rank); shift : int
    unit : the squared distance that 1 stands for
    """

    plain: PlainModel
    dtype: str
    offset: np.ndarray
    factor: np.ndarray
    positions: np.ndarray
    unit: float
    weights: np.ndarray | None = None
    maps: np.ndarray | None = None
    multiplier: np.ndarray | None = None
    shift: int = 0

    @property
    def top(self) -> int:
        """The largest integer of an input."""
        return TOPS[self.dtype]

    @property
    def bounds(self) -> tuple[int, int]:
        """The largest value that a sum of a map can have, and the largest distance."""
        if self.maps is None:
            mass = self.plain.n_used if self.weights is None else int(self.weights.sum(axis=1, dtype=np.int64).max())
            return 0, mass * (2 * self.top) ** 2
        sums = int(np.abs(self.maps.astype(np.int64)).sum(axis=2).max()) * self.top
        return sums, self.positions.shape[1] * ((_MAP_MARGIN + 1) * self.top) ** 2

    @property
    def sum_bits(self) -> int:
        """Bits of the sums of a map: 32 where those of the largest possible row fit, else 64."""
        return 32 if self.bounds[0] < 2**31 else 64

    @property
    def distance_bits(self) -> int:
        """Bits of a distance: 32 where the largest possible one fits, else 64."""
        return 32 if self.bounds[1] < 2**32 else 64

    def quantised(self, X: np.ndarray) -> np.ndarray:
        """Rows as integers, as the C program makes them: in float32, halves away from zero, clipped."""
        X = self.plain.used(X).astype(np.float32)
        t = (X - self.offset.astype(np.float32)) * self.factor.astype(np.float32)
        t = np.clip(t, -self.top, self.top)
        return np.trunc(t + np.where(t < 0, np.float32(-0.5), np.float32(0.5))).astype(np.int64)

    def images(self, q: np.ndarray, slot: int) -> np.ndarray:
        """Quantised rows under the map of a slot."""
        scaled = (q @ self.maps[slot].astype(np.int64).T) * self.multiplier[slot].astype(np.int64)
        half = np.int64(1) << np.int64(self.shift - 1)
        z = np.sign(scaled) * ((np.abs(scaled) + half) >> np.int64(self.shift))
        return np.clip(z, -_MAP_MARGIN * self.top, _MAP_MARGIN * self.top)

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
    if largest < 2.0**51:
        products = (wq.astype(np.float64) @ p.T.astype(np.float64)).astype(np.int64)
    else:
        products = wq @ p.T
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
    wanted = plain.predict_codes(rows)
    found: list[tuple[float, int, FixedPointModel]] = []
    for share in _RANGES:
        low, high = _range(plain, plain.used(X), share)
        for model in _candidates(plain, low, high, dtype, per_feature):
            kept = float(np.mean(model.predict_codes(rows) == wanted))
            found.append((kept, tables_size(model), model))
    best = max(kept for kept, _, _ in found)
    good = [entry for entry in found if entry[0] >= best - _WORTH_BYTES]
    return min(good, key=lambda entry: (entry[1], -entry[0]))[2]


def tables_size(model: FixedPointModel) -> int:
    """Bytes of the integers and scales."""
    item = 1 if model.dtype == "int8" else 2
    total = model.positions.size * item + 4 * (model.offset.size + model.factor.size)
    if model.weights is not None:
        total += 2 * model.weights.size
    if model.maps is not None:
        total += item * model.maps.size + 2 * model.multiplier.size
    return total


def _range(plain: PlainModel, X: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Where most of each input lies; a whole range where the prototypes lie outside of it."""
    low, high = np.quantile(X, [(1.0 - share) / 2.0, (1.0 + share) / 2.0], axis=0)
    if plain.maps is None:
        low, high = np.minimum(low, plain.positions.min(axis=0)), np.maximum(high, plain.positions.max(axis=0))
    return low, high


def _candidates(
    plain: PlainModel, low: np.ndarray, high: np.ndarray, dtype: str, per_feature: bool | None
) -> Iterator[FixedPointModel]:
    top = TOPS[dtype]
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    common = np.array([(low.min() + high.max()) / 2.0]), np.array([max((high.max() - low.min()) / 2.0, 1e-30)])
    if per_feature is not True:
        yield _quantised(plain, *common, top, dtype)
    if per_feature is not False:
        yield _quantised(plain, middle, np.where(half > 0, half, 1.0), top, dtype)
        if plain.maps is None and plain.weights is not None and len(plain.weights) == 1:
            # One step of the metric for all inputs: an input of a small weight needs few levels, and no weight.
            roots = np.sqrt(plain.weights[0])
            largest = float((roots * half).max()) or 1.0
            with np.errstate(divide="ignore"):
                yield _quantised(plain, middle, largest / roots, top, dtype, uniform=True)


def _quantised(
    plain: PlainModel, offset: np.ndarray, half: np.ndarray, top: int, dtype: str, *, uniform: bool = False
) -> FixedPointModel:
    step = half / top
    factor = 1.0 / step
    kind = np.int8 if dtype == "int8" else np.int16
    if plain.maps is not None:
        return _quantised_maps(plain, offset, step, top, dtype)
    positions = np.rint((plain.positions - offset) * factor).clip(-top, top).astype(kind)
    if uniform:
        counts = plain.weights[0] > 0
        unit = float((step[counts] ** 2 * plain.weights[0][counts]).max(initial=0.0)) or 1.0
        return FixedPointModel(plain, dtype, offset, factor, positions, unit)
    real = np.ones((1, plain.n_used)) if plain.weights is None else plain.weights
    real = np.broadcast_to(real * step**2, real.shape)
    if (real == real.flat[0]).all() and real.flat[0] > 0:
        return FixedPointModel(plain, dtype, offset, factor, positions, float(real.flat[0]))
    weights, unit = _integer_weights(real, dtype)
    return FixedPointModel(plain, dtype, offset, factor, positions, unit, weights=weights)


def _integer_weights(real: np.ndarray, dtype: str) -> tuple[np.ndarray, float]:
    """Weights in 16 bits: with sums below 2^32 where that is fine enough, else as large as they can be."""
    most = real.max() or 1.0
    units = [most / _WEIGHT_TOP]
    if dtype == "int8":
        # Rounding adds a half to each weight at most.
        room = _WEIGHT_SUM - real.shape[1]
        units.insert(0, max(real.sum(axis=1).max() / room, units[0]) if room > 0 else np.inf)
    for unit in units:
        weights = np.rint(real / unit)
        lost = np.abs(weights * unit - real).sum(axis=1) / np.maximum(real.sum(axis=1), 1e-300)
        if lost.max() < _WEIGHT_LOSS:
            break
    return weights.astype(np.uint16), float(unit)


def _quantised_maps(plain: PlainModel, offset: np.ndarray, step: np.ndarray, top: int, dtype: str) -> FixedPointModel:
    """Maps row by row in integers; their images and the prototypes on one grid, that of the farthest prototype.

    |M (x - origin) - p| = |M (x - offset) - (p + M (origin - offset))|
    """
    kind = np.int8 if dtype == "int8" else np.int16
    positions = plain.positions + np.einsum("nrd,d->nr", plain.maps[plain.slot], plain.origin - offset)
    grid = float(np.abs(positions).max() or 1.0) / top
    real = plain.maps * step
    largest = np.abs(real).max(axis=2)
    row_unit = np.where(largest > 0, largest, 1.0) / top
    maps = np.rint(real / row_unit[:, :, None]).astype(kind)
    ratio = np.where(largest > 0, row_unit, 0.0) / grid
    most = float(ratio.max() or 1.0)
    # 2^(bits - 1) <= most 2^shift < 2^bits; images that 2^-shift cannot reach down to would be all zeros anyway.
    shift = int(np.clip(_MULTIPLIER_BITS - 1 - np.floor(np.log2(most)), 1, 46))
    multiplier = np.minimum(np.rint(ratio * 2.0**shift), 2**_MULTIPLIER_BITS - 1).astype(np.int16)
    integers = np.rint(positions / grid).clip(-top, top).astype(kind)
    factor = 1.0 / step
    return FixedPointModel(
        plain, dtype, offset, factor, integers, grid**2, maps=maps, multiplier=multiplier, shift=shift
    )
