"""Choosing numbers of prototypes and settings."""

from protolearn.selection.shrink import Shrunk, shrink

__all__ = ["Shrunk", "shrink"]
