"""The value that every part of the library hands to the next one."""

from __future__ import annotations

from dataclasses import dataclass, replace

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

    def moved(self, positions: np.ndarray, theta: np.ndarray) -> PrototypeSet:
        """The same prototypes elsewhere, under other metric parameters."""
        return replace(self, positions=positions, theta=theta)

    def astype(self, dtype: np.dtype) -> PrototypeSet:
        """The same prototypes in another number type."""
        return self.moved(self.positions.astype(dtype, copy=False), self.theta.astype(dtype, copy=False))

    def __len__(self) -> int:
        return len(self.positions)
