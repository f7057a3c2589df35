"""Distances: squared, with their gradients and projections. One file each; each registers itself."""

from protolearn.metrics.base import METRICS, Metric
from protolearn.registry import import_parts

import_parts(__name__, __path__)

__all__ = ["METRICS", "Metric"]
