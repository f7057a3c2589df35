"""What a metric is: squared distances, their gradient, and the projection that keeps its parameters valid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numba import njit, types

from protolearn.compiled import Compiled, compiled, matrix, stack, vector, vectorised
from protolearn.data.kept_rows import KeptRows, row_products
from protolearn.metrics.pulls import Pull
from protolearn.parameters import check_choice
from protolearn.prototypes import PrototypeSet
from protolearn.registry import Registry

if TYPE_CHECKING:
    from protolearn.data import Samples

METRICS = Registry("metric")
SCOPES = ("global", "class", "prototype")
NORMALIZATIONS = ("mean", "sum")
# Distances of one block from which a compiled loop pays for being compiled.
_WORTH_A_LOOP = 20_000
# Samples that are compared with all prototypes at a time.
_AT_A_TIME = 1024


def fill_signature(number: Any) -> Any:
    """fill(x, W, T, slot, work, D): the squared distances of one sample to all prototypes.

    D has room for a multiple of 16 of them; what a function writes behind the last prototype means nothing.
    """
    return types.void(
        vector(number), matrix(number), stack(number), vector(types.int64), vector(number), vector(number)
    )


def step_signature(number: Any) -> Any:
    """step(x, W, T, slot, chosen, pulls, etas, G, work): add to G and move the chosen prototypes.

    For each i among `chosen`, with its pull c_i = d loss / d D_i and its rate eta_i beside it: G[slot[i]] += c_i dD_i /
    dtheta where G is not empty, with the position before the move; then the position moves by -eta_i c_i dD_i / dm_i.
    """
    return types.void(
        vector(number),
        matrix(number),
        stack(number),
        vector(types.int64),
        vector(types.int64),
        vector(types.float64),
        vector(types.float64),
        stack(number),
        vector(number),
    )


def finish_signature(number: Any) -> Any:
    """finish(T, s, rho, total, G): T[s] -= rho G[s], projected; G[s] = 0."""
    return types.void(stack(number), types.int64, types.float64, types.float64, stack(number))


@dataclass
class Packed:
    """A prototype set in the memory layout that a metric's functions read and change.

    The functions are compiled where a kernel asks for them: some kernels have the metric built in.
    """

    positions: np.ndarray
    theta: np.ndarray
    slot: np.ndarray
    labels: np.ndarray
    work: np.ndarray
    fill: Compiled
    step: Compiled
    finish: Compiled
    unpack: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

    def prototypes(self) -> PrototypeSet:
        """The prototypes as they are now."""
        positions, theta = self.unpack(self.positions, self.theta)
        return PrototypeSet(positions.copy(), self.labels, theta.copy(), self.slot)


class Metric:
    """Base of all metrics. A metric is a small immutable value: what it learns lives in the PrototypeSet.

    takes_factors : the compiled step reads factors of each number's rate from `work`: positions, then theta
    scope : which prototypes share parameters: all ("global"), those of a class ("class"), none ("prototype")
    normalization : what the weights sum to: "mean" makes their mean 1, so that the start is the Euclidean distance;
        "sum" makes their sum 1, as most papers print it
    """

    adaptive: ClassVar[bool] = True
    takes_factors: ClassVar[bool] = False
    scope: str = "global"
    normalization: str = "mean"

    def check(self) -> None:
        """Raise where a setting is not valid."""
        check_choice("scope", self.scope, SCOPES)
        check_choice("normalization", self.normalization, NORMALIZATIONS)

    def slots(self, labels: np.ndarray) -> np.ndarray:
        """The row of theta for each prototype."""
        if self.scope == "global":
            return np.zeros(len(labels), dtype=np.int64)
        if self.scope == "class":
            return labels.astype(np.int64)
        return np.arange(len(labels), dtype=np.int64)

    def n_slots(self, labels: np.ndarray, n_classes: int) -> int:
        """How many rows theta has."""
        return {"global": 1, "class": n_classes, "prototype": len(labels)}[self.scope]

    def total(self, n_features: int) -> float:
        """What the weights (or the trace of Lambda) sum to."""
        return float(n_features) if self.normalization == "mean" else 1.0

    def start(self, positions: np.ndarray, labels: np.ndarray, data: Samples) -> PrototypeSet:
        """Prototypes at `positions` under the metric's first parameters."""
        theta = self.initial_theta(self.n_slots(labels, data.n_classes), data)
        return PrototypeSet(
            np.ascontiguousarray(positions, dtype=data.dtype),
            np.ascontiguousarray(labels, dtype=np.int64),
            theta.astype(data.dtype),
            self.slots(labels),
        )

    def initial_theta(self, n_slots: int, data: Any) -> np.ndarray:
        """The first parameters, one row a slot."""
        raise NotImplementedError("abstract: a metric says where it starts")

    def rate_unit(self, mean_distance: float, data: Samples, relative: bool) -> float:
        """What the metric's rate is measured in, so that scaling all features by one factor changes nothing.

        relative : whether the loss depends on ratios of distances only, as GLVQ and LPD do
        """
        return 1.0

    def distances(self, X: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
        """Squared distances, (n_samples, n_prototypes)."""
        raise NotImplementedError("abstract: a metric measures distances")

    def distances_by_prototype(
        self, X: np.ndarray, prototypes: PrototypeSet, kept: KeptRows | None = None
    ) -> np.ndarray:
        """Squared distances, (n_prototypes, n_samples): for loops that run across the samples.

        kept : what is known of rows that come again and again, for metrics that use it
        """
        return np.ascontiguousarray(self.distances(X, prototypes).T)

    def distances_of_nearest(
        self, X: np.ndarray, y: np.ndarray, prototypes: PrototypeSet, kept: KeptRows | None = None
    ) -> np.ndarray:
        """As `distances_by_prototype` for the nearest prototype of each sample's class and for the nearest other one.

        In place of the distances to all others there may be numbers that are larger than these two.
        """
        return self.distances_by_prototype(X, prototypes, kept)

    def linear_forms(self, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray] | None:
        """a_i and b_i such that D_i = b_i + a_i'x + what is the same for all prototypes, x from `prototypes.centring`.

        Who wants to know the nearest only needs no more. None where prototypes have different metrics.
        """
        return None

    def distances_of_row(self, prototypes: PrototypeSet) -> Callable[[np.ndarray], np.ndarray]:
        """A function of one row for callers with one row at a time: all that can be is done beforehand."""
        return lambda x: self.distances(x[None], prototypes)[0]

    def prepare(self, prototypes: PrototypeSet, kept: KeptRows | None = None) -> None:
        """Compute what all blocks need of the prototypes, before threads that share the blocks each do so."""

    def moments(self, X: np.ndarray, prototypes: PrototypeSet, pull: Pull) -> tuple[np.ndarray, ...]:
        """Sums over the samples that `gradient_of` needs; those of several blocks add up.

        pull : d loss_n / d D_ni for each sample n and prototype i
        """
        raise NotImplementedError("abstract: a metric has a gradient")

    def gradient_of(self, prototypes: PrototypeSet, moments: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the samples of pull dD/dm and of pull dD/dtheta, from their moments."""
        raise NotImplementedError("abstract: a metric has a gradient")

    def gradient(self, X: np.ndarray, prototypes: PrototypeSet, pull: Pull) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the samples of pull dD/dm and of pull dD/dtheta."""
        return self.gradient_of(prototypes, self.moments(X, prototypes, pull))

    def project(self, theta: np.ndarray) -> np.ndarray:
        """The nearest valid parameters, in the sense the paper uses."""
        return theta

    def projected(self, theta: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """As `project`, in another number type; a metric that does both at once overrides it."""
        return self.project(theta).astype(dtype, copy=False)

    def free(self, raw: np.ndarray, theta: np.ndarray, gradient: np.ndarray, share: float, out: np.ndarray) -> None:
        """A share of the gradient by the parameters `raw`, of which `project` made `theta`, from the gradient there."""
        np.multiply(gradient, share * scale_of(raw, theta), out=out, casting="same_kind")

    def relevances(self, theta: np.ndarray) -> np.ndarray:
        """The factors of the squared differences, where theta holds one number a feature."""
        return theta

    def lower_bound(self) -> float | None:
        """The smallest value of a parameter, None where there is none."""
        return None

    def pack(self, prototypes: PrototypeSet) -> Packed:
        """Writable copies in the layout of the compiled functions."""
        raise NotImplementedError("abstract: a metric has compiled parts")


def centred(X: np.ndarray, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray]:
    """Samples and prototypes moved so that the prototypes' mean is the origin, where that gains digits."""
    origin, positions = prototypes.centring
    return X if origin is None else X - origin, positions


def expanded_distances(X: np.ndarray, positions: np.ndarray, kept: KeptRows | None = None) -> np.ndarray:
    """|x|^2 - 2 x'm + |m|^2 by one matrix product, rounding below zero clipped.

    kept : what is known of the positions
    """
    norms = row_products(positions, positions) if kept is None else kept.lengths(positions)
    columns = positions.T if kept is None else kept.columns(positions)
    products, row_norms = X @ columns, row_products(X, X)
    if products.size >= _WORTH_A_LOOP and products.flags.c_contiguous:
        distances_from_products(products, row_norms, norms)
        return products
    products *= -2.0
    products += row_norms[:, None]
    products += norms
    return np.maximum(products, 0.0, out=products)


def inner_products(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Sums of the products of two sets of metric parameters, slot by slot, in a shape that multiplies either."""
    sums = row_products(one.reshape(len(one), -1), other.reshape(len(other), -1))
    return sums.reshape(-1, *(1,) * (one.ndim - 1))


def scale_of(raw: np.ndarray, projected: np.ndarray) -> np.ndarray:
    """The factor by which `Metric.project` scaled each slot; 1 for a slot of zeros."""
    size, scaled = (inner_products(part, part) for part in (raw, projected))
    return np.where(size > 0, np.sqrt(scaled / np.where(size > 0, size, 1.0)), 1.0)


def squared_differences(positions: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function x -> |x - m_i|^2 for each position."""

    def measure(x: np.ndarray) -> np.ndarray:
        difference = positions - x
        return np.einsum("ij,ij->i", difference, difference)

    return measure


@njit(cache=True, nogil=True)
def distances_from_products(D, row_norms, norms):
    """max(row_norms_r - 2 D_rc + norms_c, 0) in one pass instead of four, rounded as numpy rounds it; NaN stays NaN."""
    number = D.dtype.type
    n, m = D.shape
    for r in range(n):
        norm = row_norms[r]
        for i in range(m):
            d = (number(-2) * D[r, i] + norm) + norms[i]
            D[r, i] = number(0) if d < number(0) else d


@compiled(
    lambda number: types.boolean(
        matrix(number),  # products, one prototype a row
        vector(number),  # constants
        vector(types.int64),  # labels
        vector(types.int64),  # codes
    )
)
def nearest_labels(products, constants, labels, codes):
    """The label of the least constant + product of each column, the lowest index on a tie; False if one is no number.

    Runs across the samples, some of them at a time: the least values so far stay in the first-level cache.
    """
    n = products.shape[1]
    least = np.empty(_AT_A_TIME, products.dtype)
    index = np.empty(_AT_A_TIME, np.int32)
    for begin in range(0, n, _AT_A_TIME):
        count = min(_AT_A_TIME, n - begin)
        least[:] = np.inf
        for i in range(products.shape[0]):
            nearer(products[i, begin : begin + count], constants[i], np.int32(i), least, index)
        for c in range(count):
            if not abs(least[c]) < np.inf:
                return False
            codes[begin + c] = labels[index[c]]
    return True


@vectorised
def nearer(products, constant, i, least, index):
    """Note prototype i where it is the nearest so far."""
    for c in range(products.shape[0]):
        value = products[c] + constant
        index[c] = i if value < least[c] else index[c]
        least[c] = value if value < least[c] else least[c]
