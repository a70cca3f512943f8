"""Parameters of the solvers for the linear summed error, ½‖w‖² + C Σ_i Σ_y max(0, g_i(y))."""

from dataclasses import dataclass
from typing import Literal

from .base import TwoLoopParameters


@dataclass(frozen=True, kw_only=True)
class Lse(TwoLoopParameters):
    """What both share.

    C: weight of the loss, which counts every violated structure: the objective wants less of it than others.
    tolerance: training is complete when the gap over the structures that the working sets hold, relative to their
        primal objective, is at most this. The gap over all structures is larger, and not known.
    oracle: "outside", the best structure that is not in the working set yet, or "printed", the best of all, as in the
        LSE-SSVM paper: once that one is known nothing new enters, and training stops short of the optimum.
    """

    C: float = 0.01
    oracle: Literal["outside", "printed"] = "outside"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.oracle not in ("outside", "printed"):
            raise ValueError(f'solver.oracle must be "outside" or "printed", not {self.oracle!r}')


@dataclass(frozen=True, kw_only=True)
class LseSdcd(Lse):
    """Sequential dual coordinate descent on the LSE-SSVM (LSE-SSVM paper, algorithm 2); parameters as for both."""

    learner = "spacy_ssvm.solvers.lse_sdcd:LseSdcdLearner"


@dataclass(frozen=True, kw_only=True)
class LseCuttingPlane(Lse):
    """1-slack cutting planes on the LSE-SSVM (LSE-SSVM paper, algorithm 1); parameters as for both."""

    learner = "spacy_ssvm.solvers.lse_cutting_plane:LseCuttingPlaneLearner"
