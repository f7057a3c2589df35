"""What a metric is: squared distances, their gradient, and the projection that keeps its parameters valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from protolearn.core.jit import kernel, matrix, stack, types, vector, vectorised
from protolearn.core.parameters import check_choice
from protolearn.core.prototypes import PrototypeSet
from protolearn.core.registry import Registry

if TYPE_CHECKING:
    from protolearn.data import Samples

METRICS = Registry("metric")
SCOPES = ("global", "class", "prototype")
NORMALIZATIONS = ("mean", "sum", "free")
# Rows of which the nearest prototype is searched at a time: the least values so far stay in the first-level cache.
_AT_A_TIME = 1024
# So many units in the last place of the largest distance of a row may be rounding.
ROUNDING = 16
# Differences that are formed at a time where distances are measured again.
_DIFFERENCES_AT_A_TIME = 1 << 18

# The coefficients d loss / d D, rows times prototypes: an array, or with two a row a sparse matrix of SciPy.
Coefficients = Any
Gradients = tuple[np.ndarray, np.ndarray]


def distances_signature(number: Any) -> Any:
    """distances_to(x, W, T, slot, constants, D): the squared distances of one sample to all prototypes.

    D has room for a multiple of 16 of them; what a function writes behind the last prototype means nothing.
    """
    return types.void(
        vector(number), matrix(number), stack(number), vector(types.int64), vector(number), vector(number)
    )


def move_signature(number: Any) -> Any:
    """move(x, W, T, slot, chosen, pulls, etas, G, constants): add to G and move the chosen prototypes.

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


def update_signature(number: Any) -> Any:
    """update(T, s, rho, total, G): T[s] -= rho G[s], projected; G[s] = 0. A total of 0 leaves the scale free."""
    return types.void(stack(number), types.int64, types.float64, types.float64, stack(number))


@dataclass
class Packed:
    """A prototype set in the memory layout that a metric's online step reads and changes.

    distances_to, move, update : kernels with the three signatures above, or plain functions of the same arguments
    constants : numbers that these functions read, and their scratch space
    """

    positions: np.ndarray
    theta: np.ndarray
    slot: np.ndarray
    labels: np.ndarray
    constants: np.ndarray
    distances_to: Any
    move: Any
    update: Any
    unpack: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

    def prototypes(self) -> PrototypeSet:
        """The prototypes as they are now."""
        positions, theta = self.unpack(self.positions, self.theta)
        return PrototypeSet(positions.copy(), self.labels, theta.copy(), self.slot)


class Metric:
    """Base of all metrics. A metric is a small immutable value: what it learns lives in the PrototypeSet.

    A metric gives `initial_theta`, `distances` and `gradient`; one that learns also `project`, and
    `gradient_before_projection` where the projection is more than a scaling. All solvers, probabilities and plots work
    with these. The other methods make something faster, or possible that is so under some metrics only.

    takes_factors : the compiled step reads factors of each number's rate from `constants`: positions, then theta
    scope : which prototypes share parameters: all ("global"), those of a class ("class"), none ("prototype")
    normalization : what the weights sum to: "mean" makes their mean 1, so that the start is the Euclidean distance;
        "sum" makes their sum 1, as most papers print it; "free" starts as "mean" and then leaves the scale free, so
        that it is learned like everything else
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
        """What the weights (or the trace of Lambda) sum to, at the start where the scale is free."""
        return 1.0 if self.normalization == "sum" else float(n_features)

    @property
    def scale_is_free(self) -> bool:
        """Whether the sum of the weights is learned."""
        return self.normalization == "free"

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

    def gradient(self, X: np.ndarray, prototypes: PrototypeSet, C: Coefficients) -> Gradients:
        """Sums over the samples of C dD/dm and of C dD/dtheta."""
        raise NotImplementedError("abstract: a metric has a gradient")

    def distances_and_pullback(
        self, X: np.ndarray, prototypes: PrototypeSet
    ) -> tuple[np.ndarray, Callable[[Coefficients], Gradients]]:
        """The distances, and the function that turns coefficients into gradients: both may share what they compute."""
        return self.distances(X, prototypes), partial(self.gradient, X, prototypes)

    def project(self, theta: np.ndarray) -> np.ndarray:
        """The nearest valid parameters, in the sense the paper uses."""
        return theta

    def gradient_before_projection(self, raw: np.ndarray, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The gradient by the parameters `raw`, of which `project` made `theta`, from the gradient by `theta`."""
        return gradient * scale_of(raw, theta)

    def linear_forms(self, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray] | None:
        """a_i and b_i such that D_i = b_i + a_i'x + what is the same for all prototypes, x from `prototypes.centring`.

        A search for the nearest needs no more. None where prototypes have different metrics.
        """
        return None

    def row_distances(self, prototypes: PrototypeSet) -> Callable[[np.ndarray], np.ndarray]:
        """The squared distances of one row, by differences where the metric has them, as a function of the row."""
        return lambda x: self.distances(x[None], prototypes)[0]

    def nearest(self, X: np.ndarray, prototypes: PrototypeSet) -> np.ndarray:
        """The index of the nearest prototype of each row, the lowest on a tie; -1 where no distance is finite.

        Where two are as near as each other but for rounding, float32 gives way to float64 and float64 to differences.
        """
        D = self.distances(X, prototypes)
        found = D.argmin(axis=1)
        least = np.take_along_axis(D, found[:, None], axis=1)
        near = least + ROUNDING * np.finfo(D.dtype).eps * D.max(axis=1, keepdims=True) >= D
        # A row whose squares overflow is infinitely far from everything, or not a number.
        doubtful = np.flatnonzero((near.sum(axis=1) > 1) | ~np.isfinite(least[:, 0]))
        if len(doubtful) and D.dtype == np.float32:
            found[doubtful] = self.nearest(X[doubtful].astype(np.float64), prototypes.astype(np.dtype(np.float64)))
        elif len(doubtful):
            rows, columns = np.nonzero(near[doubtful])
            exact = np.full((len(doubtful), len(prototypes)), np.inf)
            exact[rows, columns] = self.pair_distances(X[doubtful[rows]], prototypes, columns)
            found[doubtful] = np.where(np.isfinite(exact.min(axis=1)), exact.argmin(axis=1), -1)
        return found

    def pair_distances(self, X: np.ndarray, prototypes: PrototypeSet, columns: np.ndarray) -> np.ndarray:
        """The squared distance of each row to one prototype, by the differences of the two where the form is known."""
        V, slot = X - prototypes.positions[columns], prototypes.slot[columns]
        weights, maps = self.weights(prototypes), self.maps(prototypes)
        if weights is not None:
            return np.einsum("ij,ij,ij->i", V, V, weights[slot])
        if maps is None:
            return np.take_along_axis(self.distances(X, prototypes), columns[:, None], axis=1)[:, 0]
        found = np.empty(len(V), dtype=V.dtype)
        for s in np.unique(slot):
            found[slot == s] = squared_lengths(V[slot == s] @ maps[s].T)
        return found

    def weights(self, prototypes: PrototypeSet) -> np.ndarray | None:
        """The factors of the squared differences, (n_slots, n_features); None where the distance has another form."""
        return None

    def maps(self, prototypes: PrototypeSet) -> np.ndarray | None:
        """Omega of D = |Omega (x - m)|^2, (n_slots, rows, n_features); None where the distance has another form."""
        return None

    def lower_bound(self) -> float | None:
        """The smallest value of a parameter, None where there is none."""
        return None

    def pack(self, prototypes: PrototypeSet) -> Packed:
        """Writable copies for the online step, here with plain functions made of `distances` and `gradient`."""
        theta, slot, labels = prototypes.theta.copy(), prototypes.slot, prototypes.labels

        def distances_to(x, W, T, slot, constants, D):
            D[: len(W)] = self.distances(x[None], PrototypeSet(W, labels, T, slot))[0]

        def move(x, W, T, slot, chosen, pulls, etas, G, constants):
            C = np.zeros((1, len(W)))
            C[0, chosen] = pulls
            by_position, by_theta = self.gradient(x[None], PrototypeSet(W, labels, T, slot), C)
            if len(G):
                G += by_theta
            W[chosen] -= etas[:, None] * by_position[chosen]

        def update(T, s, rho, total, G):
            T[s] = self.project(T - rho * G)[s]
            G[s] = 0

        return Packed(
            positions=prototypes.positions.copy(order="C"),
            theta=theta,
            slot=slot,
            labels=labels,
            constants=np.empty(0, dtype=prototypes.positions.dtype),
            distances_to=distances_to,
            move=move,
            update=update,
            unpack=lambda W, T: (W, T),
        )


def centred(X: np.ndarray, prototypes: PrototypeSet) -> tuple[np.ndarray, np.ndarray]:
    """Samples and prototypes moved so that the prototypes' mean is the origin, where that gains digits."""
    origin, positions = prototypes.centring
    return X if origin is None else X - origin, positions


def squared_lengths(X: np.ndarray) -> np.ndarray:
    """|x|^2 of each row."""
    return np.einsum("ij,ij->i", X, X)


def expanded_distances(X: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """|x|^2 - 2 x'm + |m|^2 by one matrix product; what it loses to cancellation is measured again by differences.

    Columns of the result are contiguous: loops that run across the samples are vectorised.
    """
    D = (-2.0 * positions) @ X.T
    lengths, of_positions = squared_lengths(X), squared_lengths(positions)
    D += lengths
    D += of_positions[:, None]
    limit = cancelled_below(D.dtype) * (lengths + of_positions.max(initial=0))
    measure_cancelled(D.T, limit[:, None], X, positions)
    return D.T


def cancelled_below(dtype: np.dtype) -> np.floating:
    """The share of its terms below which a sum has lost half of its digits."""
    return np.sqrt(np.finfo(dtype).eps, dtype=dtype)


def measure_cancelled(
    D: np.ndarray, limit: np.ndarray, X: np.ndarray, positions: np.ndarray, weights: np.ndarray | None = None
) -> None:
    """Put sums of squared differences in place of the distances that are not above their limit.

    weights : factors of the squared differences for each position
    """
    if D.size == 0 or D.min() > limit.max():
        return
    # In the order of memory, and a flat search: a fifth of the time of one for rows and columns.
    columns, rows = np.divmod(np.flatnonzero((limit >= D).T), len(D))
    at_once = max(_DIFFERENCES_AT_A_TIME // X.shape[1], 1)
    for first in range(0, len(rows), at_once):
        r, c = rows[first : first + at_once], columns[first : first + at_once]
        squares = np.square(X[r] - positions[c])
        D[r, c] = squares.sum(axis=1) if weights is None else np.einsum("ij,ij->i", squares, weights[c])


def by_slot(C: Coefficients, prototypes: PrototypeSet) -> Iterator[tuple[int, Any, Any, np.ndarray]]:
    """For each slot: its number, its prototypes, the rows that they pull, and the sum of their coefficients a row.

    A row may come twice, with a part of its coefficient each time.
    """
    if len(prototypes.theta) == 1:
        yield 0, slice(None), slice(None), C @ np.ones(C.shape[1], dtype=C.dtype)
    elif sparse.issparse(C):
        # Sixteen bits are sorted by their digits, in a tenth of the time.
        slots = prototypes.slot.astype(np.uint16 if len(prototypes.theta) <= 1 << 16 else np.int64)[C.indices]
        order = np.argsort(slots, kind="stable")
        rows, values = np.repeat(np.arange(C.shape[0]), np.diff(C.indptr))[order], C.data[order]
        ends = np.searchsorted(slots[order], np.arange(len(prototypes.theta) + 1))
        for s, members in prototypes.groups:
            part = slice(ends[s], ends[s + 1])
            yield s, members, rows[part], values[part]
    else:
        for s, members in prototypes.groups:
            yield s, members, slice(None), C[:, members].sum(axis=1)


def column_sums(C: Coefficients) -> np.ndarray:
    """The sum of the coefficients of each prototype."""
    return C.T @ np.ones(C.shape[0], dtype=C.dtype)


def slot_products(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Sums of the products of two sets of metric parameters, slot by slot, in a shape that multiplies either."""
    sums = np.einsum("ij,ij->i", one.reshape(len(one), -1), other.reshape(len(other), -1), dtype=np.float64)
    return sums.reshape(-1, *(1,) * (one.ndim - 1))


def scale_of(raw: np.ndarray, projected: np.ndarray) -> np.ndarray:
    """The factor by which `Metric.project` scaled each slot; 1 for a slot of zeros."""
    size, scaled = (slot_products(part, part) for part in (raw, projected))
    return np.where(size > 0, np.sqrt(scaled / np.where(size > 0, size, 1.0)), 1.0)


def squared_differences(positions: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function x -> |x - m_i|^2 for each position."""

    def measure(x: np.ndarray) -> np.ndarray:
        difference = positions - x
        return np.einsum("ij,ij->i", difference, difference)

    return measure


@kernel(
    lambda number: types.boolean(
        matrix(number),  # products, one prototype a row
        vector(number),  # constants
        vector(types.int64),  # labels
        vector(types.int64),  # codes
        vector(number),  # gaps
    )
)
def nearest_labels(products, constants, labels, codes, gaps):
    """The label of the least constant + product of each column, the lowest index on a tie; False if one is no number.

    gaps : how much larger the least value of another prototype is
    Runs across the samples, some of them at a time.
    """
    n = products.shape[1]
    least, second = np.empty(_AT_A_TIME, products.dtype), np.empty(_AT_A_TIME, products.dtype)
    index = np.empty(_AT_A_TIME, np.int32)
    for begin in range(0, n, _AT_A_TIME):
        count = min(_AT_A_TIME, n - begin)
        for c in range(count):
            least[c] = second[c] = np.inf
        for i in range(products.shape[0]):
            note_nearest(products[i, begin : begin + count], constants[i], np.int32(i), least, second, index)
        for c in range(count):
            if not abs(least[c]) < np.inf:
                return False
            codes[begin + c] = labels[index[c]]
            gaps[begin + c] = second[c] - least[c]
    return True


@vectorised
def note_nearest(products, constant, i, least, second, index):
    """Note prototype i where it is the nearest or second nearest so far."""
    for c in range(products.shape[0]):
        value = products[c] + constant
        larger = value if value > least[c] else least[c]
        second[c] = larger if larger < second[c] else second[c]
        index[c] = i if value < least[c] else index[c]
        least[c] = value if value < least[c] else least[c]
