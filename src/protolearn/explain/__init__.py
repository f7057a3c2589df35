"""Why a model decides as it does, and how sure that is: explanations, counterfactuals, certificates, in NumPy alone."""

from protolearn.explain.certificate import certified_accuracy, certified_radius
from protolearn.explain.explanation import Change, Contribution, Explanation, certainty, explain

__all__ = [
    "Change",
    "Contribution",
    "Explanation",
    "certainty",
    "certified_accuracy",
    "certified_radius",
    "explain",
]
