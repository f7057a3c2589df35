"""Losses and rules: one file each; each registers itself."""

from protolearn.core.registry import import_parts
from protolearn.losses.base import LOSSES, AllPrototypesLoss, CustomLoss, Loss, NearestLoss, PairLoss

import_parts(__name__, __path__)

__all__ = ["LOSSES", "AllPrototypesLoss", "CustomLoss", "Loss", "NearestLoss", "PairLoss"]
