"""Why a model decides as it does: explanations of single rows and their certainty, in NumPy alone."""

from protolearn.explain.explanation import Change, Contribution, Explanation, certainty, explain

__all__ = ["Change", "Contribution", "Explanation", "certainty", "explain"]
