"""Looking at fitted models. Only here matplotlib is used, and imported on use."""

from protolearn.inspection.confusion import plot_confusion
from protolearn.inspection.curves import plot_loss, plot_tradeoff
from protolearn.inspection.explanation import Explanation, certainty, explain
from protolearn.inspection.metric_plots import plot_omega, plot_relevances
from protolearn.inspection.plots import plot_prototypes
from protolearn.inspection.projections import plot_decision_regions, plot_embedding
from protolearn.inspection.rejection import plot_rejection

__all__ = [
    "Explanation",
    "certainty",
    "explain",
    "plot_confusion",
    "plot_decision_regions",
    "plot_embedding",
    "plot_loss",
    "plot_omega",
    "plot_prototypes",
    "plot_rejection",
    "plot_relevances",
    "plot_tradeoff",
]
