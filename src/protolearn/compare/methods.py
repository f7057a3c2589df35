"""The methods of `protolearn compare`: each classifier with the settings that are tried on the hold-out."""

from __future__ import annotations

import difflib
import json
import shlex
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from protolearn.auto.automatic import AutoPrototypes
from protolearn.estimators.glvq import GLVQ, GMLVQ, GRLVQ, LGMLVQ
from protolearn.estimators.lamalvq import LaMaLVQ
from protolearn.estimators.learn1nn import Learn1NN
from protolearn.estimators.lmnn import LMNN
from protolearn.estimators.lpd import LPD
from protolearn.estimators.lvq import DSM, LVQ1, LVQ2, LVQ3, LVQ21, OLVQ1
from protolearn.estimators.margin import LOGM, MCE
from protolearn.estimators.nearest import NearestPrototype
from protolearn.estimators.soft import MAXP1, RSLVQ, RSLVQ1, SNPC
from protolearn.reduction.chen import ChenCondensing
from protolearn.reduction.hart import HartCondensing
from protolearn.reduction.mixtgauss import MixtGauss
from protolearn.reduction.wilson import WilsonEditing

# The grid of the RBF support vector machine of the LOGM paper (6.2).
SVM_GRID = {"C": tuple(2.0**k for k in (2, 4, 6, 8, 10)), "gamma": tuple(2.0**k for k in (-9, -7, -5, -3, -1))}
NEIGHBOURS = (1, 3, 5, 9, 15, 25)
_SIZES = {"n_prototypes": (1, 3, 5)}
# A coarser grid than LOGM's 125 points: S, alpha and tau.
_LOGM_GRID = {**_SIZES, "regularization": (0.0, 0.005, 0.05), "learning_rate": (0.5, 1.0, 2.0)}
_LMNN_GRID = {"metric__n_neighbors": (1, 3, 5)}
# GLVQ's slope has no unit, and its matrices are slower: no alpha for these.
_GLVQ_GRID = {**_SIZES, "learning_rate": (0.5, 1.0, 2.0), "slope": (10.0, 20.0)}
_MATRIX_GRID = {**_SIZES, "learning_rate": (0.5, 1.0, 2.0)}
# learn1NN's thesis tries these for LVQ1.
_LVQ_GRID = {**_SIZES, "learning_rate": (0.02, 0.05, 0.1)}


@dataclass(frozen=True)
class Method:
    """A classifier and its grid.

    kmeans_start : whether one k-means for each number of prototypes serves all other settings, as in the LOGM paper
    """

    estimator: Any
    grid: dict[str, tuple] = field(default_factory=dict)
    kmeans_start: bool = False

    def seeded(self, seed: int) -> Any:
        """A new unfitted estimator."""
        model = clone(self.estimator)
        return model.set_params(**{name: seed for name in model.get_params() if name.endswith("random_state")})


METHODS: dict[str, Method] = {
    "1-NN": Method(KNeighborsClassifier(1)),
    "k-NN": Method(KNeighborsClassifier(), {"n_neighbors": NEIGHBOURS}),
    "LogisticRegression": Method(LogisticRegression(max_iter=1000), {"C": (0.1, 1.0, 10.0)}),
    "RandomForest": Method(RandomForestClassifier(300)),
    # One against one, as scikit-learn does it; the paper's is one against all. Its grid for C and gamma.
    "SVM": Method(SVC(), SVM_GRID),
    "AutoPrototypes": Method(AutoPrototypes()),
    "AutoPrototypes-one": Method(AutoPrototypes(members=1)),
    "NearestPrototype": Method(NearestPrototype(), _SIZES),
    "LVQ1": Method(LVQ1(), _LVQ_GRID, True),
    "OLVQ1": Method(OLVQ1(), {**_SIZES, "learning_rate": (0.1, 0.3)}, True),
    "LVQ2": Method(LVQ2(), _LVQ_GRID, True),
    "LVQ21": Method(LVQ21(), _LVQ_GRID, True),
    "LVQ3": Method(LVQ3(), _LVQ_GRID, True),
    "DSM": Method(DSM(), _LVQ_GRID, True),
    "GLVQ": Method(GLVQ(), _GLVQ_GRID, True),
    "GRLVQ": Method(GRLVQ(), _MATRIX_GRID, True),
    "GMLVQ": Method(GMLVQ(), _MATRIX_GRID, True),
    "LGMLVQ": Method(LGMLVQ(), _MATRIX_GRID, True),
    "MCE": Method(MCE(), _LOGM_GRID, True),
    "SNPC": Method(SNPC(), _LOGM_GRID, True),
    "MAXP1": Method(MAXP1(), _LOGM_GRID, True),
    "RSLVQ": Method(RSLVQ(), _LOGM_GRID, True),
    "RSLVQ1": Method(RSLVQ1(), _LOGM_GRID, True),
    "LOGM": Method(LOGM(), _LOGM_GRID, True),
    "LOGM-PIW": Method(LOGM(metric="relevance"), _LOGM_GRID, True),
    "LOGM-PDW": Method(LOGM(metric="local_relevance"), _LOGM_GRID, True),
    "LPD": Method(LPD(), {"n_prototypes": (0.02, 0.05, 0.1)}),
    "Learn1NN": Method(Learn1NN(), {**_SIZES, "learning_rate": (0.03, 0.1, 0.3)}, True),
    "LaMaLVQ": Method(LaMaLVQ(), {"n_prototypes": (1, 3)}),
    "LMNN": Method(Pipeline([("metric", LMNN()), ("nearest", KNeighborsClassifier(1))]), _LMNN_GRID),
    "WilsonEditing": Method(WilsonEditing(), {"n_neighbors": (1, 3, 5)}),
    "HartCondensing": Method(HartCondensing(), {"edit_neighbors": (None, 3)}),
    "ChenCondensing": Method(ChenCondensing(), {"n_prototypes": (3, 5, 10)}),
    "MixtGauss": Method(MixtGauss(), {"n_prototypes": (1, 3, 5)}),
}


def chosen_methods(wanted: list[str] | None) -> list[str]:
    """The names as `METHODS` spells them, in its order; upper and lower case and dashes do not matter."""
    if not wanted:
        return list(METHODS)
    known = {_key(name): name for name in METHODS}
    unknown = [name for name in wanted if _key(name) not in known]
    if unknown:
        near = difflib.get_close_matches(_key(unknown[0]), known, n=1)
        meant = f"did you mean {known[near[0]]}? There are" if near else "choose from"
        raise ValueError(f"Unknown method {unknown[0]!r}; {meant} {', '.join(METHODS)}.")
    keys = {_key(name) for name in wanted}
    return [name for name in METHODS if _key(name) in keys]


def fit_arguments(method: str, chosen: dict[str, Any]) -> list[str] | None:
    """The arguments of `protolearn fit` that learn with a method and its settings; None where `fit` has no such method.

    Parameters
    ----------
    method : name in `METHODS`
    chosen : settings that the tuning chose
    """
    estimator = METHODS[method].estimator
    if not type(estimator).__module__.startswith("protolearn."):
        return None
    if isinstance(estimator, AutoPrototypes):
        return ["--one"] if estimator.members == 1 else []
    usual = type(estimator)().get_params(deep=False)
    own = {name: value for name, value in estimator.get_params(deep=False).items() if value != usual[name]}
    arguments = ["--method", type(estimator).__name__.lower()]
    for name, value in {**own, **chosen}.items():
        if name == "n_prototypes":
            arguments += ["--prototypes", f"{100 * value:g}%" if isinstance(value, float) else str(value)]
        elif value != usual[name]:
            arguments += ["--set", shlex.quote(f"{name}={value if isinstance(value, str) else json.dumps(value)}")]
    return arguments


def _key(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
