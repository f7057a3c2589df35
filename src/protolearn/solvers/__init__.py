"""Solvers: online, gradient, lbfgs, adam. Each takes prototypes, data, an objective and a plan."""

from protolearn.core.registry import import_parts
from protolearn.solvers.base import SOLVERS, Objective, Plan, Solution

import_parts(__name__, __path__)

__all__ = ["SOLVERS", "Objective", "Plan", "Solution"]
