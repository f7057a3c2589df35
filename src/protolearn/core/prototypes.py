"""The value that every part of the library hands to the next one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class PrototypeSet:
    """Prototypes, their classes, and the metric parameters each of them uses.

    positions : (n_prototypes, n_features), the papers' m_i
    labels : (n_prototypes,) integer class codes
    theta : (n_slots, ...) metric parameters, one row a slot; its shape is the metric's affair
    slot : (n_prototypes,) the row of theta that a prototype uses: zeros for one metric, class codes for one metric a
        class, 0 to n_prototypes - 1 for one metric a prototype
    """

    positions: np.ndarray
    labels: np.ndarray
    theta: np.ndarray
    slot: np.ndarray

    def __post_init__(self) -> None:
        n = len(self.positions)
        if self.positions.ndim != 2 or self.labels.shape != (n,) or self.slot.shape != (n,):
            raise ValueError(
                f"Prototypes need one label and one slot each; got positions {self.positions.shape}, "
                f"labels {self.labels.shape} and slots {self.slot.shape}."
            )

    @cached_property
    def centring(self) -> tuple[np.ndarray | None, np.ndarray]:
        """The mean position and the positions from there; None and the positions where that gains no digits.

        |x|^2 - 2 x'm + |m|^2 loses all digits when the data lies far from the origin; distances do not care where it
        is. Nothing is gained where the origin is among the prototypes.
        """
        origin = self.positions.sum(axis=0) / self.positions.dtype.type(len(self))
        # The squared distances from the mean are the squared lengths less those of the mean.
        if 2.0 * float(origin @ origin) * len(self) <= np.vdot(self.positions, self.positions):
            return None, self.positions
        return origin, self.positions - origin

    @cached_property
    def groups(self) -> list[tuple[int, Any]]:
        """The slots in use, each with its prototypes: indices, or a slice where they stand together."""
        if len(self.theta) == 1:
            return [(0, slice(None))]
        order = np.argsort(self.slot, kind="stable")
        slots, begins = np.unique(self.slot[order], return_index=True)
        groups: list[tuple[int, Any]] = []
        for slot, begin, end in zip(slots.tolist(), begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
            first, last = int(order[begin]), int(order[end - 1])
            together = last - first == end - begin - 1
            groups.append((slot, slice(first, last + 1) if together else order[begin:end]))
        return groups

    @property
    def work(self) -> int:
        """Multiply-adds that the distances of one row take, roughly: what a second thread is worth depends on it."""
        matrices = self.theta.size if self.theta.ndim == 3 else 0
        return self.positions.size + matrices

    def moved(self, positions: np.ndarray, theta: np.ndarray) -> PrototypeSet:
        """The same prototypes elsewhere, under other metric parameters."""
        return PrototypeSet(positions, self.labels, theta, self.slot)

    def astype(self, dtype: np.dtype) -> PrototypeSet:
        """The same prototypes in another number type."""
        return self.moved(self.positions.astype(dtype, copy=False), self.theta.astype(dtype, copy=False))

    def __len__(self) -> int:
        return len(self.positions)
