"""Distances: squared, with their gradients and projections. One file each; each registers itself."""

from protolearn.core.registry import import_parts
from protolearn.metrics.base import METRICS, Metric

import_parts(__name__, __path__)

__all__ = ["METRICS", "Metric"]
