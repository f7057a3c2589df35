"""Prototype learning for nearest-neighbour classification."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protolearn.auto.automatic import AutoPrototypes
    from protolearn.auto.compress import compress as compress
    from protolearn.estimators.generic import PrototypeClassifier
    from protolearn.estimators.glvq import GLVQ, GMLVQ, GRLVQ, LGMLVQ
    from protolearn.estimators.lamalvq import LaMaLVQ
    from protolearn.estimators.learn1nn import Learn1NN
    from protolearn.estimators.lmnn import LMNN
    from protolearn.estimators.lpd import LPD
    from protolearn.estimators.lvq import DSM, LVQ1, LVQ2, LVQ3, LVQ21, OLVQ1
    from protolearn.estimators.margin import LOGM, MCE
    from protolearn.estimators.nearest import NearestPrototype
    from protolearn.estimators.soft import MAXP1, RSLVQ, RSLVQ1, SNPC
    from protolearn.export.model_file import load as load
    from protolearn.export.model_file import save as save
    from protolearn.reduction.chen import ChenCondensing
    from protolearn.reduction.hart import HartCondensing
    from protolearn.reduction.mixtgauss import MixtGauss
    from protolearn.reduction.wilson import WilsonEditing

__version__ = "0.1.0"

__all__ = [
    "DSM",
    "GLVQ",
    "GMLVQ",
    "GRLVQ",
    "LGMLVQ",
    "LMNN",
    "LOGM",
    "LPD",
    "LVQ1",
    "LVQ2",
    "LVQ3",
    "LVQ21",
    "MAXP1",
    "MCE",
    "OLVQ1",
    "RSLVQ",
    "RSLVQ1",
    "SNPC",
    "AutoPrototypes",
    "ChenCondensing",
    "HartCondensing",
    "LaMaLVQ",
    "Learn1NN",
    "MixtGauss",
    "NearestPrototype",
    "PrototypeClassifier",
    "WilsonEditing",
]

# Where each public name lives. Importing numba and scikit-learn takes two seconds, and `protolearn --version` needs
# neither: names are imported on use.
_HOMES = {
    "auto.automatic": ("AutoPrototypes",),
    "auto.compress": ("compress",),
    "estimators.generic": ("PrototypeClassifier",),
    "estimators.glvq": ("GLVQ", "GMLVQ", "GRLVQ", "LGMLVQ"),
    "estimators.lamalvq": ("LaMaLVQ",),
    "estimators.learn1nn": ("Learn1NN",),
    "estimators.lmnn": ("LMNN",),
    "estimators.lpd": ("LPD",),
    "estimators.lvq": ("DSM", "LVQ1", "LVQ2", "LVQ3", "LVQ21", "OLVQ1"),
    "estimators.margin": ("LOGM", "MCE"),
    "estimators.nearest": ("NearestPrototype",),
    "estimators.soft": ("MAXP1", "RSLVQ", "RSLVQ1", "SNPC"),
    "export.model_file": ("load", "save"),
    "reduction.chen": ("ChenCondensing",),
    "reduction.hart": ("HartCondensing",),
    "reduction.mixtgauss": ("MixtGauss",),
    "reduction.wilson": ("WilsonEditing",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'protolearn' has no attribute {name!r}")
    value = getattr(import_module(f"protolearn.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
