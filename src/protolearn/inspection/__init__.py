"""Looking at fitted models. Only here matplotlib is used, and imported on use."""

from protolearn.inspection.explanation import Explanation, certainty, explain
from protolearn.inspection.plots import plot_prototypes

__all__ = ["Explanation", "certainty", "explain", "plot_prototypes"]
