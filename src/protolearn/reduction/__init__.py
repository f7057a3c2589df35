"""Smaller training sets: editing, condensing and mixtures, as functions of arrays."""

from protolearn.reduction.chen import BlockSplit, split_blocks
from protolearn.reduction.hart import consistent_subset
from protolearn.reduction.mixtgauss import Mixtures, MixtureStart, fit_mixtures
from protolearn.reduction.neighbours import nearest_others
from protolearn.reduction.wilson import choose_neighbours, edit, multi_edit, repeated_edit

__all__ = [
    "BlockSplit",
    "MixtureStart",
    "Mixtures",
    "choose_neighbours",
    "consistent_subset",
    "edit",
    "fit_mixtures",
    "multi_edit",
    "nearest_others",
    "repeated_edit",
    "split_blocks",
]
