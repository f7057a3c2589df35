"""Losses and rules: one file each; each registers itself."""

from protolearn.losses.base import LOSSES, CustomLoss, FieldLoss, Loss, NearestLoss, PairLoss
from protolearn.registry import import_parts

import_parts(__name__, __path__)

__all__ = ["LOSSES", "CustomLoss", "FieldLoss", "Loss", "NearestLoss", "PairLoss"]
