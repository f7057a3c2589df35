"""Losses and rules: one file each; each registers itself."""

from protolearn.core.registry import import_parts
from protolearn.losses.base import LOSSES, CustomLoss, FieldLoss, Loss, NearestLoss, PairLoss

import_parts(__name__, __path__)

__all__ = ["LOSSES", "CustomLoss", "FieldLoss", "Loss", "NearestLoss", "PairLoss"]
