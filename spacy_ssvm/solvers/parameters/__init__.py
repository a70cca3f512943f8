"""The solvers' parameters: what a config says. Importing this package does not import numba."""

from .base import DualParameters, Parameters
from .dual import Cpd, Dcd, FrankWolfe, OneSlack, Sdm, dcd_light
from .lse import LseCuttingPlane, LseSdcd
from .mira import Mira, PredictionMira
from .online import Perceptron, Sgd
from .smooth import Dca, Lbfgs, LossFamily
from .sparse import Extragradient, ProjectedSubgradient, Sap

__all__ = [
    "Cpd",
    "Dca",
    "Dcd",
    "DualParameters",
    "Extragradient",
    "FrankWolfe",
    "Lbfgs",
    "LossFamily",
    "LseCuttingPlane",
    "LseSdcd",
    "Mira",
    "OneSlack",
    "Parameters",
    "Perceptron",
    "PredictionMira",
    "ProjectedSubgradient",
    "Sap",
    "Sdm",
    "Sgd",
    "dcd_light",
]
