"""Where prototypes start. One file each; each registers itself."""

from protolearn.core.registry import import_parts
from protolearn.initializers.base import INITIALIZERS, Initializer
from protolearn.initializers.counts import prototype_counts
from protolearn.initializers.shared import SharedStart

import_parts(__name__, __path__)

__all__ = ["INITIALIZERS", "Initializer", "SharedStart", "prototype_counts"]
