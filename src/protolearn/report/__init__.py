"""Pictures of fitted models and reports on them. Only here matplotlib is used, and imported on use."""

from protolearn.report.certified import plot_certified_accuracy
from protolearn.report.confusion import plot_confusion
from protolearn.report.curves import plot_loss, plot_tradeoff
from protolearn.report.metric_plots import plot_omega, plot_relevances
from protolearn.report.plots import plot_prototypes
from protolearn.report.projections import plot_decision_regions, plot_embedding
from protolearn.report.rejection import plot_rejection
from protolearn.report.verification import plot_verification

__all__ = [
    "plot_certified_accuracy",
    "plot_confusion",
    "plot_decision_regions",
    "plot_embedding",
    "plot_loss",
    "plot_omega",
    "plot_prototypes",
    "plot_rejection",
    "plot_relevances",
    "plot_tradeoff",
    "plot_verification",
]
