"""Fits a peer's LMNN in the environment that has it, and stores its matrix.

python lmnn.py pylmnn|metric-learn DATA.npz STEPS TARGETS FOUND.npz
"""

import sys
import time
import types
import warnings

import numpy as np


def model(library, steps, targets):
    """The peer's estimator, started from the identity."""
    if library == "pylmnn":
        # It imports GPyOpt, for a search over settings that is not used here.
        methods = types.ModuleType("GPyOpt.methods")
        methods.BayesianOptimization = None
        sys.modules["GPyOpt"], sys.modules["GPyOpt.methods"] = types.ModuleType("GPyOpt"), methods
        from pylmnn import LargeMarginNearestNeighbor

        return LargeMarginNearestNeighbor(n_neighbors=targets, max_iter=steps, init="identity", random_state=0)
    from metric_learn import LMNN

    return LMNN(n_neighbors=targets, max_iter=steps, init="identity", random_state=0)


def main():
    """One fit."""
    library, path, steps, targets, found = sys.argv[1:]
    warnings.filterwarnings("ignore")
    with np.load(path) as stored:
        X, y = stored["X"], stored["y"]
    peer = model(library, int(steps), int(targets))
    begin = time.perf_counter()
    peer.fit(X, y)
    seconds = time.perf_counter() - begin
    np.savez(found, omega=peer.components_, seconds=seconds, steps=peer.n_iter_)


if __name__ == "__main__":
    main()
