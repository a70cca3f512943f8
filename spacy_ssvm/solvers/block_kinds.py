"""The kinds of blocks, by the names that solvers' parameters give to the rules by which several workers learn."""

from .blocks import Block
from .descent_block import DescentBlock
from .dual_block import DualBlock, MeanBlock
from .mixed_block import MixedBlock
from .parameters import Parameters
from .sum_block import LossBlock, PlaneBlock

KINDS: dict[str, type[Block]] = {
    "dual": DualBlock,
    "means": MeanBlock,
    "mixed": MixedBlock,
    "descent": DescentBlock,
    "losses": LossBlock,
    "planes": PlaneBlock,
}


def kind_of_block(parameters: Parameters) -> type[Block]:
    """The class of this solver's blocks.

    Raises:
        ValueError: the solver does not learn in blocks.
    """
    if parameters.rule is None:
        raise ValueError(
            f"its solver, {type(parameters).__name__}, cannot be used with several workers and these parameters: see "
            "docs/distributed-training.md for those that can"
        )
    return KINDS[parameters.rule]
