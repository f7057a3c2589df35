"""Looking at fitted models. Only here matplotlib is used, and imported on use."""

from protolearn.inspection.plots import plot_prototypes

__all__ = ["plot_prototypes"]
