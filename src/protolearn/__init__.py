"""Prototype learning for nearest-neighbour classification."""

from protolearn.estimators.generators import ChenCondensing, MixtGauss
from protolearn.estimators.generic import PrototypeClassifier
from protolearn.estimators.glvq import GLVQ, GMLVQ, GRLVQ, LGMLVQ
from protolearn.estimators.lamalvq import LaMaLVQ
from protolearn.estimators.learn1nn import Learn1NN
from protolearn.estimators.lmnn import LMNN
from protolearn.estimators.lpd import LPD
from protolearn.estimators.lvq import DSM, LVQ1, LVQ2, LVQ3, LVQ21, OLVQ1
from protolearn.estimators.margin import LOGM, MCE
from protolearn.estimators.nearest import NearestPrototype
from protolearn.estimators.selectors import HartCondensing, WilsonEditing
from protolearn.estimators.soft import MAXP1, RSLVQ, RSLVQ1, SNPC

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
    "ChenCondensing",
    "HartCondensing",
    "LaMaLVQ",
    "Learn1NN",
    "MixtGauss",
    "NearestPrototype",
    "PrototypeClassifier",
    "WilsonEditing",
]
