"""Tables from files, and their columns as the features of a classifier."""

from protolearn.tables.encoding import NormalScores, PiecewiseLinearBins
from protolearn.tables.preparation import Preparation
from protolearn.tables.reading import TableError, read_table

__all__ = ["NormalScores", "PiecewiseLinearBins", "Preparation", "TableError", "read_table"]
