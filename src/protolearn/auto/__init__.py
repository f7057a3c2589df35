"""Choosing numbers of prototypes and settings."""

from protolearn.auto.shrink import Shrunk, shrink

__all__ = ["Shrunk", "shrink"]
