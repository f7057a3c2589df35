"""Why a model decides as it does, and how sure that is: explanations, counterfactuals, certificates, in NumPy alone."""

from protolearn.explain.calibration import calibrated
from protolearn.explain.certificate import certified_accuracy, certified_radius
from protolearn.explain.conformal import ConformalClassifier
from protolearn.explain.counterfactuals import Change, Counterfactual, counterfactual
from protolearn.explain.explanation import Contribution, Explanation, certainty, explain
from protolearn.explain.verification import VerificationCurve, half_total_error, verification_curve

__all__ = [
    "Change",
    "ConformalClassifier",
    "Contribution",
    "Counterfactual",
    "Explanation",
    "VerificationCurve",
    "calibrated",
    "certainty",
    "certified_accuracy",
    "certified_radius",
    "counterfactual",
    "explain",
    "half_total_error",
    "verification_curve",
]
