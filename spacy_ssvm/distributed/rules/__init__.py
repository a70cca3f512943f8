"""The rules by which several workers learn, one a file, by the names that the solvers' parameters give."""

from ...solvers.parameters import Parameters
from .dual import DualBlock, DualSteps, MeanBlock, MeanSteps
from .mean import AveragedMixing, DescentBlock, DescentMixing, MixedBlock
from .rule import Rule
from .sums import LossBlock, PlaneBlock, Sums

RULES: dict[str, Rule] = {
    "dual": Rule(DualBlock, DualSteps),
    "means": Rule(MeanBlock, MeanSteps),
    "mixed": Rule(MixedBlock, AveragedMixing),
    "descent": Rule(DescentBlock, DescentMixing),
    "losses": Rule(LossBlock, Sums),
    "planes": Rule(PlaneBlock, Sums),
}
"""By name; code that defines another rule adds it here."""


def rule_of(parameters: Parameters) -> Rule:
    """The rule by which a solver with these parameters learns.

    Raises:
        ValueError: it learns alone.
    """
    if parameters.rule is None:
        raise ValueError(
            f"its solver, {type(parameters).__name__}, cannot be used with several workers and these parameters: see "
            "docs/understand/workers.md for those that can"
        )
    return RULES[parameters.rule]
