"""How a solver learns from the blocks of several workers, by the kind of its blocks."""

from typing import Any, Protocol

import numpy as np

from ..solvers.block_kinds import kind_of_block
from ..solvers.blocks import LearningBlock
from ..solvers.descent_block import DescentBlock
from ..solvers.dual_block import DualBlock
from ..solvers.learner import Certificate, Progress
from ..solvers.mixed_block import MixedBlock
from ..solvers.parameters import Parameters
from ..solvers.sum_block import SumBlock
from .common_steps import CommonSteps
from .dual_steps import DualSteps
from .mixing import AveragedMixing, DescentMixing
from .shared_blocks import SharedBlocks
from .sums import Sums

N_PARTS = 24
"""Parts of a corpus whose sums are added up in a fixed tree: 24 workers, or a divisor of that, get equal numbers."""

STEPS: tuple[tuple[type[LearningBlock], type[CommonSteps]], ...] = (
    (DualBlock, DualSteps),
    (MixedBlock, AveragedMixing),
    (DescentBlock, DescentMixing),
)
"""The steps of each kind of blocks that learn."""


class Rule(Protocol):
    """How the blocks of one component learn."""

    blocks: SharedBlocks

    def begin(self, number: int) -> None:
        """Let the workers know how the last epoch has ended, and begin epoch `number`, as far as they can."""

    def epoch(self, number: int) -> Progress:
        """Epoch `number`, from 0, of all blocks; `step`, or `begin` of the next one, has to follow."""

    def step(self) -> None:
        """Let the workers know how the last epoch has ended, without waiting, if they do not yet."""

    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]."""

    def certificate(self) -> Certificate | None:
        """Primal and dual at w; None where there is no certificate."""

    def state(self) -> dict[str, Any]:
        """The state for `restore`, after `epoch`: numbers, arrays, lists and dicts."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""


def adds_up(parameters: Parameters) -> bool:
    """Whether a solver, which learns in blocks, needs sums over parts of the corpus in a fixed tree."""
    return issubclass(kind_of_block(parameters), SumBlock)


def rule_of(parameters: Any, blocks: SharedBlocks, n_parts: int) -> Rule:
    """The rule of a solver with these parameters, which learns in blocks. n_parts: of the corpus."""
    if adds_up(parameters):
        return Sums(parameters, blocks, n_parts)
    kind = kind_of_block(parameters)
    steps = next(steps for base, steps in STEPS if issubclass(kind, base))
    return steps(parameters, blocks)
