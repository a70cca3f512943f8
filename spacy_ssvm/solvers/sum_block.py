"""Blocks for solvers that need sums over all examples at one w, and learn where these are added up.

Floating-point numbers are added up in one fixed tree: the leaves are parts of the corpus, whose number depends on the
corpus alone. So the sums are the same, bit for bit, however many blocks the parts are divided among.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from .blocks import Block
from .gradients import sum_losses
from .one_slack import add_planes
from .problem import Kind, Problem

T = TypeVar("T")

Range = tuple[int, int]
"""The first part of a subtree, and the end of its parts."""


class PassSum(NamedTuple):
    """Sums over examples: values float64 [k], and a vector float64 [d]."""

    values: np.ndarray
    vector: np.ndarray

    def plus(self, other: "PassSum") -> "PassSum":
        """The sum of both, in the memory of this one."""
        np.add(self.values, other.values, out=self.values)
        np.add(self.vector, other.vector, out=self.vector)
        return self


def tree_sum(parts: Range, sum_of: Callable[[Range], T | None], plus: Callable[[T, T], T]) -> T:
    """The sum of a subtree. sum_of: returns the sum of a subtree, if it has it; it has those of single parts."""
    total = sum_of(parts)
    if total is not None:
        return total
    left, right = _halves(parts)
    return plus(tree_sum(left, sum_of, plus), tree_sum(right, sum_of, plus))


def subtrees(parts: Range, whole: Range) -> list[Range]:
    """The largest subtrees of the whole tree that have only these parts."""
    if parts[0] <= whole[0] and whole[1] <= parts[1]:
        return [whole]
    if whole[1] <= parts[0] or parts[1] <= whole[0]:
        return []
    return [subtree for half in _halves(whole) for subtree in subtrees(parts, half)]


def _halves(parts: Range) -> tuple[Range, Range]:
    first, end = parts
    middle = (first + end) // 2
    return (first, middle), (middle, end)


class SumBlock(Block, ABC):
    """Sums over a block's parts.

    Raises:
        ValueError: the problem's structure does not offer the oracle that the solver needs.
    """

    needs: ClassVar[Kind]

    def __init__(self, parameters: Any, problem: Problem) -> None:
        super().__init__(parameters, problem)
        problem.oracles(self.needs)

    def sums(self, weights: np.ndarray, first: int, n_parts: int, parts: Sequence[np.ndarray]) -> dict[Range, PassSum]:
        """The sums of the largest subtrees that lie in the block.

        weights: w, float64 [d]. first: number of the block's first part among all n_parts. parts: the examples of each
        of its parts, int64.
        """

        def of_part(subtree: Range) -> PassSum | None:
            return self.sum(weights, parts[subtree[0] - first]) if subtree[1] - subtree[0] == 1 else None

        ranges = subtrees((first, first + len(parts)), (0, n_parts))
        return {subtree: tree_sum(subtree, of_part, PassSum.plus) for subtree in ranges}

    @abstractmethod
    def sum(self, weights: np.ndarray, examples: np.ndarray) -> PassSum:
        """The sums over these examples, int64, at w, float64 [d]."""


class LossBlock(SumBlock):
    """Σ L_{β,γ}, and −Σ ∇L_{β,γ}."""

    needs = "cliques"

    def sum(self, weights: np.ndarray, examples: np.ndarray) -> PassSum:
        p = self.parameters
        value, descent = sum_losses(self.problem, weights, p.beta, p.gamma, examples)
        return PassSum(np.array([value]), descent)


class PlaneBlock(SumBlock):
    """Σ Δ and Σ ξ of violated planes, and Σ ΔΦ."""

    needs = "max"

    def sum(self, weights: np.ndarray, examples: np.ndarray) -> PassSum:
        summed = np.zeros(self.problem.dimension)
        values = add_planes(self.problem, weights, examples, summed)
        return PassSum(np.array(values), summed)
