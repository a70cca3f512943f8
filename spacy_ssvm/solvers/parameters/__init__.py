"""The solvers' parameters: what a config says. Importing this package does not import numba."""

from .base import DualParameters, Parameters
from .dual import Dcd, Sap, dcd_light
from .online import Mira, Perceptron, Sgd

__all__ = ["Dcd", "DualParameters", "Mira", "Parameters", "Perceptron", "Sap", "Sgd", "dcd_light"]
