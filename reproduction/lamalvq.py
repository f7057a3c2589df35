"""The seven experiments of the LaMaLVQ thesis (Kelders 2013, Tables 6 to 12), and LaMaLVQ and LMNN beside others.

`python -m reproduction lamalvq`. Protocol: ten folds, z-normalised, Letter 2.5 % of each class. The thesis
prints curves only; a row has the curves of one fold, and each finding of the thesis is tested on their means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protolearn.estimators.lamalvq import LaMaLVQ
from reproduction import lamalvq_tables, lamalvq_versus_gmlvq, lmnn
from reproduction.datasets import load
from reproduction.lamalvq_curves import CURVES, METHODS, SETS, SETUPS
from reproduction.protocols import LAMALVQ_TABLES, LAMALVQ_VERSUS
from reproduction.reproduce import Experiment, Outcome, Paper, Quick, Table, Unit

PROTOTYPE_SHARE = {"iris": 0.1, "wine": 0.1, "letter": 0.2}


def measure(unit: Unit) -> Outcome:
    """One fit: test error, and the curves over the rounds."""
    letter, k = METHODS[unit.method]
    data = load(unit.dataset)
    train, test = unit.protocol.split(data, unit.fold, unit.seed)
    X, X_test = unit.protocol.scaled(data.X[train], data.X[test])
    y, y_test = data.y[train], data.y[test]
    settings = {"rounds": unit.protocol.grid["rounds"][0], **SETUPS[letter].settings}
    n_prototypes = 1
    if settings.get("version") == "prototype":
        # The share is of the average class size, stated twice in the thesis; two at least, or there are no targets.
        n_prototypes = max(2, round(PROTOTYPE_SHARE[unit.dataset] * len(y) / len(np.unique(y))))
    seed = 10 * unit.seed + unit.fold
    # As the thesis has them: the batch rule of (15), and every solve kept.
    literal = {"batch_step": "sum", "accept": "always"}
    common: dict[str, Any] = {"n_neighbors": k, "random_state": seed, **literal}
    start = LaMaLVQ(n_prototypes, mode=None, rounds=1, epochs=1, learning_rate=1e-12, **common).fit(X, y)
    model = LaMaLVQ(n_prototypes, **common, **settings).fit(X, y)
    history = vars(model.history_)
    return Outcome(
        1.0 - model.score(X_test, y_test),
        {
            "start_error": float(start.history_.error[0]),
            "start_norm": float(start.history_.norm[0]),
            **{key: [float(value) for value in history[key]] for key in CURVES},
            "matrix": np.asarray(history["metric"][-1][0]).tolist(),
        },
    )


# Findings are about what 30 rounds do: a quick run has them all, of one fold.
_QUICK = Quick(LAMALVQ_TABLES.changed(first_folds=1), ("iris", "wine"))
_VERSUS = tuple(lamalvq_versus_gmlvq.MODELS)
_FEW_TARGETS = tuple(lamalvq_versus_gmlvq.FEW_TARGETS)
PAPER = Paper(
    "lamalvq",
    "LaMaLVQ: large margin in LVQ (Kelders 2013)",
    "Kelders (2013)",
    lamalvq_tables.about,
    (
        Experiment("thesis", LAMALVQ_TABLES, tuple(SETS), tuple(METHODS), measure, _QUICK, costs=SETS),
        Experiment(
            "versus",
            LAMALVQ_VERSUS,
            lamalvq_versus_gmlvq.SETS,
            _VERSUS + _FEW_TARGETS,
            lamalvq_versus_gmlvq.measure,
            Quick(LAMALVQ_VERSUS.changed(first_folds=2), ("iris", "wine", "glass", "heart")),
        ),
        Experiment(
            "lmnn",
            LAMALVQ_VERSUS,
            lmnn.SETS,
            lmnn.METHODS,
            lmnn.measure,
            Quick(LAMALVQ_VERSUS.changed(first_folds=2), ("iris", "wine", "glass", "heart", "sonar", "ionosphere")),
        ),
    ),
    (
        Table(
            "thesis", "the seven experiments of the thesis", {"thesis": tuple(METHODS)}, lamalvq_tables.show, "lamalvq"
        ),
        Table("gmlvq", "against GMLVQ", {"versus": _VERSUS}, lamalvq_versus_gmlvq.show, "lamalvq-versus-gmlvq"),
        Table(
            "targets",
            "few targets, kept and refreshed",
            {"versus": _FEW_TARGETS},
            lamalvq_versus_gmlvq.show_few_targets,
            "lamalvq-few-targets",
        ),
        Table("lmnn", "LMNN + 3-NN against Euclidean 3-NN", {"lmnn": lmnn.METHODS}, lmnn.show, "lmnn"),
    ),
)
