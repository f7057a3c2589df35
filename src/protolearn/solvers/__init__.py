"""Solvers: each takes a start, samples, an objective and a plan, and SOLVERS says what each can."""

from protolearn.core.registry import import_parts
from protolearn.solvers.base import SOLVERS, Objective, Plan, Solution, Solver

import_parts(__name__, __path__)

__all__ = ["SOLVERS", "Objective", "Plan", "Solution", "Solver"]
